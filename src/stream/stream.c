/* Streams: configuration, creation in the caller's memory, resets and queries. bind.c has the layout, step.c the steps,
 * state.c the saved states. */
#include "base/memory.h"
#include "base/sized.h"
#include "base/status.h"
#include "stream/stream.h"
#include <string.h>

void unroll_stream_config_begin(unroll_stream_config *config, size_t size)
{
    const unroll_stream_config standard = {
        .size = sizeof(unroll_stream_config), .rows = 1, .machine = unroll_machine_default()};
    sized_begin(&standard, sizeof standard, config, size);
}

/* ---- creation --------------------------------------------------------------------------- */

unroll_status stream_plan_all(const unroll_model *model, const unroll_stream_config *given, struct stream_plan *plan,
                              struct unroll_stream *s)
{
    unroll_stream_config config;
    TRY(stream_take_config(given, &config));
    TRY(stream_plan_make(model, &config, false, plan));
    unroll_status status = stream_lay_out(plan, &config, s);
    if (status != UNROLL_OK)
        stream_plan_free(plan);
    return status;
}

size_t unroll_stream_bytes(const unroll_model *model, const unroll_stream_config *config)
{
    struct stream_plan plan;
    struct unroll_stream s;
    if (stream_plan_all(model, config, &plan, &s) != UNROLL_OK)
        return 0;
    stream_plan_free(&plan);
    return s.bytes;
}

static unroll_status fill_stream(const struct unroll_stream *made, void *memory, size_t bytes, struct stream_plan *plan)
{
    TRY(stream_check_memory(memory, bytes, made->bytes, "unroll_stream_bytes"));
    memset(memory, 0, made->bytes); /* touches all pages, so that no step does it first */
    *(struct unroll_stream *)memory = *made;
    if (made->inside)
        TRY(stream_pack(plan, stream_at(memory, made->inside)));
    stream_bind(plan, memory);
    return UNROLL_OK;
}

unroll_status unroll_stream_init(void *memory, size_t bytes, const unroll_model *model,
                                 const unroll_stream_config *config, unroll_stream **stream)
{
    struct stream_plan plan;
    struct unroll_stream made;
    TRY(stream_plan_all(model, config, &plan, &made));
    unroll_status status = fill_stream(&made, memory, bytes, &plan);
    stream_plan_free(&plan);
    if (status == UNROLL_OK)
        *stream = memory;
    return status;
}

/* The allocation of a stream of unroll_stream_new, stored before it. */
struct owner {
    unroll_allocator allocator; /* without functions: the C library's */
    size_t bytes;
};
enum { OWNER = MEMORY_ALIGNMENT };
_Static_assert(sizeof(struct owner) <= OWNER, "an owner needs more room");

unroll_status unroll_stream_new(const unroll_model *model, const unroll_stream_config *given, unroll_stream **stream)
{
    struct stream_plan plan;
    struct unroll_stream made;
    unroll_stream_config config;
    unroll_allocator allocator;
    TRY(stream_take_config(given, &config));
    TRY(allocator_take(config.allocator, &allocator));
    TRY(stream_plan_all(model, &config, &plan, &made));
    const struct owner owner = {allocator, OWNER + made.bytes};
    char *memory = allocate_with(&owner.allocator, owner.bytes);
    unroll_status status = memory ? fill_stream(&made, memory + OWNER, made.bytes, &plan)
                                  : fail(UNROLL_RESOURCE, "no memory for the %zu bytes of a stream", owner.bytes);
    stream_plan_free(&plan);
    if (status == UNROLL_OK) {
        memcpy(memory, &owner, sizeof owner);
        *stream = (unroll_stream *)(memory + OWNER);
    } else
        release_with(&owner.allocator, memory, owner.bytes);
    return status;
}

void unroll_stream_free(unroll_stream *stream)
{
    if (!stream)
        return;
    struct owner owner;
    char *memory = (char *)stream - OWNER;
    memcpy(&owner, memory, sizeof owner);
    release_with(&owner.allocator, memory, owner.bytes);
}

/* ---- resets and queries ----------------------------------------------------------------- */

/* Clears state i of row b. */
static void forget(const struct unroll_stream *s, const struct stream_call *c, size_t i, size_t b)
{
    const struct fields *state = &c->step.value.state;
    memset(stream_here(s, state->at, 0).at + i * state->field + b * state->row, 0,
           (i ? c->hidden : c->width) * sizeof(float));
}

unroll_status unroll_stream_reset(unroll_stream *s, int row)
{
    if (row < -1 || (row >= 0 && (size_t)row >= s->rows))
        return fail(UNROLL_USAGE, "row = %d is outside 0..%zu (-1: all); fix: use a number in this range", row,
                    s->rows - 1);
    const struct stream_call *end = stream_calls(s, 0) + s->calls;
    for (const struct stream_call *c = stream_calls(s, 0); c < end; c++)
        for (size_t i = 0; i < c->states; i++)
            for (size_t b = row < 0 ? 0 : (size_t)row; b < (row < 0 ? s->rows : (size_t)row + 1); b++)
                forget(s, c, i, b);
    return UNROLL_OK;
}

unroll_status unroll_stream_read(const unroll_stream *s, int layer, float *to)
{
    if (layer < 0 || (uint32_t)layer + 1 >= s->layers)
        return fail(
            UNROLL_USAGE,
            "layer = %d is outside the inner layers 0..%d; the step returns the outputs of the last layer; fix: use "
            "a number in this range",
            layer, (int)s->layers - 2);
    const struct stream_call *c = stream_calls(s, 1), *end = c + s->calls;
    while (c < end && c->layer != layer) c++;
    if (c == end)
        return fail(UNROLL_USAGE,
                    "layer %d is not an output of the network; fix: set output = 1 when the model is created", layer);
    const struct stream_rows y = stream_here(s, c->to.at, c->to.row);
    for (size_t b = 0; b < s->rows; b++) memcpy(to + b * c->width, y.at + b * y.row, c->width * sizeof *to);
    return UNROLL_OK;
}

int unroll_stream_inputs(const unroll_stream *s) { return s->input.width ? (int)s->input.width : (int)s->tokens; }

int unroll_stream_tokens(const unroll_stream *s) { return (int)s->tokens; }

int unroll_stream_outputs(const unroll_stream *s) { return (int)s->output.width; }

const char *unroll_stream_isa(const unroll_stream *s) { return stream_weights(s)->isa->name; }
