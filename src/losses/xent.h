/* Cross-entropy of the softmax of a row: log(sum of e^z) - z of the class. Its kernels are the devices'. */
#define LOSS        xent
#define LOSS_ABOUT  "cross-entropy"
#define LOSS_OF_CLASSES
#define LOSS_WANTS_LINEAR
#include "losses/loss_end.h"
