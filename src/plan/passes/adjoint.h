/* The backward of each kind of operation, appended to the list, and helpers for these functions. */
#pragma once
#include "plan/ir/plan.h"

unroll_status adjoint_embed(struct plan *, int op);
unroll_status adjoint_gemm(struct plan *, int op);
unroll_status adjoint_rnn(struct plan *, int op);
unroll_status adjoint_dropout(struct plan *, int op);
unroll_status adjoint_activate(struct plan *, int op);
unroll_status adjoint_pool(struct plan *, int op);
unroll_status adjoint_sequence_loss(struct plan *, int op);
unroll_status adjoint_copy(struct plan *, int op);
unroll_status adjoint_send(struct plan *, int op);
unroll_status adjoint_recv(struct plan *, int op);

/* ---- building blocks of a kind's adjoint ----------------------------------------------- */

/* Creates a backward operation with the depth, chunk, direction and peer of a forward one. */
struct op backward_op(const struct op *forward, enum op_kind kind);
/* Returns the gradient of a view, for reading; absent if nothing has written it. */
struct view gradient_read(const struct plan *, const struct view *);
/* Returns it for adding a contribution: the first one writes, the others add. Absent if it is not needed. */
unroll_status gradient_write(struct plan *, const struct view *, struct view *gradient);
