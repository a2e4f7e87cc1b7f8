/* Returns the status of a failed call. Used by the library and the command. */
#ifndef BASE_TRY_H
#define BASE_TRY_H

#define TRY(call)                                      \
    do {                                               \
        unroll_status status_of_call = (call);         \
        if (status_of_call != UNROLL_OK)               \
            return status_of_call;                     \
    } while (0)

#endif
