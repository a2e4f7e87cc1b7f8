/* Compares our declarations of OpenCL (opencl_api.h) with CL/cl.h, if it is installed: the compiler compares types,
 * values and arguments. Otherwise nothing is compared. */
/* test: seconds=5 */
#include "check.h"

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#define OPENCL_TYPES
#include "extensions/opencl/opencl_api.h"

/* The header's functions must have the types that we declare. */
#define SAME_TYPE(name, gives, arguments) \
    _Static_assert(_Generic(&name, gives(*) arguments: 1, default: 0), "OpenCL declares " #name " in another way");
OPENCL_FUNCTIONS(SAME_TYPE)

#define SAME_VALUE(name, value) _Static_assert((long)CL_##name == (long)OPENCL_##name, #name " has another value");
OPENCL_CONSTANTS(SAME_VALUE)
_Static_assert(CL_PLATFORM_NOT_FOUND_KHR == OPENCL_NO_PLATFORM && CL_DEVICE_TYPE_ALL == OPENCL_ALL_DEVICES,
               "what no list has");

/* Our types, as declared in opencl_api.h without the header. */
_Static_assert(sizeof(cl_int) == 4 && sizeof(cl_uint) == 4 && sizeof(cl_bool) == 4 && sizeof(cl_ulong) == 8 &&
                   sizeof(cl_bitfield) == 8 && sizeof(cl_context_properties) == sizeof(intptr_t),
               "types have other sizes");

int main(void)
{
    CHECK(true, "compiled");
    return check_finish("test_opencl_header");
}
#else
int main(void)
{
    printf("skipped: there is no CL/cl.h (opencl-headers)\ntest_opencl_header: 0 passed, 0 failed, 1 skipped\n");
    return 0;
}
#endif
