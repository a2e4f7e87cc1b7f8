/* Records of the steps of optimizers, and their rates as the device gets them. */
#include "device/xla/translate.h"
#include "cells/v/v_record.h"
#include <string.h>

#define v_element double
#define OPTIMIZER_USER "device/xla/record_optimizer.h"
#include "optim/optim_table.h"

#define LOSS_USER "device/xla/record_loss.h"
#include "losses/loss_table.h"

typedef void step(struct weights *, const struct rates *);
static step *const steps[] = {
#define STEP_OF(name) name##_step,
    ALL_OPTIMIZERS(STEP_OF)
#undef STEP_OF
};

const char *const rate_names[DEVICE_RATES] = {
    "lr", "momentum", "eps", "decay", "beta2", "rest1", "rest2", "step", "root", "keep", "clip", NULL
};

void record_optimizer(int optimizer, struct record *record)
{
    record_begin(record, optimizer_at(optimizer)->name);
    struct weights p = { record_input("w"), record_input("g"), record_input("s0"), record_input("s1") };
    const struct rates r = {
        .lr = record_input("lr"), .momentum = record_input("momentum"), .eps = record_input("eps"),
        .decay = record_input("decay"), .beta2 = record_input("beta2"), .rest1 = record_input("rest1"),
        .rest2 = record_input("rest2"), .step = record_input("step"), .root = record_input("root"),
        .keep = record_input("keep"),
    };
    steps[optimizer](&p, &r);
    record_result("w", p.w);
    if (optimizer_at(optimizer)->states > 0)
        record_result("s0", p.s0);
    if (optimizer_at(optimizer)->states > 1)
        record_result("s1", p.s1);
}

/* Of a loss of single numbers: of "z" and "y" the results "loss" and "slope". */
void record_loss(int loss, struct record *record)
{
    static void (*const points[])(struct point *) = {
#define POINT_OF(name) name##_point,
        ALL_LOSSES(POINT_OF)
#undef POINT_OF
    };
    record_begin(record, loss_name(loss));
    if (!loss_is_compiled(loss)) {
        loss_at(loss)->record(record);
        return;
    }
    struct point p = { .z = record_input("z"), .y = record_input("y") };
    points[loss](&p);
    record_result("loss", p.loss);
    record_result("slope", p.slope);
}

void rates_for_device(const double *rates, float *on_device)
{
    struct record record;
    record_begin(&record, "rates");             /* rates_of makes constants: their values are wanted */
    const struct rates r = rates_of(rates);
    const V made[] = { r.lr, r.momentum, r.eps, r.decay, r.beta2, r.rest1, r.rest2, r.step, r.root, r.keep };
    size_t count = sizeof made / sizeof *made;
    memset(on_device, 0, DEVICE_RATES * sizeof *on_device);
    for (size_t i = 0; i < count; i++)
        on_device[i] = (float)made[i]->constant;
    on_device[count] = (float)rates[RATE_CLIP];
}
