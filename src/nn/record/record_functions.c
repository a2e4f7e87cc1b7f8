/* Records the functions that v_math.h builds from simpler operations, for printers of C code. */
#include "nn/record/record.h"
#define V_RECORD_ACTIVATIONS
#include "nn/vector/v_record.h"

void record_function(enum node_kind kind, struct record *record)
{
    static const char *const name[NODE_KINDS] = {
        [NODE_EXP] = "exp",
        [NODE_LOG] = "log",
        [NODE_SIGMOID] = "sigmoid",
        [NODE_TANH] = "tanh",
    };
    record_begin(record, name[kind]);
    V x = record_input("x");
    record_result("y", kind == NODE_EXP       ? v_exp(x)
                       : kind == NODE_LOG     ? v_log(x)
                       : kind == NODE_SIGMOID ? v_sigmoid(x)
                                              : v_tanh(x));
}
