/* The plan for people (plan_print, in plan.h) and for programs. */
#ifndef PLAN_PRINT_H
#define PLAN_PRINT_H
#include "plan/plan.h"
#include <jansson.h>

/* A new reference, or NULL when memory is out. */
json_t *plan_to_json(const struct plan *);

#endif
