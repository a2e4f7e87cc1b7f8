/* Results for programs: one JSON object on one line of standard output. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H
#include <jansson.h>

#include "unroll.h"

/* Takes the object over; NULL: it could not be made. */
unroll_status print_json(json_t *object);

#endif
