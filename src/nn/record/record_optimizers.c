/* Records of the optimizers' steps, for devices that print or translate them. */
#include "nn/record/record.h"
#include "nn/vector/v_record.h"
#include "nn/optim/optim.h"

const char *const optimizer_state_names[OPTIMIZER_STATES_MAX] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"};

#define NUMBER_INPUT(name, expression) record_input(#name),
#define OPTIMIZER_USER "nn/record/record_optimizer.h"
#include "nn/optim/optim_table.h"

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
