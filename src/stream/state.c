/* Saved states: a header that says of what make they are, then the numbers of each layer, state and row, as
 * the processor keeps them (a file of another byte order is refused by its first word). */
#include "base/status.h"
#include "stream/stream.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 1 };

static const char magic[8] = { 'u', 'n', 'r', 'o', 'l', 'l', 's', 't' };
static const uint64_t checksum_begin = 14695981039346656037u;

struct header {
    char     magic[8];
    uint32_t version, layers, rows, states, hidden, width;
    char     cell[24];
    uint64_t checksum;                      /* of the numbers */
};

/* FNV-1a, 64 bits, by words of 4 bytes. */
static uint64_t checksum_of(uint64_t sum, const void *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, (const char *)words + i * sizeof word, sizeof word);
        sum = (sum ^ word) * 1099511628211u;
    }
    return sum;
}

/* The first recurrent layer of a stack: all are alike. NULL: there is none, or they are not. */
static const struct layer_weights *alike(const struct unroll_stream_weights *w)
{
    const struct layer_weights *first = NULL;
    for (const struct layer_weights *l = w->layer; l < w->layer + w->layers; l++) {
        if (!l->cell)
            continue;
        if (!first)
            first = l;
        if (l->cell != first->cell || l->hidden != first->hidden || l->outputs != first->outputs)
            return NULL;
    }
    return first;
}

/* What differs from layer to layer as one number. */
static uint32_t mixture_of(const struct unroll_stream_weights *w)
{
    uint64_t sum = checksum_begin;
    for (const struct layer_weights *l = w->layer; l < w->layer + w->layers; l++) {
        const char *name = l->cell ? l->cell->declaration->name : "";
        for (; *name; name++)
            sum = checksum_of(sum, &(uint32_t){ (unsigned char)*name }, 1);
        if (l->cell)
            sum = checksum_of(checksum_of(sum, &l->hidden, 1), &l->outputs, 1);
    }
    return (uint32_t)(sum ^ sum >> 32);
}

/* Of recurrent layers that are not alike: all their states, numbers of a row, and the mixture. */
static struct header header_of(const struct unroll_stream *s)
{
    const struct unroll_stream_weights *w = stream_weights(s);
    const struct layer_weights *one = alike(w);
    struct header h = { .version = VERSION, .rows = (uint32_t)s->rows, .checksum = checksum_begin };
    memcpy(h.magic, magic, sizeof magic);
    for (const struct layer_weights *l = w->layer; l < w->layer + w->layers; l++) {
        h.layers += l->cell != NULL;
        h.states += (uint32_t)stream_states(l);
        for (size_t i = 0; i < stream_states(l); i++)
            h.hidden += (uint32_t)stream_state_width(l, i);
    }
    h.width = mixture_of(w);
    if (one) {
        h.states = (uint32_t)stream_states(one);
        h.hidden = one->hidden;
        h.width = one->outputs;
    }
    snprintf(h.cell, sizeof h.cell, "%s", one ? one->cell->declaration->name : "network");
    return h;
}

/* Each row of each state of each layer, in the order of the bytes. */
typedef void visitor(float *row, char *bytes, size_t count, struct header *header);

static void visit(const struct unroll_stream *s, char *bytes, visitor *see, struct header *h)
{
    const struct unroll_stream_weights *w = stream_weights(s);
    for (size_t l = 0; l < w->layers; l++)
        for (size_t i = 0; i < stream_states(&w->layer[l]); i++) {
            const size_t width = stream_state_width(&w->layer[l], i);
            for (size_t b = 0; b < s->rows; b++, bytes += width * sizeof(float))
                see(stream_state(s, l, i, 0) + b * s->layer[l].row, bytes, width, h);
        }
}

static void save_row(float *row, char *bytes, size_t count, struct header *h)
{
    memcpy(bytes, row, count * sizeof *row);
    h->checksum = checksum_of(h->checksum, row, count);
}

static void load_row(float *row, char *bytes, size_t count, struct header *h)
{
    (void)h;
    memcpy(row, bytes, count * sizeof *row);
}

size_t unroll_stream_state_bytes(const unroll_stream *s)
{
    const struct unroll_stream_weights *w = stream_weights(s);
    size_t numbers = 0;
    for (size_t l = 0; l < w->layers; l++)
        for (size_t i = 0; i < stream_states(&w->layer[l]); i++)
            numbers += stream_state_width(&w->layer[l], i);
    return sizeof(struct header) + s->rows * numbers * sizeof(float);
}

unroll_status unroll_stream_save(const unroll_stream *s, void *state, size_t bytes)
{
    if (!state || bytes != unroll_stream_state_bytes(s))
        return fail(UNROLL_USAGE, "the states of this stream are %zu bytes, not %zu", unroll_stream_state_bytes(s),
                    state ? bytes : 0);
    struct header h = header_of(s);
    visit(s, (char *)state + sizeof h, save_row, &h);
    memcpy(state, &h, sizeof h);
    return UNROLL_OK;
}

static unroll_status check_header(const struct unroll_stream *s, const struct header *got)
{
    struct header own = header_of(s);
    if (memcmp(got->magic, magic, sizeof magic))
        return fail(UNROLL_DATA, "these are no saved states of a stream");
    if (got->version != VERSION)
        return fail(UNROLL_DATA, "the states are of version %u, this library reads %d", (unsigned)got->version,
                    VERSION);
    own.checksum = got->checksum;
    if (memcmp(&own, got, sizeof own))
        return fail(UNROLL_DATA, "the states are of %.24s %u x %u (h: %u), %u rows; the stream is %s %u x %u (h: "
                    "%u), %u rows", got->cell, (unsigned)got->layers, (unsigned)got->hidden, (unsigned)got->width,
                    (unsigned)got->rows, own.cell, (unsigned)own.layers, (unsigned)own.hidden, (unsigned)own.width,
                    (unsigned)own.rows);
    return UNROLL_OK;
}

static unroll_status check_numbers(const char *bytes, size_t count, uint64_t checksum)
{
    if (checksum_of(checksum_begin, bytes, count) != checksum)
        return fail(UNROLL_DATA, "the states are damaged: their checksum is another");
    for (size_t i = 0; i < count; i++) {
        float x;
        memcpy(&x, bytes + i * sizeof x, sizeof x);
        if (!isfinite(x))
            return fail(UNROLL_DATA, "number %zu of the states is %s", i, isnan(x) ? "NaN" : "infinite");
    }
    return UNROLL_OK;
}

unroll_status unroll_stream_load(unroll_stream *s, const void *state, size_t bytes)
{
    struct header h;
    if (!state || bytes < sizeof h)
        return fail(UNROLL_DATA, "saved states have a header of %zu bytes; these are %zu bytes", sizeof h,
                    state ? bytes : 0);
    memcpy(&h, state, sizeof h);
    TRY(check_header(s, &h));
    if (bytes != unroll_stream_state_bytes(s))
        return fail(UNROLL_DATA, "the states of this stream are %zu bytes, these are %zu", unroll_stream_state_bytes(s),
                    bytes);
    const char *numbers = (const char *)state + sizeof h;
    TRY(check_numbers(numbers, (bytes - sizeof h) / sizeof(float), h.checksum));
    visit(s, (char *)numbers, load_row, &h);            /* which only reads them */
    return UNROLL_OK;
}
