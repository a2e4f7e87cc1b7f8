/* Open MPI 4 and 5: a handle is the address of an object that the library exports. */
#define HANDLE     void *
#define ABI        mpi_openmpi
#define ABI_NAME   "Open MPI"
#define FILES      "libmpi.so.40"
#define KEY_TAG_UB 0
#include "comm/mpi_calls.h"

static const char *find_handles(void *library)
{
    const struct { const char *symbol; void **to; } wanted[] = {
        { "ompi_mpi_comm_world", &handle.world },
        { "ompi_mpi_byte", &handle.byte },
        { "ompi_mpi_errors_return", &handle.errors_return },
        { "ompi_mpi_float", &handle.of_float },
        { "ompi_mpi_double", &handle.of_double },
        { "ompi_mpi_op_sum", &handle.add },
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!(*wanted[i].to = dlsym(library, wanted[i].symbol)))
            return wanted[i].symbol;
    handle.in_place = (void *)1;
    return NULL;
}
