/* A bare Cortex-M board as emulated by QEMU: text output by semihosting, and a clock. board.c calls main(). */
#ifndef BOARD_H
#define BOARD_H
#include <stdint.h>

void board_write(const char *text);
uint32_t board_ticks(void);         /* the processor's clock (25 MHz on an MPS2), decreasing, 24 bits */

#endif
