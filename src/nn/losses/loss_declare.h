/* A LOSS_USER: declares the loss as data. */
#ifndef LOSS_NAME
#define LOSS_TEXT2(name) #name
#define LOSS_TEXT(name)  LOSS_TEXT2(name)
#define LOSS_NAME        LOSS_TEXT(LOSS)
#endif

#ifdef LOSS_IS_POINTWISE
static double LOSS_(add)(double sum, const double *z, const double *y, const double *level, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct point p = {.y = y[i], .level = level[i]};
        for (size_t k = 0; k < LOSS_RESULTS; k++) p.z[k] = z[i * LOSS_RESULTS + k];
        LOSS_(point)(&p);
        sum += p.loss;
    }
    return sum;
}
#endif

static const struct loss LOSS_(loss) = {
    .name = LOSS_NAME,
    .about = LOSS_ABOUT,
    .results = LOSS_RESULTS,
#ifdef LOSS_OF_CLASSES
    .of_classes = true,
#endif
#ifdef LOSS_OF_SEQUENCES
    .of_sequences = true,
#endif
#ifdef LOSS_IS_POINTWISE
    .add = LOSS_(add),
#endif
#ifdef LOSS_LEVELS
    .levels = LOSS_LEVELS,
#endif
#ifdef LOSS_WANTS_LINEAR
    .wants_linear = true,
#endif
#ifdef LOSS_TARGETS
    .targets = {LOSS_TARGETS},
#endif
#ifdef LOSS_QUANTILE
    .quantile = LOSS_QUANTILE,
#endif
#ifdef LOSS_ESTIMATE
    .estimate = LOSS_ESTIMATE,
#endif
};

#undef LOSS_TEXT2
#undef LOSS_TEXT
