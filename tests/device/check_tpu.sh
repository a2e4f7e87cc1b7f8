#!/bin/sh
# make tpu-check: libtpu from PyPI (some 140 MB packed, 500 MB unpacked) compiles every training step in the list of
# cases for each kind of TPU, and NVIDIA's plugin (135 MB packed) is loaded and initialized. No TPU or GPU is needed:
# the plugin passes if it reports that there is no GPU, or names one.
# Usage: check_tpu.sh BUILD [cases.txt]
build=$1 cases=${2:-tests/cases/cases.txt}
get() {         # get PACKAGE FOLDER FILE: unpacks it below BUILD, once
    test -f "$build/$2/$3" && return
    mkdir -p "$build/$2" && python3 -m pip download -q --no-deps --only-binary=:all: -d "$build/$2-wheel" "$1" &&
        python3 -m zipfile -e "$build/$2-wheel"/*.whl "$build/$2" && rm -r "$build/$2-wheel" && test -f "$build/$2/$3"
}
get 'libtpu!=0.0.45' tpu libtpu/libtpu.so || { echo "check_tpu: libtpu could not be had from PyPI"; exit 1; }
get jax-cuda13-pjrt cuda13 jax_plugins/xla_cuda13/xla_cuda_plugin.so ||
    { echo "check_tpu: jax-cuda13-pjrt could not be had from PyPI"; exit 1; }
cuda=$build/cuda13/jax_plugins/xla_cuda13/xla_cuda_plugin.so
said=$(PJRT_PLUGIN=$cuda "$build/unroll" devices 2>/dev/null | grep '^xla ')
case $said in
*"while creating a client: No visible GPU devices."* | "xla    cuda, plugin"*"(interface 0."*) echo "$said" ;;
*) echo "check_tpu: FAILED: NVIDIA's plugin: $said"; exit 1 ;;
esac
tpu=$build/tpu/libtpu/libtpu.so
# A training step that is cut in both ways: one program for four chips, with sums and gathers between them.
cut=$("$build/unroll" plan --device "xla:$tpu" --topology v5e:2x2 --split batch=2,hidden=2 --layers 2 --dropout 0.1 \
    --bptt 16 --batch 8 2>&1)
case $cut in
*" on 4 of 4 devices;"*"donated:  30 of 30 arguments"*) echo "$cut" | grep -A 1 '^TPU ' ;;
*) echo "check_tpu: FAILED: a cut step: $cut"; exit 1 ;;
esac
"$build/tests/cases/test_ahead" "xla:$tpu" "$cases" v4:2x2x1 v5e:2x2 v5p:2x2x1 v6e:2x2 || exit 1
