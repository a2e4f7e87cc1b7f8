/* What each operation of a measured session took. Not how it is measured: the library does that. */
#ifndef BENCH_PROFILE_H
#define BENCH_PROFILE_H
#include <jansson.h>

#include "unroll_train.h"

/* peak: GFLOP/s; 0: none is known. Nothing is printed, and NULL returned, of a session without a profile. */
void profile_print(const unroll_session *session, double peak);
json_t *profile_to_json(const unroll_session *session, double peak);

#endif
