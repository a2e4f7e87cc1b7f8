/* The tables of kernels that this machine can run and that must give the scalar bits. */
#ifndef TESTS_CELLS_ISA_H
#define TESTS_CELLS_ISA_H
#include "base/system/processor.h"
#include "toys.h"

struct isa_table {
    const char *name;
    const struct cell_kernels *const *cells, *const *toys;
    bool int8_alone; /* cells have only fused steps with int8 weights; they come last */
};

enum { MOST_ISAS = 6 }; /* with the NULL name */

/* Fills in the list, terminated by a NULL name. */
static inline void find_isas(struct isa_table isa[MOST_ISAS])
{
    int count = 0;
#ifdef __x86_64__
    if (isa_available(ISA_AVX2))
        isa[count++] = (struct isa_table){"avx2", cells_avx2, toys_avx2, false};
    if (isa_available(ISA_AVX512)) {
        isa[count++] = (struct isa_table){"avx512", cells_avx512, toys_avx512, false};
        isa[count++] = (struct isa_table){"avx512, two", cells_two_registers, toys_two_registers, false};
    }
    if (isa_available(ISA_AVX512_VNNI))
        isa[count++] = (struct isa_table){"avx512_vnni", cells_avx512_vnni, toys_avx512, true};
    if (isa_available(ISA_AVX2))
        isa[count++] = (struct isa_table){"avx2, int8 alone", cells_int8_avx2, toys_avx2, true};
#endif
#ifdef __aarch64__
    isa[count++] = (struct isa_table){"neon", cells_neon, toys_neon, false};
#endif
    isa[count].name = NULL;
}

/* Options for all cells; cells with configurable functions get some with parameters. */
#define SOME_OPTIONS                                                                                            \
    (struct cell_options){ .clip = 1.5f, .input_forget = true,                                                       \
        .function = { { ACTIVATION_HARD_SIGMOID, 0.3f, 0.4f }, { ACTIVATION_SOFTSIGN, 0, 0 }, { ACTIVATION_ELU, 0.7f, 0 } } }

#endif
