#!/bin/sh
# Failures of OpenCL devices. Each ends with a single message with a fix, an exit code and the last checkpoint, from
# which training resumes to the same weights. Also cached programs that are damaged, from another driver, rejected, or
# built by two processes at once. The loader is tests/device/fake_opencl.c, which computes with PoCL. Usage:
# test_opencl_fails.sh BUILD
# test: args=$B; needs=$B/unroll $B/tests/device/fake_opencl.so; seconds=40
unroll=$1/unroll fake=$1/tests/device/fake_opencl.so
if ! test -f "$fake" || "$unroll" devices | grep -q '^opencl none'; then
    echo "skipped: there is no OpenCL driver here"
    echo "test_opencl_fails: 0 passed, 0 failed, 1 skipped"
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
mkdir -p "$1/opencl"
POCL_CACHE_DIR=$(cd "$1/opencl" && pwd)/pocl UNROLL_OPENCL_CACHE=$work/programs UNROLL_OPENCL=$fake
export POCL_CACHE_DIR UNROLL_OPENCL_CACHE UNROLL_OPENCL
passed=0 failed=0
check() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; cat "$work/log"; fi; }
train() {       # the fix is on a line of its own
    "$unroll" train "$@" >"$work/out" 2>"$work/log2"
    code=$?
    sed ':a; N; $!ba; s/\n  fix: /; fix: /g' "$work/log2" >"$work/log"
    return $code
}
begin() {       # begin FOLDER: 10 steps that are saved
    train "$work/text" --cell rnn --hidden 4 --layers 1 --batch 4 --bptt 5 --steps 10 --val 0 --seed 3 \
        --sample-every 0 --device opencl --out "$1"
}
head -c 9000 README.md >"$work/text"

# says HOW CODE WORDS: a training is refused with a single message with a fix
says() {
    if test -f "$1"; then UNROLL_OPENCL=$1 begin "$work/refused"; else FAKE_OPENCL=$1 begin "$work/refused"; fi
    check test $? = "$2"
    check grep -q "$3" "$work/log"
    check test "$(grep -c 'error: .*fix: ' "$work/log")" = 1
    rm -rf "$work/refused"
}
begin "$work/whole"
check cp "$work/whole/ckpt/step-10/model.safetensors" "$work/weights"
programs=$(ls "$work/programs" | wc -l)
first=$(ls "$work/programs" | head -n 1)             # a program that this training uses
check test "$programs" -gt 4

# ---- refusals ----

says noplatform 4 "has no driver on this machine; fix: .*pocl-opencl-icd"
says nodevice 4 "drivers have no device"
says old 4 "does not support OpenCL C 1.2"
says nomemory 5 "has no memory for .* MB of"
FAKE_OPENCL=small train "$work/text" --hidden 300 --device opencl --out "$work/large"
check test $? = 5
check grep -q "no memory for .* it gives at most 1.0 MB; fix: " "$work/log"
UNROLL_OPENCL=$work/none begin "$work/refused"
check test $? = 3
check grep -q "the OpenCL named by UNROLL_OPENCL cannot be loaded: .*; fix: .*unset UNROLL_OPENCL" "$work/log"
for device in opencl:7 opencl:x opencl:-1 opencl:; do
    train "$work/text" --device $device --out "$work/refused"
    check test $? -ne 0
    check grep -qE "there is no device opencl:7: this machine has 1|after the colon comes the number of a device" "$work/log"
done
train "$work/text" --device opencl --precision fp16 --out "$work/refused"
check grep -q "cannot multiply fp16" "$work/log"

# A program that does not compile: the message names a file with its text and has the compiler's output.
UNROLL_OPENCL_CACHE=$work/empty FAKE_OPENCL=nocompile begin "$work/refused"
check test $? = 4
kept=$(sed -nE "s/.*log are in ([^;]*);.*/\1/p" "$work/log")
check grep -q "not to the compiler's taste" "$kept"
check grep -q "get_global_id" "$kept"

# ---- during a run ----

# lost HOW WORDS: a resumed run loses its device; its checkpoint is complete, and it resumes to the same weights
train --resume "$work/whole" --steps 20
lost() {
    begin "$work/lost"
    FAKE_OPENCL=$1 train --resume "$work/lost" --steps 20
    check test $? = 5
    check grep -q "$2" "$work/log"
    check test -f "$work/lost/ckpt/step-10/model.safetensors"
    train --resume "$work/lost" --steps 20
    check cmp "$work/whole/ckpt/step-20/model.safetensors" "$work/lost/ckpt/step-20/model.safetensors"
    rm -r "$work/lost"
}
lost lost:120 "the device is lost or not available; fix: "
lost full:150 "out of resources, or the device is lost; fix: "

# ---- cached programs ----

state() { (cd "$UNROLL_OPENCL_CACHE" && ls -i | sort); }
same_weights() { cmp "$work/weights" "$1/ckpt/step-10/model.safetensors"; }
UNROLL_OPENCL_CACHE=$work/programs
again() {       # again NAME: the same training in a folder of its own
    begin "$work/$1"
    check same_weights "$work/$1"
}
state >"$work/before"
again cached
check test "$(state)" = "$(cat "$work/before")"         # nothing was built
cp "$work/programs/$first" "$work/good"
# mended NAME: an unusable program is rebuilt once. Its bytes may differ: a driver's binary may include what it has
# compiled since.
mended() {
    cp "$work/programs/$first" "$work/bad"
    again "$1"
    check test "$(cmp -s "$work/bad" "$work/programs/$first" || echo differs)" = differs
    state >"$work/now"
    again "$1-again"
    check test "$(state)" = "$(cat "$work/now")"
}
head -c 500 "$work/good" >"$work/programs/$first"
mended cut
{ head -c 1000 "$work/good"; printf x; tail -c +1002 "$work/good"; } >"$work/programs/$first"
cmp -s "$work/good" "$work/programs/$first" && printf y | dd of="$work/programs/$first" bs=1 seek=1000 conv=notrunc 2>/dev/null
mended damaged
FAKE_OPENCL=other again other
check test "$(ls "$work/programs" | wc -l)" = $(($(wc -l <"$work/before") + programs))
theirs=$(ls "$work/programs" | grep -v "^${first%-*}-" | head -n 1)
cp "$work/programs/$theirs" "$work/programs/$first"     # another driver's program under our name
mended foreign
FAKE_OPENCL=nobinary again nobinary
export UNROLL_OPENCL_CACHE=$work/text/none              # no folder can be created there
again nowhere
export UNROLL_OPENCL_CACHE=$work/shared
begin "$work/one" & other=$!
"$unroll" train "$work/text" --cell rnn --hidden 4 --layers 1 --batch 4 --bptt 5 --steps 10 --val 0 --seed 3 \
    --sample-every 0 --device opencl --out "$work/two" >/dev/null 2>"$work/log3"
check test $? = 0
wait $other
check test $? = 0
check same_weights "$work/one"
check same_weights "$work/two"
check test "$(ls "$work/shared" | wc -l)" = "$programs" # and no partial files
echo "test_opencl_fails: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
