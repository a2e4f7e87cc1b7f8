/* What the transports mpi and ucx call of a library, whatever its handles are (a request's or a communicator's, too).
 * One struct for each binary interface: mpi_openmpi.c, mpi_mpich.c, ucx.c (which has no sums of its own: join and sum
 * NULL). No header of MPI is needed, and no library until one is opened. */
#ifndef COMM_MPI_ABI_H
#define COMM_MPI_ABI_H
#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"

struct unroll_comm;

union mpi_request {
    void *pointer;
    int number;
};

struct mpi_abi {
    const char *name;            /* "Open MPI" */
    unroll_status (*load)(void); /* its functions and constants */
    /* All return MPI's error number, 0 for success. Messages are bytes in the world of all ranks. */
    int (*init)(int *rank, int *ranks, int *max_tag); /* funneled; errors are returned */
    void (*all_have_begun)(void);                     /* once, when every rank has */
    int (*send)(const void *data, int bytes, int to, int tag, union mpi_request *);
    int (*recv)(void *data, int bytes, int from, int tag, union mpi_request *); /* from < 0: anybody */
    int (*test)(union mpi_request *, int *done, int *bytes);                    /* bytes: of a receive; -1: of a send */
    void (*cancel)(union mpi_request *);
    /* A communicator of these ranks, who all call it; then sums in place over it, begun by all in one order. */
    int (*join)(const int *ranks, int size, union mpi_request *group);
    int (*sum)(void *data, int count, int is_double, union mpi_request *group, union mpi_request *);
    void (*words)(int error, char capacity[512]);
    void (*abort)(int code);
    void (*finalize)(void);
    bool outlasts; /* worlds come after this one: what is being sent stays until it has gone */
};

/* A transport over one of them; its library is loaded. */
unroll_status comm_open_messages(const char *name, const struct mpi_abi *, double timeout, struct unroll_comm **);

extern const struct mpi_abi mpi_openmpi, mpi_mpich;

#endif
