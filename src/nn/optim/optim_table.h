/* The table of optimizers. To add one, add a file, an include and a name here. Before including this file, include a V
 * header and define OPTIMIZER_USER as the file that processes each optimizer. The order is that of `choice` in
 * plans. */
#include "nn/optim/optim.h"
#include "nn/optim/optim_step.h"

#include "nn/optim/sgd.h"
#include "nn/optim/momentum.h"
#include "nn/optim/rmsprop.h"
#include "nn/optim/adam.h"
#include "nn/optim/adamw.h"

#define ALL_OPTIMIZERS(NAMED) NAMED(sgd) NAMED(momentum) NAMED(rmsprop) NAMED(adam) NAMED(adamw)
