/* Clocks of the threads that run on the host: the cycles that kernels' operations would need on a GPU
 * (extensions/cuda/kernels/cycles.h). They model what an operation waits for and which pipes it occupies, but neither
 * caches nor schedulers. */
#ifndef FAKE_CUDA_CLOCK_H
#define FAKE_CUDA_CLOCK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Parts of a step, among which the time of the first thread of the first block is divided. */
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

/* Enables the clock from the next launch on; initially it is off. A round begins when the first thread of the first
 * block reaches CLOCK_WAIT. Rounds from `first` on and before `end` are reported. 0, 0: off. */
void fake_clock_rounds(unsigned first, unsigned end);
double fake_clock_taken(void); /* by those rounds in the last launch */
double fake_clock_of(enum clock_part);

void fake_clock_store(const uint32_t *flag, uint32_t value); /* store_release */

void fake_clock_packet(const void *packet, const uint32_t words[4]); /* store_packet */
void fake_clock_asks(int count);                                     /* a load of `count` packets begins */
void fake_clock_packets(const void *const *packet, int count);       /* all packets have arrived; NULL: none */

/* Marks in kernels. Each thread calls them; those of a warp happen at the same time. */
void fake_clock_part(int part);
void fake_clock_instructions(unsigned count);
void fake_clock_divisions(unsigned count);              /* integer divisions, one after the other */
void fake_clock_shared(unsigned words, unsigned turns); /* words of 4 bytes in `turns` turns that wait for each other */
void fake_clock_loads(unsigned which);                  /* a load of device memory, in one of 8 groups */
void fake_clock_loaded(unsigned which);                 /* its result is needed */

#ifdef __cplusplus
}
#endif
#endif
