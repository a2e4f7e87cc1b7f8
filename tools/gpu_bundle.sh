#!/bin/sh
# Makes a folder for a bare machine with a GPU, which has a driver and perhaps PyTorch, but neither make nor libraries.
# It holds one stripped program, which contains the kernels and the test programs, as well as the checks, the benchmark
# and run.sh, which runs them all. At most 40 MB. Run it in the top folder (make gpu-bundle). Usage: gpu_bundle.sh BUILD
# FOLDER
build=$1 to=$2
most=40
rm -rf "$to" && mkdir -p "$to/build/tests/cases" "$to/build/tests/session" "$to/build/peers" "$to/docs/internals" "$to/bench" \
    "$to/tests/device" || exit 1
strip -o "$to/build/unroll" "$build/bundled/unroll" && strip -o "$to/build/peers/peer_cudnn" "$build/peers/peer_cudnn" || exit 1
# Built only with nvcc.
test ! -f "$build/peers/gpu_probe" || strip -o "$to/build/peers/gpu_probe" "$build/peers/gpu_probe" || exit 1
for program in tests/cases/test_device tests/cases/test_ways tests/cases/test_curve tests/session/test_ranks; do
    printf '#!/bin/sh\nexec "${0%%%s}unroll" %s "$@"\n' "$program" "$program" >"$to/build/$program"
    chmod +x "$to/build/$program" || exit 1
done
jansson=$(ldd "$to/build/unroll" | sed -nE 's/.*libjansson[^ ]* => ([^ ]+).*/\1/p') # static if there is an archive
test -z "$jansson" || { mkdir -p "$to/lib" && cp -L "$jansson" "$to/lib"; } || exit 1
cp -r tests/cases "$to/tests/" && rm -f "$to"/tests/cases/*.[ch] "$to"/tests/cases/*.sh
cp tests/device/gpu_check.sh "$to/tests/device/"
cp bench/gpu.py bench/run.py bench/regimes.py bench/peer.py bench/peer_torch_cuda.py bench/regimes-gpu.txt "$to/bench/"
cp README.md "$to/" && cp docs/internals/plan.md "$to/docs/internals/" && cp tools/gpu_bundle_run.sh "$to/run.sh" || exit 1
size=$(du -sm "$to" | cut -f1)
echo "$to: $size MB"
test "$size" -le $most || { echo "FAILED: more than $most MB; fix: use fewer GPU_CODES"; exit 1; }
