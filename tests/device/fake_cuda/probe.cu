/* A kernel for the tests of the fake driver alone. */
#include "device/cuda/gpu.cuh"
#include "fake_cuda/probe.h"

KERNEL_BOUNDS(fake_probe, struct probe_args, 128, 1)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    a.to[i] = a.from ? a.from[i] + a.add : a.add;
}
