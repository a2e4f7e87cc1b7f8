/* The signature of a model: maps the inputs and outputs of the graph it was imported from to arrays of
 * unroll_model_run, with their names. It does not affect what a model computes. */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

void model_array(const struct unroll_model *m, int layer, char name[80])
{
    const struct layer *l = &m->layer[layer];
    bool levels = false;
    for (int i = 0; i < m->layers; i++) levels = levels || (i != layer && !strcmp(m->layer[i].name, l->name));
    if (layer + 1 == m->layers)
        snprintf(name, 80, "y");
    else
        snprintf(name, 80, levels ? "y.%s_l%d" : "y.%s", l->name, l->level);
}

/* Appends one text to the single block that holds an entry's texts, the name first. */
static const char *put_text(char **to, const char *text)
{
    size_t size = strlen(text) + 1;
    const char *copy = memcpy(*to, text, size);
    *to += size;
    return copy;
}

unroll_status signature_add(struct unroll_model *m, const struct signature *e)
{
    static const char kinds[2][8] = {"input", "output"};
    size_t count = (size_t)m->signatures, length = strlen(e->name) + strlen(e->array) + strlen(e->axes);
    struct signature *longer = allocate_zeroed(count + 1, sizeof *longer);
    char *text = allocate_zeroed(2, length + sizeof "output '': as [] ");
    if (!longer || !text) {
        release(longer);
        release(text);
        return fail(UNROLL_RESOURCE, "no memory for the signature of a model");
    }
    if (count)
        memcpy(longer, m->signature, count * sizeof *longer);
    longer[count].is_output = e->is_output;
    longer[count].name = put_text(&text, e->name);
    longer[count].array = put_text(&text, e->array);
    longer[count].axes = put_text(&text, e->axes);
    longer[count].line = text;
    sprintf(text, "%s '%s': %s as [%s]", kinds[e->is_output], e->name, e->array, e->axes);
    release(m->signature);
    m->signature = longer;
    m->signatures++;
    return UNROLL_OK;
}

void signature_free(struct unroll_model *m)
{
    for (int i = 0; i < m->signatures; i++) release((void *)m->signature[i].name);
    release(m->signature);
}

const char *unroll_model_signature(const unroll_model *m, int index)
{
    return index >= 0 && index < m->signatures ? m->signature[index].line : NULL;
}
