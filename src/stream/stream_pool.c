/* Pools: states of many sequences in slots. A step gathers the states of the slots into the rows of an inner stream,
 * runs its calls for these rows, and writes the states back. A row's bits do not depend on the other rows. */
#include "base/finite.h"
#include "base/hash.h"
#include "base/sized.h"
#include "base/status.h"
#include "stream/stream.h"
#include <math.h>
#include <string.h>

enum {
    POOL_ROWS = 16, /* per run of the calls: more are not faster, measured at 32 to 1,024 units */
    MAX_SLOTS = 1 << 24
};

/* Followed by its arrays, at offsets. */
struct unroll_stream_pool {
    size_t bytes, slots;
    size_t stream;       /* struct unroll_stream, of POOL_ROWS rows, with the header of one row */
    size_t mark;         /* [slots] uint32_t: the number of the last step that included the slot */
    size_t state, count; /* [slots][row] floats, of which `count` are used */
    size_t row;
    uint32_t step;
};

struct pool_frame {
    const int32_t *slots, *tokens;
    const float *inputs;
    float *outputs;
};

static struct unroll_stream *stream_of(const unroll_stream_pool *p) { return stream_at(p, p->stream); }

static float *state_of(const unroll_stream_pool *p, size_t slot)
{
    return (float *)stream_at(p, p->state) + slot * p->row;
}

/* ---- creation --------------------------------------------------------------------------- */

void unroll_stream_pool_config_begin(unroll_stream_pool_config *config, size_t size)
{
    const unroll_stream_pool_config standard = {
        .size = sizeof(unroll_stream_pool_config), .slots = 1, .machine = unroll_machine_default()};
    sized_begin(&standard, sizeof standard, config, size);
}

static unroll_status take_config(const unroll_stream_pool_config *given, unroll_stream_pool_config *config,
                                 unroll_stream_config *of_stream)
{
    *config = unroll_stream_pool_config_default();
    TRY(sized_take(SIZED_WITH(unroll_stream_pool_config, "unroll_stream_pool_config_default()",
                              MACHINE_OF(unroll_stream_pool_config)),
                   given, config));
    if (config->slots < 1 || config->slots > MAX_SLOTS)
        return fail(UNROLL_USAGE, "slots = %d is outside 1..%d; fix: use a number in this range", config->slots,
                    MAX_SLOTS);
    *of_stream = unroll_stream_config_default();
    of_stream->rows = POOL_ROWS;
    of_stream->machine = config->machine;
    of_stream->weights = config->weights;
    of_stream->raw = config->raw;
    of_stream->series = config->series;
    return UNROLL_OK;
}

/* The inner stream comes last: its size depends on the weights. */
static unroll_status lay_out(unroll_stream_pool *p, const unroll_model *model, const unroll_stream_pool_config *config,
                             const unroll_stream_config *of_stream)
{
    size_t used = sizeof *p;
    struct stream_plan plan;
    struct unroll_stream s;
    TRY(stream_plan_all(model, of_stream, &plan, &s));
    stream_plan_free(&plan);
    const struct stream_header *h = &s.header;
    const bool alike = strcmp(h->cell, "network") != 0;
    *p =
        (unroll_stream_pool){.slots = (size_t)config->slots,
                             .count = alike ? h->layers * (h->width + (h->states - 1) * (size_t)h->hidden) : h->hidden};
    p->row = stream_padded(p->count);
    p->mark = stream_take(&used, p->slots * sizeof(uint32_t));
    p->state = stream_take(&used, p->slots * p->row * sizeof(float));
    p->stream = stream_take(&used, s.bytes);
    p->bytes = stream_take(&used, 0);
    return UNROLL_OK;
}

size_t unroll_stream_pool_bytes(const unroll_model *model, const unroll_stream_pool_config *given)
{
    unroll_stream_pool_config config;
    unroll_stream_config of_stream;
    unroll_stream_pool p;
    return take_config(given, &config, &of_stream) == UNROLL_OK && lay_out(&p, model, &config, &of_stream) == UNROLL_OK
               ? p.bytes
               : 0;
}

unroll_status unroll_stream_pool_init(void *memory, size_t bytes, const unroll_model *model,
                                      const unroll_stream_pool_config *given, unroll_stream_pool **pool)
{
    unroll_stream_pool_config config;
    unroll_stream_config of_stream;
    unroll_stream_pool made;
    unroll_stream *stream;
    TRY(take_config(given, &config, &of_stream));
    TRY(lay_out(&made, model, &config, &of_stream));
    TRY(stream_check_memory(memory, bytes, made.bytes, "unroll_stream_pool_bytes"));
    memset(memory, 0, made.bytes);
    TRY(unroll_stream_init(stream_at(memory, made.stream), made.bytes - made.stream, model, &of_stream, &stream));
    stream->header.rows = 1;
    *(unroll_stream_pool *)memory = made;
    *pool = memory;
    return UNROLL_OK;
}

/* ---- a step ---------------------------------------------------------------------------- */

static unroll_status check_slot(const unroll_stream_pool *p, int64_t slot)
{
    if (slot >= 0 && slot < (int64_t)p->slots)
        return UNROLL_OK;
    return fail(UNROLL_USAGE, "slot = %lld is outside 0..%zu; fix: use a number in this range", (long long)slot,
                p->slots - 1);
}

/* A slot that occurs twice has the mark of this step when it is found again. */
static unroll_status check_slots(unroll_stream_pool *p, int n, const int32_t *slots)
{
    uint32_t *mark = stream_at(p, p->mark);
    if (++p->step == 0) {
        memset(mark, 0, p->slots * sizeof *mark);
        p->step = 1;
    }
    for (int i = 0; i < n; i++) {
        TRY(check_slot(p, slots[i]));
        if (mark[slots[i]] == p->step)
            return fail(UNROLL_USAGE, "slot %d occurs twice in one step; fix: run separate steps for it",
                        (int)slots[i]);
        mark[slots[i]] = p->step;
    }
    return UNROLL_OK;
}

/* Checks all tokens and numbers before any state changes. */
static unroll_status check_values(const struct unroll_stream *s, int n, const struct pool_frame *f)
{
    const size_t numbers = (size_t)n * s->input.width;
    for (size_t i = 0; i < (size_t)n * s->tokens; i++) {
        const struct stream_tokens *of = &s->token[i % s->tokens];
        if (f->tokens[i] < 0 || (uint32_t)f->tokens[i] >= of->symbols)
            return fail(UNROLL_DATA, "tokens[%zu%s] = %d is outside 0..%d; fix: use tokens in this range",
                        i / s->tokens, of->called, (int)f->tokens[i], (int)of->symbols - 1);
    }
    if (numbers && !copy_finite(NULL, f->inputs, numbers))
        for (size_t i = 0; i < numbers; i++)
            if (!isfinite(f->inputs[i]))
                return fail(UNROLL_DATA, "inputs[%zu, %zu] is %s; fix: use finite numbers", i / s->input.width,
                            i % s->input.width, isnan(f->inputs[i]) ? "NaN" : "infinite");
    return UNROLL_OK;
}

/* Copies the states of a slot into a row of the stream, or back. */
static void exchange(const struct unroll_stream *s, uint32_t after, size_t b, float *slot, bool back)
{
    for (const struct stream_call *c = stream_calls(s, 0), *end = c + s->calls; c < end; c++) {
        const struct fields *f = after ? &c->step.value.next : &c->step.value.state;
        for (size_t i = 0; i < c->states; i++) {
            const size_t width = i ? c->hidden : c->width;
            float *row = (float *)f->at + i * f->field + b * f->row;
            memcpy(back ? slot : row, back ? row : slot, width * sizeof *slot);
            slot += width;
        }
    }
}

static void enter_row(const struct unroll_stream *s, const struct pool_frame *f, size_t at, size_t b)
{
    for (uint32_t i = 0; i < s->tokens; i++)
        ((int32_t *)stream_at(s, s->token[i].at))[b] = f->tokens[at * s->tokens + i];
    if (s->input.width)
        memcpy((float *)stream_at(s, s->input.at) + b * s->input.row, f->inputs + at * s->input.width,
               s->input.width * sizeof(float));
}

/* Runs a step for up to POOL_ROWS slots. */
static void run_rows(const unroll_stream_pool *p, const struct pool_frame *f, size_t first, size_t rows)
{
    struct unroll_stream *s = stream_of(p);
    struct stream_call *call = stream_calls(s, 0), *end = call + s->calls;
    for (size_t b = 0; b < rows; b++) {
        exchange(s, 0, b, state_of(p, (size_t)f->slots[first + b]), false);
        enter_row(s, f, first + b, b);
    }
    for (struct stream_call *c = call; c < end; c++) {
        c->rows = c->product.m = c->step.rows = rows;
        c->run(c);
    }
    const struct stream_rows from = stream_rows(s, &s->output, 1);
    const size_t width = s->output.width;
    for (size_t b = 0; b < rows; b++) {
        exchange(s, 1, b, state_of(p, (size_t)f->slots[first + b]), true);
        memcpy(f->outputs + (first + b) * width, from.at + b * from.row, width * sizeof(float));
    }
    s->now ^= 1;
}

/* Checks a step and runs it in groups of POOL_ROWS slots. */
static unroll_status step_pool(unroll_stream_pool *p, int n, const struct pool_frame *f)
{
    struct unroll_stream *s = stream_of(p);
    if (n < 0 || !f->slots || !f->outputs || !f->tokens != !s->tokens || !f->inputs != !s->input.width)
        return fail(UNROLL_USAGE, "a step of this pool needs 0 or more slots, %s, and outputs; fix: give them",
                    !s->tokens       ? "inputs"
                    : s->input.width ? "tokens and inputs"
                                     : "tokens");
    TRY(check_slots(p, n, f->slots));
    TRY(check_values(s, n, f));
    if (s->place != s)
        stream_move(s);
    const uint64_t mode = cpu_flush_denormals();
    workspace_of_thread = stream_at(s, s->workspace);
    for (size_t first = 0; first < (size_t)n; first += POOL_ROWS)
        run_rows(p, f, first, (size_t)n - first < POOL_ROWS ? (size_t)n - first : POOL_ROWS);
    cpu_restore_float_mode(mode);
    return UNROLL_OK;
}

unroll_status unroll_stream_pool_step(unroll_stream_pool *p, int n, const int32_t *slots, const int32_t *tokens,
                                      const float *inputs, float *outputs)
{
    return step_pool(p, n, &(struct pool_frame){slots, tokens, inputs, outputs});
}

/* ---- slots ----------------------------------------------------------------------------- */

unroll_status unroll_stream_pool_reset(unroll_stream_pool *p, int slot)
{
    if (slot != -1)
        TRY(check_slot(p, slot));
    memset(state_of(p, slot < 0 ? 0 : (size_t)slot), 0, (slot < 0 ? p->slots : 1) * p->row * sizeof(float));
    return UNROLL_OK;
}

unroll_status unroll_stream_pool_move(unroll_stream_pool *p, int from, int to)
{
    TRY(check_slot(p, from));
    TRY(check_slot(p, to));
    if (from == to)
        return UNROLL_OK;
    memcpy(state_of(p, (size_t)to), state_of(p, (size_t)from), p->row * sizeof(float));
    return unroll_stream_pool_reset(p, from);
}

size_t unroll_stream_pool_state_bytes(const unroll_stream_pool *p)
{
    return sizeof(struct stream_header) + p->count * sizeof(float);
}

unroll_status unroll_stream_pool_save(const unroll_stream_pool *p, int slot, void *state, size_t bytes)
{
    struct stream_header h = stream_of(p)->header;
    TRY(check_slot(p, slot));
    if (!state || bytes != unroll_stream_pool_state_bytes(p))
        return fail(
            UNROLL_USAGE,
            "the states of a slot are %zu bytes, not %zu; fix: give the bytes that unroll_stream_pool_state_bytes "
            "returns",
            unroll_stream_pool_state_bytes(p), state ? bytes : 0);
    h.checksum = hash_words(h.checksum, state_of(p, (size_t)slot), p->count);
    memcpy(state, &h, sizeof h);
    memcpy((char *)state + sizeof h, state_of(p, (size_t)slot), p->count * sizeof(float));
    return UNROLL_OK;
}

unroll_status unroll_stream_pool_load(unroll_stream_pool *p, int slot, const void *state, size_t bytes)
{
    TRY(check_slot(p, slot));
    TRY(stream_check_state(stream_of(p), state, bytes, unroll_stream_pool_state_bytes(p)));
    memcpy(state_of(p, (size_t)slot), (const char *)state + sizeof(struct stream_header), p->count * sizeof(float));
    return UNROLL_OK;
}

int unroll_stream_pool_slots(const unroll_stream_pool *p) { return (int)p->slots; }

int unroll_stream_pool_inputs(const unroll_stream_pool *p) { return (int)stream_of(p)->input.width; }

int unroll_stream_pool_tokens(const unroll_stream_pool *p) { return (int)stream_of(p)->tokens; }

int unroll_stream_pool_outputs(const unroll_stream_pool *p) { return (int)stream_of(p)->output.width; }

const char *unroll_stream_pool_isa(const unroll_stream_pool *p) { return unroll_stream_isa(stream_of(p)); }
