/* unroll serve, built without libwebsockets. */
#include "cli/show/console.h"
#include "cli/options/options.h"

unroll_status cmd_serve(struct settings *settings)
{
    (void)settings;
    return complain(UNROLL_UNSUPPORTED, "this build has no server: libwebsockets was not found; fix: apt-get install "
                                        "libwebsockets-dev, then make");
}
