/* A kernel used only by the tests of the fake driver. */
#include "extensions/cuda/kernels/gpu.cuh"
#include "fake_cuda/probe.h"

KERNEL_BOUNDS(fake_probe, struct probe_args, 128, 1)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    a.to[i] = a.from ? a.from[i] + a.add : a.add;
}
