/* Lookups in a cell table and in a declaration. Independent of any particular table. */
#include "nn/cells/cell.h"
#include "base/number.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

const struct cell_kernels *cell_find(const struct cell_kernels *const *table, const char *name)
{
    for (; *table; table++)
        if (!strcmp((*table)->declaration->name, name))
            return *table;
    return NULL;
}

int cell_inputs_from(const struct cell_declaration *cell, unsigned sources)
{
    int count = 0;
    for (int k = 0; k < cell->inputs; k++) count += (cell->input[k].from & sources) != 0;
    return count;
}

/* ---- keys ---- */

static unsigned bits_of(float x)
{
    unsigned bits;
    static_assert(sizeof bits == sizeof x, "a float has the bits of a word");
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float of_bits(unsigned bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void cell_key(const struct cell_declaration *cell, const struct cell_options *o, char key[CELL_KEY])
{
    int end = snprintf(key, CELL_KEY, "%s", cell->name);
    for (int i = 0; cell->chooses && i < CELL_ACTIVATIONS; i++)
        end += snprintf(key + end, (size_t)(CELL_KEY - end), "_%u_%u_%u", (unsigned)o->function[i].kind,
                        bits_of(o->function[i].alpha), bits_of(o->function[i].beta));
    if (cell->chooses)
        snprintf(key + end, (size_t)(CELL_KEY - end), "_%u_%d", bits_of(o->clip), o->input_forget);
}

/* Parses "_NUMBER", at most `most`, and moves *key to its end. */
static bool next_number(const char **key, unsigned most, unsigned *number)
{
    int64_t value;
    if (*(*key)++ != '_' || number_integer(key, NULL, 0, most, &value) != NUMBER_OK)
        return false;
    *number = (unsigned)value;
    return true;
}

bool cell_key_read(const char *key, const char *name, struct cell_options *o)
{
    const size_t size = strlen(name);
    unsigned kind, alpha, beta, clip, forget;
    if (strncmp(key, name, size) != 0)
        return false;
    key += size;
    for (int i = 0; i < CELL_ACTIVATIONS; i++) {
        if (!next_number(&key, ACTIVATION_COUNT - 1, &kind) || !next_number(&key, UINT32_MAX, &alpha) ||
            !next_number(&key, UINT32_MAX, &beta))
            return false;
        o->function[i] = (struct activation){(enum activation_kind)kind, of_bits(alpha), of_bits(beta)};
    }
    if (!next_number(&key, UINT32_MAX, &clip) || !next_number(&key, 1, &forget) || *key)
        return false;
    o->clip = of_bits(clip);
    o->input_forget = forget;
    return true;
}
