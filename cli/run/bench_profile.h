/* The time of each operation of a measured session. The library measures them. */
#pragma once
#include <jansson.h>

#include "unroll_advanced.h"

/* peak: GFLOP/s; 0: unknown. For a session without a profile nothing is printed, and NULL is returned. */
void profile_print(const unroll_session *session, double peak);
json_t *profile_to_json(const unroll_session *session, double peak);
