/* Networks with several columns: names and files, a list of one, refusals and the messages for ids out of range, arrays
 * of NumPy's files. Training and gradients on every device are tested with cases.txt and PyTorch's vector
 * tagging-columns, streams in test_stream, exported C in test_c99. */
/* test: kinds=plain,memory */
#include "convert/model_file.h"
#include "io/npy.h"
#include "session/fixture.h"
#include "base/memory.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { WORDS = 9, NUMBERS = 3, DAYS = 7, TOKEN_COLUMNS = 2 };

static const unroll_input columns[] = {
    {sizeof *columns, "word", WORDS, 4}, {sizeof *columns, NULL, 0, NUMBERS}, {sizeof *columns, "day", DAYS, 2}};

static unroll_model_config columns_spec(void)
{
    unroll_model_config s = vectors_spec();
    s.input = 0;
    s.inputs = columns;
    s.n_inputs = 3;
    return s;
}

/* A batch of STEPS x ROWS. */
struct columns_batch {
    int32_t tokens[STEPS * ROWS * TOKEN_COLUMNS];
    float numbers[STEPS * ROWS * NUMBERS];
};

static struct columns_batch draw_columns(void)
{
    struct columns_batch b;
    uint64_t state = 5;
    for (int i = 0; i < STEPS * ROWS; i++) {
        b.tokens[2 * i] = i % WORDS;
        b.tokens[2 * i + 1] = (3 * i + 1) % DAYS;
        for (int k = 0; k < NUMBERS; k++) b.numbers[i * NUMBERS + k] = (float)random_number(&state);
    }
    return b;
}

/* ---- descriptions ---------------------------------------------------------------------- */

static void check_names(unroll_model *m, const char *what)
{
    static const char *const names[] = {"embedding.word.weight", "embedding.day.weight"};
    unroll_network network = {.size = sizeof network};
    unroll_model_config spec = {.size = sizeof spec};
    unroll_parameter p = {.size = sizeof p};
    for (int i = 0; i < 2; i++) {
        MUST(unroll_model_parameter(m, i, &p));
        CHECK(!strcmp(p.name, names[i]) && p.shape[0] == (i ? DAYS : WORDS) && p.shape[1] == (i ? 2 : 4),
              "%s: parameter %d is %s", what, i, p.name);
    }
    unroll_model_network(m, &network);
    CHECK(network.n_inputs == 3 && !network.tokens && !network.input && !network.embed &&
              network.input_dropout == 0.25f && !strcmp(network.inputs[0].name, "word") &&
              network.inputs[0].size == sizeof(unroll_input) && !strcmp(network.inputs[1].name, "numbers") &&
              !network.inputs[1].tokens && network.inputs[1].width == NUMBERS,
          "%s: its columns", what);
    CHECK(unroll_model_stack(m, &spec) && spec.n_inputs == 3 && spec.inputs[2].tokens == DAYS, "%s: is a stack", what);
}

static void test_files(void)
{
    char path[64], *was = NULL, *is = NULL;
    unroll_model_config spec = columns_spec(), plain = vectors_spec();
    spec.input_dropout = 0.25f;
    unroll_model *m = new_model(spec), *back = NULL, *other = new_model(plain);
    snprintf(path, sizeof path, "/tmp/unroll_columns_%d.safetensors", (int)getpid());
    check_names(m, "made");
    if (MUST(unroll_model_save(m, path)) && MUST(unroll_model_load(path, &back)) && MUST(describe_network(m, &was)) &&
        MUST(describe_network(back, &is))) {
        check_names(back, "loaded");
        CHECK(!strcmp(was, is), "%s came back as %s", was, is);
    }
    release(is);
    if (MUST(describe_network(other, &is)))
        CHECK(!strstr(is, "inputs") && !strstr(is, "dropout\": 0.25"), "a file of one column is as it was: %s", is);
    unlink(path);
    release(was);
    release(is);
    unroll_model_free(other);
    unroll_model_free(back);
    unroll_model_free(m);
}

/* The columns in a file are checked like the rest. */
static void refuse_file(const char *inputs, const char *words)
{
    char path[64], network[512];
    const struct metadata metadata[] = {{"format", "unroll"}, {"format_version", "1"}, {"network", network}};
    unroll_model *m = NULL;
    snprintf(path, sizeof path, "/tmp/unroll_columns_%d.safetensors", (int)getpid());
    snprintf(network, sizeof network,
             "{\"embedding\": \"embedding\", \"loss\": \"none\", \"layers\": [], \"tokens\": 0, \"input\": 0, "
             "\"embed\": 0, \"tied\": 0, %s}",
             inputs);
    if (MUST(safetensors_write(path, NULL, 0, metadata, 3)))
        CHECK_REFUSED(unroll_model_load(path, &m), UNROLL_DATA, words);
    unlink(path);
}

static void test_damaged_files(void)
{
    static const char word[] = "{\"name\": \"word\", \"tokens\": 9, \"width\": 4}";
    char text[256];
    refuse_file("\"inputs\": 3", "its inputs must be an array of 2 to 16");
    snprintf(text, sizeof text, "\"inputs\": [%s]", word);
    refuse_file(text, "its inputs must be an array of 2 to 16");
    snprintf(text, sizeof text, "\"inputs\": [%s, {\"name\": \"day\", \"tokens\": 7}]", word);
    refuse_file(text, "input 1");
    snprintf(text, sizeof text, "\"inputs\": [%s, {\"name\": 3, \"tokens\": 7, \"width\": 2}]", word);
    refuse_file(text, "input 1");
    snprintf(text, sizeof text, "\"inputs\": [%s, {\"name\": \"day\", \"tokens\": -7, \"width\": 2}]", word);
    refuse_file(text, "input 1");
    snprintf(text, sizeof text, "\"inputs\": [%s, {\"name\": \"day\", \"columns\": 7, \"width\": 2}]", word);
    refuse_file(text, "columns");
    refuse_file("\"input_dropout\": \"much\"", "input_dropout");
}

/* A list of one is equivalent to the short form: the same names and weights. */
static void test_list_of_one(void)
{
    const unroll_input one = {sizeof one, "word", SYMBOLS, 4}, numbers = {sizeof one, NULL, 0, INPUT},
                       hot = {sizeof one, NULL, SYMBOLS, 0}, *const lists[] = {&one, &numbers, &hot};
    for (int i = 0; i < 3; i++) {
        unroll_model_config spec = i == 1 ? vectors_spec() : tokens_spec(), list = spec;
        spec.embed = i ? 0 : 4;
        list.tokens = list.input = list.embed = 0;
        list.inputs = lists[i], list.n_inputs = 1;
        unroll_model *a = new_model(spec), *b = new_model(list);
        unroll_network network = {.size = sizeof network};
        char *was = NULL, *is = NULL;
        unroll_parameter p = {.size = sizeof p}, q = {.size = sizeof q};
        MUST(unroll_model_parameter(a, 0, &p));
        MUST(unroll_model_parameter(b, 0, &q));
        unroll_model_network(b, &network);
        if (MUST(describe_network(a, &was)) && MUST(describe_network(b, &is)))
            CHECK(!strcmp(was, is) && !network.n_inputs && network.input == spec.input && !strcmp(p.name, q.name) &&
                      p.data[0] == q.data[0],
                  "list %d: %s is not %s", i, is, was);
        release(was);
        release(is);
        unroll_model_free(a);
        unroll_model_free(b);
    }
}

/* ---- refusals -------------------------------------------------------------------------- */

static void refuse(const unroll_input *inputs, int n_inputs, const char *words)
{
    unroll_model_config spec = columns_spec();
    unroll_model *m = NULL;
    spec.inputs = inputs;
    spec.n_inputs = n_inputs;
    CHECK_REFUSED(unroll_model_new(&spec, 1, &m), UNROLL_USAGE, words);
}

static void test_refusals(void)
{
    enum { SIZE = sizeof(unroll_input) };
    const unroll_input word = {SIZE, "word", WORDS, 4}, x = {SIZE, NULL, 0, 3};
    unroll_input many[UNROLL_INPUTS_MAX + 1];
    unroll_model_config spec = columns_spec();
    unroll_layer layer = unroll_layer_default();
    unroll_network network = unroll_network_default();
    unroll_model *m = NULL;
    for (int i = 0; i <= UNROLL_INPUTS_MAX; i++) many[i] = word;
    refuse(many, UNROLL_INPUTS_MAX + 1, "n_inputs = 17 is outside 1..16");
    refuse(NULL, 2, "a list of inputs replaces tokens, input and embed");
    refuse((unroll_input[]){word, word}, 2, "inputs 0 and 1 are both named 'word'");
    refuse((unroll_input[]){word, {SIZE, NULL, 3, 3}}, 2, "input 1: the name of a column");
    refuse((unroll_input[]){word, {SIZE, "a name that is longer than 31 bytes", 3, 3}}, 2,
           "input 1: the name of a column");
    refuse((unroll_input[]){word, {SIZE, "\xff", 3, 3}}, 2, "UTF-8");
    refuse((unroll_input[]){word, {SIZE, "day", 7, 0}}, 2,
           "input 'day': one-hot tokens must be the only column of a network");
    refuse((unroll_input[]){word, {SIZE, "day", -1, 3}}, 2, "input 'day': tokens = -1 is outside");
    refuse((unroll_input[]){word, {SIZE, "rain", 0, 0}}, 2, "input 'rain': width = 0 is outside");
    refuse((unroll_input[]){x, {SIZE, "rain", 0, 2}}, 2, "inputs 0 and 1 are both numeric; fix: combine them");
    refuse((unroll_input[]){x, {SIZE, "numbers", 3, 2}}, 2, "both named 'numbers'");
    refuse((unroll_input[]){{0, "word", 3, 2}}, 1, "size = 0 of unroll_input is wrong");
    spec.tokens = 1;
    CHECK_REFUSED(unroll_model_new(&spec, 1, &m), UNROLL_USAGE, "a list of inputs replaces tokens, input and embed");
    spec.tokens = 0, spec.tied = 1;
    CHECK_REFUSED(unroll_model_new(&spec, 1, &m), UNROLL_USAGE, "tied requires a network with one column of tokens");
    spec.tied = 0, spec.input_dropout = 1;
    CHECK_REFUSED(unroll_model_new(&spec, 1, &m), UNROLL_USAGE, "input_dropout = 1 is outside");
    spec = tokens_spec();
    spec.embed = 0, spec.input_dropout = 0.5f;
    CHECK_REFUSED(unroll_model_new(&spec, 1, &m), UNROLL_USAGE, "input_dropout is not supported for one-hot tokens");
    layer.name = "embedding.day", layer.width = 2;
    network.inputs = columns, network.n_inputs = 3, network.layer = &layer, network.layers = 1;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "other than that of an embedding");
    network.embedding = "a name that is longer than 31 bytes";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "is longer than 31 bytes");
}

static void test_batches(void)
{
    unroll_model *m = new_model(columns_spec());
    unroll_session *s = open_session(m, UNROLL_INFER, STEPS, ROWS);
    struct columns_batch b = draw_columns();
    unroll_batch batch = {.size = sizeof batch, .tokens = b.tokens, .inputs = b.numbers};
    MUST(unroll_session_forward(s, &batch));
    b.tokens[2 * (3 * ROWS + 1) + 1] = DAYS;
    CHECK_REFUSED(unroll_session_forward(s, &batch), UNROLL_DATA, "tokens[t=3, row=1, 'day'] = 7 is outside 0..6");
    b.tokens[0] = -1;
    CHECK_REFUSED(unroll_session_forward(s, &batch), UNROLL_DATA, "tokens[t=0, row=0, 'word'] = -1 is outside 0..8");
    b = draw_columns();
    b.numbers[NUMBERS + 2] = INFINITY;
    CHECK_REFUSED(unroll_session_forward(s, &batch), UNROLL_DATA, "inputs[t=0, row=1, 2] is infinite");
    batch.inputs = NULL;
    CHECK_REFUSED(unroll_session_forward(s, &batch), UNROLL_USAGE, "the batch has no inputs");
    batch.inputs = b.numbers, batch.tokens = NULL;
    CHECK_REFUSED(unroll_session_forward(s, &batch), UNROLL_USAGE, "the batch has no tokens");
    unroll_session_free(s);
    unroll_model_free(m);
}

static void test_stream(void)
{
    unroll_model *m = new_model(columns_spec());
    unroll_stream_config config = unroll_stream_config_default();
    size_t bytes = unroll_stream_bytes(m, &config);
    void *memory = malloc(bytes);
    unroll_stream *s;
    float y[STEPS], z[STEPS];
    const struct columns_batch b = draw_columns();
    if (MUST(unroll_stream_init(memory, bytes, m, &config, &s))) {
        CHECK(unroll_stream_tokens(s) == TOKEN_COLUMNS && unroll_stream_inputs(s) == NUMBERS, "widths");
        MUST(unroll_stream_run(s, STEPS, b.tokens, b.numbers, y));
        MUST(unroll_stream_reset(s, -1));
        for (int t = 0; t < STEPS; t++)
            MUST(unroll_stream_step(s, b.tokens + t * TOKEN_COLUMNS, b.numbers + t * NUMBERS, z + t));
        CHECK(!memcmp(y, z, sizeof y), "many steps are single ones");
        CHECK_REFUSED(unroll_stream_step(s, (int32_t[]){0, DAYS}, b.numbers, y), UNROLL_DATA,
                      "tokens[row=0, 'day'] = 7 is outside 0..6");
        CHECK_REFUSED(unroll_stream_step(s, b.tokens, NULL, y), UNROLL_USAGE, "needs tokens and inputs");
        CHECK_REFUSED(unroll_stream_step(s, NULL, b.numbers, y), UNROLL_USAGE, "needs tokens and inputs");
    }
    free(memory);
    unroll_model_free(m);
}

/* ---- NumPy's files --------------------------------------------------------------------- */

struct columns_files {
    char in[64], out[64];
    unroll_model *model;
    struct columns_batch batch;
};

/* Runs with tokens [steps, ROWS, tokens] and x [STEPS, ROWS, NUMBERS]; 0: no such array. */
static unroll_status run_files(const struct columns_files *f, uint64_t steps, uint64_t tokens, uint64_t numbers)
{
    const struct tensor_view ids = {.name = "tokens",
                                    .dtype = DTYPE_I32,
                                    .rank = 3,
                                    .shape = {steps, ROWS, tokens},
                                    .data = f->batch.tokens,
                                    .bytes = steps * ROWS * tokens * sizeof(int32_t)},
                             x = {.name = "x",
                                  .dtype = DTYPE_F32,
                                  .rank = 3,
                                  .shape = {STEPS, ROWS, numbers},
                                  .data = f->batch.numbers,
                                  .bytes = STEPS * ROWS * numbers * sizeof(float)};
    struct tensor_view arrays[2];
    int count = 0;
    unroll_run_config config = unroll_run_config_default();
    if (tokens)
        arrays[count++] = ids;
    if (numbers)
        arrays[count++] = x;
    MUST(npz_write(f->in, arrays, count));
    return unroll_model_run(f->model, f->in, f->out, &config);
}

static void check_results(const struct columns_files *f)
{
    unroll_session *s = open_session(f->model, UNROLL_INFER, STEPS, ROWS);
    unroll_batch batch = {.size = sizeof batch, .tokens = f->batch.tokens, .inputs = f->batch.numbers};
    float y[STEPS * ROWS];
    struct npz *file;
    MUST(unroll_session_forward(s, &batch));
    MUST(unroll_session_read(s, "z", y, STEPS * ROWS));
    if (MUST(npz_open(f->out, &file))) {
        const struct tensor_view *v = npz_find(file, "y");
        CHECK(v && v->bytes == sizeof y && !memcmp(v->data, y, sizeof y), "the session's results");
        npz_close(file);
    }
    unroll_session_free(s);
}

static void test_arrays(void)
{
    struct columns_files f = {.model = new_model(columns_spec()), .batch = draw_columns()};
    snprintf(f.in, sizeof f.in, "/tmp/unroll_columns_in_%d.npz", (int)getpid());
    snprintf(f.out, sizeof f.out, "/tmp/unroll_columns_out_%d.npz", (int)getpid());
    if (MUST(run_files(&f, STEPS, 2, NUMBERS)))
        check_results(&f);
    CHECK_REFUSED(run_files(&f, STEPS, 2, 0), UNROLL_DATA, "has no array 'x', which the model reads in addition");
    CHECK_REFUSED(run_files(&f, STEPS, 0, NUMBERS), UNROLL_DATA,
                  "has no array 'tokens', which the model reads in addition");
    CHECK_REFUSED(run_files(&f, STEPS - 1, 2, NUMBERS), UNROLL_DATA, "tokens have 5 steps of 2 rows, but x has 6 of 2");
    CHECK_REFUSED(run_files(&f, STEPS, 1, NUMBERS), UNROLL_DATA, "the model reads 2 tokens per step");
    CHECK_REFUSED(run_files(&f, STEPS, 2, NUMBERS - 1), UNROLL_DATA, "the model reads 3 numbers per step");
    unlink(f.in);
    unlink(f.out);
    unroll_model_free(f.model);
}

int main(void)
{
    test_files();
    test_damaged_files();
    test_list_of_one();
    test_refusals();
    test_batches();
    test_stream();
    test_arrays();
    return check_finish("columns");
}
