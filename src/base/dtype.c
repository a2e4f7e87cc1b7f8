/* Names and sizes of the element types, generated from DTYPE_LIST. */
#include "base/dtype.h"

static const struct {
    const char *name;
    size_t bytes;
} table[DTYPE_COUNT] = {
#define DTYPE_ROW(name, bytes) {#name, bytes},
    DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};

const char *dtype_name(enum dtype dtype) { return table[dtype].name; }

size_t dtype_size(enum dtype dtype) { return table[dtype].bytes; }

bool dtype_parse(const char *name, enum dtype *dtype)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(name, table[i].name) == 0) {
            *dtype = (enum dtype)i;
            return true;
        }
    }
    return false;
}

static const struct {
    const char *name;
    enum dtype dtype;
} weights[] = {{"fp32", DTYPE_F32}, {"bf16", DTYPE_BF16}, {"int8", DTYPE_I8}};

unroll_status weights_choose(const char *name, enum dtype *dtype)
{
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        if (strcmp(name ? name : "fp32", weights[i].name) == 0) {
            *dtype = weights[i].dtype;
            return UNROLL_OK;
        }
    return fail(UNROLL_USAGE, "`dtype` = '%.40s'; fix: choose one of fp32, bf16, int8", name);
}

const char *weights_name(enum dtype dtype)
{
    size_t i = 0;
    while (weights[i].dtype != dtype) i++;
    return weights[i].name;
}
