/* What a loss's file works on, for one V.
 *
 * A loss's file defines
 *     LOSS            its name; LOSS_NAME, as text, where it has a '-'
 *     LOSS_ABOUT      what it is called in full
 *     LOSS_OF_CLASSES, LOSS_WANTS_LINEAR      see struct loss; where they hold
 *     LOSS_RESULTS    how many results a point has; without it one
 *     LOSS_LEVELS     a target has a point for each level, and these are the levels that nobody chose
 *     LOSS_TARGETS    the smallest and the largest target; without it any number
 *     LOSS_QUANTILE, LOSS_ESTIMATE            functions of distribution.h; where the results are no answer by
 * themselves writes LOSS_POINT(p), which makes p->loss and p->slope (the derivatives by z) of the results p->z, their
 * target p->y and its p->level, and includes losses/loss_end.h. With LOSS_OF_CLASSES it is a loss of whole rows, and
 * the devices have kernels for it. */
#ifndef LOSSES_LOSS_STEP_H
#define LOSSES_LOSS_STEP_H
#include "losses/loss.h"
#include "losses/loss_functions.h"

#define LOSS_PASTE2(a, b) a##_##b
#define LOSS_PASTE(a, b)  LOSS_PASTE2(a, b)
#define LOSS_(name)       LOSS_PASTE(LOSS, name)        /* LOSS_(point) is mse_point */
#define LOSS_POINT(p)     CELL_CODE void LOSS_(point)(struct point *p)

struct point {
    V z[LOSS_RESULTS_MAX], y, level, loss, slope[LOSS_RESULTS_MAX];
};

#endif
