#include "cases/case.h"
#include "nn/losses/loss.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* splitmix64: good enough for test data, and depends only on (seed, i). */
double case_random(uint64_t seed, uint64_t i)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15u + (i + 1) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(z >> 11) / (double)(1ull << 52) - 1;
}

/* ---- the list -------------------------------------------------------------------------- */

static void refuse(const char *line, const char *word)
{
    fprintf(stderr, "cases: '%s' is not understood in '%s'\n", word, line);
    exit(2);
}

/* Returns a copy of a cell's name that lives as long as the program. */
static const char *kept(const char *name)
{
    static char names[32][32];
    int i = 0;
    while (i < 31 && names[i][0] && strcmp(names[i], name)) i++;
    snprintf(names[i], sizeof names[i], "%s", name);
    return names[i];
}

/* Parses "9:4,n3,7:2": categories:width of their embedding, or n and the number of numeric columns. */
static void read_columns(const char *value, struct test_case *c)
{
    static const char *const names[] = {"word", "suffix", "shape", "day"};
    for (; *value; value += strcspn(value, ",") + (strchr(value, ',') != NULL), c->spec.n_inputs++) {
        unroll_input *i = &c->inputs[c->spec.n_inputs];
        *i = (unroll_input){.size = sizeof *i, .name = names[c->spec.n_inputs]};
        if (*value == 'n')
            i->width = atoi(value + 1);
        else
            i->tokens = atoi(value), i->width = atoi(strchr(value, ':') + 1);
    }
    c->spec.input = 0;
}

static void set_word(struct test_case *c, const char *line, char *word)
{
    char *value = strchr(word, '=');
    if (!value)
        refuse(line, word);
    *value++ = 0;
    struct {
        const char *key;
        int *at;
    } integers[] = {{"layers", &c->spec.layers},
                    {"H", &c->spec.hidden},
                    {"I", &c->spec.input},
                    {"head", &c->spec.output},
                    {"proj", &c->spec.projection},
                    {"peephole", &c->spec.peephole},
                    {"bias", &c->spec.bias},
                    {"embed", &c->spec.embed},
                    {"tied", &c->spec.tied},
                    {"T", &c->session.steps},
                    {"B", &c->session.rows},
                    {"lengths", &c->session.lengths},
                    {"resets", &c->session.resets},
                    {"carry", &c->session.stateful},
                    {"threads", &c->session.machine.threads},
                    {"gaps", &c->gaps},
                    {"weights", &c->class_weights}};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        if (!strcmp(word, integers[i].key)) {
            *integers[i].at = atoi(value);
            return;
        }
    if (!strcmp(word, "cell"))
        c->spec.cell = kept(value);
    else if (!strcmp(word, "dir"))
        c->spec.bidirectional = !strcmp(value, "bi");
    else if (!strcmp(word, "clip"))
        c->spec.clip = (float)atof(value);
    else if (!strcmp(word, "dropout"))
        c->spec.dropout = (float)atof(value);
    else if (!strcmp(word, "pool"))
        c->spec.pool = kept(value);
    else if (!strcmp(word, "smooth"))
        c->label_smoothing = (float)atof(value);
    else if (!strcmp(word, "columns"))
        read_columns(value, c);
    else if (!strcmp(word, "indrop"))
        c->spec.input_dropout = (float)atof(value);
    else if (!strcmp(word, "loss"))
        c->spec.loss = kept(value);
    else if (!strcmp(word, "tokens"))
        c->spec.tokens = 1, c->spec.input = c->spec.output = atoi(value);
    else
        refuse(line, word);
}

static void read_case(const char *line, struct test_case *c)
{
    char words[256], *rest = NULL;
    memset(c, 0, sizeof *c);
    snprintf(c->line, sizeof c->line, "%s", line);
    snprintf(words, sizeof words, "%s", line);
    c->spec = unroll_model_config_default();
    c->spec.layers = 1, c->spec.hidden = 5, c->spec.input = 4, c->spec.output = 3;
    c->spec.loss = "mse";
    c->session = unroll_session_config_default();
    c->session.steps = 6, c->session.rows = 3;
    c->session.seed = 7;
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) set_word(c, line, word);
}

int cases_read(const char *path, const char *filter, struct test_case **cases)
{
    FILE *file = fopen(path, "r");
    char line[256];
    int count = 0;
    if (!file) {
        fprintf(stderr, "cases: can't read '%s'\n", path);
        exit(2);
    }
    *cases = NULL;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (!*line || *line == '#' || (filter && !strstr(line, filter)))
            continue;
        *cases = realloc(*cases, (size_t)(count + 1) * sizeof **cases);
        read_case(line, &(*cases)[count++]);
    }
    fclose(file);
    for (int i = 0; i < count; i++) (*cases)[i].spec.inputs = (*cases)[i].spec.n_inputs ? (*cases)[i].inputs : NULL;
    return count;
}

bool case_needs_cpu(const struct test_case *c)
{
    struct loss_choice choice;
    return c->spec.loss && loss_choose(c->spec.loss, &choice) == UNROLL_OK && loss_at(choice.index)->of_sequences;
}

unroll_session_config case_trains(const struct test_case *c)
{
    static const float weight[] = {0.5f, 0, 2, 1.25f, 0.75f, 1, 3};
    unroll_session_config config = c->session;
    config.mode = UNROLL_TRAIN;
    config.label_smoothing = c->label_smoothing;
    if (c->class_weights && c->spec.output <= 7)
        config.class_weights = weight;
    return config;
}

/* ---- batches --------------------------------------------------------------------------- */

static int random_below(uint64_t seed, uint64_t i, int n) { return (int)((case_random(seed, i) + 1) / 2 * n); }

static float *random_floats(uint64_t seed, size_t count)
{
    float *x = malloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++) x[i] = (float)case_random(seed, i);
    return x;
}

static int32_t *random_integers(uint64_t seed, size_t count, int min, int max)
{
    int32_t *x = malloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++) x[i] = min + random_below(seed, i, max - min + 1);
    return x;
}

/* Returns up to a label for every second step of a row, then zeros; the last row is not counted. */
static int32_t *random_labels(const struct test_case *c, uint64_t seed)
{
    const size_t rows = (size_t)c->session.rows, steps = (size_t)c->session.steps;
    int32_t *x = random_integers(seed, steps * rows, 1, c->spec.output - 1);
    for (size_t row = 0; row < rows; row++) {
        const int labels = random_below(seed + 1, row, (int)steps / 2 + 1);
        for (size_t t = (size_t)labels; t < steps; t++) x[t * rows + row] = 0;
        if (rows > 2 && row + 1 == rows)
            x[row] = -1;
    }
    return x;
}

/* Returns token columns [steps, columns]. */
static int32_t *random_columns(const unroll_model_config *s, uint64_t seed, size_t steps, size_t columns)
{
    int32_t *x = malloc(steps * columns * sizeof *x);
    for (size_t t = 0, i = 0; t < steps; t++)
        for (int k = 0; k < s->n_inputs; k++)
            if (s->inputs[k].tokens) {
                x[i] = random_below(seed, i, s->inputs[k].tokens);
                i++;
            }
    return x;
}

static void draw_inputs(const unroll_model_config *s, uint64_t seed, size_t steps, struct case_batch *b)
{
    size_t columns = 0, numbers = s->tokens ? 0 : (size_t)s->input;
    for (int k = 0; k < s->n_inputs; k++) {
        columns += s->inputs[k].tokens > 0;
        numbers += s->inputs[k].tokens ? 0 : (size_t)s->inputs[k].width;
    }
    if (columns)
        b->tokens = random_columns(s, seed + 4, steps, columns);
    if (s->tokens)
        b->tokens = random_integers(seed, steps, 0, s->input - 1);
    if (numbers)
        b->inputs = random_floats(seed, steps * numbers);
}

struct case_batch *case_batch_new(const struct test_case *c, uint64_t seed)
{
    const unroll_model_config *s = &c->spec;
    size_t steps = (size_t)c->session.steps * (size_t)c->session.rows;
    size_t answers = s->pool ? (size_t)c->session.rows : steps; /* after a pool, one for each row */
    struct case_batch *b = calloc(1, sizeof *b);
    struct loss_choice loss;
    if (loss_choose(s->loss, &loss) != UNROLL_OK)
        exit(fprintf(stderr, "cases: %s\n", unroll_last_error()) ? 2 : 1);
    const size_t targets = answers * (size_t)(s->output / loss.results);
    draw_inputs(s, seed, steps, b);
    if (s->loss && !strcmp(s->loss, "crf"))
        b->classes = random_integers(seed + 1, answers, 0, s->output - 1);
    else if (s->loss && !strcmp(s->loss, "ctc"))
        b->classes = random_labels(c, seed + 1);
    else if (s->loss && !strcmp(s->loss, "xent"))
        b->classes = random_integers(seed + 1, answers, -1, s->output - 1);
    else
        b->values = random_floats(seed + 1, targets);
    const int positive = s->loss && (!strcmp(s->loss, "bce") || !strcmp(s->loss, "poisson"));
    for (size_t i = 0; positive && i < targets; i++) b->values[i] *= b->values[i];
    for (size_t i = 0; c->gaps && i < targets; i++)
        if (random_below(seed + 4, i, 4) == 0)
            b->values[i] = NAN;
    if (c->session.lengths) /* the first two: empty and full length */
        b->lengths = random_integers(seed + 2, (size_t)c->session.rows, 0, c->session.steps);
    if (c->session.lengths && c->session.rows > 1)
        b->lengths[0] = 0, b->lengths[1] = c->session.steps;
    if (c->session.resets) {
        b->reset = calloc(steps, 1);
        for (size_t i = 0; i < steps; i++) b->reset[i] = random_below(seed + 3, i, 4) == 0;
    }
    b->batch = (unroll_batch){sizeof(unroll_batch), b->tokens, b->inputs, b->classes, b->values, b->lengths, b->reset};
    return b;
}

void case_batch_free(struct case_batch *b)
{
    void *owned[] = {b->tokens, b->inputs, b->classes, b->values, b->lengths, b->reset, b};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

/* ---- what tests compare ----------------------------------------------------------------- */

size_t case_length_of(const unroll_parameter *p)
{
    return (size_t)p->shape[0] * (size_t)(p->rank > 1 ? p->shape[1] : 1);
}

size_t case_parameters(unroll_model *model)
{
    size_t count = 0;
    for (int i = 0; i < unroll_model_parameters(model); i++) {
        unroll_parameter p = {.size = sizeof p};
        unroll_model_parameter(model, i, &p);
        count += case_length_of(&p);
    }
    return count;
}

bool case_read_gradients(unroll_model *model, unroll_session *session, float *to)
{
    for (int i = 0; i < unroll_model_parameters(model); i++) {
        unroll_parameter p = {.size = sizeof p};
        char name[128];
        unroll_model_parameter(model, i, &p);
        snprintf(name, sizeof name, "d.%s", p.name);
        if (unroll_session_read(session, name, to, case_length_of(&p)) != UNROLL_OK)
            return false;
        to += case_length_of(&p);
    }
    return true;
}

double case_distance(const float *a, const float *b, size_t count)
{
    double max = 0, scale = 1e-6;
    for (size_t i = 0; i < count; i++) {
        double d = fabs((double)a[i] - b[i]);
        max = d <= max ? max : d; /* keeps NaN */
        scale = fmax(scale, fabs((double)a[i]));
    }
    return max / scale;
}
