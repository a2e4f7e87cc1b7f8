/* Parser of npy_header.h. No byte at or after the end is read. */
#include "io/npy_header.h"

#include <string.h>

#include "base/number.h"

struct text {
    const char *at, *end;
};

static void skip_spaces(struct text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n')) t->at++;
}

/* Skips spaces and consumes `word`. Returns false if something else follows. */
static bool take(struct text *t, const char *word)
{
    size_t length = strlen(word);
    skip_spaces(t);
    if ((size_t)(t->end - t->at) < length || memcmp(t->at, word, length) != 0)
        return false;
    t->at += length;
    return true;
}

/* Parses 'text' or "text", without escapes. */
static bool take_string(struct text *t, char *to, size_t capacity)
{
    skip_spaces(t);
    if (t->at == t->end || (*t->at != '\'' && *t->at != '"'))
        return false;
    char quote = *t->at++;
    const char *close = memchr(t->at, quote, (size_t)(t->end - t->at));
    if (!close || (size_t)(close - t->at) >= capacity)
        return false;
    memcpy(to, t->at, (size_t)(close - t->at));
    to[close - t->at] = '\0';
    t->at = close + 1;
    return true;
}

static bool take_integer(struct text *t, uint64_t *value)
{
    int64_t number;
    skip_spaces(t);
    if (number_integer(&t->at, t->end, 0, INT64_MAX, &number) != NUMBER_OK)
        return false;
    *value = (uint64_t)number;
    return true;
}

/* Parses (), (3,) or (3, 4). */
static bool take_shape(struct text *t, struct npy_header *h)
{
    if (!take(t, "("))
        return false;
    while (!take(t, ")")) {
        if (h->rank == NPY_RANK || !take_integer(t, &h->shape[h->rank++]))
            return false;
        if (!take(t, ",") && (t->at == t->end || *t->at != ')'))
            return false;
    }
    return true;
}

static bool take_entry(struct text *t, struct npy_header *h, unsigned *seen)
{
    char key[16];
    if (!take_string(t, key, sizeof key) || !take(t, ":"))
        return false;
    unsigned bit = !strcmp(key, "descr") ? 1 : !strcmp(key, "fortran_order") ? 2 : !strcmp(key, "shape") ? 4 : 0;
    if (bit == 0 || (*seen & bit))
        return false;
    *seen |= bit;
    if (bit == 1)
        return take_string(t, h->type, sizeof h->type);
    if (bit == 4)
        return take_shape(t, h);
    h->fortran = take(t, "True");
    return h->fortran || take(t, "False");
}

bool npy_read_header(const char *text, const char *end, struct npy_header *header)
{
    struct text t = {text, end};
    unsigned seen = 0; /* a bit for each key */
    *header = (struct npy_header){.rank = 0};
    if (!take(&t, "{"))
        return false;
    while (!take(&t, "}"))
        if (!take_entry(&t, header, &seen) || (!take(&t, ",") && (t.at == t.end || *t.at != '}')))
            return false;
    skip_spaces(&t);
    return seen == 7 && t.at == t.end;
}
