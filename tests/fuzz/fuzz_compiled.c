/* Fuzz target: arbitrary bytes as a program compiled by XLA (extensions/xla/compiled.h) give plausible numbers or an
 * error. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/compiled 20000 */
#include "extensions/xla/compiled.h"
#include "unroll.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void read_as(const uint8_t *data, size_t size, const char *format)
{
    static struct compiled c;
    if (read_compiled(data, size, format, &c) != UNROLL_OK) {
        if (!*unroll_last_error())
            abort();
        return;
    }
    if (!(c.cycles >= 0) || c.loop_cycles > c.cycles * (1 + 1e-9) || c.aliases > COMPILED_ARGUMENTS || c.loops < 0)
        abort();
    for (int i = 1; i < COMPILED_COSTLIEST; i++)
        if (c.costliest[i].cycles > c.costliest[i - 1].cycles)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as(data, size, "hlo_with_config");
    read_as(data, size, "hlo");
    return 0;
}
