/* The table of compressors, and the parser of --compress. */
#include "base/number.h"
#include "base/status.h"
#include "extensions/cluster/compress/compress.h"
#include <stdio.h>
#include <string.h>

static const struct compressor *const table[] = {&compress_rows, &compress_half, &compress_topk, &compress_lowrank};

const struct compressor *compressor_at(int index)
{
    return index >= 0 && index < (int)(sizeof table / sizeof *table) ? table[index] : NULL;
}

const char *compressor_name(int index, const char **about)
{
    const struct compressor *c = compressor_at(index);
    if (c && about)
        *about = c->about;
    return c ? c->name : NULL;
}

static const char *name_of(int index) { return compressor_name(index, NULL); }

unroll_status compressor_read(const char *text, const struct compressor **compressor, double *level)
{
    char names[128];
    *compressor = NULL;
    *level = 0;
    if (!text || !strcmp(text, "none"))
        return UNROLL_OK;
    size_t name = strcspn(text, ":");
    for (int i = 0; compressor_at(i) && !*compressor; i++)
        if (strlen(compressor_at(i)->name) == name && !memcmp(compressor_at(i)->name, text, name))
            *compressor = compressor_at(i);
    const struct compressor *c = *compressor;
    if (!c)
        return fail(UNROLL_USAGE, "there is no compression '%.40s'; fix: choose one of none, %s", text,
                    list_names(name_of, names, sizeof names));
    if (!c->level && text[name])
        return fail(UNROLL_USAGE, "`compress` = '%.40s': %s has no value after a colon; fix: leave the value out", text,
                    c->name);
    if (c->level && (!text[name] || number_whole_real(text + name + 1, c->min, c->max, level) != NUMBER_OK))
        return fail(UNROLL_USAGE, "`compress` = '%.40s': %s; fix: write for example %s:%g", text, c->level, c->name,
                    c->min < 1 ? 0.01 : 4);
    return UNROLL_OK;
}
