/* Losses without a model: selection with levels, what outputs state about a target, and the function that replaces
 * log-gamma and digamma, in float and double. */
/* test: kinds=plain,long-memory */
#include "../check.h"
#include "nn/losses/distribution.h"
#include <math.h>
#include <string.h>

#include "nn/vector/v_f32.h"
#include "nn/losses/loss_functions.h"

/* ---- log-gamma and digamma ------------------------------------------------------------- */

/* Returns digamma(x + 1/2) - digamma(x): the sum of 1 / (x + i) - 1 / (x + i + 1/2), whose tail from x + n = y on is
 * the series 1 / 2y + 1 / 8y^2 - 1 / 64y^4. */
static long double digamma_difference(long double x)
{
    long double sum = 0, y = x + 2000;
    for (int i = 0; i < 2000; i++) sum += 1 / (x + i) - 1 / (x + i + 0.5L);
    return sum + 1 / (2 * y) + 1 / (8 * y * y) - 1 / (64 * y * y * y * y);
}

static void check_log_gamma(void)
{
    double worst = 0, worst_slope = 0;
    for (float x = 1; x < 300; x *= 1.03f) {
        float u = 1 / x, slope, rest = v_log_gamma_rest(u, &slope);
        long double n = 1 / (long double)u, exact = logl(n) / 2 - lgammal(n + 0.5L) + lgammal(n);
        long double exact_slope = -n * n * (1 / (2 * n) - digamma_difference(n));
        worst = fmax(worst, fabs((double)(rest / exact - 1)));
        worst_slope = fmax(worst_slope, fabs((double)(slope / exact_slope - 1)));
    }
    CHECK(worst < 2e-7 && worst_slope < 2e-7, "relative errors %.2e, of the slope %.2e", worst, worst_slope);
}

/* ---- selecting a loss ------------------------------------------------------------------ */

static void check_choice(void)
{
    static const struct {
        const char *text, *becomes;
        int results;
    } good[] = {{NULL, "none", 1},
                {"mse", "mse", 1},
                {"gaussian", "gaussian", 2},
                {"student-t", "student-t", 3},
                {"quantile", "quantile:0.1,0.5,0.9", 3},
                {"quantile:.5", "quantile:0.5", 1},
                {"quantile:0.010,0.25,5e-1,0.99", "quantile:0.01,0.25,0.5,0.99", 4}};
    static const char *const bad[][2] = {{"mse:0.5", "'mse' has no levels"},
                                         {"none:0.5", "'none' has no levels"},
                                         {"quantile:", "the levels must be"},
                                         {"quantile:0.5,", "the levels must be"},
                                         {"quantile:0.5,0.5", "the levels must be"},
                                         {"quantile:0.9,0.1", "the levels must be"},
                                         {"quantile:0,0.5", "the levels must be"},
                                         {"quantile:0.5,1", "the levels must be"},
                                         {"quantile:0.5 0.9", "the levels must be"},
                                         {"quantile:nan", "the levels must be"},
                                         {"quantile:1e-50", "the levels must be"},
                                         {"quantile:0.5,0.50000001", "the levels must be"},
                                         {"quantile:0.99999999", "the levels must be"},
                                         {"pinball", "pinball"}};
    struct loss_choice c, again;
    char many[400] = "quantile:0.01";
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        MUST(loss_choose(good[i].text, &c));
        CHECK(!strcmp(c.text, good[i].becomes) && c.results == good[i].results, "'%s' is '%s' of %d", good[i].text,
              c.text, c.results);
        CHECK(loss_choose(c.text, &again) == UNROLL_OK && !memcmp(c.level, again.level, sizeof c.level) &&
                  !strcmp(c.text, again.text),
              "'%s' is read again as '%s'", c.text, again.text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_REFUSED(loss_choose(bad[i][0], &c), UNROLL_USAGE, bad[i][1]);
    for (int i = 2; i <= 32; i++) sprintf(many + strlen(many), ",%.2f", 0.01 * i);
    MUST(loss_choose(many, &c));
    CHECK(c.levels == 32 && c.results == 32, "%d levels", c.levels);
    strcat(many, ",0.5");
    CHECK_REFUSED(loss_choose(many, &c), UNROLL_USAGE, "at most 32");
}

/* ---- interpreting outputs -------------------------------------------------------------- */

static void near(const char *loss, const float *z, double q, double wanted)
{
    struct loss_choice c;
    MUST(loss_choose(loss, &c));
    const double found = q > 0 ? loss_quantile(&c, z, q) : loss_estimate(&c, z);
    CHECK(fabs(found - wanted) < 1e-6 * (1 + fabs(wanted)), "%s at %g: %.9g, not %.9g", loss, q, found, wanted);
}

/* Returns the raw output whose softplus is x. */
static float raw(double x) { return (float)log(expm1(x)); }

/* Checks quantiles of tables; 2 and 3 degrees of freedom have formulas. */
static void check_quantiles(void)
{
    struct loss_choice c;
    const float normal[] = {3, raw(2 - 1e-3)}, levels[] = {-1, 0, 4}, crossed[] = {4, -1, 0};
    const double q2 = 0.9;
    near("gaussian", normal, 0.5, 3);
    near("gaussian", normal, 0.975, 3 + 2 * 1.95996398454);
    near("gaussian", normal, 0.01, 3 - 2 * 2.32634787404);
    near("gaussian", normal, 1e-9, 3 - 2 * 5.99780701500);
    near("student-t", (float[]){0, raw(1 - 1e-3), -100}, q2, (2 * q2 - 1) / sqrt(2 * q2 * (1 - q2)));
    near("student-t", (float[]){0, raw(1 - 1e-3), raw(1)}, 0.975, 3.18244630528);
    near("student-t", (float[]){0, raw(1 - 1e-3), raw(3)}, 0.025, -2.57058183564);
    near("student-t", (float[]){0, raw(1 - 1e-3), raw(8)}, 0.75, 0.69981206131);
    near("student-t", (float[]){0, raw(1 - 1e-3), raw(3)}, 0.9999, 9.67756630);
    near("student-t", (float[]){1, raw(1 - 1e-3), 1e8f}, 0.975, 1 + 1.95996400825);
    near("student-t", normal, 0, 3);
    near("quantile", levels, 0.1, -1);
    near("quantile", levels, 0.3, -0.5);
    near("quantile", levels, 0.8, 3);
    near("quantile", levels, 0.95, 4);
    near("quantile", crossed, 0.8, 3);
    near("quantile", levels, 0, 0);
    near("quantile:0.25,0.75", levels, 0, -0.5);
    near("mse", levels, 0, -1);
    near("bce", levels + 1, 0, 0.5);
    near("poisson", levels, 0, exp(-1));
    MUST(loss_choose("mse", &c));
    CHECK(isnan(loss_quantile(&c, levels, 0.5)), "mse has a quantile");
    MUST(loss_choose("gaussian", &c));
    CHECK(isnan(loss_quantile(&c, levels, 1)) && isnan(loss_quantile(&c, levels, 0)), "a quantile at 0 or 1");
    CHECK(isnan(loss_quantile(&c, (float[]){NAN, 0}, 0.5)), "a quantile of NaN");
}

int main(void)
{
    check_log_gamma();
    check_choice();
    check_quantiles();
    return check_finish("losses");
}
