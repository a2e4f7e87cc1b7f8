/* Records of the pointwise losses, for devices that print or translate them. */
#include "nn/record/record.h"
#include "nn/vector/v_record.h"

#define LOSS_USER "nn/record/record_loss.h"
#include "nn/losses/loss_table.h"

const char *const loss_result_names[LOSS_RESULTS_MAX] = {"z", "z1", "z2"};
const char *const loss_slope_names[LOSS_RESULTS_MAX] = {"slope", "slope1", "slope2"};

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
    for (int k = 0; k < results[loss]; k++) p.z[k] = record_input(loss_result_names[k]);
    points[loss](&p);
    record_result("loss", p.loss);
    for (int k = 0; k < results[loss]; k++) record_result(loss_slope_names[k], p.slope[k]);
}
