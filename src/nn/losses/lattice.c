/* The forward and backward recursions over the states blank, label, blank, .., label, blank: with probabilities that
 * are scaled at each step, and with logarithms where these would underflow. */
#include "nn/losses/lattice.h"
#include <math.h>
#include <string.h>

/* Arrays of states have two impossible states at both ends, so that the recursions have no cases. */
enum { ENDS = 2 };

struct lattice {
    size_t steps, classes, states, width; /* width: states and both ends */
    const int32_t *label;
    const double *y, *log_y; /* [steps, classes] probabilities and their logarithms */
    double *slope;           /* [steps, classes] */
    double *a;               /* [steps, width] of the paths up to a step, with its class */
    double *scale;           /* [steps] logarithm of the factor that a step of `a` was divided by */
    double *b, *next;        /* [states] of the paths after a step */
    double *skip, *own;      /* [states] whether the state two before may precede; the step's probability */
    double *of_class;        /* [classes] sums of the states of a class */
};

size_t lattice_needs(const int32_t *label, size_t labels)
{
    size_t steps = labels;
    for (size_t i = 1; i < labels; i++) steps += label[i] == label[i - 1];
    return steps;
}

/* ---- sums of products, of probabilities or of their logarithms -------------------------- */

#define EITHER static inline __attribute__((always_inline))

EITHER double times(double x, double y, bool in_logs) { return in_logs ? x + y : x * y; }

EITHER double sum_of(double x, double y, double z, bool in_logs)
{
    if (!in_logs)
        return x + y + z;
    const double larger = x > y ? x : y, max = larger > z ? larger : z;
    return max == -INFINITY ? max : max + log(exp(x - max) + exp(y - max) + exp(z - max));
}

/* Divides the states by the largest. Returns the logarithm of the divisor. */
EITHER double rescale(double *x, size_t n, bool in_logs)
{
    double max = x[0];
    for (size_t i = 1; i < n; i++) max = x[i] > max ? x[i] : max;
    for (size_t i = 0; i < n; i++) x[i] = in_logs ? x[i] - max : x[i] / max;
    return in_logs ? max : log(max);
}

/* ---- the recursions ---------------------------------------------------------------------- */

static double *states_at(const struct lattice *l, size_t t) { return l->a + t * l->width + ENDS; }

static size_t class_of(const struct lattice *l, size_t s) { return s % 2 ? (size_t)l->label[s / 2] : 0; }

static void lattice_begin(struct lattice *l, double *scratch, bool in_logs)
{
    const double zero = in_logs ? -INFINITY : 0, one = in_logs ? 0 : 1;
    const size_t all = (l->steps + 4) * l->width;
    for (size_t i = 0; i < all; i++) scratch[i] = zero;
    l->a = scratch;
    l->b = states_at(l, l->steps), l->next = l->b + l->width, l->skip = l->next + l->width, l->own = l->skip + l->width;
    l->scale = scratch + all;
    l->of_class = l->scale + l->steps;
    for (size_t s = 3; s < l->states; s += 2) l->skip[s] = l->label[s / 2] != l->label[s / 2 - 1] ? one : zero;
}

static void read_step(const struct lattice *l, size_t t, bool in_logs)
{
    const double *y = (in_logs ? l->log_y : l->y) + t * l->classes;
    for (size_t s = 0; s < l->states; s++) l->own[s] = y[class_of(l, s)];
}

/* Returns log p(label). */
EITHER double go_forward(struct lattice *l, bool in_logs)
{
    double scale = 0;
    for (size_t t = 0; t < l->steps; t++) {
        double *a = states_at(l, t), *before = a - l->width;
        read_step(l, t, in_logs);
        for (size_t s = 0; t == 0 && s < l->states && s < 2; s++) a[s] = l->own[s];
        for (size_t s = 0; t > 0 && s < l->states; s++)
            a[s] = times(l->own[s],
                         sum_of(before[s], before[s - 1], times(l->skip[s], before[s - 2], in_logs), in_logs), in_logs);
        l->scale[t] = scale += rescale(a, l->states, in_logs);
    }
    const double *a = states_at(l, l->steps - 1) + l->states, none = in_logs ? -INFINITY : 0;
    const double p = sum_of(a[-1], a[-2], none, in_logs);
    return scale + (in_logs ? p : log(p));
}

/* Subtracts the probabilities of the classes at step t from the slopes; `excess` is the logarithm of the largest
 * product of a and b that was possible, divided by p(label). */
EITHER void subtract_step(const struct lattice *l, size_t t, double excess, bool in_logs)
{
    const double *a = states_at(l, t), factor = exp(excess);
    double *slope = l->slope + t * l->classes;
    memset(l->of_class, 0, l->classes * sizeof *l->of_class);
    for (size_t s = 0; s < l->states; s++)
        l->of_class[class_of(l, s)] += in_logs ? exp(a[s] + l->b[s] + excess) : a[s] * l->b[s] * factor;
    for (size_t k = 0; k < l->classes; k++) slope[k] -= l->of_class[k];
}

/* Returns the largest `excess`. Probabilities that underflow change a slope by at most e^-700 times e^excess. */
EITHER double go_back(struct lattice *l, double log_p, bool in_logs)
{
    double scale = 0, most = -INFINITY;
    for (size_t s = l->states > 1 ? l->states - 2 : 0; s < l->states; s++) l->b[s] = in_logs ? 0 : 1;
    for (size_t t = l->steps; t-- > 0;) {
        const double excess = l->scale[t] + scale - log_p;
        most = excess > most ? excess : most;
        read_step(l, t, in_logs); /* the probabilities are where the slopes will be */
        subtract_step(l, t, excess, in_logs);
        for (size_t s = 0; s < l->states; s++) l->own[s] = times(l->own[s], l->b[s], in_logs);
        for (size_t s = 0; s < l->states; s++)
            l->next[s] = sum_of(l->own[s], l->own[s + 1], times(l->skip[s + 2], l->own[s + 2], in_logs), in_logs);
        memcpy(l->b, l->next, l->states * sizeof *l->b);
        scale += rescale(l->b, l->states, in_logs);
    }
    return most;
}

/* z <- its log-softmax, y <- its softmax. */
static void log_softmax(double *z, double *y, size_t n)
{
    double max = z[0], sum = 0;
    for (size_t k = 1; k < n; k++) max = z[k] > max ? z[k] : max;
    for (size_t k = 0; k < n; k++) sum += y[k] = exp(z[k] - max);
    const double log_sum = max + log(sum);
    for (size_t k = 0; k < n; k++) {
        z[k] -= log_sum;
        y[k] /= sum;
    }
}

/* Sets the slopes. Returns -log p(label); NAN if probabilities underflow. */
EITHER double solve(struct lattice *l, double *scratch, bool in_logs)
{
    enum { EXACT = 500 };
    lattice_begin(l, scratch, in_logs);
    const double log_p = go_forward(l, in_logs);
    if (!in_logs && !(log_p > -INFINITY))
        return (double)NAN;
    return go_back(l, log_p, in_logs) < EXACT || in_logs ? -log_p : (double)NAN;
}

double lattice_slopes(double *z, size_t steps, size_t classes, const int32_t *label, size_t labels, bool in_logs,
                      double *slope, double *scratch)
{
    struct lattice l = {.steps = steps, .classes = classes, .states = 2 * labels + 1, .label = label};
    l.width = l.states + 2 * ENDS;
    l.y = l.slope = slope;
    l.log_y = z;
    for (size_t t = 0; t < steps; t++) log_softmax(z + t * classes, slope + t * classes, classes);
    const double scaled = in_logs ? (double)NAN : solve(&l, scratch, false);
    if (!isnan(scaled))
        return scaled;
    for (size_t i = 0; i < steps * classes; i++) slope[i] = exp(z[i]);
    return solve(&l, scratch, true);
}
