/* The signature of a model: what the inputs and outputs of the graph that it was imported from are among the arrays of
 * unroll_run. It changes nothing of what a model computes. */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

/* The three texts of an entry lie in one block, which its name begins. */
static const char *put(char **to, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*to, text, size);
    *to += size;
    return copy;
}

unroll_status signature_add(struct unroll_model *m, const unroll_signature *entry)
{
    size_t count = (size_t)m->signatures;
    unroll_signature *longer = allocate_zeroed(count + 1, sizeof *longer);
    char *text = allocate_zeroed(1, strlen(entry->name) + strlen(entry->array) + strlen(entry->axes) + 3);
    if (!longer || !text) {
        release(longer);
        release(text);
        return fail(UNROLL_RESOURCE, "no memory for the signature of a model");
    }
    if (count)
        memcpy(longer, m->signature, count * sizeof *longer);
    longer[count].output = entry->output;
    longer[count].name = put(&text, entry->name);
    longer[count].array = put(&text, entry->array);
    longer[count].axes = put(&text, entry->axes);
    release(m->signature);
    m->signature = longer;
    m->signatures++;
    return UNROLL_OK;
}

void signature_free(struct unroll_model *m)
{
    for (int i = 0; i < m->signatures; i++)
        release((void *)m->signature[i].name);
    release(m->signature);
}

int unroll_model_signature(const unroll_model *m, int index, unroll_signature *entry)
{
    if (index < 0 || index >= m->signatures)
        return 0;
    *entry = m->signature[index];
    return 1;
}

void signature_line(const unroll_signature *e, char *line, size_t size)
{
    snprintf(line, size, "%s '%s': %s as [%s]", e->output ? "output" : "input", e->name, e->array, e->axes);
}
