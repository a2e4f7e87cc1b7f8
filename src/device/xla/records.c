/* Records of the steps of optimizers, and their rates as the device gets them. */
#include "device/xla/translate.h"
#include "cells/v/v_record.h"
#include <string.h>

const char *const state_names[OPTIMIZER_STATES_MAX] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"};

#define NUMBER_INPUT(name, expression) record_input(#name),
#define OPTIMIZER_USER "device/xla/record_optimizer.h"
#include "optim/optim_table.h"

#define LOSS_USER "device/xla/record_loss.h"
#include "losses/loss_table.h"

void record_optimizer(int optimizer, struct record *record)
{
    static void (*const records[])(void) = {
#define RECORD_OF(name) name##_record,
        ALL_OPTIMIZERS(RECORD_OF)
#undef RECORD_OF
    };
    record_begin(record, optimizer_at(optimizer)->name);
    if (optimizer_is_compiled(optimizer))
        records[optimizer]();
    else
        optimizer_at(optimizer)->record(record);
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
    struct point p = {.z = record_input("z"), .y = record_input("y")};
    points[loss](&p);
    record_result("loss", p.loss);
    record_result("slope", p.slope);
}

void rates_for_device(const double *rates, float *on_device)
{
    memset(on_device, 0, DEVICE_RATES * sizeof *on_device);
    on_device[DEVICE_CLIP] = (float)rates[RATE_CLIP];
    for (int i = 0; i < OPTIMIZER_NUMBERS_MAX; i++) on_device[DEVICE_NUMBERS + i] = (float)rates[RATE_NUMBERS + i];
}
