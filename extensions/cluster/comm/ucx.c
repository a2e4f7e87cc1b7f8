/* UCX as the library below the transport of mpi.c: tagged messages between processes whose addresses the caller has
 * exchanged. The worker lives as long as the process. Worlds come and go on it; messages carry the number of their
 * world, so that none is received in a later one. Membership of a world is decided in cli/run/member.c. */
#include "extensions/cluster/comm/ucx_abi.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/library.h"
#include "base/memory.h"
#include "extensions/cluster/comm/mpi_abi.h"
#include "comm/transport.h"

#define DECLARE(result, name, arguments) static result(*name) arguments;
UCX_FUNCTIONS(DECLARE)

/* A tag: number of the world, sender, our tag. */
enum { TAG_BITS = 28, RANK_BITS = 12, WORLD_BITS = 24, WORLDS = 1 << WORLD_BITS };

/* A process to which this one can send. Closing an endpoint also closes the other side, so endpoints of remaining
 * processes are reused. */
struct ucx_peer {
    struct ucx_peer *next;
    void *endpoint; /* NULL: not connected yet */
    bool failed, stays;
    char address[WORLD_ADDRESS];
};

static struct {
    void *context, *worker;
    struct ucx_peer *peers, *left, **of_rank; /* of_rank: [ranks] */
    uint64_t number;
    int rank, ranks;
} world;

static const uint64_t of_world = ~((UINT64_C(1) << (TAG_BITS + RANK_BITS)) - 1);

static uint64_t tag_of(uint64_t number, int from, int tag)
{
    return number << (TAG_BITS + RANK_BITS) | (uint64_t)from << TAG_BITS | (uint64_t)(unsigned)tag;
}

static ucx_status status_of(const void *request)
{
    const intptr_t number = (intptr_t)request;
    return number < 0 && number >= -100 ? (ucx_status)number : UCX_OK;
}

/* ---- the worker ------------------------------------------------------------------------ */

static unroll_status load(void)
{
    static const struct symbol symbols[] = {
#define SYMBOL(result, name, arguments) {#name, &name, false},
        UCX_FUNCTIONS(SYMBOL)};
    return library_open(LIBRARY_UCX, symbols, sizeof symbols / sizeof *symbols, NULL);
}

/* Creates the worker. UCX's log is silenced, because we report lost peers ourselves. */
static unroll_status make_worker(void)
{
    const struct ucx_params params = {.fields = UCX_PARAMS_FEATURES, .features = UCX_FEATURE_TAG};
    const struct ucx_worker_params worker = {.fields = UCX_WORKER_THREADS, .threads = UCX_THREADS_SERIALIZED};
    void *config = NULL;
    setenv("UCX_LOG_LEVEL", "fatal", 0);
    setenv("UCX_HANDLE_ERRORS", "none", 0); /* signals belong to the program */
    TRY(load());
    ucx_status status = ucp_config_read(NULL, NULL, &config);
    if (status == UCX_OK)
        status = ucp_init_version(1, 10, &params, config, &world.context);
    if (config)
        ucp_config_release(config);
    if (status == UCX_OK)
        status = ucp_worker_create(world.context, &worker, &world.worker);
    return status == UCX_OK
               ? UNROLL_OK
               : fail(UNROLL_COMMUNICATION,
                      "UCX could not begin: %s; fix: check the network and UCX_NET_DEVICES, or take `engine` mpi",
                      ucs_status_string(status));
}

unroll_status ucx_address(char text[WORLD_ADDRESS])
{
    unsigned char *address = NULL;
    size_t bytes = 0;
    if (!world.worker)
        TRY(make_worker());
    ucx_status status = ucp_worker_get_address(world.worker, (void **)&address, &bytes);
    if (status != UCX_OK)
        return fail(UNROLL_COMMUNICATION,
                    "UCX has no address: %s; fix: check the network and UCX_NET_DEVICES, or take `engine` mpi",
                    ucs_status_string(status));
    for (size_t i = 0; i < bytes && 2 * i + 2 < WORLD_ADDRESS; i++) snprintf(text + 2 * i, 3, "%02x", address[i]);
    ucp_worker_release_address(world.worker, address);
    return 2 * bytes < WORLD_ADDRESS
               ? UNROLL_OK
               : fail(UNROLL_UNSUPPORTED,
                      "an address of UCX has %zu bytes, we pass round %d; fix: use fewer ways, for "
                      "example UCX_TLS=tcp,self",
                      bytes, WORLD_ADDRESS / 2 - 1);
}

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static bool read_address(const char *text, unsigned char bytes[WORLD_ADDRESS / 2])
{
    const size_t length = strlen(text);
    if (length == 0 || length % 2 || length >= WORLD_ADDRESS)
        return false;
    for (size_t i = 0; i < length; i += 2) {
        if (digit(text[i]) < 0 || digit(text[i + 1]) < 0)
            return false;
        bytes[i / 2] = (unsigned char)(digit(text[i]) << 4 | digit(text[i + 1]));
    }
    return true;
}

/* ---- messages -------------------------------------------------------------------------- */

static void peer_failed(void *arg, void *endpoint, ucx_status status)
{
    (void)endpoint, (void)status;
    ((struct ucx_peer *)arg)->failed = true;
}

static int reach(struct ucx_peer *peer)
{
    unsigned char address[WORLD_ADDRESS / 2];
    struct ucx_ep_params params = {.fields = UCX_EP_ADDRESS | UCX_EP_ERRORS | UCX_EP_HANDLER,
                                   .address = address,
                                   .errors = UCX_ERRORS_OF_PEERS,
                                   .handler = {peer_failed, peer}};
    if (peer->endpoint)
        return peer->failed ? UCX_CANCELED : UCX_OK;
    return read_address(peer->address, address) ? ucp_ep_create(world.worker, &params, &peer->endpoint) : UCX_CANCELED;
}

static int ucx_send(const void *data, int bytes, int to, int tag, union mpi_request *request)
{
    static const struct ucx_request_param param;
    struct ucx_peer *peer = world.of_rank[to];
    int error = reach(peer);
    request->pointer = NULL;
    if (error)
        return error;
    void *sent = ucp_tag_send_nbx(peer->endpoint, data, (size_t)bytes, tag_of(world.number, world.rank, tag), &param);
    if (status_of(sent) == UCX_OK)
        request->pointer = sent;
    return status_of(sent);
}

static int ucx_recv(void *data, int bytes, int from, int tag, union mpi_request *request)
{
    static const struct ucx_request_param param = {.fields = UCX_REQUEST_ALWAYS};
    const uint64_t sender = tag_of(0, (1 << RANK_BITS) - 1, 0);
    void *begun = ucp_tag_recv_nbx(world.worker, data, (size_t)bytes, tag_of(world.number, from < 0 ? 0 : from, tag),
                                   from < 0 ? ~sender : ~UINT64_C(0), &param);
    request->pointer = status_of(begun) == UCX_OK ? begun : NULL;
    return status_of(begun);
}

/* bytes < 0: tests a send. */
static int ucx_test(union mpi_request *request, int *done, int *bytes)
{
    struct ucx_received received = {0};
    *done = 1;
    if (!request->pointer)
        return UCX_OK;
    ucp_worker_progress(world.worker);
    ucx_status status = *bytes < 0 ? ucp_request_check_status(request->pointer)
                                   : ucp_tag_recv_request_test(request->pointer, &received);
    *done = status != UCX_GOES_ON;
    if (!*done)
        return UCX_OK;
    if (*bytes >= 0)
        *bytes = received.bytes > INT_MAX ? INT_MAX : (int)received.bytes;
    ucp_request_free(request->pointer);
    request->pointer = NULL;
    return status;
}

/* Waits at most a second for a canceled request. If it has not ended by then, its memory must not be freed. */
static void finish(void *request)
{
    for (double begin = clock_seconds();
         ucp_request_check_status(request) == UCX_GOES_ON && clock_seconds() - begin < 1;)
        ucp_worker_progress(world.worker);
    ucp_request_free(request);
}

static void ucx_cancel(union mpi_request *request)
{
    if (!request->pointer)
        return;
    ucp_request_cancel(world.worker, request->pointer);
    finish(request->pointer);
    request->pointer = NULL;
}

static void ucx_words(int error, char words[512]) { snprintf(words, 512, "%s", ucs_status_string((ucx_status)error)); }

/* Does nothing: remaining processes form a new world, and none ends the others. */
static void ucx_abort(int code) { (void)code; }

/* ---- worlds ---------------------------------------------------------------------------- */

static int init(int *rank, int *ranks, int *max_tag)
{
    *rank = world.rank;
    *ranks = world.ranks;
    *max_tag = INT_MAX;
    return UCX_OK;
}

static void finalize(void) {}

/* Closes at once, because the peer may be gone; this ends pending sends. UCX 1.13 may still report its failure
 * later, so its memory is kept. */
static void leave(struct ucx_peer *peer)
{
    static const struct ucx_request_param at_once = {.fields = UCX_REQUEST_FLAGS, .flags = UCX_CLOSE_AT_ONCE};
    void *closing = peer->endpoint ? ucp_ep_close_nbx(peer->endpoint, &at_once) : NULL;
    if (closing && status_of(closing) == UCX_OK)
        finish(closing);
    peer->next = world.left;
    world.left = peer;
}

static struct ucx_peer *find_peer(const char *address)
{
    struct ucx_peer *peer = world.peers;
    while (peer && (peer->failed || strcmp(peer->address, address))) peer = peer->next;
    if (peer || !(peer = allocate_zeroed(1, sizeof *peer)))
        return peer;
    snprintf(peer->address, sizeof peer->address, "%s", address);
    peer->next = world.peers;
    return world.peers = peer;
}

/* Finds the peers of a world and closes all others. */
static unroll_status find_peers(int ranks, const char *const *addresses)
{
    release(world.of_rank);
    TRY(ALLOCATE(world.of_rank, (size_t)ranks, "for %d peers", ranks));
    for (int i = 0; i < ranks; i++) {
        if (!(world.of_rank[i] = find_peer(addresses[i])))
            return fail(UNROLL_RESOURCE, "no memory for %d peers", ranks);
        world.of_rank[i]->stays = true;
    }
    for (struct ucx_peer **at = &world.peers; *at;) {
        struct ucx_peer *peer = *at;
        if (!peer->stays) {
            *at = peer->next;
            leave(peer);
        } else {
            peer->stays = false;
            at = &peer->next;
        }
    }
    return UNROLL_OK;
}

/* Receives and discards messages of earlier worlds, so that they occupy no memory. */
static void forget(uint64_t number)
{
    static const struct ucx_request_param param = {.fields = UCX_REQUEST_ALWAYS};
    struct ucx_received found;
    void *message;
    ucp_worker_progress(world.worker);
    while ((message = ucp_tag_probe_nb(world.worker, tag_of(number, 0, 0), of_world, 1, &found))) {
        char *nowhere = allocate_zeroed(found.bytes + 1, 1);
        void *request = nowhere ? ucp_tag_msg_recv_nbx(world.worker, nowhere, found.bytes, message, &param) : NULL;
        if (request && status_of(request) == UCX_OK)
            finish(request);
        release(nowhere);
    }
}

static const struct mpi_abi abi = {.name = "UCX",
                                   .init = init,
                                   .send = ucx_send,
                                   .recv = ucx_recv,
                                   .test = ucx_test,
                                   .cancel = ucx_cancel,
                                   .words = ucx_words,
                                   .abort = ucx_abort,
                                   .finalize = finalize,
                                   .outlasts = true};

unroll_status ucx_open(int64_t number, int rank, int ranks, const char *const *addresses, double timeout,
                       struct unroll_comm **comm)
{
    if (!world.worker || number < 1 || number >= WORLDS || rank < 0 || rank >= ranks || ranks > 1 << RANK_BITS)
        return fail(UNROLL_USAGE,
                    "no world %lld of %d ranks, of which this would be %d; fix: use a rank below the number of ranks",
                    (long long)number, ranks, rank);
    for (uint64_t old = world.number; old > 0 && old < (uint64_t)number; old++) forget(old);
    world.number = (uint64_t)number;
    world.rank = rank;
    world.ranks = ranks;
    TRY(find_peers(ranks, addresses));
    return comm_open_messages("ucx", &abi, timeout, comm);
}
