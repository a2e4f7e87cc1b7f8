/* The default of unroll_machine, and who may leave what of it unused. */
#include "base/machine.h"

#include <string.h>

unroll_machine unroll_machine_default(void) { return (unroll_machine){.size = sizeof(unroll_machine)}; }

unroll_status machine_check(const unroll_machine *m, unsigned uses, const char *who)
{
    static const unroll_machine unset;
    static const struct {
        const char *name;
        size_t at, bytes;
    } fields[] = {
#define MACHINE_FIELD_PLACE(name) { #name, offsetof(unroll_machine, name), sizeof unset.name },
        MACHINE_FIELDS(MACHINE_FIELD_PLACE)
#undef MACHINE_FIELD_PLACE
    };

    CHECK_BEGUN(m, unroll_machine, "unroll_machine_default()");
    for (int i = 0; i < MACHINE_FIELD_N; i++)
        if (!(uses >> i & 1) &&
            memcmp((const char *)m + fields[i].at, (const char *)&unset + fields[i].at, fields[i].bytes))
            return fail(UNROLL_USAGE, "%s has no use for `%s`; fix: leave it out", who, fields[i].name);
    return UNROLL_OK;
}
