/* Cross-entropy of the softmax of a row: log(sum of e^z) - z of the class. The devices implement its kernels. */
#define LOSS        xent
#define LOSS_ABOUT  "cross-entropy"
#define LOSS_OF_CLASSES
#define LOSS_WANTS_LINEAR
#include "nn/losses/loss_end.h"
