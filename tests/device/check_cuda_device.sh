#!/bin/sh
# The command on the fake GPU: train, eval, sample, run, bench, resume on another device.
# Usage: with_fake_cuda.sh BUILD check_cuda_device.sh BUILD, from the top folder.
# test: if=g++; run=tests/device/with_fake_cuda.sh $B; args=$B; needs=$B/unroll fake-cuda; seconds=20
unroll=$1/unroll
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0 failed=0
check() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; fi; }
last() { tail -n 1 "$2/metrics.jsonl" | sed -nE "s/.*\"$1\": ?([0-9.e+-]+).*/\1/p" | xargs printf '%.4g'; }
begins_alike() { test -n "$1" && test "$(printf %.6s "$1")" = "$(printf %.6s "$2")"; }
says() { grep -q "$2" "$1"; }

"$unroll" devices >"$work/devices"
check says "$work/devices" '^cuda   Fake H200 (sm_90, 132 processors'
head -c 3000 docs/internals/plan.md >"$work/text"
for device in cpu cuda; do
    "$unroll" train "$work/text" --cell gru --hidden 12 --layers 2 --dropout 0.2 --batch 4 --bptt 8 --steps 12 \
        --val 0.2 --seed 5 --sample-every 0 --log-interval 1 --device $device --out "$work/$device" >/dev/null \
        2>"$work/log" || cat "$work/log"
done
check test -n "$(last loss "$work/cuda")"
check test "$(last loss "$work/cpu")" = "$(last loss "$work/cuda")"
check test "$(last val_loss "$work/cpu")" = "$(last val_loss "$work/cuda")"
check begins_alike "$("$unroll" eval "$work/cpu" "$work/text")" "$("$unroll" eval "$work/cpu" "$work/text" --device cuda:0)"
"$unroll" sample "$work/cuda" --length 20 --temperature 0 >"$work/here" 2>&1
"$unroll" sample "$work/cuda" --length 20 --temperature 0 --device cuda >"$work/there" 2>&1
check cmp "$work/here" "$work/there"
"$unroll" train --resume "$work/cuda" --steps 14 --device cpu >/dev/null 2>"$work/log"
check test "$(last step "$work/cuda")" = 14
"$unroll" bench --device cuda --precision bf16 --shape 1,4,2,8,8 --pass train --seconds 0.001 >"$work/bench" 2>&1 ||
    cat "$work/bench"
check says "$work/bench" 'train in bf16 on sm_90'
check says "$work/bench" "by the device's clock"
echo "check_cuda_device: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
