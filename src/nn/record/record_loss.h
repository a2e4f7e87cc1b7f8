/* A LOSS_USER: generates only the point function and the number of its results, for record_losses.c. */
#ifndef LOSS_IS_POINTWISE
enum { LOSS_(point) = 0 }; /* no point function */
#endif
enum { LOSS_(results) = LOSS_RESULTS };
