/* Tests of texts of words: where words end, which become tokens, that models keep their vocabulary; and trainings with
 * a validation text, whole pieces and a limit of memory. */
/* test: kinds=plain,long-memory */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "data/words.h"
#include "model/model.h"
#include "temporary.h"
#include "texts.h"
#include "unroll_train.h"

static unroll_dataset *read_words(const char *bytes, int vocabulary)
{
    char options[40];
    unroll_dataset *text = NULL;
    snprintf(options, sizeof options, "tokens=words,vocab=%d", vocabulary);
    MUST(dataset_parse(bytes, strlen(bytes), "t", "text", options, NULL, &text));
    return text;
}

/* ---- where words end ---- */

/* `marked` is the text with a bar between its words. */
static void check_split(const char *marked)
{
    char bytes[256] = "", found[512] = "";
    for (const char *at = marked; *at; at++)
        if (*at != '|')
            strncat(bytes, at, 1);
    unroll_dataset *text = read_words(bytes, 1000);
    for (size_t i = 0; i < text->steps; i++)
        strcat(strcat(found, i ? "|" : ""), text->column->vocabulary[column_id(text->column, i)]);
    CHECK(strcmp(found, marked) == 0, "'%s' instead of '%s'", found, marked);
    unroll_dataset_free(text);
}

static void test_splitting(void)
{
    check_split("the| cat| sat|\n|on| a| mat|.|\n");
    check_split("one");
    check_split(" one");
    check_split(" ");
    check_split("\n|\n|\n");
    check_split("a|  | b|\t|c|  "); /* the space before a word belongs to it, other spaces form a word */
    check_split("a| \n|b|\r|\n");
    check_split("    | deep");
    check_split("don't| well-known| 3.14| two_words| u.s|.| end|.");
    check_split("'|tis|'| -|a|--|b| x|...|y|!?)");
    check_split("1|,|000| $|5| a|/|b| c|@|d.org");
    check_split("(|<unk>|)| <unk>|<unk>|a|<unk>|b| <|unkn|>");
    check_split("caf\xc3\xa9| \xe2\x80\x9c|Gr\xc3\xbc\xc3\x9f|\xe2\x80\x9d| l\xe2\x80\x99hiver|\xe2\x80\x94|no");
    check_split("\xe3\x80\x82|\xe6\xb5\xb7|\xe3\x80\x80|\xe3\x80\x81|x|\xc2\xa0|y");
}

/* ---- tokens ---- */

static void check_symbols(const unroll_dataset *text, int count, const char *const *expected)
{
    int found;
    const char *const *symbols = unroll_dataset_vocabulary(text, &found);

    if (CHECK(found == count, "%d tokens, not %d", found, count))
        for (int i = 0; i < count; i++)
            CHECK(strcmp(symbols[i], expected[i]) == 0, "token %d is '%s', not '%s'", i, symbols[i], expected[i]);
}

static void test_vocabulary(void)
{
    /* three of " b", two each of " a", " \xc3\xa9" and " ab", one "b": ties by code points */
    static const char bytes[] = "b \xc3\xa9 b a b ab a b \xc3\xa9 ab";
    static const char *const all[] = {"<unk>", " b", " a", " ab", " \xc3\xa9", "b"};
    static const int32_t tokens[] = {0, 0, 1, 2, 1, 3, 2, 1, 0, 3};
    unroll_dataset *text = read_words(bytes, 100);

    check_symbols(text, 6, all);
    CHECK(text->column->kind == CUT_WORDS, "its kind is words");
    unroll_dataset_free(text);
    text = read_words(bytes, 4);
    check_symbols(text, 4, all);
    CHECK(same_tokens(text, tokens, 10), "rare words are token 0");
    unroll_dataset_free(text);
    text = read_words("<unk>a", 2);
    CHECK(text->steps == 2 && column_id(text->column, 0) == 0 && column_id(text->column, 1) == 1,
          "<unk> in a text is token 0");
    unroll_dataset_free(text);
}

/* More words than the initial hash table has room for, and their numbers after it grew. */
static void test_many_words(void)
{
    enum { WORDS = 5000, LENGTH = 6 };
    char *bytes = calloc(2 * WORDS, LENGTH + 1);
    for (int i = 0; i < 2 * WORDS; i++) sprintf(bytes + i * LENGTH, " %05d", i % WORDS);
    unroll_dataset *text = read_words(bytes, 1 << 20);
    bool same = text->steps == 2 * WORDS && text->column->vocabulary_size == WORDS + 1;
    for (int i = 0; i < 2 * WORDS && same; i++) same = column_id(text->column, (size_t)i) == 1 + i % WORDS;
    CHECK(same, "%zu words, %d tokens", text->steps, text->column->vocabulary_size);
    unroll_dataset_free(text);
    free(bytes);
}

static void test_given_symbols(void)
{
    static const char *const good[] = {" b", "<unk>", "a"}, *const twice[] = {"<unk>", "a", "a"};
    static const char *const no_unknown[] = {"a", "b"}, *const empty[] = {"<unk>", ""};
    static const char *const damaged[] = {"<unk>", "a\xff"};
    static const int32_t expected[] = {2, 0, 1, 1};
    unroll_dataset *text = NULL;

    if (MUST(read_text_of("a b c a", 7, "t", NULL, CUT_WORDS, good, 3, &text))) {
        CHECK(same_tokens(text, expected, 4), "numbers of the tokens");
        check_symbols(text, 3, good);
        unroll_dataset_free(text);
    }
    CHECK_REFUSED(read_text_of("a", 1, "t", NULL, CUT_WORDS, twice, 3, &text), UNROLL_DATA,
                  "tokens 1 and 2 are the same word 'a'");
    CHECK_REFUSED(read_text_of("a", 1, "t", NULL, CUT_WORDS, no_unknown, 2, &text), UNROLL_DATA, "has no '<unk>'");
    CHECK_REFUSED(read_text_of("a", 1, "t", NULL, CUT_WORDS, empty, 2, &text), UNROLL_DATA,
                  "token 1, '', is not one word");
    CHECK_REFUSED(read_text_of("a", 1, "t", NULL, CUT_WORDS, damaged, 2, &text), UNROLL_DATA, "is not one word");
    unroll_dataset_config config = unroll_dataset_config_default();
    const char *nothing = inside("nothing");
    write_text(nothing, "");
    config.options = "tokens=words,vocab=1";
    CHECK_REFUSED(unroll_dataset_open(nothing, &config, &text), UNROLL_USAGE, "a whole number from 2 to 1048576");
    config.options = "tokens=words,vocab=9";
    CHECK_REFUSED(unroll_dataset_open(nothing, &config, &text), UNROLL_DATA, "is empty");
    config.options = "tokens=pieces";
    CHECK_REFUSED(unroll_dataset_open(nothing, &config, &text), UNROLL_USAGE, "choose one of auto chars words");
    config.options = "vocab=9,header=1";
    CHECK_REFUSED(unroll_dataset_open(nothing, &config, &text), UNROLL_USAGE,
                  "no option 'header'; fix: its options are mask, tokens, vocab");
    config.reader = "csb";
    CHECK_REFUSED(unroll_dataset_open(nothing, &config, &text), UNROLL_USAGE,
                  "no reader 'csb'; fix: choose one of text");
    remove(nothing);
}

/* A failed allocation anywhere is an error and leaks nothing. */
static void check_no_memory(const char *options, const char *const *tokens)
{
    uint64_t live = memory_live();
    unroll_dataset *text;
    int failures = 0;
    for (int n = 0;; n++, failures++) {
        memory_fail_after(n);
        unroll_status status = read_text_of("some text of words", 18, "t", options, CUT_WORDS, tokens, 3, &text);
        memory_fail_after(-1);
        if (status == UNROLL_OK)
            break;
        CHECK(status == UNROLL_RESOURCE && memory_live() == live, "allocation %d: '%s'", n, unroll_last_error());
    }
    unroll_dataset_free(text);
    CHECK(failures >= 7 && memory_live() == live, "%d allocations could fail", failures);
}

static void test_no_memory(void)
{
    static const char *const symbols[] = {"<unk>", "some", " words"};

    check_no_memory("tokens=words,vocab=10", NULL);
    check_no_memory(NULL, symbols);
}

/* ---- models of words ---- */

static unroll_model *new_model(const unroll_dataset *text)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model = NULL;
    spec.cell = "gru";
    spec.hidden = 8;
    spec.tokens = 1;
    spec.embed = 8;
    spec.loss = "xent";
    unroll_dataset_vocabulary(text, &spec.input);
    spec.output = spec.input;
    MUST(unroll_model_new(&spec, 3, &model));
    return model;
}

static char *many_words(int count)
{
    static const char *const words[] = {" the", " sea", " is", " wide", " and", " deep", ".", "\n"};
    char *bytes = calloc((size_t)count, 6), *end = bytes;
    uint32_t state = 1;

    for (int i = 0; i < count; i++) {
        state = state * 1103515245 + 12345;
        end = stpcpy(end, words[state >> 16 & 7]);
    }
    return bytes;
}

/* The file stores the kind; a text opened for the model has its numbers. */
static void test_model_file(const unroll_dataset *text)
{
    unroll_model *model = new_model(text), *again = NULL;
    unroll_dataset *other = NULL;
    unroll_dataset_config tokenizer = unroll_dataset_config_default();
    tokenizer.model = model;
    CHECK_REFUSED(unroll_dataset_open(inside("other"), &tokenizer, &other), UNROLL_UNSUPPORTED, "has no vocabulary");
    MUST(unroll_model_set_schema(model, "lm", NULL, text));
    MUST(unroll_model_save(model, inside("model")));
    if (MUST(unroll_model_load(inside("model"), &again))) {
        CHECK(!strcmp(unroll_model_tokens(again), "words"), "the kind was lost");
        write_text(inside("other"), " the sea zebra");
        tokenizer.model = again;
        if (MUST(unroll_dataset_open(inside("other"), &tokenizer, &other)))
            CHECK(other->steps == 3 && column_id(other->column, 2) == 0 &&
                      strcmp(text->column->vocabulary[column_id(other->column, 1)], " sea") == 0,
                  "read with other numbers");
        unroll_dataset_free(other);
    }
    unroll_model_free(again);
    MUST(model_set_vocabulary(model, text->column->vocabulary, text->column->vocabulary_size));
    CHECK(!strcmp(unroll_model_tokens(model), "chars"), "set_symbols is for characters");
    unroll_evaluation found = {.size = sizeof found};
    CHECK_REFUSED(unroll_model_evaluate(model, text, NULL, &found, NULL), UNROLL_DATA, "reads characters");
    unroll_model_free(model);
}

static int refuse_unknown(void *arg, const char *symbol)
{
    int *count = arg;
    CHECK(strcmp(symbol, UNKNOWN_WORD) != 0, "an unknown word was written");
    return ++*count < 0;
}

/* Even if the model is certain that nothing else follows. */
static void test_sampling(const unroll_dataset *text)
{
    unroll_model *model = new_model(text);
    unroll_sample_config config = unroll_sample_config_default();
    unroll_parameter parameter = {.size = sizeof parameter};
    int count = 0;
    MUST(unroll_model_set_schema(model, "lm", NULL, text));
    for (int i = 0; i < unroll_model_parameters(model); i++)
        if (unroll_model_parameter(model, i, &parameter) == UNROLL_OK && strcmp(parameter.name, "head.bias") == 0)
            parameter.data[0] = 50;
    config.length = 100;
    MUST(unroll_model_sample(model, &config, refuse_unknown, &count));
    config.top_k = 1;
    config.prompt = "the zebra";
    MUST(unroll_model_sample(model, &config, refuse_unknown, &count));
    CHECK(count == 200, "%d words were written", count);
    unroll_model_free(model);
}

/* ---- trainings ---- */

static unroll_trainer_config small_config(void)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    config.batch = 4;
    config.bptt = 10;
    config.machine.threads = 1;
    config.validation.share = 0.25;
    return config;
}

/* Returns the steps first .. first + count - 1 of a text. */
static unroll_dataset slice(const unroll_dataset *text, struct column *column, size_t first, size_t count)
{
    unroll_dataset part = *text;
    *column = *text->column;
    column->ids = (const char *)column->ids + first * (size_t)column->id_bytes;
    part.column = column;
    part.steps = count;
    return part;
}

/* A validation text equal to the last part has the same loss as that part. */
static void test_validation_data(const unroll_dataset *text)
{
    size_t trained = text->steps - text->steps / 4;
    struct column column[2];
    unroll_dataset first = slice(text, &column[0], 0, trained),
                   last = slice(text, &column[1], trained, text->steps / 4);
    unroll_trainer_config config = small_config();
    unroll_evaluation found[2] = {{.size = sizeof *found}, {.size = sizeof *found, .loss = 1}};
    for (int with_data = 0; with_data < 2; with_data++) {
        unroll_model *model = new_model(text);
        unroll_trainer *trainer = NULL;
        unroll_progress progress = {.size = sizeof progress};
        config.validation.data = with_data ? &last : NULL;
        config.validation.share = with_data ? 0 : 0.25;
        if (MUST(unroll_trainer_new(model, with_data ? &first : text, &config, &trainer))) {
            MUST(unroll_trainer_step(trainer, &progress));
            MUST(unroll_trainer_validate(trainer, &found[with_data]));
        }
        unroll_trainer_free(trainer);
        unroll_model_free(model);
    }
    CHECK(found[1].loss == found[0].loss, "%.17g instead of %.17g", found[1].loss, found[0].loss);
}

static void test_bad_validation_data(const unroll_dataset *text)
{
    struct column column;
    unroll_dataset *other = read_words(" the sea", 3), one = slice(text, &column, 0, 1);
    unroll_trainer_config config = small_config();
    unroll_model *model = new_model(text);
    unroll_trainer *trainer;
    config.validation.data = &one;
    CHECK_REFUSED(unroll_trainer_new(model, text, &config, &trainer), UNROLL_DATA, "nothing to predict");
    config.validation.data = other;
    CHECK_REFUSED(unroll_trainer_new(model, text, &config, &trainer), UNROLL_DATA, "tokens and the text");
    unroll_dataset_free(other);
    unroll_model_free(model);
}

/* Whole pieces: one step per epoch, with the steps of the piece. */
static void test_whole_pieces(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
    int64_t piece = (int64_t)(text->steps - text->steps / 4 - 1) / config.batch;
    unroll_model *model = new_model(text);
    unroll_trainer *trainer = NULL;
    unroll_progress progress = {.size = sizeof progress};
    config.bptt = 0;
    if (MUST(unroll_trainer_new(model, text, &config, &trainer)))
        MUST(unroll_trainer_step(trainer, &progress));
    CHECK(progress.steps_per_epoch == 1 && progress.epoch == 1 && progress.items == 4 * piece,
          "%d tokens of %d in the first step", (int)progress.items, (int)(4 * piece));
    uint64_t needed = unroll_trainer_memory_estimate(trainer);
    unroll_trainer_free(trainer);
    config.machine.memory = needed / 2;
    CHECK_REFUSED(unroll_trainer_new(model, text, &config, &trainer), UNROLL_RESOURCE, "the memory limit is");
    CHECK(strstr(unroll_last_error(), "fix: ") != NULL, "no fix");
    config.machine.memory = 2 * needed;
    if (MUST(unroll_trainer_new(model, text, &config, &trainer)))
        unroll_trainer_free(trainer);
    config.bptt = -1;
    CHECK_REFUSED(unroll_trainer_new(model, text, &config, &trainer), UNROLL_USAGE, "`bptt` = -1");
    unroll_model_free(model);
    CHECK(unroll_memory_limit() > 1 << 20, "the limit of this machine is %g", (double)unroll_memory_limit());
}

int main(void)
{
    if (!CHECK(mkdtemp(folder) != NULL, "no folder"))
        return check_finish("test_words");
    char *bytes = many_words(1200);
    unroll_dataset *text = read_words(bytes, 100);

    test_splitting();
    test_vocabulary();
    test_many_words();
    test_given_symbols();
    test_no_memory();
    test_model_file(text);
    test_sampling(text);
    test_validation_data(text);
    test_bad_validation_data(text);
    test_whole_pieces(text);
    unroll_dataset_free(text);
    free(bytes);
    unlink(inside("model"));
    unlink(inside("other"));
    rmdir(folder);
    return check_finish("test_words");
}
