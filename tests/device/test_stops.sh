#!/bin/sh
# A kernel that waits too long for another block stops, and the command prints which block, round and packet it waited
# for. One packet is lost (FAKE_CUDA_DROP). Usage: with_fake_cuda.sh BUILD test_stops.sh BUILD, from the top folder.
# test: if=g++; run=tests/device/with_fake_cuda.sh $B; args=$B; needs=$B/unroll fake-cuda
unroll=$1/unroll
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0 failed=0
check() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; cat "$work/out"; fi; }
says() { grep -Eq "$1" "$work/out"; }
export FAKE_CUDA_LEAKS=allow
bench() { "$unroll" bench --device cuda --cell lstm --shape 1,6,5,32,32 --pass infer --seconds .001 >"$work/out" 2>&1; }
for way in grid cluster; do
    export UNROLL_CUDA_ALGORITHM=$way
    check bench
    FAKE_CUDA_DROP=30 bench
    check test $? != 0
    check says "the kernel lstm_fp32_forward stopped: block [0-9]+ \(block [0-9]+ of group [0-9]+\) waited more than 5 s in round [0-9]+ for "
    case $way in
    grid) check says "in round [0-9]+ for row [0-7] of chunk 0 from block [0-9]+, and this process cannot use the GPU again" ;;
    *) check says "for the operand of chunk 0 from its cluster, and this process cannot use the GPU again" ;;
    esac
    check says "fix: start again with UNROLL_CUDA_ALGORITHM=portable"
done
echo "test_stops: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
