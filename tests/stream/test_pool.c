/* Compares pools with streams: whichever slots step together, each slot has the outputs and states of its own
 * single-row stream, bit for bit. Runs random schedules of steps, resets, moves, saves and loads, with every cell and
 * network in fp32, bf16 and int8 on every ISA. Also tests copies by memcpy, shared weights and refusals. */
/* test: kinds=check-plain,memory; seconds=20 */
#include "check.h"
#include "listed.h"
#include "stream/networks.h"
#include "unroll_stream.h"
#include <math.h>

enum { SLOTS = 37, ROUNDS = 25, WIDEST = 96 };

#undef MUST
#define MUST(call) (CHECK((call) == UNROLL_OK, "%s", unroll_last_error()) ? 0 : (exit(1), 0))

static uint64_t seed = 1;
static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

struct pair {
    unroll_stream *stream[SLOTS];
    unroll_stream_weights *weights; /* shared by all */
    unroll_stream_pool *pool;
    size_t input, output, state;
    int symbols;
};

static void *memory_for(size_t bytes)
{
    void *memory = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    CHECK(memory, "%s", unroll_last_error());
    return memory;
}

/* Opens a pool and a stream for each of its slots, with shared weights. */
static void open_pair(struct pair *p, const unroll_model *m, const char *dtype, const char *isa)
{
    unroll_stream_config of_stream = unroll_stream_config_default();
    unroll_stream_pool_config of_pool = unroll_stream_pool_config_default();
    of_pool.slots = SLOTS;
    of_stream.machine.dtype = of_pool.machine.dtype = dtype;
    of_stream.machine.isa = of_pool.machine.isa = isa;
    const size_t of_weights = unroll_stream_weights_bytes(m, &of_stream);
    MUST(unroll_stream_weights_init(memory_for(of_weights), of_weights, m, &of_stream, &p->weights));
    of_stream.weights = of_pool.weights = p->weights;
    for (int i = 0; i < SLOTS; i++) {
        const size_t bytes = unroll_stream_bytes(m, &of_stream);
        MUST(unroll_stream_init(memory_for(bytes), bytes, m, &of_stream, &p->stream[i]));
    }
    const size_t bytes = unroll_stream_pool_bytes(m, &of_pool);
    MUST(unroll_stream_pool_init(memory_for(bytes), bytes, m, &of_pool, &p->pool));
    p->input = (size_t)unroll_stream_pool_inputs(p->pool);
    p->output = (size_t)unroll_stream_pool_outputs(p->pool);
    p->state = unroll_stream_pool_state_bytes(p->pool);
    CHECK(p->state == unroll_stream_state_bytes(p->stream[0]), "a slot's state has the size of a stream's");
}

static void close_pair(struct pair *p)
{
    for (int i = 0; i < SLOTS; i++) free(p->stream[i]);
    free(p->pool);
    free(p->weights);
}

/* Steps a random subset of the slots in random order with random inputs. */
static bool step_some(struct pair *p)
{
    static float inputs[SLOTS * WIDEST], outputs[SLOTS * WIDEST], expected[WIDEST];
    int32_t slots[SLOTS], tokens[SLOTS];
    const int n = (int)draw(SLOTS + 1);
    bool same = true;
    for (int i = 0; i < SLOTS; i++) slots[i] = i;
    for (int i = 0; i < n; i++) {
        const uint32_t other = (uint32_t)i + draw(SLOTS - (uint32_t)i);
        const int32_t kept = slots[i];
        slots[i] = slots[other], slots[other] = kept;
        tokens[i] = p->symbols ? (int32_t)draw((uint32_t)p->symbols) : 0;
        for (size_t k = 0; k < p->input; k++) inputs[(size_t)i * p->input + k] = (float)draw(2001) / 1000 - 1;
    }
    MUST(unroll_stream_pool_step(p->pool, n, slots, p->symbols ? tokens : NULL, p->input ? inputs : NULL, outputs));
    for (int i = 0; i < n; i++) {
        MUST(unroll_stream_step(p->stream[slots[i]], p->symbols ? &tokens[i] : NULL,
                                p->input ? inputs + (size_t)i * p->input : NULL, expected));
        same &= !memcmp(expected, outputs + (size_t)i * p->output, p->output * sizeof *expected);
    }
    return same;
}

/* Resets or moves a slot, or exchanges its states with those of its stream through their saved bytes. */
static void change_one(struct pair *p, char *state)
{
    const int slot = (int)draw(SLOTS), to = (int)draw(SLOTS);
    unroll_stream *stream = p->stream[slot];
    switch (draw(4)) {
    case 0:
        MUST(unroll_stream_pool_reset(p->pool, slot));
        MUST(unroll_stream_reset(stream, -1));
        break;
    case 1:
        MUST(unroll_stream_pool_move(p->pool, slot, to));
        p->stream[slot] = p->stream[to], p->stream[to] = stream;
        if (slot != to)
            MUST(unroll_stream_reset(p->stream[slot], -1));
        break;
    case 2:
        MUST(unroll_stream_pool_save(p->pool, slot, state, p->state));
        MUST(unroll_stream_load(p->stream[to], state, p->state));
        MUST(unroll_stream_pool_load(p->pool, to, state, p->state));
        break;
    default:
        MUST(unroll_stream_save(stream, state, p->state));
        MUST(unroll_stream_pool_load(p->pool, to, state, p->state));
        MUST(unroll_stream_load(p->stream[to], state, p->state));
    }
}

static void check_model(unroll_model *m, const char *name, const char *dtype, const char *isa)
{
    struct pair p = {.input = 0};
    unroll_network network = {.size = sizeof network};
    bool same = true, saved = true;
    unroll_model_network(m, &network);
    p.symbols = network.tokens ? network.input : 0;
    open_pair(&p, m, dtype, isa);
    char *state = malloc(2 * p.state);
    for (int round = 0; round < ROUNDS; round++) {
        same &= step_some(&p);
        change_one(&p, state);
    }
    for (int i = 0; i < SLOTS; i++) {
        MUST(unroll_stream_pool_save(p.pool, i, state, p.state));
        MUST(unroll_stream_save(p.stream[i], state + p.state, p.state));
        saved &= !memcmp(state, state + p.state, p.state);
    }
    CHECK(same, "%s in %s on %s: outputs of slots are those of their streams", name, dtype, isa);
    CHECK(saved, "%s in %s on %s: states of slots are those of their streams", name, dtype, isa);
    free(state);
    close_pair(&p);
    unroll_model_free(m);
}

static unroll_model *model_of(const char *cell, const char *pool, int projection)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *m = NULL;
    spec.cell = cell;
    spec.layers = 2;
    spec.hidden = 40;
    spec.input = 5;
    spec.output = 7;
    spec.pool = pool;
    spec.projection = projection;
    MUST(unroll_model_new(&spec, 1, &m));
    return m;
}

static void check_isa(const char *dtype, const char *isa)
{
    char name[32];
    for (int i = 0; listed(UNROLL_LIST_CELLS, i); i++) {
        snprintf(name, sizeof name, "%s", listed(UNROLL_LIST_CELLS, i));
        check_model(model_of(name, i % 3 == 1 ? "mean" : i % 3 == 2 ? "max" : NULL, 0), name, dtype, isa);
    }
    check_model(model_of("lstm", "mean+max", 20), "lstm, projection and pool", dtype, isa);
    for (int i = 0; network_named(i); i++) check_model(network_new(i), network_named(i), dtype, isa);
}

/* A pool consists of its bytes: a copy steps independently. Weights may be outside. */
static void check_copies(void)
{
    unroll_model *m = model_of("gru", NULL, 0);
    unroll_stream_pool_config config = unroll_stream_pool_config_default();
    unroll_stream_weights *weights;
    unroll_stream_pool *pool, *copy;
    const float inputs[3 * 5] = {1, 2, 3};
    const int32_t slots[3] = {2, 0, 1};
    float first[3 * 7], second[3 * 7];
    const unroll_stream_config of_stream = unroll_stream_config_default();
    const size_t for_weights = unroll_stream_weights_bytes(m, &of_stream);
    MUST(unroll_stream_weights_init(memory_for(for_weights), for_weights, m, &of_stream, &weights));
    config.slots = 3;
    const size_t alone = unroll_stream_pool_bytes(m, &config);
    config.weights = weights;
    const size_t bytes = unroll_stream_pool_bytes(m, &config);
    CHECK(bytes < alone, "shared weights are not inside");
    MUST(unroll_stream_pool_init(memory_for(bytes), bytes, m, &config, &pool));
    unroll_model_free(m);
    MUST(unroll_stream_pool_step(pool, 3, slots, NULL, inputs, first));
    copy = memory_for(bytes);
    memcpy(copy, pool, bytes);
    MUST(unroll_stream_pool_step(pool, 3, slots, NULL, inputs, first));
    memset(pool, 0xff, bytes);
    MUST(unroll_stream_pool_step(copy, 3, slots, NULL, inputs, second));
    CHECK(!memcmp(first, second, sizeof first), "a copy has the outputs of the first");
    free(pool);
    free(copy);
    free(weights);
}

static void check_refused(unroll_stream_pool *pool, unroll_status status, unroll_status wanted, const char *words)
{
    static char before[4096], after[4096];
    const size_t bytes = unroll_stream_pool_state_bytes(pool);
    CHECK(status == wanted && strstr(unroll_last_error(), words) && strstr(unroll_last_error(), "fix: "), "%s: %s",
          words, unroll_last_error());
    for (int slot = 0; slot < 2; slot++) {
        MUST(unroll_stream_pool_save(pool, slot, after, bytes));
        if (slot && *before)
            CHECK(!memcmp(before, after, bytes), "%s: a refused call changes nothing", words);
        memcpy(before, after, slot ? bytes : 0);
    }
}

static void check_refusals(void)
{
    unroll_model *m = model_of("lstm", NULL, 0), *both = network_both_ways();
    unroll_stream_pool_config config = unroll_stream_pool_config_default();
    unroll_stream_pool *pool = NULL;
    float inputs[3 * 5] = {1}, outputs[3 * 7];
    char state[4096];
    config.slots = 0;
    CHECK(!unroll_stream_pool_bytes(m, &config) && strstr(unroll_last_error(), "slots = 0"), "%s", unroll_last_error());
    config.slots = 2;
    CHECK(!unroll_stream_pool_bytes(both, &config) && strstr(unroll_last_error(), "fix: "), "%s", unroll_last_error());
    const size_t bytes = unroll_stream_pool_bytes(m, &config);
    void *memory = memory_for(bytes);
    CHECK(unroll_stream_pool_init(memory, bytes - 1, m, &config, &pool) == UNROLL_USAGE, "memory that is too small");
    MUST(unroll_stream_pool_init(memory, bytes, m, &config, &pool));
    const size_t of_state = unroll_stream_pool_state_bytes(pool);
    MUST(unroll_stream_pool_step(pool, 2, (int32_t[]){0, 1}, NULL, inputs, outputs));
    check_refused(pool, unroll_stream_pool_step(pool, 3, (int32_t[]){0, 1, 2}, NULL, inputs, outputs), UNROLL_USAGE,
                  "slot = 2");
    check_refused(pool, unroll_stream_pool_step(pool, 2, (int32_t[]){0, -1}, NULL, inputs, outputs), UNROLL_USAGE,
                  "slot = -1");
    check_refused(pool, unroll_stream_pool_step(pool, 2, (int32_t[]){1, 1}, NULL, inputs, outputs), UNROLL_USAGE,
                  "twice");
    check_refused(pool, unroll_stream_pool_step(pool, 2, (int32_t[]){0, 1}, NULL, NULL, outputs), UNROLL_USAGE,
                  "needs");
    inputs[7] = NAN;
    check_refused(pool, unroll_stream_pool_step(pool, 2, (int32_t[]){0, 1}, NULL, inputs, outputs), UNROLL_DATA,
                  "inputs[1, 2]");
    check_refused(pool, unroll_stream_pool_move(pool, 0, 5), UNROLL_USAGE, "slot = 5");
    check_refused(pool, unroll_stream_pool_reset(pool, 2), UNROLL_USAGE, "slot = 2");
    check_refused(pool, unroll_stream_pool_save(pool, 0, state, of_state - 1), UNROLL_USAGE, "bytes");
    MUST(unroll_stream_pool_save(pool, 0, state, of_state));
    state[of_state - 1] ^= 1;
    check_refused(pool, unroll_stream_pool_load(pool, 1, state, of_state), UNROLL_DATA, "damaged");
    check_refused(pool, unroll_stream_pool_load(pool, 1, state, 10), UNROLL_DATA, "header");
    free(memory);
    unroll_model_free(m);
    unroll_model_free(both);
}

int main(void)
{
    static const char *const dtypes[] = {"fp32", "bf16", "int8"};
    const char *isa;
    int available;
    for (int i = 0; (isa = listed_isa(i, &available)); i++)
        for (size_t d = 0; available && d < sizeof dtypes / sizeof *dtypes; d++) check_isa(dtypes[d], isa);
    check_copies();
    check_refusals();
    return check_finish("pools");
}
