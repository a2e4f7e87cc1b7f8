/* A character model that writes text on a microcontroller: it reads a prompt, then continues with the likeliest
 * characters. docs/howto/microcontrollers.md shows how to train, export, compile and run it. */
#include "board.h"
#include "poet.h"
#include <string.h>

static struct poet poet;                    /* all variable data; weights are in flash */
static float y[POET_OUTPUTS];

static int32_t token_of(char letter)
{
    for (int32_t i = 0; i < POET_SYMBOLS; i++)
        if (poet_symbol[i][0] == letter && poet_symbol[i][1] == '\0')
            return i;
    return -1;                              /* treated as no symbol */
}

static int32_t likeliest(void)
{
    int32_t best = 0;
    for (int32_t i = 1; i < POET_OUTPUTS; i++)
        best = y[i] > y[best] ? i : best;
    return best;
}

static void write_number(uint32_t value)
{
    char text[11], *at = text + 10;
    *at = '\0';
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    board_write(at);
}

int main(void)
{
    const char *beginning = "  You may ";
    uint32_t ticks = 0, steps = 0;
    poet_init(&poet);
    board_write(beginning);
    for (const char *c = beginning; *c; c++)
        poet_step(&poet, token_of(*c), y);
    for (; steps < 120; steps++) {
        int32_t token = likeliest();
        board_write(poet_symbol[token]);
        uint32_t before = board_ticks();
        poet_step(&poet, token, y);
        ticks += (before - board_ticks()) & 0xffffff;
    }
    board_write("\n");
    write_number(ticks / steps);
    board_write(" ticks a step\n");
    return 0;
}
