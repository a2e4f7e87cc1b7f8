#!/bin/sh
# Names of operations for NVIDIA's profilers: the ranges have the names of the plan's operations, results do not change,
# and missing profilers are refused. The profiler is fake_cuda/profiler.cc; NVIDIA's own headers, if installed, are
# tested with it. Usage: with_fake_cuda.sh BUILD test_nvtx.sh BUILD, from the top folder.
# test: if=g++; run=tests/device/with_fake_cuda.sh $B; args=$B; needs=$B/unroll fake-cuda
unroll=$1/unroll profiler=$1/tests/device/fake_profiler.so
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0 failed=0 skipped=0
check() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; cat "$work/log"; fi; }
profiler=$(realpath "$profiler")
bench() { "$unroll" bench --device cuda --cell gru --shape 2,4,2,8,8 --pass train --seconds 0.001 --profile --json "$@" >"$work/out" 2>"$work/log"; }
train() {
    "$unroll" train docs/reference/glossary.md --cell lstm --hidden 8 --layers 2 --batch 4 --bptt 6 --steps 4 --val 0 --seed 3 \
        --log-interval 1 --sample-every 0 --device cuda --out "$1" >"$work/out" 2>"$work/log"
}

# Names: each range is an operation of the profile, and all operations that take time have ranges.
check env FAKE_PROFILER="$work/ranges" NVTX_INJECTION64_PATH="$profiler" UNROLL_NVTX=1 "$unroll" bench --device cuda \
    --cell gru --shape 2,4,2,8,8 --pass train --seconds 0.001 --profile --json >"$work/out" 2>"$work/log"
tr ',{' '\n\n' <"$work/out" | sed -nE 's/.*"name": ?"([^"]*)".*/\1/p' | sort -u >"$work/timed"
sed -n 's/^begin //p' "$work/ranges" | sort -u >"$work/named"
check grep -q '^rnn g.l0' "$work/named"
check grep -q '^rnn_back g.l1' "$work/named"
check test "$(wc -l <"$work/timed")" -gt 6
check test -z "$(comm -23 "$work/timed" "$work/named")"
check test "$(grep -c '^begin ' "$work/ranges")" = "$(grep -c '^end$' "$work/ranges")"
check test -z "$(uniq -d <"$work/ranges")" # no range begins inside another

# Results: graphs are not used, and nothing else changes. Profilers are called only on request.
check train "$work/plain"
UNROLL_NVTX=1 NVTX_INJECTION64_PATH=$profiler FAKE_PROFILER=$work/ranges
export UNROLL_NVTX NVTX_INJECTION64_PATH FAKE_PROFILER
check train "$work/ranged"
check grep -q '^begin update' "$work/ranges"
check cmp "$work/plain/ckpt/step-4/model.safetensors" "$work/ranged/ckpt/step-4/model.safetensors"
rm "$work/ranges"
UNROLL_NVTX=0
check bench
UNROLL_NVTX=
check bench
check test ! -e "$work/ranges"

# Missing profilers.
refused() { # WORDS, of a single message with a fix
    bench && return 1
    sed ':a; N; $!ba; s/\n  fix: /; fix: /g' "$work/log" | grep "error: .*$1" | grep -q 'fix: '
}
UNROLL_NVTX=yes
check refused 'UNROLL_NVTX=yes is neither 0 nor 1'
UNROLL_NVTX=1
for mood in refuses deaf; do
    export FAKE_PROFILER_MOOD=$mood
    check refused "the profiler .*fake_profiler.so .* no ranges"
done
unset FAKE_PROFILER_MOOD
for file in "$work/none.so" libm.so.6; do
    NVTX_INJECTION64_PATH=$file
    check refused "NVTX_INJECTION64_PATH=$file is no library of a profiler"
done
unset NVTX_INJECTION64_PATH
check refused 'NVTX_INJECTION64_PATH is not set'

# The fake profiler works with NVIDIA's headers, too: they find it and report the same ranges.
echo '#include <nvtx3/nvToolsExt.h>
int main(void) { nvtxRangePushA("a range"); nvtxRangePop(); return 0; }' >"$work/theirs.c"
if cc -isystem /usr/local/cuda/include "$work/theirs.c" -ldl -o "$work/theirs" 2>"$work/log"; then
    export NVTX_INJECTION64_PATH=$profiler
    check "$work/theirs"
    check test "$(cat "$work/ranges")" = 'begin a range
end'
else
    skipped=1
    echo "skipped: NVTX's own headers (nvtx3/nvToolsExt.h) are not here"
fi
echo "test_nvtx: $passed passed, $failed failed, $skipped skipped"
test "$failed" = 0
