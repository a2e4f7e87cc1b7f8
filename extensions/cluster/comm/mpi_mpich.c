/* MPICH and libraries with its binary interface (Intel MPI, MVAPICH, Cray MPI): a handle is an integer, the same in
 * all of them since 2014. */
#define HANDLE     int
#define ABI        mpi_mpich
#define ABI_NAME   "MPICH"
#define LIBRARY    LIBRARY_MPICH
#define KEY_TAG_UB 0x64400001
#define HANDLES                                                                                 \
    { .world = 0x44000000, .byte = 0x4c00010d, .errors_return = 0x54000001,                     \
      .of_float = 0x4c00040a, .of_double = 0x4c00080b, .add = 0x58000003,                       \
      .no_status = (void *)1, .in_place = (void *)-1, .any = -2 }
#define HANDLE_SYMBOLS
#include "extensions/cluster/comm/mpi_calls.h"

static void all_have_begun(void) {}

static void will_end(void) {}
