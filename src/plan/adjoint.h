/* The backward of each kind of operation: appends it to the list; and what such a function is made of. */
#ifndef PLAN_ADJOINT_H
#define PLAN_ADJOINT_H
#include "plan/plan.h"

unroll_status adjoint_embed(struct plan *, int op);
unroll_status adjoint_gemm(struct plan *, int op);
unroll_status adjoint_rnn(struct plan *, int op);
unroll_status adjoint_dropout(struct plan *, int op);
unroll_status adjoint_activate(struct plan *, int op);
unroll_status adjoint_pool(struct plan *, int op);
unroll_status adjoint_copy(struct plan *, int op);
unroll_status adjoint_send(struct plan *, int op);
unroll_status adjoint_recv(struct plan *, int op);

/* ---- building blocks of a kind's adjoint ----------------------------------------------- */

/* An operation of the backward part in the place of a forward one: its depth, chunk, direction, peer. */
struct op backward_op(const struct op *forward, enum op_kind kind);
/* The gradient of what a view covers, for reading; absent where nothing has written one. */
struct view gradient_read(const struct plan *, const struct view *);
/* The same for one more contribution: the first writes, the others add. Absent where nobody wants it. */
unroll_status gradient_write(struct plan *, const struct view *, struct view *gradient);

#endif
