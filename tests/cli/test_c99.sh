#!/bin/bash
# `unroll export --to c99` from the user's side: the report, the object of --json, which errors are reported with which
# exit code, and that no files remain. What the C code computes is tested in tests/export.
#     tests/cli/test_c99.sh BINARY
# test: args=$B/unroll; seconds=15
set -u
binary=$(realpath "$1") || exit 2
place=$(mktemp -d) || exit 2
trap 'chmod -R u+w "$place"; rm -rf "$place"' EXIT
cd "$place" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p')
passed=0 failed=0 skipped=0
holds() {
    local name=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name"; fi
}
# refuses NAME EXIT_CODE WORD OPTIONS...: fails with a message that has a fix or a reason, and writes no files
refuses() {
    local name=$1 code=$2 word=$3
    shift 3
    "$binary" export "$@" >out 2>err
    holds "$name: exit code $code" test $? -eq "$code"
    holds "$name: says '$word'" grep -qF -- "$word" err
    holds "$name: leaves nothing" test ! -e refused/unroll_model.c -a ! -e refused/unroll_model.h
}

for _ in $(seq 60); do echo "the quick brown fox jumps over the lazy dog"; done >text.txt
"$binary" train text.txt --hidden 8 --layers 1 --steps 4 --batch 4 --bptt 8 --out run >log 2>&1 ||
    { cat log; exit 1; }

"$binary" export run/model.safetensors --to c99 -o c >out 2>err
holds "exports" test $? -eq 0
holds "both files" test -s c/unroll_model.c -a -s c/unroll_model.h
holds "the report" test "$(grep -cE '^(flash:|RAM:  |step: |       about|saved c$)' out)" -eq 7
holds "no word on standard error" test ! -s err
"$binary" export run --to c99 --dtype int8 --prefix small -o c --json >out 2>err
holds "exports integers" test $? -eq 0
holds "one line of JSON" test "$(wc -l <out)" -eq 1
if command -v python3 >/dev/null; then
    holds "the object" python3 -c '
import json
o = json.load(open("out"))
assert o["prefix"] == "small" and o["dtype"] == "int8"
assert set(o["cycles"]) == {"Cortex-M4F", "Cortex-M7", "Cortex-M0+"}
assert o["multiply_accumulates"] > 0 and o["weight_bytes"] > o["multiply_accumulates"] / 2'
else
    skipped=$((skipped + 1))
fi
# Tokens 0 .. 3, [20], as an .npy.
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<i4', 'fortran_order': False, 'shape': (20,), }"
    for i in $(seq 5); do printf '\000\000\000\000\001\000\000\000\002\000\000\000\003\000\000\000'; done
} >tokens.npy
"$binary" export run --to c99 --dtype int8 -o c --calibrate tokens.npy >out 2>err
holds "what integers cost" grep -qE '^cost: .* 20 steps: noise [0-9.]+ dB .* loss [0-9.]+ instead of [0-9.]+ nats$' out
"$binary" export run --to c99 --dtype int8 -o c --calibrate tokens.npy --json >out 2>err
holds "what integers cost, as JSON" grep -q '"loss_of_integers"' out
holds "the header has the prefix" \
    grep -q 'void small_step(struct small \*s, int32_t token, float \*y);' c/small.h
holds "the header has the tokens" grep -q 'small_symbol\[SMALL_SYMBOLS\]' c/small.h

refuses "no folder" 2 "FILE" run --to c99
refuses "another type" 2 "choose one of fp32, int8" run --to c99 -o refused --dtype bf16
refuses "a bad prefix" 2 "--prefix 'a-b'" run --to c99 -o refused --prefix a-b
refuses "a calibration of floats" 2 "--dtype int8" run --to c99 -o refused --calibrate x.npy
refuses "no calibration" 3 "x.npy" run --to c99 -o refused --dtype int8 --calibrate x.npy
refuses "a calibration that is none" 3 "text.txt" run --to c99 -o refused --dtype int8 --calibrate text.txt
refuses "no model" 3 "nothing" nothing --to c99 -o refused
refuses "a file in the place of the folder" 5 "text.txt" run --to c99 -o text.txt
mkdir -p half/unroll_model.h && echo mine >half/unroll_model.c
refuses "a header that cannot be written" 5 "half/unroll_model.h" run --to c99 -o half
holds "the source of before is kept" grep -q mine half/unroll_model.c
if [ -c /dev/full ] && [ "$(id -u)" = 0 ] && mkdir tiny &&
    mount -t tmpfs -o size=4k tmpfs tiny 2>/dev/null; then
    refuses "a full disk" 5 "tiny" run --to c99 -o tiny
    holds "a full disk: nothing is left" test -z "$(ls tiny)"
    umount tiny
else
    skipped=$((skipped + 1))
    echo "skipped: a full disk needs the right to mount one"
fi
echo "c99 command: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
