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

const char *const result_names[LOSS_RESULTS_MAX] = {"z", "z1", "z2"};
const char *const slope_names[LOSS_RESULTS_MAX] = {"slope", "slope1", "slope2"};

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

void record_loss(int loss, struct record *record)
{
    static void (*const points[])(struct point *) = {
#define POINT_OF(name) name##_point,
        ALL_LOSSES(POINT_OF)
#undef POINT_OF
    };
    static const int results[] = {
#define RESULTS_OF(name) name##_results,
        ALL_LOSSES(RESULTS_OF)
#undef RESULTS_OF
    };
    record_begin(record, loss_at(loss)->name);
    if (!loss_is_compiled(loss)) {
        loss_at(loss)->record(record);
        return;
    }
    struct point p = {.y = record_input("y"), .level = record_input("level")};
    for (int k = 0; k < results[loss]; k++) p.z[k] = record_input(result_names[k]);
    points[loss](&p);
    record_result("loss", p.loss);
    for (int k = 0; k < results[loss]; k++) record_result(slope_names[k], p.slope[k]);
}

void rates_for_device(const double *rates, float *on_device)
{
    memset(on_device, 0, DEVICE_RATES * sizeof *on_device);
    on_device[DEVICE_CLIP] = (float)rates[RATE_CLIP];
    for (int i = 0; i < OPTIMIZER_NUMBERS_MAX; i++) on_device[DEVICE_NUMBERS + i] = (float)rates[RATE_NUMBERS + i];
}
