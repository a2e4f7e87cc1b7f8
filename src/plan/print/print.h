/* Prints plans for people and for programs. */
#pragma once
#include "plan/ir/plan.h"
#include <jansson.h>

/* Formats 1234567 as "1.2 MB". Returns text. */
const char *bytes_text(double bytes, char text[16]);

void plan_print(FILE *, const struct plan *); /* as a table */

/* Returns a new reference, or NULL if memory is exhausted. `all` as below. */
json_t *plan_to_json(const struct plan *, const struct plan *all);
/* Prints the memory saved by checkpoints. `all` is the same plan without them; NULL: prints nothing. */
void plan_print_saving(FILE *, const struct plan *, const struct plan *all);

/* Prints all ranks of a mesh: their work, messages and memory, and the bubble. */
unroll_status plan_print_mesh(FILE *, struct plan *const *plans, int ranks);
json_t *plan_mesh_to_json(struct plan *const *plans, int ranks); /* NULL: memory is exhausted, or the mesh is invalid */
