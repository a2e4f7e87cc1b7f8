#!/bin/sh
# The folder for a bare machine with a GPU (tools/gpu_bundle.sh), without one: what is absent is said; on the fake driver,
# whose kernels stand for those of the build, all parts run, with a result each. Needs the fakes and BUILD/bundled/unroll.
# Usage: test_bundle.sh BUILD, from the top folder.
build=$1
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0 failed=0
check() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; cat "$work/out"; fi; }
says() { grep -Eq "$1" "$work/out"; }

check tools/gpu_bundle.sh "$build" "$work/bundle" >"$work/out" 2>&1
printf 'tiny one lstm bf16 1,3,2,8,8 - -\ntiny two gru fp32 1,3,2,8,8 ragged -\n' >"$work/bundle/bench/regimes-gpu.txt"
mkdir "$work/elsewhere" && mv "$work/bundle" "$work/elsewhere/" || exit 1
run=$work/elsewhere/bundle/run.sh

UNROLL_CUDA_DRIVER=/nowhere/libcuda.so.1 sh "$run" >"$work/out" 2>&1
check test $? = 1
check says '^starts: ok'
check says '^gpu: FAILED: there is no GPU that can be used: cuda +none: the CUDA driver named by UNROLL_CUDA_DRIVER'
check says '^check: skipped: it wants a GPU'
check says '^gpu bundle: [0-9]+ parts passed, 1 failed'

export CASES=tests/cases/tiny.txt HIDDEN=8 STEPS=2 BYTES=1500
tests/device/with_fake_cuda.sh "$build" sh "$run" >"$work/out" 2>&1
check test $? = 0
check says '^check: ok .* gpu_check: [1-9][0-9]+ passed, 0 failed'
check says '^    cases, grid: [1-9][0-9]* passed, 0 failed'
check says '^bench.*: ok'
check says '^gpu bundle: [4-9] parts passed, 0 failed'

# Without Python our times alone; a part that takes too long ends, and the next begins.
mkdir "$work/bin"
for tool in sh cat date dirname grep head mkdir mktemp rm sed sha256sum sleep tail tee test timeout tr awk cut env printf; do
    ln -s "$(command -v "$tool")" "$work/bin/$tool" 2>/dev/null
done
LIMIT=1 PATH=$work/bin tests/device/with_fake_cuda.sh "$build" sh "$run" >"$work/out" 2>&1
check test $? = 1
check says '^check: FAILED: more than 1 s'
check says '^peers: skipped: there is no python3'
check says '^bench-tiny-two-train: ok .* gru 1,3,2,8,8 ragged'
echo "test_bundle: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
