#!/bin/bash
# The command works with a small stack limit: `ulimit -s 400` applies to the process itself and its threads. The library
# alone is tested in tests/cases, on a thread with 256 KB.
#     tests/cli/test_small_stack.sh BINARY
# test: args=$B/unroll
set -u

binary=$(realpath "$1") || exit 2
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p')

passed=0 failed=0
works() {
    (ulimit -s 400 && "$binary" "$@") > output 2>&1 < text.txt
    local status=$?
    if [ $status -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED unroll $*: exit $status: $(tail -n 1 output)"
    fi
}

for line in $(seq 300); do
    echo "line $line: the sea is wide, the sea is deep, and $((line * 7 % 31)) ships sail"
done > text.txt
# Tokens [8, 2], all of them the first token.
{ printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<i4', 'fortran_order': False, 'shape': (8, 2), }"
  head -c 64 /dev/zero; } > tokens.npy

works train text.txt --hidden 96 --layers 2 --batch 16 --bptt 64 --steps 4 --threads 2 --out run
works train text.txt --cell gru --embed 16 --hidden 64 --batch 40 --bptt 32 --steps 4 --out embedded
works train --resume run --steps 6
works eval run text.txt
works sample run --prompt 'line ' --length 20
works stream run
works stream run --dtype bf16
works stream run --dtype int8
works run run tokens.npy -o y.npy
works plot run -o run.svg
works inspect run
works plan --layers 2 --hidden 64
works devices
works check
works bench --shape 1,16,4,8,16 --seconds 0.05
works bench --shape 64,64,128,512,2 --seconds 0.05
works export embedded --to onnx -o model.onnx
works export embedded --to torch -o model.torch
works export embedded --to stablehlo -o model.mlir
works export embedded --to c99 -o model.c
works export embedded --to c99 --dtype int8 -o model8.c
works import model.onnx -o back.safetensors
works import torch model.torch -o again.safetensors
echo "small_stack: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
