/* A LOSS_USER: nothing is made of a loss but its point, which records.c calls. */
#ifdef LOSS_OF_CLASSES
enum { LOSS_(point) = 0 }; /* none */
#endif
