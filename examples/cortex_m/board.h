/* A bare Cortex-M board as QEMU emulates it: text out by semihosting, and a clock.
 * main() is called by board.c. */
#ifndef BOARD_H
#define BOARD_H
#include <stdint.h>

void board_write(const char *text);
uint32_t board_ticks(void);         /* the processor's clock (25 MHz of an MPS2), falling, 24 bits */

#endif
