/* Steps of streams with clang's real-time sanitizer, which ends the program if a nonblocking function, or one it calls,
 * allocates, locks or makes a system call. test_rtsan.sh compiles and runs it; tests without a sanitizer are in
 * test_realtime.c.
 *     realtime_sanitizer         steps, reads, resets: nothing may be found
 *     realtime_sanitizer wrong   allocates in a nonblocking function: must be found */
#include "check.h"
#include "networks.h"
#include "listed.h"
#include "unroll_stream.h"
#include <stdlib.h>

enum { ROWS = 3, STEPS = 50, MAX = ROWS * 64 };

struct work {
    unroll_stream *stream;
    unroll_stream_pool *pool;
    int of_tokens;
    float inputs[MAX], outputs[MAX];
    int32_t tokens[ROWS];
};

/* The work of an audio callback. */
static int callback(struct work *w) __attribute__((nonblocking))
{
    unroll_status status = w->of_tokens ? unroll_stream_step(w->stream, w->tokens, NULL, w->outputs)
                                        : unroll_stream_step(w->stream, NULL, w->inputs, w->outputs);
    status |= unroll_stream_pool_step(w->pool, ROWS, (int32_t[]){2, 0, 1}, w->of_tokens ? w->tokens : NULL,
                                      w->of_tokens ? NULL : w->inputs, w->outputs);
    return status == UNROLL_OK && unroll_stream_reset(w->stream, 0) == UNROLL_OK &&
           unroll_stream_pool_reset(w->pool, 0) == UNROLL_OK;
}

static void *volatile kept;

static void wrong_callback(void) __attribute__((nonblocking)) { kept = malloc(100); }

static void check_model(unroll_model *m, const char *name, const char *dtype, const char *isa)
{
    struct work w = {.stream = NULL};
    unroll_stream_config config = unroll_stream_config_default();
    unroll_network network = {.size = sizeof network};
    int steps = 0;
    config.rows = ROWS;
    config.machine.dtype = dtype;
    config.machine.isa = isa;
    size_t bytes = unroll_stream_bytes(m, &config);
    void *memory = aligned_alloc(64, bytes);
    CHECK(unroll_stream_init(memory, bytes, m, &config, &w.stream) == UNROLL_OK, "%s", unroll_last_error());
    unroll_stream_pool_config of_pool = unroll_stream_pool_config_default();
    of_pool.slots = ROWS;
    of_pool.machine = config.machine;
    bytes = unroll_stream_pool_bytes(m, &of_pool);
    void *slots = aligned_alloc(64, bytes);
    CHECK(unroll_stream_pool_init(slots, bytes, m, &of_pool, &w.pool) == UNROLL_OK, "%s", unroll_last_error());
    unroll_model_network(m, &network);
    unroll_model_free(m);
    w.of_tokens = network.tokens;
    for (int i = 0; i < STEPS; i++) steps += callback(&w);
    CHECK(steps == STEPS, "%s in %s on %s: %d of %d steps", name, dtype, isa, steps, STEPS);
    free(memory);
    free(slots);
}

static void check_all(const char *dtype, const char *isa)
{
    for (int cell = 0; listed(UNROLL_LIST_CELLS, cell); cell++) {
        unroll_model_config spec = unroll_model_config_default();
        unroll_model *m = NULL;
        char name[32];
        snprintf(name, sizeof name, "%s", listed(UNROLL_LIST_CELLS, cell));
        spec.cell = name;
        spec.hidden = 24;
        spec.input = spec.output = 5;
        if (CHECK(unroll_model_new(&spec, 1, &m) == UNROLL_OK, "%s", unroll_last_error()))
            check_model(m, name, dtype, isa);
    }
    for (int i = 0; network_named(i); i++) check_model(network_new(i), network_named(i), dtype, isa);
}

int main(int argc, char **argv)
{
    static const char *const dtypes[] = {"fp32", "bf16", "int8"};
    const char *isa;
    int available;
    if (argc > 1 && !strcmp(argv[1], "wrong")) {
        wrong_callback();
        return 0;
    }
    for (int i = 0; (isa = listed_isa(i, &available)); i++)
        for (size_t d = 0; available && d < sizeof dtypes / sizeof *dtypes; d++) check_all(dtypes[d], isa);
    return check_finish("real-time sanitizer");
}
