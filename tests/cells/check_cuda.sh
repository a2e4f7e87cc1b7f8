#!/bin/sh
# Do the portable kernels, and with them all cells, compile for a GPU (sm_80), without a stack and without spills?
# Needs no GPU. Usage: tests/cells/check_cuda.sh [NVCC], from the top folder.
nvcc=${1:-nvcc}
if ! command -v "$nvcc" >/dev/null; then
    echo "check_cuda: 0 passed, 0 failed, 1 skipped: there is no nvcc here"
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
for kernels in cells rows sums update; do
    if ! "$nvcc" -std=c++17 -arch=sm_80 -Isrc -Iinclude -Xptxas -v -c "src/device/cuda/$kernels.cu" \
        -o "$work/$kernels.o" 2>>"$work/log"; then
        cat "$work/log"
        echo "check_cuda: 0 passed, 1 failed, 0 skipped"
        exit 1
    fi
done
kernels=$(grep -c 'Compiling entry function' "$work/log")
good=$(grep -A1 'Function properties for [a-z_]*gpu_' "$work/log" |
       grep -c ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads')
echo "check_cuda: $good passed, $((kernels - good)) failed, 0 skipped"
test "$kernels" -gt 0 && test "$good" = "$kernels"
