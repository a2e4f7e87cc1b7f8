/* The default of unroll_machine. */
#include "base/sized.h"
#include "unroll.h"

void unroll_machine_begin(unroll_machine *config, size_t size)
{
    const unroll_machine standard = {.size = sizeof(unroll_machine), .pieces = 1, .time_tolerance = 1e-6f};
    sized_begin(&standard, sizeof standard, config, size);
}
