/* The part of UCX's API used by the transport, in the library's binary layout (1.10 and later). It is loaded at run
 * time, so that nothing is linked and no header is needed. tests/comm/test_ucx.c compares it with UCX's header if
 * installed. */
#ifndef COMM_UCX_ABI_H
#define COMM_UCX_ABI_H
#include <stddef.h>
#include <stdint.h>

typedef signed char ucx_status; /* 0: done; 1: in progress; negative: an error */
enum { UCX_OK = 0, UCX_GOES_ON = 1, UCX_CANCELED = -16 };

struct ucx_params {
    uint64_t fields, features;
    size_t request_size;
    void *request_init, *request_cleanup;
    uint64_t sender_mask;
    int shared;
    size_t ranks, local_ranks;
    const char *name;
};
enum { UCX_PARAMS_FEATURES = 1, UCX_PARAMS_SHARED = 1 << 5, UCX_FEATURE_TAG = 1 };

struct ucx_worker_params {
    uint64_t fields;
    int threads;
    uint64_t rest[32]; /* larger than the real struct: none of these fields is set */
};
enum { UCX_WORKER_THREADS = 1, UCX_THREADS_SERIALIZED = 1 };

struct ucx_ep_params {
    uint64_t fields;
    const void *address;
    int errors;
    struct {
        void (*call)(void *arg, void *ep, ucx_status);
        void *arg;
    } handler;
    uint64_t rest[16];
};
enum { UCX_EP_ADDRESS = 1, UCX_EP_ERRORS = 2, UCX_EP_HANDLER = 4, UCX_ERRORS_OF_PEERS = 1 };

struct ucx_request_param {
    uint32_t fields, flags;
    void *request, *callback;
    uint64_t datatype;
    void *user, *reply;
    int memory_type;
    void *info, *memory;
};
enum { UCX_REQUEST_FLAGS = 1 << 4, UCX_REQUEST_ALWAYS = 1 << 16, UCX_CLOSE_AT_ONCE = 1 };

struct ucx_received {
    uint64_t tag;
    size_t bytes;
};

/* The functions by name: F(result, name, arguments). */
#define UCX_FUNCTIONS(F)                                                                                              \
    F(ucx_status, ucp_config_read, (const char *prefix, const char *file, void **config))                             \
    F(void, ucp_config_release, (void *config))                                                                       \
    F(ucx_status, ucp_init_version,                                                                                   \
      (unsigned major, unsigned minor, const struct ucx_params *, const void *config, void **context))                \
    F(void, ucp_cleanup, (void *context))                                                                             \
    F(ucx_status, ucp_worker_create, (void *context, const struct ucx_worker_params *, void **worker))                \
    F(void, ucp_worker_destroy, (void *worker))                                                                       \
    F(ucx_status, ucp_worker_get_address, (void *worker, void **address, size_t *bytes))                              \
    F(void, ucp_worker_release_address, (void *worker, void *address))                                                \
    F(unsigned, ucp_worker_progress, (void *worker))                                                                  \
    F(ucx_status, ucp_ep_create, (void *worker, const struct ucx_ep_params *, void **ep))                             \
    F(void *, ucp_ep_close_nbx, (void *ep, const struct ucx_request_param *))                                         \
    F(void *, ucp_tag_send_nbx,                                                                                       \
      (void *ep, const void *data, size_t bytes, uint64_t tag, const struct ucx_request_param *))                     \
    F(void *, ucp_tag_recv_nbx,                                                                                       \
      (void *worker, void *data, size_t bytes, uint64_t tag, uint64_t mask, const struct ucx_request_param *))        \
    F(void *, ucp_tag_probe_nb, (void *worker, uint64_t tag, uint64_t mask, int remove, struct ucx_received *))       \
    F(void *, ucp_tag_msg_recv_nbx,                                                                                   \
      (void *worker, void *data, size_t bytes, void *message, const struct ucx_request_param *))                      \
    F(ucx_status, ucp_request_check_status, (void *request))                                                          \
    F(ucx_status, ucp_tag_recv_request_test, (void *request, struct ucx_received *))                                  \
    F(void, ucp_request_cancel, (void *worker, void *request))                                                        \
    F(void, ucp_request_free, (void *request))                                                                        \
    F(const char *, ucs_status_string, (ucx_status))

#endif
