/* The version of the library, and the check of a program's headers. */
#include "base/status.h"
#include "unroll.h"

#define QUOTE2(x) #x
#define QUOTE(x)  QUOTE2(x)

const char *unroll_version(void)
{
    return QUOTE(UNROLL_VERSION_MAJOR) "." QUOTE(UNROLL_VERSION_MINOR) "." QUOTE(UNROLL_VERSION_PATCH);
}

unroll_status unroll_version_check(int major, int minor)
{
    enum { OLDEST_MINOR = 2 }; /* the first version whose interface is frozen */
    if (major == UNROLL_VERSION_MAJOR && minor >= OLDEST_MINOR && minor <= UNROLL_VERSION_MINOR)
        return UNROLL_OK;
    return fail(
        UNROLL_UNSUPPORTED,
        "the program was compiled with headers of version %d.%d, and the library is %s; fix: compile it with the "
        "headers of this library, or install version %d.%d",
        major, minor, unroll_version(), major, minor);
}
