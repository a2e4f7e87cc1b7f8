/* A loss used only in tests: (z - y)^4. Add it with loss_add(&quartic). */
#ifndef TESTS_TRAIN_TOY_LOSS_H
#define TESTS_TRAIN_TOY_LOSS_H
#include "nn/vector/v_record.h"
#include "nn/losses/loss.h"

static double quartic_add(double sum, const double *z, const double *y, const double *level, size_t n)
{
    (void)level;
    for (size_t i = 0; i < n; i++) sum += (z[i] - y[i]) * (z[i] - y[i]) * (z[i] - y[i]) * (z[i] - y[i]);
    return sum;
}

static void quartic_f32(float *z, const float *y, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++) z[i] = 4 * (z[i] - y[i]) * (z[i] - y[i]) * (z[i] - y[i]) * scale;
}

static void quartic_f64(double *z, const double *y, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++) z[i] = 4 * (z[i] - y[i]) * (z[i] - y[i]) * (z[i] - y[i]) * scale;
}

static void quartic_record(struct record *record)
{
    (void)record; /* the one that was begun */
    V error = v_sub(record_input("z"), record_input("y")), square = v_mul(error, error);
    record_result("loss", v_mul(square, square));
    record_result("slope", v_mul(v_const(4), v_mul(error, square)));
}

static const struct loss quartic = {.name = "quartic",
                                    .about = "fourth power",
                                    .add = quartic_add,
                                    .slopes_f32 = quartic_f32,
                                    .slopes_f64 = quartic_f64,
                                    .record = quartic_record};

#endif
