/* Ranks of different speed: rows and layers are divided in proportion to their rates, as near to the ideal as whole
 * rows and layers allow. Also tests when a run divides again. */
/* test: seconds=5 */
#include "plan/passes/rates.h"
#include "check.h"
#include "plan/ir/plan.h"
#include <math.h>

static void check_division(uint32_t size, int n, const double *rate, double worst)
{
    uint32_t next = 0;
    double longest = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        uint32_t first, count;
        rates_divide(size, n, i, rate, &first, &count);
        CHECK(first == next, "share %d of %u begins at %u, not %u", i, size, first, next);
        CHECK(count > 0 || size < (uint32_t)n, "share %d of %u is empty", i, size);
        next = first + count;
        longest = fmax(longest, count / rate[i]);
        sum += rate[i];
    }
    CHECK(next == size, "%u of %u are divided", next, size);
    CHECK(longest <= worst * size / sum, "%u: the slowest takes %g of the ideal", size, longest * sum / size);
}

static void test_divisions(void)
{
    check_division(40, 2, (double[]){4, 1}, 1.0001);
    check_division(41, 2, (double[]){4, 1}, 1.03);
    check_division(2, 2, (double[]){1000, 1}, 1e9);
    check_division(7, 3, (double[]){1, 1, 1}, 1.3);
    check_division(3, 3, (double[]){1, 50, 2}, 1e9);
    check_division(2, 3, (double[]){1, 50, 2}, 1e9);
    check_division(1000, 4, (double[]){1, 2, 3, 4.5}, 1.01);
    check_division(64, 3, (double[]){0.01, 1, 1}, 3.2);
}

static struct unroll_model *stack(int layers, int hidden)
{
    unroll_model_config s = unroll_model_config_default();
    struct unroll_model *m = NULL;
    s.layers = layers, s.hidden = hidden, s.tokens = 1, s.input = s.output = hidden, s.embed = hidden, s.loss = "xent";
    CHECK(unroll_model_new(&s, 1, &m) == UNROLL_OK, "%s", unroll_last_error());
    return m;
}

/* Computes the seconds of each rank of a mesh from its rate. */
static int seconds_of(const struct unroll_model *m, struct plan_config c, double *seconds)
{
    struct plan *plans[8] = {NULL};
    int ranks = c.mesh[M_BATCH] * c.mesh[M_LAYER];
    for (int r = 0; r < ranks; r++) {
        mesh_coordinate(c.mesh, r, c.at);
        if (!CHECK(plan_new(m, &c, &plans[r]) == UNROLL_OK, "%s", unroll_last_error()))
            return 0;
        seconds[r] = 0;
        for (int i = 0; i < plans[r]->ops; i++) seconds[r] += plans[r]->op[i].flops / c.rate[r];
    }
    CHECK(check_mesh(plans, ranks) == UNROLL_OK, "%s", unroll_last_error());
    for (int r = 0; r < ranks; r++) plan_free(plans[r]);
    return ranks;
}

/* Two ranks, one four times as fast: the slower one needs at most 15% more than with a perfect division. */
static void check_balance(int batch, int layer, const double *rate)
{
    struct unroll_model *m = stack(14, 16);
    struct plan_config c = plan_config_default();
    double seconds[8];
    c.T = 6, c.B = 40, c.mesh[M_BATCH] = batch, c.mesh[M_LAYER] = layer, c.rate = rate;
    int ranks = m ? seconds_of(m, c, seconds) : 0;
    double work = 0, rates = 0, longest = 0;
    for (int r = 0; r < ranks; r++) {
        work += seconds[r] * rate[r];
        rates += rate[r];
        longest = fmax(longest, seconds[r]);
    }
    CHECK(ranks && longest <= 1.15 * work / rates, "batch=%d,layer=%d: %g of the ideal", batch, layer,
          longest * rates / work);
    unroll_model_free(m);
}

/* Divides again after three windows out of balance, but not after two with a balanced one between. */
static int windows_until(const double slow[], int count, double *rate)
{
    static struct pace pace;
    const double work[2] = {3, 1};
    pace = (struct pace){0};
    for (int w = 0; w < count; w++)
        for (int i = 0; i < PACE_UPDATES; i++)
            if (pace_update(&pace, 2, (double[]){0.3, 0.3 * slow[w]}, work, rate))
                return w;
    return -1;
}

static void test_pace(void)
{
    double rate[2] = {0};
    CHECK(windows_until((double[]){3, 3, 3, 3}, 4, rate) == 2, "the third window divides again");
    CHECK(fabs(rate[0] / rate[1] - 9) < 1e-9, "rates %g and %g", rate[0], rate[1]);
    CHECK(windows_until((double[]){3, 3, 1, 3, 3, 1.2}, 6, rate) == -1, "balanced windows restart the count");
    CHECK(windows_until((double[]){1.2, 1.2, 1.2, 1.2}, 4, rate) == -1, "a tenth is tolerated");
}

int main(void)
{
    test_divisions();
    check_balance(1, 2, (double[]){4, 1});
    check_balance(1, 2, (double[]){1, 4});
    check_balance(2, 1, (double[]){4, 1});
    check_balance(1, 4, (double[]){2, 1, 2, 1});
    test_pace();
    return check_finish("test_rates");
}
