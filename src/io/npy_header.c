/* See npy_header.h. No byte at or after the end of the text is read. */
#include "io/npy_header.h"

#include <string.h>

#include "base/bytes.h"
#include "base/number.h"

struct npy_text {
    const char *at, *end;
};

static void skip_spaces(struct npy_text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n')) t->at++;
}

/* Skips spaces and consumes `word`. Returns false if something else follows. */
static bool take_word(struct npy_text *t, const char *word)
{
    size_t length = strlen(word);
    skip_spaces(t);
    if ((size_t)(t->end - t->at) < length || memcmp(t->at, word, length) != 0)
        return false;
    t->at += length;
    return true;
}

/* Parses 'text' or "text", without escapes. */
static bool take_string(struct npy_text *t, char *to, size_t capacity)
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

static bool take_integer(struct npy_text *t, uint64_t *value)
{
    int64_t number;
    skip_spaces(t);
    if (number_integer(&t->at, t->end, 0, INT64_MAX, &number) != NUMBER_OK)
        return false;
    *value = (uint64_t)number;
    return true;
}

/* Parses (), (3,) or (3, 4). */
static bool take_shape(struct npy_text *t, struct npy_header *h)
{
    if (!take_word(t, "("))
        return false;
    while (!take_word(t, ")")) {
        if (h->rank == NPY_RANK || !take_integer(t, &h->shape[h->rank++]))
            return false;
        if (!take_word(t, ",") && (t->at == t->end || *t->at != ')'))
            return false;
    }
    return true;
}

static bool take_entry(struct npy_text *t, struct npy_header *h, unsigned *seen)
{
    char key[16];
    if (!take_string(t, key, sizeof key) || !take_word(t, ":"))
        return false;
    unsigned bit = !strcmp(key, "descr") ? 1 : !strcmp(key, "fortran_order") ? 2 : !strcmp(key, "shape") ? 4 : 0;
    if (bit == 0 || (*seen & bit))
        return false;
    *seen |= bit;
    if (bit == 1)
        return take_string(t, h->type, sizeof h->type);
    if (bit == 4)
        return take_shape(t, h);
    h->fortran = take_word(t, "True");
    return h->fortran || take_word(t, "False");
}

static bool parse_dict(const char *text, const char *end, struct npy_header *header)
{
    struct npy_text t = {text, end};
    unsigned seen = 0; /* a bit for each key */
    *header = (struct npy_header){.rank = 0};
    if (!take_word(&t, "{"))
        return false;
    while (!take_word(&t, "}"))
        if (!take_entry(&t, header, &seen) || (!take_word(&t, ",") && (t.at == t.end || *t.at != '}')))
            return false;
    skip_spaces(&t);
    return seen == 7 && t.at == t.end;
}

bool npy_read_header(npy_read *read, void *source, struct npy_header *header, const char **error)
{
    enum { PREFIX = 8, LONGEST = 4096 };
    unsigned char at[PREFIX + 4];
    char text[LONGEST];
    *error = "";
    if (!read(source, at, PREFIX))
        return false;
    *error = "is not a NumPy array of version 1 to 3; fix: write it with numpy.save, several with numpy.savez";
    if (memcmp(at, NPY_MAGIC, 6) != 0 || at[6] < 1 || at[6] > 3)
        return false;
    *error = "";
    const size_t bytes = at[6] == 1 ? 2 : 4; /* of the length */
    if (!read(source, at + PREFIX, bytes))
        return false;
    const size_t length = (size_t)get_number(at + PREFIX, bytes);
    *error = "has a header of more than 4096 bytes; fix: save it again with numpy.save";
    if (length > sizeof text)
        return false;
    *error = "";
    if (!read(source, text, length))
        return false;
    *error = "has a header that is not the dict of descr, fortran_order and shape that NumPy writes; fix: save it "
             "again with numpy.save";
    return parse_dict(text, text + length, header);
}
