/* Runs an exported model on all frames of run.h and prints the bits of the outputs and the ticks of all steps. For a
 * bare Cortex-M (examples/cortex_m/board.c) or, with HOSTED, for a computer; test_cortex.sh compares the output. */
#include "run.h"
#ifdef HOSTED
#include <stdio.h>

static void board_write(const char *text) { fputs(text, stdout); }

static uint32_t board_ticks(void) { return 0; }
#else
#include "board.h"
#endif

static void write_hex(uint32_t value)
{
    char text[10];
    for (int i = 0; i < 8; i++) text[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
    text[8] = '\n';
    text[9] = 0;
    board_write(text);
}

static MODEL model;
static float y[OUTPUTS];

int main(void)
{
    uint32_t ticks = 0;
    INIT(&model);
    for (int t = 0; t < FRAMES; t++) {
        uint32_t bits, before = board_ticks();
        STEP(&model, FRAME(t), y);
        ticks += (before - board_ticks()) & 0xffffff;
        for (int i = 0; i < OUTPUTS; i++) {
            __builtin_memcpy(&bits, &y[i], sizeof bits);
            write_hex(bits);
        }
    }
    board_write("ticks ");
    write_hex(ticks);
    return 0;
}
