/* Sums over all labels of a sequence: the forward and backward recursions in logarithms, each step as a product with
 * the exponentials of the moves. */
#include "nn/losses/chain.h"
#include <float.h>
#include <math.h>
#include <string.h>

static double largest_of_row(const double *x, size_t n)
{
    double max = x[0];
    for (size_t i = 1; i < n; i++) max = x[i] > max ? x[i] : max;
    return max;
}

void chain_begin(struct chain *c)
{
    const size_t moves = c->labels * c->labels;
    c->top = largest_of_row(c->move, moves);
    for (size_t i = 0; i < moves; i++) c->factor[i] = exp(c->move[i] - c->top);
}

/* e <- exp(x - its largest value), which is returned. */
static double exponentials_of(const double *x, double *e, size_t n)
{
    const double max = largest_of_row(x, n);
    for (size_t i = 0; i < n; i++) e[i] = exp(x[i] - max);
    return max;
}

/* Returns log(sum of exp(x[i] + y[i])). */
static double log_sum(const double *x, const double *y, size_t n)
{
    double max = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) max = x[i] + y[i] > max ? x[i] + y[i] : max;
    for (size_t i = 0; i < n; i++) sum += exp(x[i] + y[i] - max);
    return max + log(sum);
}

/* sum[j] <- the sum over i of e[i] factor[i, j], at least the smallest normal number: no label is impossible. */
static void arrive(const struct chain *c, const double *e, double *sum)
{
    const size_t n = c->labels;
    memset(sum, 0, n * sizeof *sum);
    for (size_t i = 0; i < n; i++) {
        const double *factor = c->factor + i * n;
        for (size_t j = 0; j < n; j++) sum[j] += e[i] * factor[j];
    }
    for (size_t j = 0; j < n; j++) sum[j] = sum[j] > DBL_MIN ? sum[j] : DBL_MIN;
}

/* Fills a [steps, labels]: logarithms of the sums over all labels before each step. Returns that of all. */
static double chain_forward(const struct chain *c, const double *z, size_t steps, double *a, double *e, double *sum)
{
    const size_t n = c->labels;
    for (size_t j = 0; j < n; j++) a[j] = c->start[j] + z[j];
    for (size_t t = 1; t < steps; t++) {
        const double max = exponentials_of(a + (t - 1) * n, e, n) + c->top;
        arrive(c, e, sum);
        for (size_t j = 0; j < n; j++) a[t * n + j] = z[t * n + j] + max + log(sum[j]);
    }
    return log_sum(a + (steps - 1) * n, c->end, n);
}

/* Moves b, the logarithms of the sums over the labels after a step, to the step before, whose labels have the
 * exponentials e. `now` are those of the step's labels and b, `likely` the probability of each label divided by its
 * sum over the labels before. Adds the probability of each move. */
static void go_back(const struct chain *c, const double *e, const double *now, const double *likely, double max,
                    double *b, double *dmove)
{
    const size_t n = c->labels;
    for (size_t i = 0; i < n; i++) {
        const double *factor = c->factor + i * n;
        double sum = 0;
        for (size_t j = 0; j < n; j++) sum += factor[j] * now[j];
        for (size_t j = 0; dmove && j < n; j++) dmove[i * n + j] += e[i] * factor[j] * likely[j];
        b[i] = max + c->top + log(sum > DBL_MIN ? sum : DBL_MIN);
    }
}

static double score_of(const struct chain *c, const double *z, size_t steps, const int32_t *label)
{
    const size_t n = c->labels;
    double sum = c->start[label[0]] + c->end[label[steps - 1]] + z[label[0]];
    for (size_t t = 1; t < steps; t++)
        sum += z[t * n + (size_t)label[t]] + c->move[(size_t)label[t - 1] * n + (size_t)label[t]];
    return sum;
}

/* Subtracts the gradients of the score of the labels. */
static void subtract_score(const struct chain *c, double *z, size_t steps, const int32_t *label,
                           const struct chain_slopes *d)
{
    const size_t n = c->labels;
    for (size_t t = 0; t < steps; t++) z[t * n + (size_t)label[t]] -= 1;
    if (!d)
        return;
    for (size_t t = 1; t < steps; t++) d->move[(size_t)label[t - 1] * n + (size_t)label[t]] -= 1;
    d->start[label[0]] -= 1;
    d->end[label[steps - 1]] -= 1;
}

/* z <- the probability of each label at each step. a is from chain_forward, `all` its result. */
static void probabilities_of(const struct chain *c, double *z, size_t steps, const double *a, double all,
                             const struct chain_slopes *d, double *scratch)
{
    const size_t n = c->labels;
    double *b = scratch, *e = b + n, *sum = e + n, *now = sum + n, *likely = now + n;
    memcpy(b, c->end, n * sizeof *b);
    for (size_t t = steps; t-- > 0;) {
        double *at = z + t * n;
        for (size_t j = 0; j < n; j++) {
            now[j] = at[j] + b[j];
            at[j] = exp(a[t * n + j] + b[j] - all);
        }
        for (size_t j = 0; d && t + 1 == steps && j < n; j++) d->end[j] += at[j];
        if (t == 0)
            break;
        exponentials_of(a + (t - 1) * n, e, n);
        arrive(c, e, sum);
        for (size_t j = 0; j < n; j++) likely[j] = at[j] / sum[j];
        const double max = exponentials_of(now, now, n);
        go_back(c, e, now, likely, max, b, d ? d->move : NULL);
    }
    for (size_t j = 0; d && j < n; j++) d->start[j] += z[j];
}

double chain_slopes(const struct chain *c, double *z, size_t steps, const int32_t *label, const struct chain_slopes *d,
                    double *scratch)
{
    const size_t n = c->labels;
    double *a = scratch + 5 * n;
    const double all = chain_forward(c, z, steps, a, scratch, scratch + n);
    const double score = label ? score_of(c, z, steps, label) : 0;
    probabilities_of(c, z, steps, a, all, d, scratch);
    if (!label)
        return all;
    subtract_score(c, z, steps, label, d);
    return all - score;
}

void chain_best(const struct chain *c, const double *z, size_t steps, int32_t *label, int32_t *room, double *scratch)
{
    const size_t n = c->labels;
    double *best = scratch, *next = scratch + n;
    for (size_t j = 0; j < n; j++) best[j] = c->start[j] + z[j];
    for (size_t t = 1; t < steps; t++) {
        for (size_t j = 0; j < n; j++) {
            size_t from = 0;
            for (size_t i = 1; i < n; i++)
                if (best[i] + c->move[i * n + j] > best[from] + c->move[from * n + j])
                    from = i;
            next[j] = best[from] + c->move[from * n + j] + z[t * n + j];
            room[t * n + j] = (int32_t)from;
        }
        memcpy(best, next, n * sizeof *best);
    }
    size_t last = 0;
    for (size_t j = 1; j < n; j++)
        if (best[j] + c->end[j] > best[last] + c->end[last])
            last = j;
    for (size_t t = steps; t-- > 0;) {
        label[t] = (int32_t)last;
        last = t ? (size_t)room[t * n + last] : last;
    }
}
