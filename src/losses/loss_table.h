/* The table of losses. A new one is one file, one include and one name here. Before including this file, include a V
 * header and define LOSS_USER as the name of the file that makes something of one loss. The order is that of `choice`
 * in plans. */
#include "losses/loss_step.h"

#include "losses/xent.h"
#include "losses/mse.h"
#include "losses/mae.h"
#include "losses/huber.h"
#include "losses/bce.h"
#include "losses/poisson.h"
#include "losses/quantile.h"
#include "losses/gaussian.h"
#include "losses/student_t.h"

#define ALL_LOSSES(NAMED)                                                              \
    NAMED(xent) NAMED(mse) NAMED(mae) NAMED(huber) NAMED(bce) NAMED(poisson)           \
    NAMED(quantile) NAMED(gaussian) NAMED(student_t)
