/* Returns the status of a failed call. Used by the library and the command. */
#pragma once

#define TRY(call)                                      \
    do {                                               \
        unroll_status status_of_call = (call);         \
        if (status_of_call != UNROLL_OK)               \
            return status_of_call;                     \
    } while (0)
