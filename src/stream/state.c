/* Saved states: a header with the make of the model, then the numbers of each layer, state and row in the processor's
 * format. The first word of the header identifies a file of another byte order. */
#include "base/hash.h"
#include "base/status.h"
#include "model/layer_kind.h"
#include "stream/stream.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define USE_STATES "use states that were saved by a stream of this model"

enum { VERSION = 1 };

static const char magic[8] = {'u', 'n', 'r', 'o', 'l', 'l', 's', 't'};

/* Returns the number of states of a pool over steps: the accumulated values and the number of steps. */
static uint32_t pool_states(const struct layer *l) { return layer_pool_of(l) && l->pool != POOL_LAST ? 2 : 0; }

/* Returns the first recurrent layer if there is one and all of them are alike, otherwise NULL. */
static const struct layer *alike(const unroll_model *m)
{
    const struct layer *first = NULL;
    for (const struct layer *l = m->layer; l < m->layer + m->layers; l++) {
        if (pool_states(l))
            return NULL;
        if (!l->cell)
            continue;
        if (!first)
            first = l;
        if (l->cell != first->cell || l->hidden != first->hidden || l->width != first->width)
            return NULL;
    }
    return first;
}

/* Hashes the properties in which layers differ. */
static uint32_t mixture_of(const unroll_model *m)
{
    uint64_t sum = HASH_BEGIN;
    for (const struct layer *l = m->layer; l < m->layer + m->layers; l++)
        if (l->cell)
            sum = hash_number(hash_number(hash_bytes(sum, l->cell->name, strlen(l->cell->name)), l->hidden), l->width);
        else if (pool_states(l))
            sum = hash_number(hash_number(sum, (uint64_t)l->pool), l->outputs);
    return (uint32_t)(sum ^ sum >> 32);
}

/* If the layers are not alike, the header has the total of their states, the numbers per row and the hash. */
struct stream_header stream_header_of(const unroll_model *m, size_t rows)
{
    const struct layer *one = alike(m);
    struct stream_header h = {.version = VERSION, .rows = (uint32_t)rows, .checksum = HASH_BEGIN};
    memcpy(h.magic, magic, sizeof magic);
    for (const struct layer *l = m->layer; l < m->layer + m->layers; l++) {
        const uint32_t states = l->cell ? (uint32_t)l->cell->states : 0;
        h.layers += l->cell != NULL;
        h.states += states + pool_states(l);
        h.hidden += states ? l->width + (states - 1) * l->hidden : pool_states(l) ? l->outputs + 1 : 0;
    }
    h.width = mixture_of(m);
    if (one) {
        h.states = (uint32_t)one->cell->states;
        h.hidden = one->hidden;
        h.width = one->width;
    }
    snprintf(h.cell, sizeof h.cell, "%s", one ? one->cell->name : "network");
    return h;
}

/* Visits each row of each state of each layer, in the order of the saved bytes. */
typedef void visitor(float *row, char *bytes, size_t count, uint64_t *checksum);

static void visit(const struct unroll_stream *s, char *bytes, visitor *see, uint64_t *checksum)
{
    for (const struct stream_call *c = stream_calls(s, 0), *end = c + s->calls; c < end; c++)
        for (size_t i = 0; i < c->states; i++) {
            const size_t width = i ? c->hidden : c->width;
            const struct stream_rows state = stream_here(s, c->step.value.state.at, c->step.value.state.row);
            for (size_t b = 0; b < s->rows; b++, bytes += width * sizeof(float))
                see(state.at + i * c->step.value.state.field + b * state.row, bytes, width, checksum);
        }
}

static void save_row(float *row, char *bytes, size_t count, uint64_t *checksum)
{
    memcpy(bytes, row, count * sizeof *row);
    *checksum = hash_words(*checksum, row, count);
}

static void load_row(float *row, char *bytes, size_t count, uint64_t *checksum)
{
    (void)checksum;
    memcpy(row, bytes, count * sizeof *row);
}

size_t unroll_stream_state_bytes(const unroll_stream *s)
{
    size_t numbers = 0;
    for (const struct stream_call *c = stream_calls(s, 0), *end = c + s->calls; c < end; c++)
        numbers += c->states ? c->width + (c->states - 1) * c->hidden : 0;
    return sizeof(struct stream_header) + s->rows * numbers * sizeof(float);
}

unroll_status unroll_stream_save(const unroll_stream *s, void *state, size_t bytes)
{
    if (!state || bytes != unroll_stream_state_bytes(s))
        return fail(
            UNROLL_USAGE,
            "the states of this stream are %zu bytes, not %zu; fix: give the bytes that unroll_stream_state_bytes "
            "returns",
            unroll_stream_state_bytes(s), state ? bytes : 0);
    struct stream_header h = s->header;
    visit(s, (char *)state + sizeof h, save_row, &h.checksum);
    memcpy(state, &h, sizeof h);
    return UNROLL_OK;
}

/* Checks that the states are of this format, model and number of rows. */
static unroll_status check_header(const struct unroll_stream *s, const struct stream_header *got)
{
    struct stream_header own = s->header;
    if (memcmp(got->magic, magic, sizeof magic))
        return fail(UNROLL_DATA, "these are not saved states of a stream; fix: " USE_STATES);
    if (got->version != VERSION)
        return fail(UNROLL_DATA,
                    "the states have version %u, but this library reads version %d; fix: use states saved by this "
                    "library",
                    (unsigned)got->version, VERSION);
    own.checksum = got->checksum;
    if (memcmp(&own, got, sizeof own))
        return fail(
            UNROLL_DATA,
            "the states belong to %.24s %u x %u (h: %u), %u rows, but the stream is %s %u x %u (h: %u), %u rows; "
            "fix: use a stream of the same model and rows",
            got->cell, (unsigned)got->layers, (unsigned)got->hidden, (unsigned)got->width, (unsigned)got->rows,
            own.cell, (unsigned)own.layers, (unsigned)own.hidden, (unsigned)own.width, (unsigned)own.rows);
    return UNROLL_OK;
}

/* Checks the checksum, and that all states are finite. */
static unroll_status check_numbers(const char *bytes, size_t count, uint64_t checksum)
{
    if (hash_words(HASH_BEGIN, bytes, count) != checksum)
        return fail(UNROLL_DATA, "the states are damaged: the checksum does not match; fix: " USE_STATES);
    for (size_t i = 0; i < count; i++) {
        float x;
        memcpy(&x, bytes + i * sizeof x, sizeof x);
        if (!isfinite(x))
            return fail(UNROLL_DATA, "value %zu of the states is %s; fix: " USE_STATES, i,
                        isnan(x) ? "NaN" : "infinite");
    }
    return UNROLL_OK;
}

unroll_status stream_check_state(const struct unroll_stream *s, const void *state, size_t bytes, size_t expected)
{
    struct stream_header h;
    if (!state || bytes < sizeof h)
        return fail(UNROLL_DATA,
                    "saved states have a header of %zu bytes, but only %zu bytes were given; fix: " USE_STATES,
                    sizeof h, state ? bytes : 0);
    memcpy(&h, state, sizeof h);
    TRY(check_header(s, &h));
    if (bytes != expected)
        return fail(UNROLL_DATA,
                    "the states of this stream are %zu bytes, but %zu were given; fix: give the bytes that "
                    "unroll_stream_state_bytes returns",
                    expected, bytes);
    return check_numbers((const char *)state + sizeof h, (bytes - sizeof h) / sizeof(float), h.checksum);
}

unroll_status unroll_stream_load(unroll_stream *s, const void *state, size_t bytes)
{
    TRY(stream_check_state(s, state, bytes, unroll_stream_state_bytes(s)));
    visit(s, (char *)state + sizeof s->header, load_row, NULL); /* load_row only reads them */
    return UNROLL_OK;
}
