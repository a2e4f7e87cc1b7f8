/* Checks a batch before anything changes, then copies this rank's rows to the device's buffers. */
#include "base/finite.h"
#include "base/status.h"
#include "nn/losses/loss.h"
#include "session/session_state.h"
#include "session/weights.h"
#include <math.h>
#include <string.h>

size_t batch_place(const unroll_session *s, int t, uint32_t row) { return (size_t)t * (size_t)s->config.rows + row; }

/* Steps of the targets: one per sequence after a pool. */
static int target_steps(const unroll_session *s) { return model_is_pooled(s->model) ? 1 : s->config.steps; }

bool batch_counts(const unroll_session *s, const unroll_batch *b, int t, int row)
{
    return !s->config.lengths || t < b->lengths[row];
}

static unroll_status want(const void *array, bool wanted, const char *name)
{
    if (wanted && !array)
        return fail(UNROLL_USAGE, "the batch has no %s, which this session needs; fix: add it", name);
    if (!wanted && array)
        return fail(
            UNROLL_USAGE,
            "the batch has %s, which this session was not created for; fix: leave it out, or create the session with "
            "it",
            name);
    return UNROLL_OK;
}

static unroll_status check_arrays(const unroll_session *s, const unroll_batch *b)
{
    const struct unroll_model *m = s->model;
    const struct loss *loss = loss_at(m->loss.index);
    bool has_loss = s->config.mode == UNROLL_EVAL || s->config.mode == UNROLL_TRAIN;
    TRY(want(b->tokens, model_token_columns(m) > 0, "tokens"));
    TRY(want(b->inputs, model_numbers(m) > 0, "inputs"));
    TRY(want(b->targets, has_loss && loss && loss->of_classes, "targets"));
    TRY(want(b->target_values, has_loss && loss && !loss->of_classes, "target_values"));
    TRY(want(b->lengths, s->config.lengths, "lengths"));
    return want(b->reset, s->config.resets, "reset");
}

/* One of the columns of an array [T, B, columns]. */
struct integers {
    const int32_t *at;
    size_t columns;
    int steps;
    const char *name, *called; /* "tokens", ", 'word'" */
};

static unroll_status check_integers(const unroll_session *s, const unroll_batch *b, const struct integers *a, int min,
                                    int max)
{
    for (int t = 0; a->at && t < a->steps; t++)
        for (int row = 0; row < s->config.rows; row++) {
            int32_t n = a->at[batch_place(s, t, (uint32_t)row) * a->columns];
            if (batch_counts(s, b, t, row) && (n < min || n > max))
                return fail(
                    UNROLL_DATA,
                    "%s[t=%d, row=%d%s] = %d is outside %d..%d; fix: use numbers in this range, and open the data "
                    "with the model",
                    a->name, t, row, a->called, n, min, max);
        }
    return UNROLL_OK;
}

static unroll_status check_tokens(const unroll_session *s, const unroll_batch *b)
{
    const struct unroll_model *m = s->model;
    struct integers a = {b->tokens, (size_t)model_token_columns(m), s->config.steps, "tokens", ""};
    char called[48];
    for (int i = 0; i < m->n_inputs; i++) {
        if (!m->inputs[i].tokens)
            continue;
        a.called = input_called(m, i, called);
        TRY(check_integers(s, b, &a, 0, m->inputs[i].tokens - 1));
        a.at++;
    }
    return UNROLL_OK;
}

static unroll_status refuse_number(const char *name, int t, int row, int i, const float *x)
{
    return fail(UNROLL_DATA, "%s[t=%d, row=%d, %d] is %s; fix: use finite numbers", name, t, row, i,
                isnan(x[i]) ? "NaN" : "infinite");
}

static unroll_status check_inputs(const unroll_session *s, const unroll_batch *b, const float *array, int width)
{
    size_t all = (size_t)s->config.steps * (size_t)s->config.rows * (size_t)width;
    if (!array || (!s->config.lengths && all_finite(array, all)))
        return UNROLL_OK;
    for (int t = 0; t < s->config.steps; t++)
        for (int row = 0; row < s->config.rows; row++, array += width)
            if (batch_counts(s, b, t, row) && !all_finite(array, (size_t)width))
                return refuse_number("inputs", t, row, (int)first_not_finite(array, (size_t)width), array);
    return UNROLL_OK;
}

/* Refuses numbers outside the loss's domain; NaN marks a target that does not count. */
static unroll_status check_targets(const unroll_session *s, const unroll_batch *b, const float *y, int width)
{
    const struct loss *loss = loss_at(s->model->loss.index);
    const bool any = loss && loss->targets[0] == loss->targets[1];
    size_t all = (size_t)target_steps(s) * (size_t)s->config.rows * (size_t)width;
    if (!y || (any && !s->config.lengths && all_finite(y, all)))
        return UNROLL_OK;
    for (int t = 0; t < target_steps(s); t++)
        for (int row = 0; row < s->config.rows; row++, y += width)
            for (int i = 0; i < width && batch_counts(s, b, t, row); i++) {
                if (isinf(y[i]))
                    return refuse_number("target_values", t, row, i, y);
                if (!any && (y[i] < loss->targets[0] || y[i] > loss->targets[1]))
                    return fail(
                        UNROLL_DATA,
                        "target_values[t=%d, row=%d, %d] = %g is outside %g..%g of `loss` = '%s'; fix: use targets in "
                        "this range, or another loss",
                        t, row, i, (double)y[i], (double)loss->targets[0], (double)loss->targets[1], loss->name);
            }
    return UNROLL_OK;
}

/* Refuses labels without steps: the loss of a row would be that of fewer labels. */
static unroll_status check_labels(const unroll_session *s, const unroll_batch *b)
{
    const struct loss *loss = loss_at(s->model->loss.index);
    if (!b->targets || !loss->of_sequences || model_has_chain(s->model))
        return UNROLL_OK;
    for (int row = 0; b->lengths && row < s->config.rows; row++)
        if (b->lengths[row] > 0 && b->lengths[row] < s->config.steps &&
            b->targets[batch_place(s, b->lengths[row] - 1, (uint32_t)row)] > 0 &&
            b->targets[batch_place(s, b->lengths[row], (uint32_t)row)] > 0)
            return fail(UNROLL_DATA,
                        "targets[row=%d] has more labels than the %d steps of the row; fix: end the labels with 0, or "
                        "set targets[t=0, row=%d] = -1 to leave the row out",
                        row, b->lengths[row], row);
    return UNROLL_OK;
}

unroll_status batch_check(const unroll_session *s, const unroll_batch *b)
{
    const int outputs = unroll_model_outputs(s->model);
    TRY(check_arrays(s, b));
    for (int row = 0; b->lengths && row < s->config.rows; row++)
        if (b->lengths[row] < 0 || b->lengths[row] > s->config.steps)
            return fail(UNROLL_DATA, "lengths[row=%d] = %d is outside 0..%d; fix: use lengths in this range", row,
                        b->lengths[row], s->config.steps);
    TRY(check_tokens(s, b));
    TRY(check_integers(s, b, &(struct integers){b->targets, 1, target_steps(s), "targets", ""}, -1, outputs - 1));
    TRY(check_labels(s, b));
    TRY(check_inputs(s, b, b->inputs, model_numbers(s->model)));
    return check_targets(s, b, b->target_values, unroll_model_targets(s->model));
}

/* Arrays hold the whole batch; a rank reads its own rows and steps. */
static size_t row_of(const unroll_session *s, int t, uint32_t row)
{
    return batch_place(s, t, s->plan->first_row + row);
}

/* The steps [first, end) of an array. */
struct range_of_steps {
    int first, end;
};

static struct range_of_steps own_steps(const unroll_session *s, int steps)
{
    const struct plan *p = s->plan;
    if (steps != s->config.steps) /* one per sequence */
        return (struct range_of_steps){0, steps};
    return (struct range_of_steps){(int)p->first_step, (int)(p->first_step + p->steps)};
}

static void take_integers(unroll_session *s, const unroll_batch *b, const int32_t *array, size_t columns,
                          const char *name, int steps)
{
    int32_t *to = array ? session_host(s, name) : NULL;
    const struct range_of_steps own = own_steps(s, steps);
    for (int t = own.first; to && t < own.end; t++)
        for (uint32_t row = 0; row < s->plan->rows; row++)
            *to++ = batch_counts(s, b, t, (int)(s->plan->first_row + row)) ? array[row_of(s, t, row) * columns] : -1;
}

/* The buffers of tokens are in the order of the columns. */
static void take_tokens(unroll_session *s, const unroll_batch *b)
{
    const struct unroll_model *m = s->model;
    const size_t columns = (size_t)model_token_columns(m);
    const int32_t *from = b->tokens;
    char name[48];
    for (int i = 0; from && i < m->n_inputs; i++)
        if (m->inputs[i].tokens)
            take_integers(s, b, from++, columns, column_buffer(m, i, name), s->config.steps);
}

/* Sets the steps after a row's end to zero if the device reads them, so that they cannot affect a sum. */
static void take_floats(unroll_session *s, const unroll_batch *b, const float *array, const char *name, int steps,
                        size_t width)
{
    char *to = array ? session_host(s, name) : NULL;
    size_t size = width * dtype_size(s->plan->config.real);
    const struct range_of_steps own = own_steps(s, steps);
    if (to && !s->config.lengths && (int)s->plan->rows == s->config.rows) {
        floats_to_reals(array + batch_place(s, own.first, 0) * width, s->plan->config.real, to,
                        (size_t)(own.end - own.first) * (size_t)s->config.rows * width);
        return;
    }
    for (int t = own.first; to && t < own.end; t++)
        for (uint32_t row = 0; row < s->plan->rows; row++, to += size) {
            if (batch_counts(s, b, t, (int)(s->plan->first_row + row)))
                floats_to_reals(array + row_of(s, t, row) * width, s->plan->config.real, to, width);
            else if (!s->device->skips_ended)
                memset(to, 0, size);
        }
}

void batch_take(unroll_session *s, const unroll_batch *b)
{
    int32_t *lengths = b->lengths ? session_host(s, "lengths") : NULL;
    uint8_t *reset = b->reset ? session_host(s, "reset") : NULL;
    take_tokens(s, b);
    take_integers(s, b, b->targets, 1, "targets", target_steps(s));
    take_floats(s, b, b->inputs, "x", s->config.steps, (size_t)model_numbers(s->model));
    take_floats(s, b, b->target_values, "targets", target_steps(s), (size_t)unroll_model_targets(s->model));
    if (lengths)
        memcpy(lengths, b->lengths + s->plan->first_row, s->plan->rows * sizeof *lengths);
    const struct range_of_steps own = own_steps(s, s->config.steps);
    for (int t = own.first; reset && t < own.end; t++, reset += s->plan->rows)
        memcpy(reset, b->reset + row_of(s, t, 0), s->plan->rows);
}
