#!/bin/sh
# Runs a command with a fake GPU: tests/device/with_fake_cuda.sh BUILD COMMAND... FAKE_CUDA_SEED and other variables are
# explained in fake_cuda/driver.cc.
build=$(cd "$1" && pwd)/tests/device
shift
export UNROLL_CUDA_FIXED=0 UNROLL_CUDA_DRIVER="$build/fake_cuda.so" UNROLL_CUBLASLT="$build/fake_cublaslt.so" \
    UNROLL_NCCL="$build/fake_nccl.so" UNROLL_CUDA_KERNELS="$build/fake_kernels.image"
exec "$@"
