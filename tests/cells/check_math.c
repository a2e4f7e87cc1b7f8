/* Compares the functions of v_math.h and v_activation.h with double precision, over floats of all magnitudes and at
 * special values. */
/* test: kinds=check-plain */
#include "nn/vector/v_f32.h"
#include "nn/vector/v_activation.h"
#include "worst.h"
#include <float.h>

struct error {
    double absolute, ulp;
};

/* Error in units in the last place of the exact value, also for denormal values. */
static void note_error(struct error *worst, float got, double exact)
{
    double error = fabs(got - exact), magnitude = fabs(exact);
    double spacing = nextafterf((float)magnitude, INFINITY) - (double)(float)magnitude;
    worst->absolute = worse(worst->absolute, error);
    worst->ulp = worse(worst->ulp, error / spacing);
}

/* Loops over every stride-th float from low to high. */
#define FOR_FLOATS(x, low, high, stride) \
    for (float x = low; x < high; x = v_of_bits(v_bits_of(x) + (stride)))

static void check_sigmoid_and_tanh(void)
{
    struct error sigmoid = {0, 0}, tail = {0, 0}, tanh_ = {0, 0};
    int beyond = 0;
    FOR_FLOATS(size, 0x1p-40f, 80, 509)
    for (int sign = -1; sign <= 1; sign += 2) {
        float x = sign * size;
        note_error(x < -20 ? &tail : &sigmoid, v_sigmoid(x), 1 / (1 + exp(-(double)x)));
        note_error(&tanh_, v_tanh(x), tanh(x));
        beyond += v_sigmoid(x) > 1 || fabsf(v_tanh(x)) > 1;
    }
    check_worst("math", "sigmoid, absolute", sigmoid.absolute, 8.7e-8);
    check_worst("math", "sigmoid, ulp", sigmoid.ulp, 3.1);
    check_worst("math", "sigmoid below -20, ulp", tail.ulp, 5);
    CHECK(beyond == 0, "%d values of sigmoid or tanh are beyond 1", beyond);
    check_worst("math", "tanh, absolute", tanh_.absolute, 1.4e-7);
    check_worst("math", "tanh, ulp", tanh_.ulp, 2.4);
}

static void check_exp_and_log(void)
{
    struct error up = {0, 0}, down = {0, 0}, log_ = {0, 0};
    FOR_FLOATS(x, 0x1p-149f, 88.7228f, 2003)
    note_error(&up, v_exp(x), exp(x));
    FOR_FLOATS(x, 0x1p-149f, 110, 2003)
    note_error(&down, v_exp(-x), exp(-(double)x));
    FOR_FLOATS(x, 0x1p-149f, FLT_MAX, 2003)
    note_error(&log_, v_log(x), log(x));
    check_worst("math", "exp above 0, ulp", up.ulp, 1.2);
    check_worst("math", "exp below 0, ulp", down.ulp, 1.2);
    check_worst("math", "log, ulp", log_.ulp, 1.2);
}

static void check_special_values(void)
{
    const float tiny = 1e-40f;
    CHECK(v_tanh(0.f) == 0 && v_tanh(-0.f) == 0 && v_sigmoid(0.f) == 0.5f, "at 0");
    CHECK(v_tanh(INFINITY) == 1 && v_tanh(-INFINITY) == -1, "tanh at infinity");
    CHECK(v_sigmoid(INFINITY) == 1 && v_sigmoid(-INFINITY) < 2e-38f, "sigmoid at infinity");
    CHECK(v_tanh(9) <= 1 && v_tanh(10) == 1 && v_tanh(1e30f) == 1 && v_tanh(-1e30f) == -1, "tanh of much");
    CHECK(v_sigmoid(17.5f) == 1 && v_sigmoid(1e30f) == 1 && v_sigmoid(-1e30f) < 2e-38f, "sigmoid of much");
    CHECK(isnan(v_tanh(NAN)) && isnan(v_sigmoid(NAN)), "tanh and sigmoid drop a NaN");
    CHECK(fabsf(v_tanh(tiny) - tiny) <= 1e-44f && v_sigmoid(tiny) == 0.5f, "at a denormal number");
    CHECK(v_exp(0.f) == 1 && v_exp(-0.f) == 1 && v_exp(tiny) == 1, "exp at 0");
    CHECK(v_exp(INFINITY) == INFINITY && v_exp(88.73f) == INFINITY && v_exp(1000) == INFINITY, "exp above");
    CHECK(v_exp(-INFINITY) == 0 && v_exp(-104) == 0 && v_exp(-1000) == 0, "exp below");
    CHECK(isnan(v_exp(NAN)) && isnan(v_log(NAN)), "exp and log drop a NaN");
    CHECK(v_log(1) == 0 && v_log(0.f) == -INFINITY && v_log(-0.f) == -INFINITY, "log at 1 and 0");
    CHECK(v_log(INFINITY) == INFINITY && isnan(v_log(-1)) && isnan(v_log(-INFINITY)), "log at the ends");
    CHECK(v_bits_of(v_abs(-0.f)) == 0 && isnan(v_abs(NAN)) && v_sqrt(4) == 2, "abs and sqrt");
    CHECK(isnan(v_step(NAN)) && isnan(v_relu(NAN)) && isnan(v_clip(NAN, 1)), "step, relu, clip drop a NaN");
    CHECK(v_step(0) == 0 && v_step(tiny) == 1 && v_step(-INFINITY) == 0 && v_step(INFINITY) == 1, "step");
    CHECK(v_less(1, 2) == 1 && v_less(2, 2) == 0 && v_less(NAN, 2) == 0, "less");
    CHECK(isnan(v_min(1, NAN)) && isnan(v_max(1, NAN)) && v_min(NAN, 1) == 1, "of a NaN the second stays");
}

/* ---- activations: formulas as in the specification of ONNX ------------------------------- */

static double exact_relu(double x, double a, double b)
{
    (void)a, (void)b;
    return x > 0 ? x : 0;
}
static double exact_tanh(double x, double a, double b)
{
    (void)a, (void)b;
    return tanh(x);
}
static double exact_sigmoid(double x, double a, double b)
{
    (void)a, (void)b;
    return 1 / (1 + exp(-x));
}
static double exact_affine(double x, double a, double b) { return a * x + b; }
static double exact_leaky_relu(double x, double a, double b)
{
    (void)b;
    return x >= 0 ? x : a * x;
}
static double exact_thresholded_relu(double x, double a, double b)
{
    (void)b;
    return x >= a ? x : 0;
}
static double exact_scaled_tanh(double x, double a, double b) { return a * tanh(b * x); }
static double exact_hard_sigmoid(double x, double a, double b) { return fmin(fmax(a * x + b, 0), 1); }
static double exact_elu(double x, double a, double b)
{
    (void)b;
    return x >= 0 ? x : a * expm1(x);
}
static double exact_softsign(double x, double a, double b)
{
    (void)a, (void)b;
    return x / (1 + fabs(x));
}
static double exact_softplus(double x, double a, double b)
{
    (void)a, (void)b;
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

typedef float activation(V x, V alpha, V beta);
typedef double exact_activation(double x, double alpha, double beta);

/* True where the slope of some activation jumps: at 0, at alpha, and where alpha x + beta is 0 or 1. */
static bool near_a_jump(double x, double alpha, double beta)
{
    double line = alpha * x + beta;
    return fmin(fmin(fabs(x), fabs(x - alpha)), fmin(fabs(line), fabs(line - 1))) < 2e-6;
}

/* Tests values at all magnitudes, and slopes against differences of the exact function, except at its jumps. */
static void check_activation(const char *name, activation *value, activation *slope, exact_activation *exact)
{
    const double alpha = 0.2f, beta = 0.6f, step = 1e-6;
    double worst = 0, worst_slope = 0;
    FOR_FLOATS(size, 0x1p-60f, 60, 20011)
    for (int sign = -1; sign <= 1; sign += 2) {
        float x = sign * size, y = value(x, alpha, beta);
        double difference = exact(x + step, alpha, beta) - exact(x - step, alpha, beta);
        worst = worse(worst, fabs(y - exact(x, alpha, beta)) / (1 + fabs(exact(x, alpha, beta))));
        if (!near_a_jump(x, alpha, beta))
            worst_slope = worse(worst_slope, fabs(slope(y, alpha, beta) - difference / (2 * step)));
    }
    check_worst("activation", name, worst, 3e-7);
    check_worst("its slope", name, worst_slope, 1e-6);
    CHECK(isnan(value(NAN, alpha, beta)), "%s drops a NaN", name);
    CHECK(isnan(slope(NAN, alpha, beta)) || value == v_affine_of, "the slope of %s drops a NaN", name);
    CHECK(!isnan(value(INFINITY, alpha, beta)), "%s of infinity is a NaN", name);
    CHECK(!isnan(value(-INFINITY, alpha, beta)), "%s of -infinity is a NaN", name);
}

#define CHECK_ACTIVATION(name) check_activation(#name, v_##name##_of, v_##name##_slope_of, exact_##name);

/* Sums that double precision rounds to halfway between two floats, results with few bits, and other floats. */
static void check_fma(void)
{
    uint32_t wrong = 0, bits = 1;
    for (int i = 0; i < 1 << 20; i++) {
        float term[3];
        for (int k = 0; k < 3; k++) {
            bits = bits * 1664525 + 1013904223;
            term[k] = v_of_bits(bits ^ bits >> 16);
        }
        const int exponent = i % 4 ? -127 : i % 200 - 100; /* -127: has one bit less than floats of normal size */
        if (i % 4 < 2)
            term[0] = ldexpf(1 - 0x1p-23f, exponent / 2),
            term[1] = ldexpf(1 + 0x1p-23f, exponent - exponent / 2 - (i % 4 ? 23 : 24)),
            term[2] = ldexpf(1 + (float)(i / 4 % 512) * (i % 4 ? 0x1p-22f : 0x1p-23f), exponent);
        const float a = v_fma(term[0], term[1], term[2]), b = fmaf(term[0], term[1], term[2]);
        wrong += v_bits_of(a) != v_bits_of(b) && !(isnan(a) && isnan(b));
    }
    CHECK(wrong == 0, "%u results of v_fma differ from fmaf", (unsigned)wrong);
}

int main(void)
{
    check_fma();
    check_special_values();
    check_sigmoid_and_tanh();
    check_exp_and_log();
    ALL_ACTIVATIONS(CHECK_ACTIVATION)
    return check_finish("check_math");
}
