/* The functions of a message library used by the transports mpi and ucx, independent of its handle types. One struct
 * for each binary interface: mpi_openmpi.c, mpi_mpich.c, ucx.c (which has no sums: join and sum are NULL). Needs no
 * MPI header, and no library until one is opened. */
#ifndef COMM_MPI_ABI_H
#define COMM_MPI_ABI_H
#include <stdbool.h>
#include <stddef.h>
#include "comm/transport.h"
#include "base/status.h"

struct unroll_comm;

union mpi_request {
    void *pointer;
    int number;
};

struct mpi_abi {
    const char *name;            /* "Open MPI" */
    unroll_status (*load)(void); /* loads its functions and constants */
    /* All functions return MPI's error number, 0 for success. Messages are bytes in the world of all ranks. */
    int (*init)(int *rank, int *ranks, int *max_tag); /* funneled; errors are returned */
    void (*all_have_begun)(void);                     /* called once, after every rank has called init */
    int (*send)(const void *data, int bytes, int to, int tag, union mpi_request *);
    int (*recv)(void *data, int bytes, int from, int tag, union mpi_request *); /* from < 0: any rank */
    int (*test)(union mpi_request *, int *done, int *bytes); /* bytes: for a receive; -1: for a send */
    void (*cancel)(union mpi_request *);
    /* join creates a communicator of these ranks and is called by all of them; then sums run in place over it, begun
     * by all in the same order. */
    int (*join)(const int *ranks, int size, union mpi_request *group);
    int (*sum)(void *data, int count, int is_double, union mpi_request *group, union mpi_request *);
    void (*words)(int error, char capacity[512]);
    void (*abort)(int code);
    void (*finalize)(void);
    bool outlasts; /* other worlds follow this one: unfinished sends stay valid */
};

/* Opens a transport over a library that is already loaded. */
unroll_status comm_open_messages(const char *name, const struct mpi_abi *, double timeout, struct unroll_comm **);

extern const struct mpi_abi mpi_openmpi, mpi_mpich;

/* The rows of the transport and of its worlds. */
unroll_status comm_mpi_open(double timeout, struct unroll_comm **comm);
unroll_status ucx_address(char text[WORLD_ADDRESS]);
unroll_status ucx_open(int64_t number, int rank, int ranks, const char *const *addresses, double timeout_seconds,
                       struct unroll_comm **comm);

#endif
