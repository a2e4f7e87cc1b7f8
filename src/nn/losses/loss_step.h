/* Types and macros for the file of a loss, for one V.
 *
 * A loss's file defines
 *      LOSS            its name; also LOSS_NAME, as text, if the name contains '-'
 *      LOSS_ABOUT      its full name
 *      LOSS_OF_CLASSES, LOSS_OF_SEQUENCES, LOSS_WANTS_LINEAR      optional, see struct loss
 *      LOSS_RESULTS    results per point; default 1
 *      LOSS_LEVELS     the default levels, if a target has a point for each level
 *      LOSS_TARGETS    the smallest and the largest target; default unlimited
 *      LOSS_QUANTILE, LOSS_ESTIMATE            optional functions of distribution.h.
 * It then defines LOSS_POINT(p) and includes nn/losses/loss_end.h. LOSS_POINT computes p->loss and p->slope (the
 * derivatives by z) from the results p->z, the target p->y and p->level. A loss with LOSS_OF_CLASSES or
 * LOSS_OF_SEQUENCES is a loss of whole rows; the devices have kernels for it. Others get LOSS_IS_POINTWISE. */
#pragma once
#include "nn/losses/loss.h"
#include "nn/losses/loss_functions.h"

#define LOSS_PASTE2(a, b) a##_##b
#define LOSS_PASTE(a, b)  LOSS_PASTE2(a, b)
#define LOSS_(name)       LOSS_PASTE(LOSS, name)        /* LOSS_(point) is mse_point */
#define LOSS_POINT(p)     CELL_CODE void LOSS_(point)(struct point *p)

struct point {
    V z[LOSS_RESULTS_MAX], y, level, loss, slope[LOSS_RESULTS_MAX];
};
