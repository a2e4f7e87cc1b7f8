/* Kernels that stopped themselves because they waited too long for another block: the record that they leave in the
 * host's memory, as a sentence. After such a stop the process cannot use the GPU again, but it can read the record. */
#ifndef DEVICE_CUDA_STOPPED_H
#define DEVICE_CUDA_STOPPED_H
#include "base/status.h"
#include "extensions/cuda/kernels/persistent_args.h"
#include <stdbool.h>
#include <stddef.h>

/* Fills in a->record and a->kernel for a launch of the kernel with a->tiling. Allocates the record, once in the
 * process, in memory that the current context can write. */
unroll_status stopped_prepare(struct persistent_args *a, const char *kernel, enum gpu_operand);

/* Describes the record: "lstm_bf16_forward: block 3 waited more than 5 s in round 17 for ..". Returns false if no
 * kernel has stopped. */
bool stopped_describe(char *text, size_t size);

/* The same for a given launch and record. */
void stopped_sentence(const struct tiling *, const char *kernel, enum gpu_operand, const struct wait_record *,
                      char *text, size_t size);

#endif
