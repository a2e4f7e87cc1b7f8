/* The energy of the error relative to that of the target, for effects on sounds (signal_error.h). */
#define LOSS        esr
#define LOSS_ABOUT  "error to signal ratio of sounds, with pre-emphasis and offset"
#define LOSS_OF_SEQUENCES
#include "nn/losses/loss_end.h"
