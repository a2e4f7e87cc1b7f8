/* Results for programs: one JSON object on one line of standard output. */
#include "output.h"

#include <stdio.h>

#include "console.h"

unroll_status print_json(json_t *object)
{
    if (object == NULL)
        return complain(UNROLL_RESOURCE, "no memory for the result");
    json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(10));
    putchar('\n');
    json_decref(object);
    return UNROLL_OK;
}
