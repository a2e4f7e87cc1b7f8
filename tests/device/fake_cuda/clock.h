/* Clocks of the threads that run on the host: cycles that kernels' words would take on a GPU
 * (src/device/cuda/cycles.h). Not a simulator of a multiprocessor: what a word waits for and what pipes it fills,
 * nothing of caches or schedulers. */
#ifndef FAKE_CUDA_CLOCK_H
#define FAKE_CUDA_CLOCK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Parts of a step, by which the time of the first thread of the first block is divided. */
enum clock_part {
    CLOCK_SETUP,
    CLOCK_WAIT,
    CLOCK_PRODUCT,
    CLOCK_SUMS,
    CLOCK_CELL,
    CLOCK_SEND,
    CLOCK_AFTER,
    CLOCK_PARTS
};

/* From the next launch on; off at first. Rounds begin where the first thread of the first block comes to CLOCK_WAIT;
 * what is told is of the rounds from `first` on, before `end`. 0, 0: off again. */
void fake_clock_rounds(unsigned first, unsigned end);
double fake_clock_taken(void); /* by those rounds, in the last launch */
double fake_clock_of(enum clock_part);

void fake_clock_store(const uint32_t *flag, uint32_t value); /* store_release */

void fake_clock_packet(const void *packet, const uint32_t words[4]); /* store_packet */
void fake_clock_asks(int count);                                     /* ask_for_packets begins to load so many */
void fake_clock_packets(const void *const *packet, int count); /* wait_for_packets has seen them all; NULL: none */

/* What is not a word: marks that kernels have. Each thread calls them, a warp's at once. */
void fake_clock_part(int part);
void fake_clock_instructions(unsigned count);
void fake_clock_divisions(unsigned count); /* of integers, each after the other */
void fake_clock_shared(unsigned words,
                       unsigned turns); /* words of 4 bytes, in so many turns that wait for each other */
void fake_clock_loads(unsigned which);  /* of device memory, one of 8 groups: asked for here */
void fake_clock_loaded(unsigned which); /* and needed here */

#ifdef __cplusplus
}
#endif
#endif
