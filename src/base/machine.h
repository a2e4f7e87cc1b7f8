/* unroll_machine, as what runs something checks it: who has no use for a field refuses it. What a field means is the
 * business of those who use it. */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H
#include "base/status.h"

#define MACHINE_FIELDS(FIELD)                                                                          \
    FIELD(device) FIELD(isa) FIELD(precision) FIELD(dtype) FIELD(threads) FIELD(queues) FIELD(chunks)   \
    FIELD(checkpoint_time) FIELD(memory) FIELD(comm) FIELD(split) FIELD(exact) FIELD(sum)

enum machine_field {
#define MACHINE_FIELD_ENUM(name) MACHINE_##name,
    MACHINE_FIELDS(MACHINE_FIELD_ENUM)
#undef MACHINE_FIELD_ENUM
        MACHINE_FIELD_N
};

/* uses: 1 << MACHINE_isa | ..; all others must be as unroll_machine_default() has them. who: "a stream". */
unroll_status machine_check(const unroll_machine *, unsigned uses, const char *who);
enum { MACHINE_ALL = (1 << MACHINE_FIELD_N) - 1 };

#endif
