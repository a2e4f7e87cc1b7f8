/* Leaving a function with the status of a call that failed. Not how to fail: that is status.h's, and the command's. */
#ifndef BASE_TRY_H
#define BASE_TRY_H

#define TRY(call)                                      \
    do {                                               \
        unroll_status status_of_call = (call);         \
        if (status_of_call != UNROLL_OK)               \
            return status_of_call;                     \
    } while (0)

#endif
