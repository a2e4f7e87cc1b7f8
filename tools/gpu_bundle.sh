#!/bin/sh
# A folder for a bare machine with a GPU, which has a driver and perhaps PyTorch, but neither make nor libraries: stripped
# programs with their kernels, the checks and the benchmark, and run.sh, which does all of it. At most 40 MB. Run from the
# top folder, after a build with kernels (make gpu-bundle). Usage: gpu_bundle.sh BUILD FOLDER
build=$1 to=$2
most=40
programs="unroll tests/cases/test_device tests/cases/test_curve tests/session/test_ranks peers/peer_cudnn"
rm -rf "$to" && mkdir -p "$to/lib" "$to/docs" "$to/bench" "$to/tests/device" || exit 1
for program in $programs; do
    mkdir -p "$to/build/$(dirname "$program")"
    strip -o "$to/build/$program" "$build/$program" || exit 1
done
cp -L "$(ldd "$build/unroll" | sed -nE 's/.*libjansson[^ ]* => ([^ ]+).*/\1/p')" "$to/lib" 2>/dev/null
cp -r tests/cases "$to/tests/" && rm -f "$to"/tests/cases/*.[ch] "$to"/tests/cases/*.sh
cp tests/device/gpu_check.sh "$to/tests/device/"
cp bench/gpu.py bench/run.py bench/peer.py bench/peer_torch_cuda.py bench/regimes-gpu.txt "$to/bench/"
cp README.md "$to/" && cp docs/plan.md "$to/docs/" && cp tools/gpu_bundle_run.sh "$to/run.sh" || exit 1
size=$(du -sm "$to" | cut -f1)
echo "$to: $size MB"
test "$size" -le $most || { echo "FAILED: more than $most MB; fix: fewer GPU_CODES"; exit 1; }
