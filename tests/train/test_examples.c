/* Tests of what sequence tasks share: which sequences are held out, in which batch they are read, the order, which is
 * not stored, how columns become inputs, and scores compared with hand calculations, scikit-learn and conlleval. */
/* test: kinds=plain,long-memory */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "data/shuffle.h"
#include "tasks/examples/features.h"
#include "tasks/scores.h"

enum { MAX = 1200 };

/* ---- the order ---- */

static void test_shuffle(void)
{
    static const uint64_t counts[] = {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (uint64_t epoch = 0; epoch < 5; epoch++) {
            uint8_t seen[MAX] = {0};
            int wrong = 0, moved = 0;
            for (uint64_t place = 0; place < counts[i]; place++) {
                const uint64_t at = shuffle_at(7, 1, epoch, counts[i], place);
                wrong += at >= counts[i] || seen[at]++;
                moved += at != place;
            }
            CHECK(!wrong && (counts[i] < 15 || moved > (int)counts[i] / 2), "%d of %d once each", (int)counts[i],
                  moved);
        }
    int where[16][16] = {{0}};
    double chi = 0;
    for (uint64_t epoch = 0; epoch < 8000; epoch++)
        for (uint64_t place = 0; place < 16; place++) where[place][shuffle_at(3, 9, epoch, 16, place)]++;
    for (int i = 0; i < 256; i++) chi += pow(where[i / 16][i % 16] - 500, 2) / 500;
    CHECK(chi < 225 + 5 * sqrt(450), "all places are as likely: %g", chi); /* 15 x 15 degrees of freedom */
    const uint64_t large = UINT64_C(20000000019);
    CHECK(shuffle_at(1, 2, 3, large, 4) < large && shuffle_at(1, 2, 3, large, 4) != shuffle_at(2, 2, 3, large, 4) &&
              shuffle_at(1, 2, 3, large, 4) != shuffle_at(1, 3, 3, large, 4),
          "of many, and by seed and stream");
}

/* ---- data ---- */

static struct {
    unroll_dataset data;
    struct column column[3];
    uint8_t label[MAX];
    float x[MAX * 8 * 2];
    size_t begin[MAX + 1];
    const char *names[8];
} made;

/* Sequences of 1 to `longest` steps of two numbers, with a label each: most have 0, few have the last one. */
static const unroll_dataset *make(size_t sequences, int classes, int longest)
{
    static const char *const names[8] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    memset(&made, 0, sizeof made);
    for (size_t i = 0; i < sequences; i++) {
        made.label[i] =
            (uint8_t)(i + 1 == sequences ? (size_t)classes - 1 : (i * i) % (size_t)(classes > 1 ? classes - 1 : 1));
        made.begin[i + 1] = made.begin[i] + 1 + (i * 7) % (size_t)longest;
    }
    for (size_t i = 0; i < 2 * made.begin[sequences]; i++) made.x[i] = (float)((i * 37) % 101) + (i % 2 ? 1000.f : 0);
    memcpy(made.names, names, sizeof names);
    made.column[0] = (struct column){.name = "x", .type = COLUMN_NUMBERS, .numbers = made.x, .width = 2};
    made.column[1] = (struct column){.name = "label",
                                     .type = COLUMN_CATEGORY,
                                     .of_sequence = true,
                                     .ids = made.label,
                                     .id_bytes = 1,
                                     .vocabulary = made.names,
                                     .vocabulary_size = classes};
    made.data = (unroll_dataset){.column = made.column,
                                 .columns = 2,
                                 .steps = made.begin[sequences],
                                 .begin = made.begin,
                                 .sequences = sequences,
                                 .group = -1,
                                 .time = -1};
    return &made.data;
}

/* ---- parts ---- */

/* Finds which part has each sequence; parts must not overlap and must cover all. */
static bool divide(const struct task_request *request, const struct column *classes, size_t count[4],
                   uint8_t owner[MAX])
{
    bool right = true;
    memset(owner, 0xff, MAX);
    for (int which = PART_TRAINING; which <= PART_TEST; which++) {
        struct members members;
        if (members_find(request, (enum part_of)which, classes, &members) != UNROLL_OK)
            return false;
        count[which] = members.count;
        for (size_t i = 0; i < members.count; i++) {
            const size_t s = member_at(&members, i);
            right =
                right && s < request->data->sequences && owner[s] == 0xff && (i == 0 || s > member_at(&members, i - 1));
            owner[s] = (uint8_t)which;
        }
        members_end(&members);
    }
    for (size_t s = 0; s < request->data->sequences; s++) right = right && owner[s] != 0xff;
    return right;
}

/* Every size up to 40, every fraction and count: counts are as requested, classes contribute their share within one,
 * and classes with a single sequence stay in training. */
static void test_shares(void)
{
    static const double shares[] = {0, 0.1, 0.25, 0.5};
    int wrong = 0, refused = 0, all = 0;
    for (size_t n = 2; n <= 40; n++)
        for (int classes = 1; classes <= 4; classes++)
            for (int v = 0; v < 4; v++)
                for (int t = 0; t < 3; t++) {
                    const unroll_dataset *data = make(n, classes, 3);
                    const struct task_request request = {
                        .data = data, .validation.share = shares[v], .test.share = shares[t], .seed = n};
                    size_t count[4] = {0}, of[4][4] = {{0}}, expected[3];
                    uint8_t owner[MAX];
                    for (int i = 1; i < 3; i++) {
                        const double share = i == 1 ? shares[v] : shares[t];
                        expected[i] = (size_t)(share * (double)n + 0.5);
                        expected[i] = share > 0 && !expected[i] ? 1 : expected[i];
                    }
                    all++;
                    if (!divide(&request, &data->column[1], count, owner)) {
                        refused++;
                        wrong += n > 5;
                        continue;
                    }
                    wrong += count[1] != expected[1] || count[2] != expected[2];
                    for (size_t s = 0; s < n; s++) of[made.label[s]][owner[s]]++;
                    for (int c = 0; c < classes; c++) {
                        const size_t size = of[c][0] + of[c][1] + of[c][2];
                        wrong += size == 1 && of[c][0] != 1;
                        wrong += size > 1 && fabs((double)(of[c][1] + of[c][2]) -
                                                  (double)size * (double)(count[1] + count[2]) / (double)n) > 1.5;
                    }
                }
    CHECK(!wrong && refused < all / 8, "%d of %d wrong, %d refused", wrong, all, refused);
}

static void test_counts(void)
{
    const unroll_dataset *data = make(50, 3, 3);
    struct task_request request = {.data = data, .validation.count = 7, .test.count = 5, .seed = 1};
    struct members members;
    size_t count[4];
    uint8_t owner[MAX], again[MAX];
    CHECK(divide(&request, &data->column[1], count, owner) && count[0] == 38 && owner[37] == PART_TRAINING &&
              owner[38] == PART_VALIDATION && owner[44] == PART_VALIDATION && owner[45] == PART_TEST,
          "train | validation | test");
    request.validation = (unroll_held_out){.share = 0.2};
    CHECK(divide(&request, &data->column[1], count, owner) && count[1] == 9 && count[2] == 5 && owner[45] == PART_TEST,
          "a share of what a count leaves: %zu", count[1]);
    CHECK(divide(&request, &data->column[1], count, again) && memcmp(owner, again, sizeof owner) == 0,
          "again the same");
    request.seed = 2;
    CHECK(divide(&request, &data->column[1], count, again) && memcmp(owner, again, sizeof owner) != 0, "by the seed");
    request.test = (unroll_held_out){.data = data, .count = 3};
    CHECK(members_find(&request, PART_TEST, NULL, &members) == UNROLL_OK && members.count == 50 && !members.sequence,
          "other data go before a count");
    CHECK(members_find(&request, PART_ALL, NULL, &members) == UNROLL_OK && members.count == 50, "all");
    request.test = (unroll_held_out){.count = 50};
    CHECK_REFUSED(members_find(&request, PART_TEST, NULL, &members), UNROLL_DATA, "none is left to train on; fix");
    request.test = (unroll_held_out){.share = 0.5}, request.validation = (unroll_held_out){.share = 0.5};
    CHECK_REFUSED(members_find(&request, PART_TRAINING, NULL, &members), UNROLL_DATA, "is left to train on after");
}

/* Series: the last steps of each sequence. */
static void test_series(void)
{
    const unroll_dataset *data = make(9, 1, 8);
    struct task_request request = {.data = data, .validation.share = 0.25, .test.count = 1};
    struct members members[3];
    int wrong = 0;
    for (int which = 0; which < 3; which++) MUST(members_of_series(&request, (enum part_of)which, &members[which]));
    for (size_t s = 0; s < 9; s++) {
        const size_t left = steps_of(data, s) - 1, part = (size_t)ceil(0.25 * (double)left);
        const size_t held = left > 0 && part < 1 ? 1 : part; /* of what the test part leaves, at least a step */
        const struct step_range a = member_steps(&members[0], s), b = member_steps(&members[1], s),
                                c = member_steps(&members[2], s);
        wrong += a.from != data->begin[s] || a.to != b.from || b.to != c.from || c.to != data->begin[s + 1] ||
                 c.to - c.from != 1 || b.to - b.from != held;
    }
    CHECK(!wrong, "%d series are divided wrongly", wrong);
    request.validation.share = 0;
    CHECK(members_of_series(&request, PART_VALIDATION, &members[1]) == UNROLL_OK && members[1].count == 0, "none");
}

/* ---- batches ---- */

static void test_batches(void)
{
    static const struct {
        int count, longest, rows, steps;
        int64_t tokens;
    } cases[] = {{1, 1, 4, 0, 0},     {7, 1, 3, 0, 0},       {100, 1, 100, 0, 0},  {333, 60, 8, 0, 0},
                 {333, 60, 8, 20, 0}, {500, 200, 0, 0, 512}, {1000, 400, 16, 0, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const struct task_request request = {
            .rows = cases[k].rows, .steps = cases[k].steps, .tokens = cases[k].tokens, .seed = 3, .ranks = 1};
        const int count = cases[k].count;
        int32_t lengths[MAX];
        for (int i = 0; i < count; i++) lengths[i] = 1 + (i * i * 31) % cases[k].longest;
        for (int which = PART_TRAINING; which <= PART_ALL; which += PART_ALL) {
            struct batches batches;
            struct part part = {0};
            int wrong = 0, same = 0;
            if (!MUST(batches_plan(&request, (enum part_of)which, lengths, 0, (size_t)count, &batches, &part)))
                continue;
            for (int64_t epoch = 0; epoch < 3; epoch++) {
                uint8_t seen[MAX] = {0};
                int last = -1, in_order = 0, empty = 0;
                for (int64_t n = 0; n < part.batches; n++) {
                    const struct batch_place place = batches_place(&batches, &part, epoch, n);
                    wrong += which == PART_TRAINING && request.tokens && place.rows > 1 &&
                             place.rows * place.steps > request.tokens;
                    for (int row = 0; row < place.rows; row++) {
                        const int64_t item = batches_item(&batches, &place, row);
                        empty += item < 0;
                        if (item < 0)
                            continue;
                        const int length =
                            request.steps && lengths[item] > request.steps ? request.steps : lengths[item];
                        wrong += item >= count || seen[item]++ || length > place.steps;
                        in_order += item == last + 1;
                        last = (int)item;
                    }
                }
                for (int i = 0; i < count; i++) wrong += !seen[i];
                wrong += empty && !part.lengths;
                same += in_order == count;
            }
            CHECK(!wrong && (which == PART_ALL ? same == 3 && part.shapes == 1 : count < 5 || same == 0),
                  "case %zu, part %d: %d wrong, %d in order, %d shapes", k, which, wrong, same, part.shapes);
            CHECK(which == PART_ALL || cases[k].longest < 200 || part.shapes > 1, "long and short ones are apart");
            batches_end(&batches);
        }
    }
}

/* A few items that are far longer than all others form batches of their own, and do not pad others. */
static void test_far_items(void)
{
    const struct task_request request = {.rows = 8, .seed = 3, .ranks = 1};
    int32_t lengths[200];
    struct batches batches;
    struct part part = {0};
    int padding = 0, rows = 0;
    for (int i = 0; i < 200; i++) lengths[i] = i == 77 || i == 150 ? 100000 + i : 5 + i % 30;
    if (!MUST(batches_plan(&request, PART_TRAINING, lengths, 0, 200, &batches, &part)))
        return;
    for (int64_t n = 0; n < part.batches; n++) {
        const struct batch_place place = batches_place(&batches, &part, 0, n);
        for (int row = 0; row < place.rows; row++) {
            const int64_t item = batches_item(&batches, &place, row);
            padding += item < 0 ? 0 : place.steps - lengths[item];
            rows += item >= 0 && lengths[item] > 100000;
        }
    }
    const struct shape *last = &part.shape[part.shapes - 1];
    CHECK(last->steps == 100150 && last->rows == 1 && rows == 2, "%d steps of %d rows", last->steps, last->rows);
    CHECK(padding < 200 * 30, "%d steps are padding", padding);
    batches_end(&batches);
}

/* ---- inputs ---- */

static void test_features(void)
{
    const unroll_dataset *data = make(4, 2, 8);
    const struct column *target = &made.column[1];
    const struct task_request request = {.data = data};
    struct features features = {0}, again = {0};
    struct members members;
    float inputs[8 * 3] = {0};
    struct task_batch batch = {.inputs = inputs};
    made.x[3] = NAN; /* the second number of step 1 */
    MUST(features_find(data, &target, 1, NULL, &features));
    MUST(members_find(&request, PART_TRAINING, target, &members));
    MUST(features_fit(&features, &members));
    CHECK(features.count == 1 && features.tokens == 0 && features.numbers == 3, "two numbers and a mask: %d",
          features.numbers);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < data->steps; i++) sum += (double)made.x[2 * i] / (double)data->steps;
    for (size_t i = 0; i < data->steps; i++) squares += pow((double)made.x[2 * i] - sum, 2) / (double)data->steps;
    CHECK(fabs((double)features.feature->shift[0] - sum) < 1e-4 &&
              fabs((double)features.feature->scale[0] * sqrt(squares) - 1) < 1e-5,
          "mean %g, scale %g", (double)features.feature->shift[0], (double)features.feature->scale[0]);
    json_t *json = features_to_json(&features);
    MUST(features_from_json(json, data, &again));
    json_decref(json);
    features_fill(&again, data, 1, 0, 8, 0, 1, &batch);
    CHECK(inputs[0] == (made.x[2] - features.feature->shift[0]) * features.feature->scale[0] && inputs[1] == 0 &&
              inputs[2] == 1 && inputs[4] != 0 && inputs[5] == 0,
          "scaled, and missing: %g %g %g", (double)inputs[0], (double)inputs[1], (double)inputs[2]);
    features_end(&features);
    features_end(&again);
    made.data.columns = 1;
    target = &made.column[0];
    CHECK_REFUSED(features_find(data, &target, 1, NULL, &features), UNROLL_DATA, "no input column");
}

/* ---- scores ---- */

/* sklearn.metrics.f1_score([0,0,1,1,2,2,2,0], [0,1,1,1,2,0,2,0], average="macro") is 0.75555555.. */
static void test_confusion(void)
{
    static const int truth[] = {0, 0, 1, 1, 2, 2, 2, 0}, answer[] = {0, 1, 1, 1, 2, 0, 2, 0};
    static const char *const labels[] = {"a", "b", "c", "d"};
    struct confusion c;
    MUST(confusion_new(4, &c)); /* the fourth class occurs in neither truth nor predictions: it does not count */
    for (int i = 0; i < 8; i++) confusion_add(&c, truth[i], answer[i]);
    CHECK(fabs(confusion_accuracy(&c) - 0.75) < 1e-12, "%g", confusion_accuracy(&c));
    CHECK(fabs(confusion_macro_f1(&c) - (2 / 3.0 + 0.8 + 0.8) / 3) < 1e-12, "%g", confusion_macro_f1(&c));
    CHECK(fabs(confusion_micro_f1(&c) - 0.75) < 1e-12, "%g", confusion_micro_f1(&c));
    json_t *json = confusion_to_json(&c, labels);
    const json_t *row = json_array_get(json_object_get(json, "confusion"), 2);
    const json_t *last = json_array_get(json_object_get(json, "classes"), 2);
    CHECK(json_integer_value(json_array_get(row, 0)) == 1 && json_integer_value(json_array_get(row, 2)) == 2,
          "rows: truth");
    CHECK(json_real_value(json_object_get(last, "precision")) == 1 &&
              fabs(json_real_value(json_object_get(last, "recall")) - 2 / 3.0) < 1e-12,
          "of a class");
    json_decref(json);
    confusion_end(&c);
}

/* Random tags, which break every scheme; the counts are those of conlleval.py (github.com/sighsmile/conlleval). */
static void check_random_spans(const char *const *tags)
{
    enum { STEPS = 500, TAGS = 7 };
    int32_t truth[STEPS], answer[STEPS];
    uint64_t state = 1;
    struct spans s = {0};
#define DRAW(n) (int32_t)(((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) % (n))
    for (int i = 0; i < STEPS; i++) {
        truth[i] = DRAW(TAGS);
        answer[i] = DRAW(4) ? truth[i] : DRAW(TAGS);
    }
#undef DRAW
    spans_add(&s, tags, truth, answer, STEPS);
    CHECK(s.support == 358 && s.answered == 369 && s.right == 283, "%d %d %d", (int)s.support, (int)s.answered,
          (int)s.right);
}

/* Which tags may follow each other: a row for each tag before, and for the start; a column for the end. */
static void test_schemes(void)
{
    static const char *const bio[] = {"O", "B-X", "I-X", "I-Y"}, *const iobes[] = {"O", "B-X", "I-X", "E-X", "S-X"};
    static const char *const allowed[2][6] = {{"11001", "11101", "11101", "11011", "11001"},
                                              {"110011", "001100", "001100", "110011", "110011", "110011"}};
    for (int scheme = 0; scheme < 2; scheme++)
        for (int n = scheme ? 5 : 4, i = 0; i <= n; i++)
            for (int k = 0; k <= n; k++) {
                const int allows = spans_allow(scheme ? iobes : bio, n, i < n ? i : -1, k < n ? k : -1);
                CHECK(allows == (allowed[scheme][i][k] == '1'), "scheme %d: %d after %d", scheme, k, i);
            }
}

/* Counted by hand as in conlleval: a span begins at B, after another type and after O. */
static void test_spans(void)
{
    static const char *const tags[] = {"O", "B-X", "I-X", "B-Y", "I-Y", "E-X", "S-X"};
    static const char *const no_tags[] = {"NOUN", "VERB"};
    static const int32_t truth[] = {1, 2, 0, 3, 4, 1, 1, 2, 0}, same[] = {1, 2, 0, 3, 4, 1, 1, 2, 0};
    static const int32_t answer[] = {1, 2, 2, 3, 4, 1, 2, 2, 0}; /* X too long, Y right, one X instead of two */
    static const int32_t inside[] = {2, 2, 0, 4, 4, 0, 1, 2, 0}; /* I- begins spans, too */
    static const int32_t ends[] = {1, 5, 6, 6, 0};               /* X of two steps, and two of one */
    struct spans s = {0};
    spans_add(&s, tags, truth, same, 9);
    CHECK(s.support == 4 && s.answered == 4 && s.right == 4, "%d %d %d", (int)s.support, (int)s.answered, (int)s.right);
    s = (struct spans){0};
    spans_add(&s, tags, truth, answer, 9);
    CHECK(s.support == 4 && s.answered == 3 && s.right == 1, "%d %d %d", (int)s.support, (int)s.answered, (int)s.right);
    s = (struct spans){0};
    spans_add(&s, tags, truth, inside, 9);
    CHECK(s.support == 4 && s.answered == 3 && s.right == 3, "%d %d %d", (int)s.support, (int)s.answered, (int)s.right);
    s = (struct spans){0};
    spans_add(&s, tags, ends, ends, 5);
    CHECK(s.support == 3 && s.right == 3, "%d %d", (int)s.support, (int)s.right);
    check_random_spans(tags);
    CHECK(tags_are_spans(tags, 7) && !tags_are_spans(no_tags, 2) && !tags_are_spans(tags, 1), "what spans are");
}

static void test_errors(void)
{
    static const double truth[] = {3, -0.5, 2, 7}, answer[] = {2.5, 0, 2, 8}; /* scikit-learn's example */
    struct errors e = {0};
    for (int i = 0; i < 4; i++) errors_add(&e, truth[i], answer[i]);
    CHECK(e.absolute / 4 == 0.5 && e.squares / 4 == 0.375 && fabs(errors_r2(&e) - 0.9486081370449679) < 1e-12, "%.17g",
          errors_r2(&e));
}

int main(void)
{
    test_shuffle();
    test_shares();
    test_counts();
    test_series();
    test_batches();
    test_far_items();
    test_features();
    test_confusion();
    test_spans();
    test_schemes();
    test_errors();
    return check_finish("examples");
}
