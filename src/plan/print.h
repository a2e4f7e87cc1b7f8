/* The plan for people and for programs. */
#ifndef PLAN_PRINT_H
#define PLAN_PRINT_H
#include "plan/plan.h"
#include <jansson.h>

/* 1234567 as "1.2 MB". Returns text. */
const char *bytes_text(double bytes, char text[16]);

void plan_print(FILE *, const struct plan *); /* a table */

/* A new reference, or NULL when memory is out. `all` as below. */
json_t *plan_to_json(const struct plan *, const struct plan *all);
/* What checkpoints save: `all` is the same plan without them, or NULL, and then nothing is printed. */
void plan_print_saving(FILE *, const struct plan *, const struct plan *all);

/* Of all ranks of a mesh: who computes what, what is sent, memory, the bubble. */
unroll_status plan_print_mesh(FILE *, struct plan *const *plans, int ranks);
json_t *plan_mesh_to_json(struct plan *const *plans, int ranks); /* NULL: no memory, or no sound mesh */

#endif
