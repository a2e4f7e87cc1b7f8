/* What a loss's file works on, for one V.
 *
 * A loss's file defines
 *     LOSS            its name
 *     LOSS_ABOUT      what it is called in full
 *     LOSS_OF_CLASSES, LOSS_WANTS_LINEAR      see struct loss; where they hold
 *     LOSS_TARGETS    the smallest and the largest target; without it any number
 * writes LOSS_POINT(p), which makes p->loss and p->slope (the derivative by z) of the result p->z and its target p->y,
 * and includes LOSS_USER. With LOSS_OF_CLASSES it is a loss of whole rows, and the devices have kernels for it. */
#define LOSS_PASTE2(a, b) a##_##b
#define LOSS_PASTE(a, b)  LOSS_PASTE2(a, b)
#define LOSS_(name)       LOSS_PASTE(LOSS, name)        /* LOSS_(point) is mse_point */
#define LOSS_POINT(p)     CELL_CODE void LOSS_(point)(struct point *p)

struct point {
    V z, y, loss, slope;
};
