/* Assigns sequences of a data set to rows of batches, so that ranks that share the rows get similar work, or similar
 * classes. It knows no model and reads no file; each rank computes the same result from the same numbers. */
#include "base/memory.h"
#include "base/philox.h"
#include "base/sized.h"
#include "base/status.h"
#include "data/set_division.h"
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DIVIDE_STREAM = 0x64697664, MAX_REPLICAS = 1024 }; /* "divd" */
enum how { SHUFFLE, LENGTH, STRATIFIED, COLUMN, PART, HOWS };
static const char *const hows[HOWS] = {"shuffle", "length", "stratified", "column", "part"};

/* key: the sort key of sequences; kind: the number of the class among those that occur. Divided by a column or by
 * parts, kind is the part that has the class. */
struct item {
    int64_t sequence, drawn;
    double key;
    int32_t length, class;
    int64_t kind;
};

struct sampler_division {
    unroll_sampler_config config; /* its arrays are owned by the division */
    enum how how;
    int64_t kinds, batches;
    int32_t *lengths, *classes;  /* [count], or NULL */
    int64_t *kind;               /* [count] of each sequence */
    struct item *item;           /* [count] */
    int64_t *taken;              /* [kinds][parts]: in the whole epoch */
    int64_t steps[MAX_REPLICAS]; /* in this batch, of each part */
    int64_t total[MAX_REPLICAS]; /* in the whole epoch */
    int filled[MAX_REPLICAS];    /* rows of this batch */
    pthread_mutex_t one_draws;
    int kept, next;
    struct {
        int64_t epoch, *order; /* -1: none yet; [batches, rows] */
    } *of;                     /* [kept] */
};

static bool has_parts(const struct sampler_division *d) { return d->how == COLUMN || d->how == PART; }

/* ---- order of the sequences ------------------------------------------------------------ */

static int compare_numbers(double a, double b) { return (a > b) - (a < b); }

static int by_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = compare_numbers(x->key, y->key);
    return order ? order : compare_numbers((double)x->drawn, (double)y->drawn);
}

static int by_class(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = compare_numbers(x->class, y->class);
    return order ? order : compare_numbers((double)x->drawn, (double)y->drawn);
}

/* Sets `drawn` to a random order of all sequences. */
static void draw_all(struct sampler_division *d, struct rng *rng)
{
    const unroll_sampler_config *c = &d->config;
    for (int64_t i = 0; i < c->count; i++)
        d->item[i] = (struct item){.sequence = i,
                                   .drawn = i,
                                   .length = c->lengths ? c->lengths[i] : 0,
                                   .class = c->classes ? c->classes[i] : 0,
                                   .kind = d->kind[i]};
    for (int64_t i = c->count - 1; i > 0; i--) {
        int64_t other = (int64_t)rng_below(rng, (uint64_t)i + 1), kept = d->item[i].drawn;
        d->item[i].drawn = d->item[other].drawn;
        d->item[other].drawn = kept;
    }
}

/* Spreads the classes: the i-th of n sequences of a class is at (i + 1/2) / n of the epoch, so each batch has its share
 * of each. */
static void spread_classes(struct sampler_division *d)
{
    int64_t count = d->config.count;
    qsort(d->item, (size_t)count, sizeof *d->item, by_class);
    for (int64_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && d->item[end].class == d->item[first].class; end++) {}
        for (int64_t i = first; i < end; i++) d->item[i].key = ((double)(i - first) + 0.5) / (double)(end - first);
    }
}

/* Sorts sequences by length, the longest first, so that those of a batch have similar lengths. */
static void order_items(struct sampler_division *d)
{
    for (int64_t i = 0; i < d->config.count; i++)
        d->item[i].key = d->how == LENGTH ? -(double)d->item[i].length : has_parts(d) ? (double)d->item[i].kind : 0;
    if (d->how == STRATIFIED)
        spread_classes(d);
    qsort(d->item, (size_t)d->config.count, sizeof *d->item, by_key);
}

/* ---- rows of a batch ------------------------------------------------------------------- */

/* Returns the rows before a replica, divided as in the batch cut of a plan. */
static int rows_before(const struct sampler_division *d, int replica)
{
    return (int)((int64_t)d->config.rows * replica / d->config.replicas);
}

/* Returns the load of a part: the part with the smallest load gets the next sequence. */
static double load(const struct sampler_division *d, const struct item *item, int replica)
{
    double rows = rows_before(d, replica + 1) - rows_before(d, replica);
    if (d->how == LENGTH)
        return (double)d->steps[replica];
    return (d->how == STRATIFIED ? (double)d->taken[item->kind * d->config.replicas + replica] : d->filled[replica]) /
           rows;
}

static int choose_replica(const struct sampler_division *d, const struct item *item)
{
    int best = -1;
    for (int replica = 0; replica < d->config.replicas; replica++) {
        if (d->filled[replica] == rows_before(d, replica + 1) - rows_before(d, replica))
            continue;
        int order = best < 0 ? -1 : compare_numbers(load(d, item, replica), load(d, item, best));
        if (order < 0 || (order == 0 && d->total[replica] < d->total[best]))
            best = replica;
    }
    return best;
}

static void fill_batch(struct sampler_division *d, int64_t first, int64_t *row)
{
    const unroll_sampler_config *c = &d->config;
    int64_t end = first + c->rows < c->count ? first + c->rows : c->count;
    memset(d->steps, 0, sizeof d->steps);
    memset(d->filled, 0, sizeof d->filled);
    for (int i = 0; i < c->rows; i++) row[i] = -1;
    for (int64_t i = first; i < end; i++) {
        const struct item *item = &d->item[i];
        int replica = choose_replica(d, item);
        row[rows_before(d, replica) + d->filled[replica]++] = item->sequence;
        d->taken[item->kind * c->replicas + replica]++;
        d->steps[replica] += item->length;
        d->total[replica] += c->lengths ? item->length : 1;
    }
}

/* Places the sorted items: each part fills its own rows; the last rows of its last batches stay empty. */
static void fill_parts(struct sampler_division *d, int64_t *order)
{
    const unroll_sampler_config *c = &d->config;
    const struct item *at = d->item, *end = at + c->count;
    for (int64_t i = 0; i < d->batches * c->rows; i++) order[i] = -1;
    for (int replica = 0; replica < c->replicas; replica++) {
        const int64_t first = rows_before(d, replica), rows = rows_before(d, replica + 1) - first;
        for (int64_t i = 0; at < end && at->kind == replica; i++, at++)
            order[i / rows * c->rows + first + i % rows] = at->sequence;
    }
}

/* Shuffles batches that were made in order of length. */
static void shuffle_batches(const struct sampler_division *d, struct rng *rng, int64_t *order)
{
    const int rows = d->config.rows;
    for (int64_t i = d->batches - 1; i > 0; i--) {
        int64_t other = (int64_t)rng_below(rng, (uint64_t)i + 1);
        for (int row = 0; row < rows; row++) {
            int64_t kept = order[i * rows + row];
            order[i * rows + row] = order[other * rows + row];
            order[other * rows + row] = kept;
        }
    }
}

static void draw_order(struct sampler_division *d, int64_t epoch, int64_t *order)
{
    const unroll_sampler_config *c = &d->config;
    struct rng rng = rng_at(c->seed, DIVIDE_STREAM, (uint64_t)epoch << 32);
    draw_all(d, &rng);
    order_items(d);
    if (has_parts(d)) {
        fill_parts(d, order);
        return;
    }
    memset(d->taken, 0, (size_t)d->kinds * (size_t)c->replicas * sizeof *d->taken);
    memset(d->total, 0, sizeof d->total);
    for (int64_t i = 0; i < d->batches; i++) fill_batch(d, i * c->rows, order + i * c->rows);
    if (d->how == LENGTH)
        shuffle_batches(d, &rng, order);
}

/* ---- classes ---------------------------------------------------------------------------- */

struct kind {
    int64_t first, count; /* of the items sorted by class */
};

static int by_count(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : (x->first > y->first) - (x->first < y->first);
}

/* Assigns classes to parts: the largest class first, to the part with the fewest sequences per row. */
static void divide_kinds(struct sampler_division *d, struct kind *kind, int64_t kinds)
{
    int64_t has[MAX_REPLICAS] = {0};
    qsort(kind, (size_t)kinds, sizeof *kind, by_count);
    for (int64_t k = 0; k < kinds; k++) {
        int best = 0;
        double least = INFINITY;
        for (int r = 0; r < d->config.replicas; r++) {
            const double load = (double)(has[r] + kind[k].count) / (rows_before(d, r + 1) - rows_before(d, r));
            if (load < least)
                best = r, least = load;
        }
        has[best] += kind[k].count;
        for (int64_t i = 0; i < kind[k].count; i++) d->kind[d->item[kind[k].first + i].sequence] = best;
    }
}

/* Counts the batches of an epoch, determined by the fullest part. */
static void count_batches(struct sampler_division *d)
{
    int64_t has[MAX_REPLICAS] = {0};
    for (int64_t i = 0; i < d->config.count; i++) has[d->kind[i]]++;
    d->batches = 0;
    for (int r = 0; r < d->config.replicas; r++) {
        const int rows = rows_before(d, r + 1) - rows_before(d, r);
        d->batches = (has[r] + rows - 1) / rows > d->batches ? (has[r] + rows - 1) / rows : d->batches;
    }
}

/* Numbers the classes that occur, or assigns them to parts. */
static unroll_status find_kinds(struct sampler_division *d)
{
    const int64_t count = d->config.count;
    struct kind *kind;
    d->kinds = 1;
    d->batches = (count - 1) / d->config.rows + 1;
    if (d->how == PART)
        for (int64_t i = 0; i < count; i++) d->kind[i] = d->config.classes[i];
    if (d->how == PART)
        count_batches(d);
    if (d->how != STRATIFIED && d->how != COLUMN)
        return UNROLL_OK;
    TRY(ALLOCATE(kind, (size_t)count, "to count %" PRId64 " classes", count));
    for (int64_t i = 0; i < count; i++)
        d->item[i] = (struct item){.sequence = i, .drawn = i, .class = d->config.classes[i]};
    qsort(d->item, (size_t)count, sizeof *d->item, by_class);
    d->kinds = 0;
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || d->item[i].class != d->item[i - 1].class)
            kind[d->kinds++].first = i;
        kind[d->kinds - 1].count++;
        d->kind[d->item[i].sequence] = d->kinds - 1;
    }
    if (d->how == COLUMN) {
        divide_kinds(d, kind, d->kinds);
        count_batches(d);
    }
    release(kind);
    return UNROLL_OK;
}

/* ---- public functions ------------------------------------------------------------------ */

/* Checks the configuration and the arrays that it needs. */
static unroll_status check_config(const unroll_sampler_config *c, enum how *how)
{
    for (*how = SHUFFLE; *how < HOWS && (!c->how || strcmp(c->how, hows[*how])); ++*how) {}
    if (*how == HOWS && c->how && strcmp(c->how, "even") == 0)
        *how = SHUFFLE;
    if (*how == HOWS)
        return fail(UNROLL_USAGE,
                    "unknown division '%.40s' of the data; fix: use even, length, stratified, column or part",
                    c->how ? c->how : "");
    if (c->count < 1 || c->count > INT32_MAX || c->rows < 1 || c->replicas < 1 || c->replicas > MAX_REPLICAS ||
        c->replicas > c->rows)
        return fail(UNROLL_USAGE,
                    "%" PRId64 " sequences in batches of %d rows for %d parts; fix: use at least one sequence, and a "
                    "row for each part",
                    c->count, c->rows, c->replicas);
    if ((*how == LENGTH && !c->lengths) || (*how >= STRATIFIED && !c->classes))
        return fail(UNROLL_USAGE, "data divided by '%s' needs the %s of the sequences; fix: give them", hows[*how],
                    *how == LENGTH ? "lengths" : "classes");
    for (int64_t i = 0; c->lengths && i < c->count; i++)
        if (c->lengths[i] < 0)
            return fail(UNROLL_DATA, "sequence %" PRId64 " has the length %d; fix: use lengths of 0 or more", i,
                        c->lengths[i]);
    for (int64_t i = 0; *how == PART && i < c->count; i++)
        if (c->classes[i] < 0 || c->classes[i] >= c->replicas)
            return fail(UNROLL_DATA, "sequence %" PRId64 " is of part %d, and there are %d; fix: use parts below that",
                        i, c->classes[i], c->replicas);
    return UNROLL_OK;
}

#define SIZED_SAMPLER SIZED(unroll_sampler_config, "unroll_sampler_config_default()")

void unroll_sampler_config_begin(unroll_sampler_config *config, size_t size)
{
    const unroll_sampler_config standard = {
        .size = sizeof(unroll_sampler_config), .how = "shuffle", .rows = 1, .replicas = 1};
    sized_begin(&standard, sizeof standard, config, size);
}

static unroll_status copy_numbers(const int32_t *from, int64_t count, int32_t **to, const int32_t **used)
{
    if (from == NULL)
        return UNROLL_OK;
    TRY(ALLOCATE(*to, (size_t)count, "for %" PRId64 " sequences", count));
    memcpy(*to, from, (size_t)count * sizeof **to);
    *used = *to;
    return UNROLL_OK;
}

static unroll_status fill_in(struct sampler_division *d, int kept)
{
    const unroll_sampler_config *c = &d->config;
    const size_t count = (size_t)c->count;
    TRY(copy_numbers(c->lengths, c->count, &d->lengths, &d->config.lengths));
    TRY(copy_numbers(c->classes, c->count, &d->classes, &d->config.classes));
    TRY(ALLOCATE(d->item, count, "to divide %zu sequences", count));
    TRY(ALLOCATE(d->kind, count, "to divide %zu sequences", count));
    TRY(find_kinds(d));
    TRY(ALLOCATE(d->taken, (size_t)d->kinds * (size_t)c->replicas, "to count %" PRId64 " classes", d->kinds));
    TRY(ALLOCATE(d->of, (size_t)kept + 1, "for the orders of %d epochs", kept));
    for (; d->kept < kept; d->kept++) {
        const size_t rows = (size_t)d->batches * (size_t)c->rows;
        TRY(ALLOCATE(d->of[d->kept].order, rows, "for the order of %zu rows", rows));
        d->of[d->kept].epoch = -1;
    }
    return UNROLL_OK;
}

unroll_status division_new(const unroll_sampler_config *given, int kept, struct sampler_division **division)
{
    struct sampler_division *d;
    enum how how;
    unroll_sampler_config config = unroll_sampler_config_default();
    TRY(sized_take(SIZED_SAMPLER, given, &config));
    TRY(check_config(&config, &how));
    TRY(ALLOCATE(d, 1, "to divide %" PRId64 " sequences", config.count));
    d->config = config;
    d->how = how;
    pthread_mutex_init(&d->one_draws, NULL);
    unroll_status status = fill_in(d, kept);
    if (status == UNROLL_OK)
        *division = d;
    else
        division_free(d);
    return status;
}

void division_free(struct sampler_division *d)
{
    if (d == NULL)
        return;
    for (int i = 0; i < d->kept; i++) release(d->of[i].order);
    pthread_mutex_destroy(&d->one_draws);
    release(d->of);
    release(d->taken);
    release(d->kind);
    release(d->item);
    release(d->classes);
    release(d->lengths);
    release(d);
}

int64_t division_batches(const struct sampler_division *d) { return d->batches; }

int division_part(const struct sampler_division *d, int64_t sequence) { return (int)d->kind[sequence]; }

int64_t division_at(struct sampler_division *d, int64_t epoch, int64_t batch, int row)
{
    int i = 0;
    pthread_mutex_lock(&d->one_draws);
    while (i < d->kept && d->of[i].epoch != epoch) i++;
    if (i == d->kept) {
        i = d->next++ % d->kept;
        draw_order(d, epoch, d->of[i].order);
        d->of[i].epoch = epoch;
    }
    const int64_t sequence = d->of[i].order[batch * d->config.rows + row];
    pthread_mutex_unlock(&d->one_draws);
    return sequence;
}

int64_t unroll_sampler_batches(const unroll_sampler_config *given)
{
    struct sampler_division *d;
    unroll_sampler_config taken = unroll_sampler_config_default();
    const unroll_sampler_config *c = sized_take(SIZED_SAMPLER, given, &taken) == UNROLL_OK ? &taken : NULL;
    int64_t batches = c && c->rows > 0 && c->count > 0 ? (c->count - 1) / c->rows + 1 : 0;
    if (batches == 0 || c->how == NULL || (strcmp(c->how, hows[COLUMN]) != 0 && strcmp(c->how, hows[PART]) != 0))
        return batches;
    if (division_new(c, 0, &d) != UNROLL_OK)
        return 0;
    batches = division_batches(d);
    division_free(d);
    return batches;
}

unroll_status unroll_sampler_order(const unroll_sampler_config *config, int64_t *order)
{
    struct sampler_division *d;
    TRY(division_new(config, 0, &d));
    draw_order(d, d->config.epoch, order);
    division_free(d);
    return UNROLL_OK;
}
