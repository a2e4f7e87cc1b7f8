/* Prints the answers of a run as text: forecasts as small bars below the truth, the most frequent confusions of
 * classes, tags after words, and the distribution of errors. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/answers.h"

static const char *const blocks[8] = {"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};

/* ---- forecasts ---- */

static void widen(const json_t *numbers, double *low, double *high)
{
    size_t i;
    json_t *number;
    json_array_foreach((json_t *)numbers, i, number)
    {
        if (!json_is_number(number))
            continue;
        *low = fmin(*low, json_number_value(number));
        *high = fmax(*high, json_number_value(number));
    }
}

static void print_bars(const json_t *numbers, double low, double high)
{
    size_t i;
    json_t *number;
    json_array_foreach((json_t *)numbers, i, number)
    {
        double part = high > low ? (json_number_value(number) - low) / (high - low) : 0;
        fputs(json_is_number(number) ? blocks[(int)(fmin(fmax(part, 0), 1) * 7 + 0.5)] : " ", stdout);
    }
}

static void print_forecast(const json_t *one)
{
    const json_t *truth = json_object_get(one, "truth"), *forecast = json_object_get(one, "forecast");
    double low = INFINITY, high = -INFINITY;
    const char *series = json_string_value(json_object_get(one, "series"));
    widen(truth, &low, &high);
    widen(forecast, &low, &high);
    printf("%s%s%s from %s, %.4g to %.4g\n  true      ", series && *series ? series : "", series && *series ? " " : "",
           json_string_value(json_object_get(one, "target")), answers_text(json_object_get(one, "time"), 0), low, high);
    print_bars(truth, low, high);
    printf("\n  predicted ");
    print_bars(forecast, low, high);
    putchar('\n');
}

/* ---- classes ---- */

/* The matrix of the most frequent classes: true ones in rows, predicted ones in columns. */
static void print_matrix(const json_t *details, const json_t *labels)
{
    enum { NAME = 16, COLUMN = 7, COLUMNS = 8 };
    int chosen[LABELS_MAX], count = answers_labels(details, chosen);
    count = count < COLUMNS ? count : COLUMNS;
    printf("\n%-*s predicted\n%-*s", NAME, "", NAME, "true");
    for (int c = 0; c < count; c++) printf(" %*.*s", COLUMN, COLUMN, answers_text(labels, (size_t)chosen[c]));
    putchar('\n');
    for (int r = 0; r < count; r++) {
        printf("%-*.*s", NAME, NAME, answers_text(labels, (size_t)chosen[r]));
        for (int c = 0; c < count; c++)
            printf(" %*" JSON_INTEGER_FORMAT, COLUMN, answers_cell(details, chosen[r], chosen[c]));
        putchar('\n');
    }
    putchar('\n');
}

struct mistake {
    int truth, answer;
    json_int_t count;
};

static int compare_mistakes(const void *a, const void *b)
{
    const struct mistake *left = a, *right = b;
    return left->count != right->count
               ? (left->count < right->count ? 1 : -1)
               : (left->truth - right->truth ? left->truth - right->truth : left->answer - right->answer);
}

static void print_mistakes(const json_t *details, const json_t *labels)
{
    int classes = (int)json_array_size(labels), count = 0;
    struct mistake *all = malloc(((size_t)classes * (size_t)classes + 1) * sizeof *all);
    for (int t = 0; all && t < classes; t++)
        for (int a = 0; a < classes; a++)
            if (t != a && answers_cell(details, t, a) > 0)
                all[count++] = (struct mistake){t, a, answers_cell(details, t, a)};
    if (all)
        qsort(all, (size_t)count, sizeof *all, compare_mistakes);
    for (int i = 0; i < count && i < ERRORS_SHOWN; i++)
        printf("%s%s for %s: %" JSON_INTEGER_FORMAT,
               i ? ", " : "wrong predictions: ", answers_text(labels, (size_t)all[i].answer),
               answers_text(labels, (size_t)all[i].truth), all[i].count);
    if (count)
        putchar('\n');
    free(all);
}

static void print_classes(const json_t *details)
{
    const json_t *classes = json_object_get(details, "classes");
    json_t *class;
    size_t i;
    printf("%-20s %9s %9s %9s %9s\n", "label", "precision", "recall", "f1", "examples");
    json_array_foreach((json_t *)classes, i, class) printf(
        "%-20s %9.4f %9.4f %9.4f %9" JSON_INTEGER_FORMAT "\n", json_string_value(json_object_get(class, "label")),
        json_number_value(json_object_get(class, "precision")), json_number_value(json_object_get(class, "recall")),
        json_number_value(json_object_get(class, "f1")), json_integer_value(json_object_get(class, "support")));
    if (json_object_get(details, "confusion"))
        print_matrix(details, json_object_get(details, "labels"));
    if (json_object_get(details, "confusion"))
        print_mistakes(details, json_object_get(details, "labels"));
}

/* ---- sentences ---- */

/* Prints "The/DT dog/NN runs/NNS(VBZ)": a wrong tag is followed by the truth. */
static void print_sentence(const json_t *sentence)
{
    const json_t *words = json_object_get(sentence, "words"), *tags = json_object_get(sentence, "tags"),
                 *truth = json_object_get(sentence, "truth");
    for (size_t i = 0; i < json_array_size(tags); i++) {
        bool wrong =
            json_is_string(json_array_get(truth, i)) && strcmp(answers_text(tags, i), answers_text(truth, i)) != 0;
        printf("%s%s/%s", i ? " " : "", words ? answers_text(words, i) : "", answers_text(tags, i));
        if (wrong)
            printf("(%s)", answers_text(truth, i));
    }
    putchar('\n');
}

/* Prints "s3: after milk, bread: predicted butter 0.410, jam 0.200 (true: jam)". */
static void print_session(const json_t *one)
{
    const json_t *past = json_object_get(one, "past"), *items = json_object_get(one, "items");
    printf("%s: after", json_string_value(json_object_get(one, "session")));
    for (size_t i = 0; i < json_array_size(past); i++) printf("%s %s", i ? "," : "", answers_text(past, i));
    fputs(": predicted", stdout);
    for (size_t i = 0; i < json_array_size(items) && i < ITEMS_MAX; i++) {
        const json_t *item = json_array_get(items, i);
        printf("%s %s %.3f", i ? "," : "", json_string_value(json_object_get(item, "item")),
               json_number_value(json_object_get(item, "probability")));
    }
    printf(" (true: %s)\n", json_string_value(json_object_get(one, "truth")));
}

/* ---- errors ---- */

/* Prints a histogram of the errors. */
static void print_errors(const json_t *pairs)
{
    enum { BINS = 9, WIDTH = 40 };
    const json_t *truth = json_object_get(pairs, "truth"), *answer = json_object_get(pairs, "answer");
    size_t count = json_array_size(truth), bin[BINS] = {0}, most = 1;
    double reach = 0;
    for (size_t i = 0; i < count; i++)
        reach = fmax(reach,
                     fabs(json_number_value(json_array_get(answer, i)) - json_number_value(json_array_get(truth, i))));
    for (size_t i = 0; i < count && reach > 0; i++) {
        double error = json_number_value(json_array_get(answer, i)) - json_number_value(json_array_get(truth, i));
        size_t at = (size_t)fmin(BINS - 1, floor((error / reach + 1) / 2 * BINS));
        most = ++bin[at] > most ? bin[at] : most;
    }
    printf("errors of %zu predictions\n", count);
    for (int i = 0; i < BINS && reach > 0; i++) {
        printf("%11.4g .. %-11.4g %7zu ", (2.0 * i / BINS - 1) * reach, (2.0 * (i + 1) / BINS - 1) * reach, bin[i]);
        for (size_t k = 0; k < bin[i] * WIDTH / most; k++) fputs(blocks[7], stdout);
        putchar('\n');
    }
}

void answers_terminal(json_t *details)
{
    json_t *entry;
    size_t i;
    json_array_foreach(json_object_get(details, "forecasts"), i, entry) if (i < FORECASTS_MAX) print_forecast(entry);
    if (json_object_get(details, "classes"))
        print_classes(details);
    json_array_foreach(json_object_get(details, "sentences"), i, entry) if (i < SENTENCES_MAX) print_sentence(entry);
    json_array_foreach(json_object_get(details, "sessions"), i, entry) if (i < SENTENCES_MAX) print_session(entry);
    if (json_object_get(details, "pairs"))
        print_errors(json_object_get(details, "pairs"));
}
