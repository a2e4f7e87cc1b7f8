/* to[i] = from[i] + add, or add if from is NULL: one thread per element. */
#ifndef FAKE_CUDA_PROBE_H
#define FAKE_CUDA_PROBE_H
#include <stdint.h>

struct probe_args {
    int32_t *to;
    const int32_t *from;
    int32_t add;
};

#endif
