#!/bin/sh
# Compares the OpenCL device with the CPU on a real driver, PoCL for CPUs: bits and cases, the command, cached programs.
# Usage: check_opencl.sh BUILD [long]: all cases, and all forms of kernels, which other devices use
# test: args=$B; needs=$B/unroll $B/tests/cases/test_curve $B/tests/cases/test_device $B/tests/cases/test_several $B/tests/device/test_opencl; seconds=40
# test: kinds=long-plain; args=$B long; needs=$B/unroll $B/tests/cases/test_curve $B/tests/cases/test_device $B/tests/cases/test_several $B/tests/device/test_opencl; seconds=40
build=$1
unroll=$build/unroll
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0 failed=0
check() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; fi; }
count() {       # adds up the last line of a program
    "$@" >"$work/log" 2>&1
    grep FAILED "$work/log"
    counts=$(sed -nE 's/^[^:]+: ([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$work/log" | tail -n 1)
    passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
    test -n "$counts" || { failed=$((failed + 1)); tail -n 5 "$work/log"; }
}
if "$unroll" devices | grep -q '^opencl none'; then
    echo "skipped: $("$unroll" devices | grep '^opencl none')"
    echo "check_opencl: 0 passed, 0 failed, 1 skipped"
    exit 0
fi
# PoCL caches its builds in the build folder, so a second run compiles nothing. With our own cache, too, PoCL would
# build each kernel twice.
mkdir -p "$build/opencl"
POCL_CACHE_DIR=$(cd "$build/opencl" && pwd)/pocl UNROLL_OPENCL_CACHE=
export UNROLL_OPENCL_CACHE POCL_CACHE_DIR

if [ "$2" = long ]; then
    count "$build/tests/device/test_opencl" tests/cases/cases.txt
    count "$build/tests/cases/test_device" opencl tests/cases/cases.txt
    count "$build/tests/cases/test_curve" opencl
    count "$build/tests/cases/test_several" cpu,opencl tests/cases/cases.txt
    for form in scalar pairs scalar,pairs; do
        UNROLL_OPENCL_FORM=$form count "$build/tests/device/test_opencl" tests/cases/short.txt
        UNROLL_OPENCL_FORM=$form count "$build/tests/cases/test_device" opencl tests/cases/short.txt
    done
    echo "check_opencl: $passed passed, $failed failed, 0 skipped"
    test "$failed" = 0
    exit
fi
count "$build/tests/device/test_opencl" tests/cases/short.txt
count "$build/tests/cases/test_device" opencl tests/cases/short.txt
# Together with the CPU.
count "$build/tests/cases/test_several" cpu,opencl tests/cases/short.txt
count "$build/tests/cases/test_several" opencl,cpu tests/cases/tiny.txt

# ---- the command ----

# A value of the last line of metrics, to five digits.
last() { tail -n 1 "$2/metrics.jsonl" | sed -nE "s/.*\"$1\": ?([0-9.e+-]+).*/\1/p" | xargs printf '%.4g'; }
head -c 6000 docs/internals/plan.md >"$work/text"
for device in cpu opencl cpu,opencl; do
    "$unroll" train "$work/text" --cell gru --hidden 24 --layers 2 --dropout 0.2 --batch 4 --bptt 16 --steps 12 \
        --val 0.2 --seed 5 --sample-every 0 --log-interval 1 --device $device --out "$work/$device" >/dev/null \
        2>"$work/log" || cat "$work/log"
done
for key in loss norm val_loss; do
    check test -n "$(last $key "$work/opencl")"
    check test "$(last $key "$work/cpu")" = "$(last $key "$work/opencl")"
    check test "$(last $key "$work/cpu")" = "$(last $key "$work/cpu,opencl")"
done
for device in cpu opencl:0 cpu,opencl; do
    "$unroll" eval "$work/cpu" "$work/text" --device $device | cut -c1-6 >"$work/eval-${device%:*}"
    "$unroll" sample "$work/opencl" --length 20 --temperature 0 --device $device >"$work/sample-${device%:*}" 2>&1
    head -c 40 "$work/text" | "$unroll" stream "$work/cpu" --device $device >"$work/stream-${device%:*}" 2>"$work/log"
done
check test "$(wc -l <"$work/stream-opencl")" = 40
for what in eval sample stream; do
    check cmp "$work/$what-cpu" "$work/$what-opencl"
    check cmp "$work/$what-cpu" "$work/$what-cpu,opencl"
done
"$unroll" train --resume "$work/opencl" --steps 14 --device cpu >/dev/null 2>"$work/log"
check test "$(last step "$work/opencl")" = 14
"$unroll" bench --device opencl --shape 1,4,2,8,8 --pass train --seconds 0.001 --profile >"$work/bench" 2>&1
check grep -q 'train in fp32 on opencl' "$work/bench"
check grep -qE '^rnn .* ms' "$work/bench"
"$unroll" bench --device opencl,cpu --shape 2,4,2,8,8 --pass train --seconds 0.001 >"$work/bench" 2>&1
check grep -q 'train in fp32 on opencl, ' "$work/bench"
echo "check_opencl: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
