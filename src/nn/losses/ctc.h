/* Negative log-likelihood of the labels of a sequence that has more steps than labels, summed over all alignments
 * (lattice.h), like torch.nn.CTCLoss(blank=0). The results are the logits of the blank, class 0, and of the labels. */
#define LOSS        ctc
#define LOSS_ABOUT  "connectionist temporal classification: labels without their steps"
#define LOSS_OF_CLASSES
#define LOSS_OF_SEQUENCES
#define LOSS_WANTS_LINEAR
#include "nn/losses/loss_end.h"
