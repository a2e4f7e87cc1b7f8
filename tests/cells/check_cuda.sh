#!/bin/sh
# Do all cells compile for a GPU (sm_80), without a stack and without spills? Needs no GPU.
# Usage: tests/cells/check_cuda.sh [NVCC], from the top folder.
nvcc=${1:-nvcc}
if ! command -v "$nvcc" >/dev/null; then
    echo "check_cuda: 0 passed, 0 failed, 1 skipped: there is no nvcc here"
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
if ! "$nvcc" -arch=sm_80 -Isrc -Xptxas -v -c src/cells/cells_cuda.cu -o "$work/cells.o" 2>"$work/log"; then
    cat "$work/log"
    echo "check_cuda: 0 passed, 1 failed, 0 skipped"
    exit 1
fi
kernels=$(grep -c 'Function properties' "$work/log")
good=$(grep -c ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' "$work/log")
echo "check_cuda: $good passed, $((kernels - good)) failed, 0 skipped"
test "$kernels" -gt 0 && test "$good" = "$kernels"
