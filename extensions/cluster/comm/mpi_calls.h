/* Implements mpi_abi.h for one binary interface. Functions have the same names and argument order in all libraries.
 * The including file defines:
 *     HANDLE             the type of MPI's handles
 *     HANDLES            the handles known at compile time
 *     HANDLE_SYMBOLS     a row (struct symbol) for each handle exported by the library
 *     ABI, ABI_NAME      the name of the struct, and that of the library
 *     LIBRARY            its row in the table of libraries
 *     KEY_TAG_UB         the key of the largest tag
 *     static void all_have_begun(void), will_end(void) */
#include "base/system/library.h"
#include "extensions/cluster/comm/mpi_abi.h"
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

enum { THREAD_FUNNELED = 1 };

typedef HANDLE mpi_handle;
static struct {
    mpi_handle world, byte, errors_return, of_float, of_double, add;
    void *no_status, *in_place;
    int any;
} handle = HANDLES;

static bool begun_here; /* false if the program initialized MPI before it called us */

static void all_have_begun(void);
static void will_end(void);

/* MPI_NAME and its parameter types. The status buffer is at least as large as that of any library. */
#define MPI_FUNCTIONS(F)                                                                        \
    F(Initialized, int *)                                                                       \
    F(Init_thread, int *, char ***, int, int *)                                                 \
    F(Comm_rank, HANDLE, int *)                                                                 \
    F(Comm_size, HANDLE, int *)                                                                 \
    F(Comm_set_errhandler, HANDLE, HANDLE)                                                      \
    F(Comm_get_attr, HANDLE, int, void *, int *)                                                \
    F(Isend, const void *, int, HANDLE, int, int, HANDLE, HANDLE *)                             \
    F(Irecv, void *, int, HANDLE, int, int, HANDLE, HANDLE *)                                   \
    F(Test, HANDLE *, int *, void *)                                                            \
    F(Get_count, const void *, HANDLE, int *)                                                   \
    F(Comm_group, HANDLE, HANDLE *)                                                             \
    F(Group_incl, HANDLE, int, const int *, HANDLE *)                                           \
    F(Comm_create_group, HANDLE, HANDLE, int, HANDLE *)                                         \
    F(Iallreduce, const void *, void *, int, HANDLE, HANDLE, HANDLE, HANDLE *)                  \
    F(Cancel, HANDLE *)                                                                         \
    F(Request_free, HANDLE *)                                                                   \
    F(Error_string, int, char *, int *)                                                         \
    F(Abort, HANDLE, int)                                                                       \
    F(Finalize, void)

static struct {
#define MPI_FIELD(name, ...) int (*name)(__VA_ARGS__);
    MPI_FUNCTIONS(MPI_FIELD)
#undef MPI_FIELD
} mpi;

static unroll_status load(void)
{
    const struct symbol symbols[] = {
#define MPI_SYMBOL(name, ...) { "MPI_" #name, &mpi.name, false },
        MPI_FUNCTIONS(MPI_SYMBOL)
#undef MPI_SYMBOL
            HANDLE_SYMBOLS};
    return library_open(LIBRARY, symbols, sizeof symbols / sizeof *symbols, NULL);
}

static int init(int *rank, int *ranks, int *max_tag)
{
    int begun = 0, level = 0, found = 0, error, *tag = NULL;
    if ((error = mpi.Initialized(&begun)) || (!begun && (error = mpi.Init_thread(NULL, NULL, THREAD_FUNNELED, &level))))
        return error;
    begun_here = !begun;
    if ((error = mpi.Comm_set_errhandler(handle.world, handle.errors_return)) ||
        (error = mpi.Comm_rank(handle.world, rank)) || (error = mpi.Comm_size(handle.world, ranks)) ||
        (error = mpi.Comm_get_attr(handle.world, KEY_TAG_UB, &tag, &found)))
        return error;
    *max_tag = found && tag ? *tag : 32767;
    return 0;
}

static int send(const void *data, int bytes, int to, int tag, union mpi_request *request)
{
    return mpi.Isend(data, bytes, handle.byte, to, tag, handle.world, (HANDLE *)request);
}

static int recv(void *data, int bytes, int from, int tag, union mpi_request *request)
{
    return mpi.Irecv(data, bytes, handle.byte, from < 0 ? handle.any : from, tag, handle.world, (HANDLE *)request);
}

static int test(union mpi_request *request, int *done, int *bytes)
{
    alignas(16) char status[128];
    int error = mpi.Test((HANDLE *)request, done, *bytes < 0 ? handle.no_status : status);
    return error || !*done || *bytes < 0 ? error : mpi.Get_count(status, handle.byte, bytes);
}

static int join(const int *ranks, int size, union mpi_request *group)
{
    enum { TAG = 1 };
    mpi_handle all, some;
    int error;
    if ((error = mpi.Comm_group(handle.world, &all)) || (error = mpi.Group_incl(all, size, ranks, &some)) ||
        (error = mpi.Comm_create_group(handle.world, some, TAG, (HANDLE *)group)))
        return error;
    return mpi.Comm_set_errhandler(*(HANDLE *)group, handle.errors_return);
}

static int sum(void *data, int count, int is_double, union mpi_request *group, union mpi_request *request)
{
    return mpi.Iallreduce(handle.in_place, data, count, is_double ? handle.of_double : handle.of_float, handle.add,
                          *(HANDLE *)group, (HANDLE *)request);
}

static void cancel(union mpi_request *request)
{
    if (mpi.Cancel((HANDLE *)request) == 0)
        mpi.Request_free((HANDLE *)request);
}

static void words(int error, char capacity[512])
{
    int length = 0;
    capacity[0] = 0;
    mpi.Error_string(error, capacity, &length);
}

static void abort_all(int code) { mpi.Abort(handle.world, code); }

static void finalize(void)
{
    will_end();
    mpi.Finalize();
}

const struct mpi_abi ABI = {.name = ABI_NAME,
                            .load = load,
                            .init = init,
                            .all_have_begun = all_have_begun,
                            .send = send,
                            .recv = recv,
                            .test = test,
                            .join = join,
                            .sum = sum,
                            .cancel = cancel,
                            .words = words,
                            .abort = abort_all,
                            .finalize = finalize};
