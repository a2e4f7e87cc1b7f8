/* Losses of whole sequences against sums over all labels or paths, finite differences and known answers. */
/* test: kinds=plain,long-memory */
#include "../check.h"
#include "nn/losses/chain.h"
#include "nn/losses/lattice.h"
#include "nn/losses/signal_error.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;

/* Returns a number between -1 and 1. */
static double draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / (double)(1ull << 52) - 1;
}

static double *draw_all(size_t count, double scale)
{
    double *x = malloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++) x[i] = scale * draw();
    return x;
}

static double *copy_of(const double *x, size_t count)
{
    return memcpy(malloc(count * sizeof *x), x, count * sizeof *x);
}

/* ---- conditional random fields ----------------------------------------------------------- */

enum { LABELS = 3, STEPS = 4, ALL = 81 };

/* move, start and end, one after the other, and z. */
struct field {
    struct chain chain;
    double *at, *z;
};

static struct field field_new(double scale)
{
    struct field f = {.at = draw_all(LABELS * (LABELS + 2), scale), .z = draw_all(STEPS * LABELS, scale)};
    f.chain = (struct chain){.labels = LABELS, .move = f.at, .factor = malloc(LABELS * LABELS * sizeof(double))};
    f.chain.start = f.at + LABELS * LABELS;
    f.chain.end = f.chain.start + LABELS;
    return f;
}

static void field_free(struct field *f)
{
    free(f->at);
    free(f->z);
    free(f->chain.factor);
}

/* Sets the labels with this number, and returns their score. */
static double score_of(const struct field *f, int number, int32_t label[STEPS])
{
    double sum = 0;
    for (int t = 0; t < STEPS; t++, number /= LABELS) {
        label[t] = number % LABELS;
        sum += f->z[t * LABELS + label[t]] + (t ? f->chain.move[label[t - 1] * LABELS + label[t]] : 0);
    }
    return sum + f->chain.start[label[0]] + f->chain.end[label[STEPS - 1]];
}

static double loss_of(struct field *f, const int32_t *label)
{
    double scratch[100], *z = copy_of(f->z, STEPS * LABELS);
    chain_begin(&f->chain);
    const double loss = chain_slopes(&f->chain, z, STEPS, label, NULL, scratch);
    free(z);
    return loss;
}

/* Compares with sums over all labels: the loss, the probabilities of labels and moves, the best labels. */
static void check_field(double scale)
{
    struct field f = field_new(scale);
    int32_t label[STEPS], truth[STEPS], best[STEPS], found[STEPS], room[STEPS * LABELS];
    double all = 0, most = -INFINITY, likely[STEPS * LABELS] = {0}, moves[LABELS * LABELS] = {0}, scratch[100];
    double slope[LABELS * (LABELS + 2)] = {0}, worst = 0;
    for (int i = 0; i < ALL; i++) all += exp(score_of(&f, i, label));
    for (int i = 0; i < ALL; i++) {
        const double score = score_of(&f, i, label), p = exp(score) / all;
        for (int t = 0; t < STEPS; t++) likely[t * LABELS + label[t]] += p;
        for (int t = 1; t < STEPS; t++) moves[label[t - 1] * LABELS + label[t]] += p;
        if (score > most)
            most = score, memcpy(best, label, sizeof best);
    }
    const double own = score_of(&f, 50, truth);
    CHECK(fabs(loss_of(&f, truth) - (log(all) - own)) < 1e-11, "the loss is %.15g", loss_of(&f, truth));
    double *z = copy_of(f.z, STEPS * LABELS);
    const struct chain_slopes d = {slope, slope + LABELS * LABELS, slope + LABELS * (LABELS + 1)};
    const double sum = chain_slopes(&f.chain, z, STEPS, NULL, &d, scratch);
    for (int i = 0; i < STEPS * LABELS; i++) worst = fmax(worst, fabs(z[i] - likely[i]));
    for (int i = 0; i < LABELS * LABELS; i++) worst = fmax(worst, fabs(d.move[i] - moves[i]));
    for (int i = 0; i < LABELS; i++)
        worst = fmax(worst, fabs(d.start[i] - likely[i]) + fabs(d.end[i] - likely[(STEPS - 1) * LABELS + i]));
    CHECK(worst < 1e-12 && fabs(sum - log(all)) < 1e-11, "probabilities differ by %.2e", worst);
    chain_best(&f.chain, f.z, STEPS, found, room, scratch);
    CHECK(!memcmp(found, best, sizeof best), "the best labels differ");
    free(z);
    field_free(&f);
}

/* Compares the gradients with differences of the loss. */
static void check_field_slopes(void)
{
    enum { MOVES = LABELS * (LABELS + 2) };
    struct field f = field_new(1);
    int32_t label[STEPS];
    double scratch[100], slope[MOVES] = {0}, worst = 0;
    score_of(&f, 34, label);
    const struct chain_slopes d = {slope, slope + LABELS * LABELS, slope + LABELS * (LABELS + 1)};
    double *z = copy_of(f.z, STEPS * LABELS);
    chain_begin(&f.chain);
    chain_slopes(&f.chain, z, STEPS, label, &d, scratch);
    for (int i = 0; i < MOVES + STEPS * LABELS; i++) {
        double *x = i < MOVES ? f.at + i : f.z + i - MOVES, was = *x, by[2];
        for (int k = 0; k < 2; k++) {
            *x = was + (k ? 1e-5 : -1e-5);
            by[k] = loss_of(&f, label);
        }
        *x = was;
        worst = fmax(worst, fabs((by[1] - by[0]) / 2e-5 - (i < MOVES ? slope[i] : z[i - MOVES])));
    }
    CHECK(worst < 1e-8, "gradients differ by %.2e", worst);
    free(z);
    field_free(&f);
}

/* A forbidden move is never predicted, its probability is 0, and labels that make it have a finite loss. */
static void check_forbidden(void)
{
    struct field f = field_new(2);
    int32_t label[STEPS] = {0, 1, 2, 0}, found[STEPS], room[STEPS * LABELS];
    double scratch[100], slope[LABELS * (LABELS + 2)] = {0};
    const struct chain_slopes d = {slope, slope + LABELS * LABELS, slope + LABELS * (LABELS + 1)};
    f.at[1] = CHAIN_FORBIDDEN;
    for (int t = 0; t < STEPS; t++) f.z[t * LABELS + t % 2] += 100;
    chain_begin(&f.chain);
    chain_best(&f.chain, f.z, STEPS, found, room, scratch);
    for (int t = 1; t < STEPS; t++) CHECK(found[t - 1] != 0 || found[t] != 1, "a forbidden move was predicted");
    const double loss = chain_slopes(&f.chain, f.z, STEPS, label, &d, scratch);
    CHECK(loss > 9000 && loss < 11000 && slope[1] == -1, "the loss is %g, the slope %g", loss, slope[1]);
    for (int i = 0; i < STEPS * LABELS; i++) CHECK(isfinite(f.z[i]), "a slope is %g", f.z[i]);
    field_free(&f);
}

/* ---- connectionist temporal classification ------------------------------------------------ */

struct answer {
    double loss, *slope;
};

static struct answer answer_of(const double *z, size_t steps, size_t classes, const int32_t *label, size_t labels,
                               bool in_logs)
{
    double *copy = copy_of(z, steps * classes), *scratch = malloc(lattice_scratch(classes, steps) * sizeof *scratch);
    struct answer a = {.slope = malloc(steps * classes * sizeof(double))};
    a.loss = lattice_slopes(copy, steps, classes, label, labels, in_logs, a.slope, scratch);
    free(copy);
    free(scratch);
    return a;
}

/* Returns whether a path of classes gives the labels. */
static bool gives(const int32_t *path, size_t steps, const int32_t *label, size_t labels)
{
    size_t found = 0;
    for (size_t t = 0; t < steps; t++) {
        if (path[t] == 0 || (t && path[t] == path[t - 1]))
            continue;
        if (found == labels || label[found++] != path[t])
            return false;
    }
    return found == labels;
}

/* Returns the probability of the labels, a sum over all paths. */
static double brute(const double *z, size_t steps, size_t classes, const int32_t *label, size_t labels)
{
    int32_t path[8];
    double all = 0;
    size_t paths = 1;
    for (size_t t = 0; t < steps; t++) paths *= classes;
    for (size_t i = 0; i < paths; i++) {
        double p = 1;
        size_t rest = i;
        for (size_t t = 0; t < steps; t++, rest /= classes) {
            double sum = 0;
            path[t] = (int32_t)(rest % classes);
            for (size_t k = 0; k < classes; k++) sum += exp(z[t * classes + k]);
            p *= exp(z[t * classes + rest % classes]) / sum;
        }
        all += gives(path, steps, label, labels) ? p : 0;
    }
    return all;
}

static void check_brute(void)
{
    enum { T = 6, N = 3 };
    static const struct {
        int32_t label[T];
        size_t labels;
    } rows[] = {{{0}, 0},         {{1}, 1}, {{1, 2}, 2}, {{1, 1}, 2}, {{2, 2, 2}, 3}, {{1, 2, 1, 2, 1, 2}, 6},
                {{1, 1, 2, 2}, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int in_logs = 0; in_logs < 2; in_logs++) {
            double *z = draw_all(T * N, 2), worst = 0;
            const struct answer a = answer_of(z, T, N, rows[i].label, rows[i].labels, in_logs);
            const double p = brute(z, T, N, rows[i].label, rows[i].labels);
            CHECK(fabs(a.loss + log(p)) < 1e-11, "row %zu: %.15g, not %.15g", i, a.loss, -log(p));
            for (int k = 0; k < T * N; k++) {
                const double was = z[k];
                z[k] = was + 1e-5;
                const double more = brute(z, T, N, rows[i].label, rows[i].labels);
                z[k] = was - 1e-5;
                const double less = brute(z, T, N, rows[i].label, rows[i].labels);
                z[k] = was;
                worst = fmax(worst, fabs(-(log(more) - log(less)) / 2e-5 - a.slope[k]));
            }
            CHECK(worst < 1e-8, "row %zu: slopes differ by %.2e", i, worst);
            free(a.slope);
            free(z);
        }
    CHECK(lattice_needs((const int32_t[]){1, 1, 2, 2, 2, 1}, 6) == 9, "steps that labels need");
    CHECK(lattice_needs(NULL, 0) == 0, "no labels need no steps");
}

/* The known answers of Baidu's warp-ctc, with its blank 5 as class 0. */
static void check_known(void)
{
    static const double y[2][5][6] = {{{.633766, .221185, .0917319, .0129757, .0142857, .0260553},
                                       {.111121, .588392, .278779, .0055756, .00569609, .010436},
                                       {.0357786, .633813, .321418, .00249248, .00272882, .0037688},
                                       {.0663296, .643849, .280111, .00283995, .0035545, .00331533},
                                       {.458235, .396634, .123377, .00648837, .00903441, .00623107}},
                                      {{.30176, .28562, .0831517, .0862751, .0816851, .161508},
                                       {.24082, .397533, .0557226, .0546814, .0557528, .19549},
                                       {.230246, .450868, .0389607, .038309, .0391602, .202456},
                                       {.280884, .429522, .0326593, .0339046, .0326856, .190345},
                                       {.423286, .315517, .0338439, .0393744, .0339315, .154046}}};
    static const int32_t label[2][5] = {{1, 2, 3, 2, 1}, {1, 2, 2, 1}};
    static const double cost[2] = {3.34211, 5.42262};
    static const double exceptions[5][3] = {
        {0, 1, -.69824}, {1, 2, -.602467}, {2, 0, -.797544}, {3, 2, -.570478}, {4, 1, -.576714}};
    for (int row = 0; row < 2; row++) {
        double z[30], worst = 0;
        for (int t = 0; t < 5; t++)
            for (int k = 0; k < 6; k++) z[t * 6 + (k + 1) % 6] = log(y[row][t][k]);
        const struct answer a = answer_of(z, 5, 6, label[row], row ? 4 : 5, false);
        CHECK(fabs(a.loss - cost[row]) < 1e-5, "row %d costs %.6f", row, a.loss);
        for (int t = 0; t < 5; t++)
            for (int k = 0; k < 6; k++) {
                double expected = exp(z[t * 6 + k]) - (!row && k == label[0][t]);
                if (row && k == (int)exceptions[t][1])
                    expected = exceptions[t][2];
                worst = fmax(worst, fabs(a.slope[t * 6 + k] - expected));
            }
        CHECK(worst < 2e-6, "row %d: gradients differ by %.2e", row, worst);
        free(a.slope);
    }
}

/* Confident networks: probabilities underflow and logarithms take over. Scaled and exact answers agree before that. */
static void check_extremes(void)
{
    enum { T = 400, N = 12, L = 120 };
    static const double scales[] = {0, 1, 10, 60, 400, 3000};
    int32_t label[L];
    for (int i = 0; i < L; i++) label[i] = 1 + (int32_t)((draw() + 1) / 2 * (N - 1));
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        double *z = draw_all(T * N, scales[i]), worst = 0, sum = 0;
        for (int t = 0; t < T; t++) z[t * N] += scales[i];
        const struct answer fast = answer_of(z, T, N, label, L, false), exact = answer_of(z, T, N, label, L, true);
        for (int k = 0; k < T * N; k++) worst = fmax(worst, fabs(fast.slope[k] - exact.slope[k]));
        for (int t = 0; t < T; t++, sum = 0) {
            for (int k = 0; k < N; k++) sum += exact.slope[t * N + k];
            worst = fmax(worst, fabs(sum)); /* the slopes of a softmax sum to 0 */
        }
        CHECK(isfinite(exact.loss) && fabs(fast.loss / exact.loss - 1) < 1e-12, "scale %g: losses %.15g and %.15g",
              scales[i], fast.loss, exact.loss);
        CHECK(worst < 1e-8, "scale %g: slopes differ by %.2e", scales[i], worst);
        free(fast.slope);
        free(exact.slope);
        free(z);
    }
}

/* ---- the error of a sound ----------------------------------------------------------------- */

/* The loss by its formula, one mean after the other. */
static double signal_by_formula(const double *z, const double *y, int steps)
{
    double error = 0, energy = 0, pairs = 0, power = 0, offset = 0, n = 0;
    for (int t = 0; t < steps; t++) {
        if (isnan(y[t]))
            continue;
        n++, power += y[t] * y[t], offset += y[t] - z[t];
        if (t == 0 || isnan(y[t - 1]))
            continue;
        const double wanted = y[t] - .85 * y[t - 1], found = z[t] - .85 * z[t - 1];
        pairs++, energy += wanted * wanted, error += (wanted - found) * (wanted - found);
    }
    const double first = pairs > 0 ? error / pairs / (energy / pairs + 1e-5) : 0;
    return n > 0 ? .75 * first + .25 * (offset / n) * (offset / n) / (power / n + 1e-5) : 0;
}

/* Compares loss and slopes with the formula and its differences, with gaps in the target. */
static void check_signal(int steps, int gap)
{
    double *z = draw_all((size_t)steps, 1), *y = draw_all((size_t)steps, 1), *slope = draw_all((size_t)steps, 1);
    double worst = 0;
    size_t counted, expected = 0;
    for (int t = 0; t < steps; t++) {
        y[t] = gap && t % gap == 0 ? NAN : y[t];
        expected += !isnan(y[t]);
    }
    const double loss = signal_slopes(z, y, (size_t)steps, slope, &counted);
    CHECK(counted == expected, "%zu samples count, not %zu", counted, expected);
    CHECK(fabs(loss - signal_by_formula(z, y, steps)) < 1e-12, "%d steps: the loss is %.15g", steps, loss);
    for (int t = 0; t < steps; t++) {
        const double was = z[t];
        z[t] = was + 1e-5;
        const double more = signal_by_formula(z, y, steps);
        z[t] = was - 1e-5;
        const double less = signal_by_formula(z, y, steps);
        z[t] = was;
        worst = fmax(worst, fabs((more - less) / 2e-5 - slope[t]));
    }
    CHECK(worst < 1e-8, "%d steps, gap %d: slopes differ by %.2e", steps, gap, worst);
    free(z);
    free(y);
    free(slope);
}

int main(void)
{
    static const int steps[] = {1, 2, 3, 50};
    for (int i = 0; i < 4; i++)
        for (int gap = 0; gap < 5; gap++) check_signal(steps[i], gap);
    for (int i = 0; i < 5; i++) check_field(i * 2);
    check_field_slopes();
    check_forbidden();
    check_brute();
    check_known();
    check_extremes();
    return check_finish("sequences");
}
