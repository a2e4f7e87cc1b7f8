/* local:H: workers update independently, and every H updates their mean change makes one outer step of all (local
 * SGD; with Nesterov momentum DiLoCo: Douillard et al., arXiv 2311.08105). The sum may take several updates: a
 * worker's changes in the meantime are added to the weights of the outer step. local:auto chooses H by the
 * differences between the workers' changes. Gradients are not exchanged. */
#include "base/dtype.h"
#include "base/key_value.h"
#include "base/number.h"
#include "extensions/cluster/policies/policy.h"
#include <stdio.h>
#include <string.h>

/* Vectors in the order in which they are kept, after "worker". */
enum { ANCHOR = 1, VELOCITY, CHANGE, START };
/* Integers: current H; the step at which the interval began; whether a sum has begun whose outer step is still to be
 * made; the bits of the value summed after the changes. */
enum { INTERVAL, BEGAN, PENDING, SQUARES };
enum { MOST = 1 << 20, MOST_AUTO = 256 };

/* From this H on, the outer step has momentum, and the exchange may take the whole interval, to avoid waiting on
 * slow networks (docs/internals/policies.md, "What it costs in loss"). For smaller H the plain mean is as good. */
enum { MANY = 16 };
static const double momentum_of_many = 0.6;

static const struct key keys[] = {
    {"rate", NULL, 1e-6, 10.5, 0, offsetof(struct sync_options, rate), "of the outer step, 1"},
    {"momentum", NULL, 0, 0.999, 0, offsetof(struct sync_options, momentum),
     "of the outer step, Nesterov's, 0.6; with H below 16 and auto 0"},
    {"delay", NULL, 0, 1 << 20, 0, offsetof(struct sync_options, delay),
     "updates that an exchange may take, H - 1; likewise H / 2"},
    {NULL}};

static unroll_status read(const char *argument, struct sync_options *options)
{
    int64_t interval = 0;
    if (strcmp(argument, "auto") && number_whole_integer(argument, 1, MOST, &interval) != NUMBER_OK)
        return fail(UNROLL_USAGE,
                    "`sync` = 'local:%.40s': H is 1 to %d updates, or auto; fix: write for example local:32", argument,
                    MOST);
    options->interval = (double)interval;
    if (interval >= MANY) {
        options->momentum = momentum_of_many;
        options->delay = (double)interval - 1;
    }
    return UNROLL_OK;
}

static unroll_status open(struct exchange *e)
{
    float *numbers;
    TRY(exchange_keep(e, "anchor", KEPT_ALIKE, &numbers));
    TRY(exchange_keep(e, "velocity", KEPT_ALIKE, &numbers));
    TRY(exchange_keep(e, "change", KEPT_ALIKE, &numbers));
    return exchange_keep(e, "start", KEPT_APART, &numbers);
}

/* e->own has the weights, which are the same on all workers. */
static unroll_status begin(struct exchange *e, int64_t step, bool is_fresh)
{
    if (!is_fresh)
        return UNROLL_OK;
    memcpy(e->kept[ANCHOR].numbers, e->own, e->vector.count * sizeof *e->own);
    memset(e->kept[VELOCITY].numbers, 0, e->vector.count * sizeof *e->own);
    e->integer[INTERVAL] = e->options.interval > 0 ? (int64_t)e->options.interval : 1;
    e->integer[BEGAN] = step;
    e->integer[PENDING] = 0;
    return UNROLL_OK;
}

/* Begins the group's sum of changes, followed by the square of this worker's change, for auto. */
static unroll_status begin_round(struct exchange *e)
{
    float *change = e->kept[CHANGE].numbers, *start = e->kept[START].numbers;
    const float *anchor = e->kept[ANCHOR].numbers;
    double square = 0;
    TRY(session_read_shares(e->session, SHARE_WEIGHTS, start));
    for (size_t i = 0; i < e->vector.count; i++) {
        change[i] = anchor[i] - start[i];
        square += (double)change[i] * (double)change[i];
    }
    change[e->vector.count] = (float)square;
    e->integer[PENDING] = 1;
    return exchange_sum_begin(e, change);
}

static unroll_status settle(struct exchange *e)
{
    if (!e->sums)
        return UNROLL_OK;
    TRY(exchange_sum_end(e, e->kept[CHANGE].numbers));
    e->integer[SQUARES] = f32_to_bits(e->kept[CHANGE].numbers[e->vector.count]);
    return UNROLL_OK;
}

/* If the changes agree completely, the square of the mean equals the mean of the squares; if they are unrelated, it
 * is 1 / workers of that. H doubles above half of this range and halves below a quarter. Ranks of a worker with
 * different shares could decide differently, so a mesh that cuts weights keeps H. */
static void choose_interval(struct exchange *e, double mean_square, double squares)
{
    const double least = 1.0 / e->vector.workers, share = squares > 0 ? mean_square * e->vector.workers / squares : 1;
    const double agreement = (share - least) / (1 - least);
    int64_t *interval = &e->integer[INTERVAL];
    if (e->options.interval > 0)
        return;
    if (agreement > 0.5 && *interval < MOST_AUTO)
        *interval *= 2;
    else if (agreement < 0.25 && *interval > 1)
        *interval /= 2;
}

/* Makes the outer step, from the anchor by the mean change, and adds what this worker changed since its sum began. */
static unroll_status end_round(struct exchange *e, bool at_once)
{
    float *anchor = e->kept[ANCHOR].numbers, *velocity = e->kept[VELOCITY].numbers, *own = e->own;
    const float *change = e->kept[CHANGE].numbers, *start = e->kept[START].numbers;
    const float rate = (float)e->options.rate, momentum = (float)e->options.momentum,
                part = 1 / (float)e->vector.workers;
    double square = 0;
    TRY(settle(e));
    e->integer[PENDING] = 0;
    TRY(session_read_shares(e->session, SHARE_WEIGHTS, own));
    for (size_t i = 0; i < e->vector.count; i++) {
        const float mean = change[i] * part, since = at_once ? 0 : own[i] - start[i];
        square += (double)mean * (double)mean;
        velocity[i] = momentum * velocity[i] + mean;
        anchor[i] -= rate * (mean + momentum * velocity[i]);
        own[i] = anchor[i] + since;
    }
    choose_interval(e, square, (double)f32_from_bits((uint32_t)e->integer[SQUARES]));
    return session_write_shares(e->session, SHARE_WEIGHTS, own);
}

static unroll_status after(struct exchange *e, int64_t step)
{
    const int64_t interval = e->integer[INTERVAL], done = step - e->integer[BEGAN];
    const int64_t asked = (int64_t)e->options.delay;
    const int64_t delay = asked < 0 ? interval / 2 : asked < interval ? asked : interval - 1;
    if (e->integer[PENDING] && done >= delay) {
        TRY(end_round(e, false));
        e->joined = step;
    }
    if (done < interval)
        return UNROLL_OK;
    e->integer[BEGAN] = step;
    TRY(begin_round(e));
    if (delay)
        return UNROLL_OK;
    e->joined = step;
    return end_round(e, true);
}

/* Workers meet where a sum has just ended; before that, other messages would have to wait for it. */
static bool met(const struct exchange *e, int64_t step) { return step == e->joined; }

static double bytes(const struct sync_options *options, const struct update_vector *vector, double *every)
{
    *every = options->interval > 0 ? options->interval : 1;
    return sum_bytes(vector->workers, vector->count + 1);
}

const struct policy policy_local = {
    .name = "local",
    .about = "each worker updates by itself; every H updates an outer step by the mean change of all",
    .argument = "H",
    .keys = keys,
    .codes = true,
    .diverges = true,
    .read = read,
    .open = open,
    .after = after,
    .met = met,
    .settle = settle,
    .begin = begin,
    .bytes = bytes};
