/* A LOSS_USER: nothing is made of a loss but its point and how many results that has, which record_losses.c asks for.
 */
#ifdef LOSS_OF_CLASSES
enum { LOSS_(point) = 0 }; /* none */
#endif
enum { LOSS_(results) = LOSS_RESULTS };
