/* Tests of sampling: a model whose outputs do not depend on its inputs has a known distribution, which the drawn tokens
 * must follow for every temperature and top-k. */
/* test: kinds=plain,long-memory */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "model/model.h"
#include "unroll_train.h"
#include "unroll.h"

enum { SYMBOLS = 5, DRAWS = 20000 };

static const char *const symbols[SYMBOLS] = {"a", "b", "c", "\xc3\xa9", "\n"};
static const double odds[SYMBOLS] = {0.4, 0.3, 0.2, 0.1, 0.0001};

/* Creates a model; without `reads`, it ignores its input and has the logits log(odds). */
static unroll_model *make_model(bool reads)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_parameter parameter = {.size = sizeof parameter};
    unroll_model *model = NULL;
    spec.cell = "gru";
    spec.hidden = 8;
    spec.tokens = 1;
    spec.input = spec.output = SYMBOLS;
    spec.loss = "xent";
    MUST(unroll_model_new(&spec, 1, &model));
    MUST(model_set_vocabulary(model, symbols, SYMBOLS));
    for (int i = 0; i < unroll_model_parameters(model) && !reads; i++) {
        MUST(unroll_model_parameter(model, i, &parameter));
        int count = parameter.shape[0] * (parameter.rank > 1 ? parameter.shape[1] : 1);
        for (int k = 0; k < count; k++)
            parameter.data[k] = strcmp(parameter.name, "head.bias") == 0 ? (float)log(odds[k]) : 0;
    }
    return model;
}

struct written {
    int count[SYMBOLS], total, limit;
    char first[64];
};

static int take(void *arg, const char *symbol)
{
    struct written *written = arg;
    for (int i = 0; i < SYMBOLS; i++) written->count[i] += strcmp(symbol, symbols[i]) == 0;
    if (strlen(written->first) + strlen(symbol) < sizeof written->first)
        strcat(written->first, symbol);
    return ++written->total == written->limit;
}

static struct written sample(unroll_model *model, const unroll_sample_config *config)
{
    struct written written = {.limit = -1};
    MUST(unroll_model_sample(model, config, take, &written));
    return written;
}

static void check_distribution(unroll_model *model, double temperature, int top_k, double top_p)
{
    unroll_sample_config config = unroll_sample_config_default();
    double expected[SYMBOLS], sum = 0;
    int kept = top_p < 1 ? 2 : top_k ? top_k : SYMBOLS;
    config.length = DRAWS;
    config.temperature = temperature;
    config.top_k = top_p < 1 ? 0 : top_k;
    config.top_p = top_p;
    for (int i = 0; i < kept; i++) sum += expected[i] = pow(odds[i], 1 / temperature);
    struct written written = sample(model, &config);
    CHECK(written.total == DRAWS, "%d tokens", written.total);
    for (int i = 0; i < SYMBOLS; i++) {
        double p = i < kept ? expected[i] / sum : 0, deviation = sqrt(DRAWS * p * (1 - p));
        CHECK(fabs(written.count[i] - DRAWS * p) <= 4.5 * deviation,
              "temperature %g, top %d: token %d %d times, not %.0f", temperature, top_k, i, written.count[i],
              DRAWS * p);
    }
}

static void test_distributions(void)
{
    unroll_model *model = make_model(false);
    check_distribution(model, 1, 0, 1);
    check_distribution(model, 0.5, 0, 1);
    check_distribution(model, 3, 0, 1);
    check_distribution(model, 1, 2, 1);
    check_distribution(model, 0.7, 3, 1);
    check_distribution(model, 1, 1, 1);
    check_distribution(model, 1, 2, 0.65); /* 0.4 is less, 0.4 + 0.3 is not */
    unroll_model_free(model);
}

/* Finds the likeliest of all texts of LENGTH tokens after a line end, by their token numbers, and its
 * log-probability. */
enum { LENGTH = 4, TEXTS = SYMBOLS * SYMBOLS * SYMBOLS * SYMBOLS };

/* Finds the most likely text by trying all of them; returns its log-likelihood. */
static double likeliest_text(unroll_model *model, char text[64])
{
    static int32_t tokens[LENGTH * TEXTS];
    static float z[LENGTH * TEXTS * SYMBOLS];
    unroll_session *session = NULL;
    unroll_session_config config = unroll_session_config_default();
    unroll_batch batch = {.size = sizeof batch, .tokens = tokens};
    double best = -INFINITY;
    config.steps = LENGTH, config.rows = TEXTS, config.machine.threads = 1;
    MUST(unroll_session_new(model, &config, &session));
    for (int i = 0; i < TEXTS; i++) {
        tokens[i] = SYMBOLS - 1; /* the line end */
        for (int t = 1, rest = i; t < LENGTH; t++, rest /= SYMBOLS) tokens[t * TEXTS + i] = rest % SYMBOLS;
    }
    MUST(unroll_session_forward(session, &batch));
    MUST(unroll_session_read(session, "z", z, LENGTH * TEXTS * SYMBOLS));
    for (int i = 0; i < TEXTS; i++) {
        double score = 0;
        for (int t = 0, rest = i; t < LENGTH; t++, rest /= SYMBOLS) {
            const float *row = z + ((size_t)t * TEXTS + (size_t)i) * SYMBOLS;
            double sum = 0;
            for (int k = 0; k < SYMBOLS; k++) sum += exp((double)row[k]);
            score += (double)row[rest % SYMBOLS] - log(sum);
        }
        if (score <= best)
            continue;
        best = score;
        *text = '\0';
        for (int t = 0, rest = i; t < LENGTH; t++, rest /= SYMBOLS) strcat(text, symbols[rest % SYMBOLS]);
    }
    unroll_session_free(session);
    return best;
}

/* With one beam for each text that is a token shorter, it finds the likeliest of all; with width 1 it is greedy. */
static void test_beam(void)
{
    unroll_model *model = make_model(true);
    unroll_sample_config config = unroll_sample_config_default();
    unroll_parameter parameter = {.size = sizeof parameter};
    char best[64] = "";
    for (int i = 0; i < unroll_model_parameters(model); i++) { /* far from uniform, so that texts differ */
        MUST(unroll_model_parameter(model, i, &parameter));
        int count = parameter.shape[0] * (parameter.rank > 1 ? parameter.shape[1] : 1);
        for (int k = 0; k < count; k++) parameter.data[k] *= 6;
    }
    config.length = LENGTH;
    likeliest_text(model, best);
    config.beam = SYMBOLS * SYMBOLS * SYMBOLS;
    struct written wide = sample(model, &config);
    CHECK(strcmp(wide.first, best) == 0 && wide.total == LENGTH, "the likeliest is '%s', not '%s'", best, wide.first);
    config.length = 12;
    config.beam = 1;
    struct written narrow = sample(model, &config);
    config.beam = 0, config.temperature = 0;
    struct written greedy = sample(model, &config);
    CHECK(strcmp(narrow.first, greedy.first) == 0, "'%s' and '%s'", narrow.first, greedy.first);
    unroll_model_free(model);
}

static void test_seeds_and_prompts(void)
{
    unroll_model *model = make_model(true);
    unroll_sample_config config = unroll_sample_config_default();
    config.length = 30;
    config.prompt = "ab\xc3\xa9";
    struct written one = sample(model, &config), same = sample(model, &config);
    CHECK(strcmp(one.first, same.first) == 0, "one seed, two texts");
    config.seed = 2;
    struct written other = sample(model, &config);
    CHECK(strcmp(one.first, other.first) != 0, "two seeds, one text");
    config.temperature = 0;
    struct written likeliest = sample(model, &config);
    config.temperature = 2;
    config.top_k = 1;
    struct written top = sample(model, &config);
    CHECK(strcmp(likeliest.first, top.first) == 0, "temperature 0 and top 1 are the same");
    config.prompt = NULL;
    struct written without = sample(model, &config);
    config.prompt = "\n";
    struct written line_end = sample(model, &config);
    CHECK(strcmp(without.first, line_end.first) == 0, "no prompt is a line end");
    config.length = 0;
    CHECK(sample(model, &config).total == 0, "nothing is asked for");
    unroll_model_free(model);
}

static void test_the_caller_can_end_it(void)
{
    unroll_model *model = make_model(true);
    unroll_sample_config config = unroll_sample_config_default();
    struct written written = {.limit = 3};
    MUST(unroll_model_sample(model, &config, take, &written));
    CHECK(written.total == 3, "%d tokens after the end", written.total);
    unroll_model_free(model);
}

static void check_refused(unroll_model *model, const unroll_sample_config *config, unroll_status status,
                          const char *part)
{
    struct written written = {.limit = -1};
    CHECK(unroll_model_sample(model, config, take, &written) == status && strstr(unroll_last_error(), part), "'%s'",
          unroll_last_error());
    CHECK(written.total == 0, "something was written");
}

static void test_refusals(void)
{
    unroll_model *model = make_model(true);
    unroll_sample_config good = unroll_sample_config_default(), config = good;
    unroll_parameter parameter = {.size = sizeof parameter};
    check_refused(model, NULL, UNROLL_USAGE, "unroll_sample_config_default");
    config.prompt = "ab\nax";
    check_refused(model, &config, UNROLL_DATA, "'the prompt', line 2, column 2: the character 'x' (U+0078)");
    config.prompt = "a\xff";
    check_refused(model, &config, UNROLL_DATA, "'the prompt' is not UTF-8");
    config = good;
    config.temperature = -1;
    check_refused(model, &config, UNROLL_USAGE, "`temperature` = -1");
    config = good;
    config.top_p = 0;
    check_refused(model, &config, UNROLL_USAGE, "`top_p` = 0");
    config = good;
    config.beam = 257;
    check_refused(model, &config, UNROLL_USAGE, "`beam` = 257");
    config = good;
    config.length = -1;
    check_refused(model, &config, UNROLL_USAGE, "`length` = -1");
    MUST(unroll_model_parameter(model, 0, &parameter));
    for (int i = 0; i < parameter.shape[0] * parameter.shape[1]; i++) parameter.data[i] = NAN;
    check_refused(model, &good, UNROLL_DIVERGED, "token 0");
    unroll_model_free(model);
}

int main(void)
{
    test_distributions();
    test_beam();
    test_seeds_and_prompts();
    test_the_caller_can_end_it();
    test_refusals();
    CHECK(memory_live() == 0, "%d blocks are not released", (int)memory_live());
    return check_finish("test_sample");
}
