/* The table of losses. To add one, add a file, an include and a name here. Before including this file, include a V
 * header and define LOSS_USER as the file that processes each loss. The order is that of `choice` in plans. */
#include "nn/losses/loss_step.h"

#include "nn/losses/xent.h"
#include "nn/losses/mse.h"
#include "nn/losses/mae.h"
#include "nn/losses/huber.h"
#include "nn/losses/bce.h"
#include "nn/losses/poisson.h"
#include "nn/losses/quantile.h"
#include "nn/losses/gaussian.h"
#include "nn/losses/student_t.h"
#include "nn/losses/crf.h"
#include "nn/losses/ctc.h"
#include "nn/losses/esr.h"

#define ALL_LOSSES(NAMED)                                                              \
    NAMED(xent) NAMED(mse) NAMED(mae) NAMED(huber) NAMED(bce) NAMED(poisson)           \
    NAMED(quantile) NAMED(gaussian) NAMED(student_t) NAMED(crf)          \
    NAMED(ctc) NAMED(esr)
