/* The table of optimizers. A new one is one file, one include and one name here. Before including this
 * file, include a V header and define OPTIMIZER_USER as the name of the file that makes something of one
 * optimizer. The order is that of `choice` in plans. */
#include "optim/optim.h"
#include "optim/optim_step.h"

#include "optim/sgd.h"
#include "optim/momentum.h"
#include "optim/rmsprop.h"
#include "optim/adam.h"
#include "optim/adamw.h"

#define ALL_OPTIMIZERS(NAMED) NAMED(sgd) NAMED(momentum) NAMED(rmsprop) NAMED(adam) NAMED(adamw)
