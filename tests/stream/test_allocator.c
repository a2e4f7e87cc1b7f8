/* Allocators of callers: a stream and a session take their memory from it, give all back, pass on that there is none,
 * and compute the bits that they compute without. */
/* test: kinds=check-plain,memory */
#include "check.h"
#include "unroll_train.h"
#include <stdlib.h>

struct arena {
    size_t bytes, live, allocations;
    bool empty;
};

static void *take(void *arg, size_t bytes, size_t alignment)
{
    struct arena *a = arg;
    void *memory = NULL;
    if (a->empty || posix_memalign(&memory, alignment, bytes) != 0)
        return NULL;
    memset(memory, 0xaa, bytes); /* the library clears what it needs as zeros */
    a->bytes += bytes, a->live += bytes, a->allocations++;
    return memory;
}

static void give_back(void *arg, void *memory, size_t bytes)
{
    ((struct arena *)arg)->live -= bytes;
    free(memory);
}

enum { IN = 3, OUT = 2, STEPS = 4 };
static const float x[STEPS * IN] = {1, 2, 3, 4, 5, 6, -1, -2, -3, 0, 1, 0};

static void check_stream(const unroll_model *model, struct arena *a, const unroll_allocator *allocator)
{
    unroll_stream_config config = unroll_stream_config_default();
    unroll_stream *plain, *own, *none = NULL;
    float expected[STEPS * OUT], got[STEPS * OUT];
    MUST(unroll_stream_new(model, &config, &plain));
    config.allocator = allocator;
    MUST(unroll_stream_new(model, &config, &own));
    CHECK(a->bytes >= unroll_stream_bytes(model, &config), "a stream took %zu bytes", a->bytes);
    MUST(unroll_stream_run(plain, STEPS, NULL, x, expected));
    MUST(unroll_stream_run(own, STEPS, NULL, x, got));
    CHECK(!memcmp(expected, got, sizeof got), "other bits");
    unroll_stream_free(plain);
    unroll_stream_free(own);
    unroll_stream_free(NULL);
    CHECK(a->live == 0, "%zu bytes of a stream are left", a->live);
    a->empty = true;
    CHECK_REFUSED(unroll_stream_new(model, &config, &none), UNROLL_RESOURCE, "bytes of a stream");
    a->empty = false;
}

static void check_session(unroll_model *model, struct arena *a, const unroll_allocator *allocator)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_batch batch = {.size = sizeof batch, .inputs = x};
    float z[2][STEPS * OUT];
    config.steps = STEPS;
    for (int i = 0; i < 2; i++) {
        unroll_session *session, *none = NULL;
        *a = (struct arena){0};
        config.allocator = i ? allocator : NULL;
        MUST(unroll_session_new(model, &config, &session));
        CHECK((a->allocations > 0) == i, "%zu allocations", a->allocations);
        MUST(unroll_session_forward(session, &batch));
        MUST(unroll_session_read(session, "z", z[i], STEPS * OUT));
        unroll_session_free(session);
        CHECK(a->live == 0, "%zu bytes of a session are left", a->live);
        a->empty = true;
        if (i)
            CHECK_REFUSED(unroll_session_new(model, &config, &none), UNROLL_RESOURCE, "no memory for");
    }
    CHECK(!memcmp(z[0], z[1], sizeof z[0]), "other bits");
    *a = (struct arena){0};
}

static void check_refused(unroll_model *model, unroll_allocator allocator, const char *words)
{
    unroll_stream_config streaming = unroll_stream_config_default();
    unroll_session_config config = unroll_session_config_default();
    unroll_stream *stream = NULL;
    unroll_session *session = NULL;
    streaming.allocator = config.allocator = &allocator;
    CHECK_REFUSED(unroll_stream_new(model, &streaming, &stream), UNROLL_USAGE, words);
    CHECK_REFUSED(unroll_session_new(model, &config, &session), UNROLL_USAGE, words);
}

int main(void)
{
    struct arena arena = {0};
    const unroll_allocator allocator = {sizeof allocator, take, give_back, &arena};
    unroll_model_config network = unroll_model_config_default();
    unroll_model *model;
    network.input = IN, network.hidden = 5, network.output = OUT;
    MUST(unroll_model_new(&network, 1, &model));
    check_stream(model, &arena, &allocator);
    check_refused(model, (unroll_allocator){0, take, give_back, &arena}, "size = 0 of unroll_allocator is wrong");
    check_refused(model, (unroll_allocator){sizeof allocator, take, NULL, &arena}, "has no `release`; fix: set both");
    check_refused(model, (unroll_allocator){sizeof allocator, NULL, give_back, &arena}, "has no `allocate`; fix:");
    check_session(model, &arena, &allocator);
    unroll_model_free(model);
    return check_finish("allocators");
}
