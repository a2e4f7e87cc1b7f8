/* A LOSS_USER: the loss as data. */
#define LOSS_TEXT2(name) #name
#define LOSS_TEXT(name)  LOSS_TEXT2(name)

#ifndef LOSS_OF_CLASSES
static double LOSS_(add)(double sum, const double *z, const double *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct point p = {.z = z[i], .y = y[i]};
        LOSS_(point)(&p);
        sum += p.loss;
    }
    return sum;
}
#endif

static const struct loss LOSS_(loss) = {
    .name = LOSS_TEXT(LOSS),
    .about = LOSS_ABOUT,
#ifdef LOSS_OF_CLASSES
    .of_classes = true,
#else
    .add = LOSS_(add),
#endif
#ifdef LOSS_WANTS_LINEAR
    .wants_linear = true,
#endif
#ifdef LOSS_TARGETS
    .targets = {LOSS_TARGETS},
#endif
};

#undef LOSS_TEXT2
#undef LOSS_TEXT
