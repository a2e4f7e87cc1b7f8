#!/bin/sh
# The command on XLA devices, without XLA: the interpreter's plugin computes. Cuts and streams have the CPU's results. A
# plugin that fails or ends the process, and a killed run, leave a message, an exit code and the last checkpoint, from
# which training resumes to the same weights. Usage: test_xla_command.sh BUILD
# test: args=$B; needs=$B/unroll $B/tests/device/fake_plugin.so
unroll=$1/unroll plugin=$1/tests/device/fake_plugin.so
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0 failed=0
check() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; cat "$work/log"; fi; }
train() { "$unroll" train "$@" >"$work/out" 2>"$work/log"; }

head -c 4000 README.md >"$work/text"
begin() {       # 10 steps that are saved
    train "$work/text" --cell gru --hidden 4 --layers 1 --batch 4 --bptt 5 --steps 10 --val 0 --seed 3 \
        --sample-every 0 --device "xla:$plugin" --out "$1"
}
begin "$work/whole" && train --resume "$work/whole" --steps 20
check test -f "$work/whole/ckpt/step-20/model.safetensors"

# ---- the CPU's results ----

# A value of the last line of metrics, to five digits.
last() { tail -n 1 "$2/metrics.jsonl" | sed -nE "s/.*\"$1\": ?([0-9.e+-]+).*/\1/p" | xargs printf '%.4g'; }
try() {         # try NAME ARGUMENTS
    name=$1; shift
    train "$work/text" --cell lstm --hidden 4 --layers 2 --batch 4 --bptt 5 --steps 12 --val 0.2 --seed 3 \
        --sample-every 0 --log-interval 4 --out "$work/$name" "$@"
}
try cpu && try cut --device "xla:$plugin" --split batch=2,hidden=4 && try mean --device "xla:$plugin"
for key in loss norm val_loss; do
    check test -n "$(last $key "$work/cpu")"
    check test "$(last $key "$work/cpu")" = "$(last $key "$work/cut")"
    check test "$(last $key "$work/cpu")" = "$(last $key "$work/mean")"
done
train "$work/text" --device "xla:$plugin" --split layer=2 --out "$work/layers"
check test $? = 4
check grep -q "layers cannot be divided" "$work/log"
train "$work/text" --device "xla:$plugin" --split batch=16 --out "$work/many"
check grep -q "has 8 on this machine" "$work/log"

head -c 40 "$work/text" | "$unroll" stream "$work/cpu" >"$work/here" 2>"$work/log"
head -c 40 "$work/text" | "$unroll" stream "$work/cpu" --device "xla:$plugin" >"$work/there" 2>"$work/log"
check test "$(wc -l <"$work/there")" = 40
check cmp "$work/here" "$work/there"

# ---- failures ----

# fail HOW RUNS CODE CHECKPOINT WORDS: the resumed run fails in this way; its checkpoint is complete and can be resumed
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
fail dies 0 134 10 ""              # as with a signal, no code of ours runs any more

# Killed between two checkpoints: the second one is written at the end of the epoch, after 197 steps.
begin "$work/killed"
"$unroll" train --resume "$work/killed" --steps 100000000 >"$work/out" 2>"$work/log" &
pid=$!
for i in $(seq 12000); do sleep 0.01; test "$(wc -l <"$work/killed/metrics.jsonl")" -gt 2 && break; done
kill -9 $pid
wait $pid 2>/dev/null
train --resume "$work/killed" --steps 20
check cmp "$work/whole/ckpt/step-20/model.safetensors" "$work/killed/ckpt/step-20/model.safetensors"
echo "test_xla_command: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
