/* Ends the file of a loss and includes LOSS_USER. */
#ifndef LOSS_RESULTS
#define LOSS_RESULTS 1
#endif
#if !defined LOSS_OF_CLASSES && !defined LOSS_OF_SEQUENCES
#define LOSS_IS_POINTWISE
#endif
#include LOSS_USER
#undef LOSS
#undef LOSS_NAME
#undef LOSS_ABOUT
#undef LOSS_IS_POINTWISE
#undef LOSS_OF_CLASSES
#undef LOSS_OF_SEQUENCES
#undef LOSS_RESULTS
#undef LOSS_LEVELS
#undef LOSS_WANTS_LINEAR
#undef LOSS_TARGETS
#undef LOSS_QUANTILE
#undef LOSS_ESTIMATE
