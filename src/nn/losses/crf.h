/* Negative log-likelihood of the labels of a whole sequence under a linear-chain conditional random field (chain.h),
 * like -torchcrf.CRF. The result is the score of a label at a step. */
#define LOSS        crf
#define LOSS_ABOUT  "negative log-likelihood of a conditional random field over the labels of a sequence"
#define LOSS_OF_CLASSES
#define LOSS_OF_SEQUENCES
#define LOSS_WANTS_LINEAR
#include "nn/losses/loss_end.h"
