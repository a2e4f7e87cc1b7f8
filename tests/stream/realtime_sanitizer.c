/* Steps of streams under clang's real-time sanitizer, which ends the program where something that was called
 * from a nonblocking function allocates, locks or asks the system. test_rtsan.sh compiles and runs it; what
 * no sanitizer is needed for is in test_realtime.c.
 *     realtime_sanitizer         steps, reads, resets: nothing may be found
 *     realtime_sanitizer wrong   allocates in a nonblocking function: must be found */
#include "check.h"
#include "networks.h"
#include <stdlib.h>

enum { ROWS = 3, STEPS = 50, MAX = ROWS * 64 };

struct work {
    unroll_stream *stream;
    int of_tokens;
    float inputs[MAX], outputs[MAX];
    int32_t tokens[ROWS];
};

/* What an audio callback does. */
static int callback(struct work *w) __attribute__((nonblocking))
{
    unroll_status status = w->of_tokens ? unroll_stream_step_tokens(w->stream, w->tokens, w->outputs)
                                        : unroll_stream_step(w->stream, w->inputs, w->outputs);
    return status == UNROLL_OK && unroll_stream_reset(w->stream, 0) == UNROLL_OK;
}

static void *volatile kept;

static void wrong_callback(void) __attribute__((nonblocking)) { kept = malloc(100); }

static void check_model(unroll_model *m, const char *name, const char *dtype, const char *isa)
{
    struct work w = {.stream = NULL};
    unroll_stream_config config = unroll_stream_default();
    unroll_network network;
    int steps = 0;
    config.rows = ROWS;
    config.machine.dtype = dtype;
    config.machine.isa = isa;
    size_t bytes = unroll_stream_bytes(m, &config);
    void *memory = aligned_alloc(64, bytes);
    CHECK(unroll_stream_init(memory, bytes, m, &config, &w.stream) == UNROLL_OK, "%s", unroll_last_error());
    unroll_model_network(m, &network);
    unroll_model_free(m);
    w.of_tokens = network.tokens;
    for (int i = 0; i < STEPS; i++) steps += callback(&w);
    CHECK(steps == STEPS, "%s in %s on %s: %d of %d steps", name, dtype, isa, steps, STEPS);
    free(memory);
}

static void check_all(const char *dtype, const char *isa)
{
    for (int cell = 0; unroll_cell_name(cell); cell++) {
        unroll_spec spec = unroll_spec_default();
        unroll_model *m = NULL;
        char name[32];
        snprintf(name, sizeof name, "%s", unroll_cell_name(cell));
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
    for (int i = 0; (isa = unroll_isa_name(i, &available)); i++)
        for (size_t d = 0; available && d < sizeof dtypes / sizeof *dtypes; d++) check_all(dtypes[d], isa);
    return check_finish("real-time sanitizer");
}
