/* The backward of each kind of operation: appends it to the list. Only adjoint.c makes backward kinds. */
#ifndef PLAN_ADJOINT_H
#define PLAN_ADJOINT_H
#include "plan/plan.h"

unroll_status adjoint_embed(struct plan *, int op);
unroll_status adjoint_gemm(struct plan *, int op);
unroll_status adjoint_rnn(struct plan *, int op);
unroll_status adjoint_dropout(struct plan *, int op);
unroll_status adjoint_send(struct plan *, int op);
unroll_status adjoint_recv(struct plan *, int op);

#endif
