/* The default of unroll_machine, for whoever runs something. */
#include "unroll.h"

unroll_machine unroll_machine_default(void)
{
    return (unroll_machine){.size = sizeof(unroll_machine), .pieces = 1, .time_tolerance = 1e-6f};
}
