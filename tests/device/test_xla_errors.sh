#!/bin/sh
# What becomes of a training when the XLA plugin fails, ends the process, or the run is killed: a sentence, an exit
# code, and the last checkpoint, from which the training goes on to the same weights. Usage: test_xla_errors.sh BUILD
unroll=$1/unroll plugin=$1/tests/device/fake_plugin.so
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0 failed=0
check() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; cat "$work/log"; fi; }
train() { "$unroll" train "$@" >"$work/out" 2>"$work/log"; }

head -c 4000 README.md >"$work/text"
begin() {       # 10 steps that are kept
    train "$work/text" --cell gru --hidden 4 --layers 1 --batch 4 --bptt 5 --steps 10 --val 0 --seed 3 \
        --sample-every 0 --device "xla:$plugin" --out "$1"
}
begin "$work/whole" && train --resume "$work/whole" --steps 20
check test -f "$work/whole/ckpt/step-20/model.safetensors"

# fail HOW RUNS CODE CHECKPOINT WORDS: the resumed run ends so, its checkpoint is whole, and it can go on.
fail() {
    begin "$work/$1" || check false
    FAKE_PLUGIN=$1 FAKE_PLUGIN_RUNS=$2 train --resume "$work/$1" --steps 20
    check test $? = "$3"
    check grep -q "$5" "$work/log"
    check test -f "$work/$1/ckpt/step-$4/model.safetensors"
    train --resume "$work/$1" --steps 20
    check cmp "$work/whole/ckpt/step-20/model.safetensors" "$work/$1/ckpt/step-20/model.safetensors"
}
fail noexecute 5 5 15 "out of memory"
fail faints 5 5 10 "the device was lost"
fail nocompile 0 5 10 "failed while compiling"
fail dies 0 134 10 ""              # as a signal: nothing of ours runs any more

# Killed between two checkpoints.
begin "$work/killed"
"$unroll" train --resume "$work/killed" --steps 100000000 >"$work/out" 2>"$work/log" &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; test "$(wc -l <"$work/killed/metrics.jsonl")" -gt 2 && break; done
kill -9 $pid
wait $pid 2>/dev/null
train --resume "$work/killed" --steps 20
check cmp "$work/whole/ckpt/step-20/model.safetensors" "$work/killed/ckpt/step-20/model.safetensors"
echo "test_xla_errors: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
