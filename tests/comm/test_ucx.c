/* Processes that find each other by addresses over UCX: sums as with threads, a rank that is killed while others wait,
 * a new world of the remaining ranks and a new one, old messages that are never received. Skipped without UCX. */
/* test: seconds=5 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/system/library.h"
#include "check.h"
#include "comm/transport.h"
#include "extensions/cluster/comm/mpi_abi.h"
#include "extensions/cluster/comm/ucx_abi.h"

#if defined __has_include
#if __has_include(<ucp/api/ucp.h>)
#include <ucp/api/ucp.h>
#define SAME(type, member, ours, other) \
    _Static_assert(offsetof(type, member) == offsetof(struct ours, other), "laid out as UCX does")
SAME(ucp_params_t, features, ucx_params, features);
SAME(ucp_params_t, name, ucx_params, name);
SAME(ucp_worker_params_t, thread_mode, ucx_worker_params, threads);
SAME(ucp_ep_params_t, address, ucx_ep_params, address);
SAME(ucp_ep_params_t, err_mode, ucx_ep_params, errors);
SAME(ucp_ep_params_t, err_handler, ucx_ep_params, handler);
SAME(ucp_request_param_t, op_attr_mask, ucx_request_param, fields);
SAME(ucp_request_param_t, flags, ucx_request_param, flags);
SAME(ucp_tag_recv_info_t, length, ucx_received, bytes);
#define IS(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), "as UCX has it")
IS(UCX_GOES_ON, UCS_INPROGRESS);
IS(UCX_CANCELED, UCS_ERR_CANCELED);
IS(UCX_WORKER_THREADS, UCP_WORKER_PARAM_FIELD_THREAD_MODE);
IS(UCX_THREADS_SERIALIZED, UCS_THREAD_MODE_SERIALIZED);
IS(UCX_EP_HANDLER, UCP_EP_PARAM_FIELD_ERR_HANDLER);
IS(UCX_ERRORS_OF_PEERS, UCP_ERR_HANDLING_MODE_PEER);
IS(UCX_REQUEST_FLAGS, UCP_OP_ATTR_FIELD_FLAGS);
IS(UCX_REQUEST_ALWAYS, UCP_OP_ATTR_FLAG_NO_IMM_CMPL);
IS(UCX_CLOSE_AT_ONCE, UCP_EP_CLOSE_FLAG_FORCE);
IS(UCX_FEATURE_TAG, UCP_FEATURE_TAG);
IS(sizeof(struct ucx_received), sizeof(ucp_tag_recv_info_t));
IS(sizeof(ucx_status), sizeof(ucs_status_t));
IS(sizeof(ucp_params_t) <= sizeof(struct ucx_params), true);
IS(sizeof(ucp_worker_params_t) <= sizeof(struct ucx_worker_params), true);
IS(sizeof(ucp_ep_params_t) <= sizeof(struct ucx_ep_params), true);
IS(sizeof(ucp_request_param_t) <= sizeof(struct ucx_request_param), true);
#endif
#endif

enum { RANKS = 4, LARGE = 300000 };

struct call { /* command to a process: the world to open; ranks 0: exit */
    int number, rank, ranks, dies;
    char address[RANKS][WORLD_ADDRESS];
};

struct process {
    pid_t id;
    int socket;
    char address[WORLD_ADDRESS];
} process[RANKS];

static _Atomic(struct unroll_comm *) current;

static bool take(int socket, void *to, size_t bytes) { return recv(socket, to, bytes, MSG_WAITALL) == (ssize_t)bytes; }

/* A byte on the alarm socket: the world has failed. */
static void *listen_to_alarm(void *arg)
{
    char byte;
    while (read(*(int *)arg, &byte, 1) == 1) comm_interrupt(current);
    return NULL;
}

/* Runs a sum of each kind; returns the status of the first failure. */
static unroll_status work(struct unroll_comm *comm, const struct call *c)
{
    static float x[LARGE];
    int world[RANKS];
    double ones = 1;
    for (int i = 0; i < c->ranks; i++) world[i] = i;
    for (enum algorithm a = COMM_TREE; a < COMM_NATIVE; a++) {
        struct sum sum = {world, c->ranks, 100 + (uint32_t)a, x, LARGE, false, a, 1};
        for (int i = 0; i < LARGE; i++) x[i] = (float)((c->rank + 1) * (i % 100));
        TRY(comm_sum_begin(comm, &sum));
        TRY(comm_sum_end(comm, &sum));
        for (int i = 0; i < LARGE; i++)
            if (x[i] != (float)(c->ranks * (c->ranks + 1) / 2 * (i % 100)))
                return fail(UNROLL_FAILURE, "sum %d of number %d is %g", (int)a, i, (double)x[i]);
    }
    TRY(comm_all_reduce(comm, world, c->ranks, 7, &ones, 1, 1));
    return ones == c->ranks ? UNROLL_OK : fail(UNROLL_FAILURE, "%g ranks", ones);
}

/* Runs a rank: answers calls from the socket until one has no ranks. */
static void live(int socket, int alarms)
{
    static struct call c;
    const char *address[RANKS];
    static char own[WORLD_ADDRESS];
    pthread_t listener;
    pthread_create(&listener, NULL, listen_to_alarm, &alarms);
    if (ucx_address(own) != UNROLL_OK)
        fprintf(stderr, "%s\n", unroll_last_error());
    send(socket, own, sizeof own, 0);
    while (take(socket, &c, sizeof c) && c.ranks > 0) {
        struct unroll_comm *comm = NULL;
        for (int i = 0; i < c.ranks; i++) address[i] = c.address[i];
        unroll_status status = ucx_open(c.number, c.rank, c.ranks, address, 20, &comm);
        current = comm;
        if (status == UNROLL_OK)
            status = work(comm, &c);
        if (status == UNROLL_OK && c.dies) { /* a message that is never received, then a wait that cannot succeed */
            int to = (c.rank + 1) % c.ranks;
            comm_send(comm, to, 55, own, sizeof own);
            if (c.rank == c.dies)
                raise(SIGKILL);
            status = comm_recv(comm, c.dies, 56, own, 8);
        }
        current = NULL;
        comm_close(comm);
        int said = (int)status;
        send(socket, &said, sizeof said, 0);
    }
    _exit(0);
}

static int alarms[RANKS];

static void begin(int i)
{
    int pair[2], alarm[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || socketpair(AF_UNIX, SOCK_STREAM, 0, alarm))
        abort();
    process[i].id = fork();
    if (process[i].id == 0) {
        close(pair[0]);
        close(alarm[0]);
        live(pair[1], alarm[1]);
    }
    close(pair[1]);
    close(alarm[1]);
    process[i].socket = pair[0];
    alarms[i] = alarm[0];
    CHECK(take(pair[0], process[i].address, WORLD_ADDRESS) && *process[i].address, "process %d has no address", i);
}

/* All named processes open the next world. */
static void call(const int *who, int ranks, int number, int dies)
{
    static struct call c;
    c = (struct call){.number = number, .ranks = ranks, .dies = dies};
    for (int i = 0; i < ranks; i++) memcpy(c.address[i], process[who[i]].address, WORLD_ADDRESS);
    for (c.rank = 0; c.rank < ranks; c.rank++)
        CHECK(send(process[who[c.rank]].socket, &c, sizeof c, MSG_NOSIGNAL) == sizeof c, "process %d is gone",
              who[c.rank]);
}

static void expect(const int *who, int ranks, unroll_status wanted, const char *when)
{
    for (int i = 0; i < ranks; i++) {
        int status = -1;
        take(process[who[i]].socket, &status, sizeof status);
        CHECK(status == (int)wanted, "%s: process %d ends with %d, not %d", when, who[i], status, (int)wanted);
    }
}

int main(void)
{
    char path[LIBRARY_PATH];
    if (!library_find(LIBRARY_UCX, path)) {
        printf("skipped: UCX is not here\n");
        return check_finish("test_ucx");
    }
    for (int i = 0; i < 3; i++) begin(i);
    call((int[]){0, 1, 2}, 3, 1, 0);
    expect((int[]){0, 1, 2}, 3, UNROLL_OK, "the first world");
    call((int[]){2, 0, 1}, 3, 2, 2);
    int status = 0;
    waitpid(process[1].id, &status, 0);
    CHECK(WIFSIGNALED(status), "the third of them kills itself");
    for (int i = 0; i < 3; i += 2) CHECK(write(alarms[i], "x", 1) == 1, "process %d hears no alarm", i);
    expect((int[]){0, 2}, 2, UNROLL_COMMUNICATION, "who waits for the dead one");
    double begin_again = clock_seconds();
    call((int[]){0, 2}, 2, 3, 0);
    expect((int[]){0, 2}, 2, UNROLL_OK, "those that are left");
    printf("two that are left add up again after %.1f ms\n", 1e3 * (clock_seconds() - begin_again));
    begin(3);
    call((int[]){3, 0, 2}, 3, 4, 0);
    expect((int[]){3, 0, 2}, 3, UNROLL_OK, "with one that came");
    call((int[]){0, 2, 3}, 3, 0, 0);
    expect((int[]){0, 2, 3}, 3, UNROLL_USAGE, "a world without a number");
    for (int i = 0; i < 4; i++)
        if (i != 1) {
            static const struct call end;
            CHECK(send(process[i].socket, &end, sizeof end, MSG_NOSIGNAL) == sizeof end, "process %d is gone", i);
            waitpid(process[i].id, &status, 0);
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "process %d ends with %d", i, status);
        }
    return check_finish("test_ucx");
}
