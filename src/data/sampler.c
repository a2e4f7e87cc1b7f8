/* Which sequence of a data set is which row of which batch, so that ranks that divide the rows have about as much to
 * do, or about the same classes. Knows no model and reads no file; each rank finds the same from the same numbers. */
#include "base/memory.h"
#include "base/philox.h"
#include "base/status.h"
#include "unroll_train.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DIVIDE_STREAM = 0x64697664, MAX_REPLICAS = 1024 }; /* "divd" */
enum how { SHUFFLE, LENGTH, STRATIFIED, HOWS };
static const char *const hows[HOWS] = {"shuffle", "length", "stratified"};

/* key: what sequences are sorted by; kind: the number of its class among those that there are. */
struct item {
    int64_t sequence, drawn;
    double key;
    int32_t length, class;
    int64_t kind;
};

struct sampler {
    const unroll_sampler *config;
    enum how how;
    struct item *item;           /* [count] */
    int64_t *taken;              /* [kinds][parts]: of the whole epoch */
    int64_t steps[MAX_REPLICAS]; /* of this batch, of each part */
    int64_t total[MAX_REPLICAS]; /* of the whole epoch */
    int filled[MAX_REPLICAS];    /* rows of this batch */
};

int64_t unroll_sampler_batches(const unroll_sampler *c)
{
    return c && c->rows > 0 && c->count > 0 ? (c->count - 1) / c->rows + 1 : 0;
}

/* ---- order of the sequences ------------------------------------------------------------ */

static int compare(double a, double b) { return (a > b) - (a < b); }

static int by_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = compare(x->key, y->key);
    return order ? order : compare((double)x->drawn, (double)y->drawn);
}

static int by_class(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = compare(x->class, y->class);
    return order ? order : compare((double)x->drawn, (double)y->drawn);
}

/* `drawn` becomes a random order of all. */
static void draw(struct sampler *d, struct rng *rng)
{
    const unroll_sampler *c = d->config;
    for (int64_t i = 0; i < c->count; i++)
        d->item[i] = (struct item){.sequence = i,
                                   .drawn = i,
                                   .length = c->lengths ? c->lengths[i] : 0,
                                   .class = c->classes ? c->classes[i] : 0};
    for (int64_t i = c->count - 1; i > 0; i--) {
        int64_t other = (int64_t)rng_below(rng, (uint64_t)i + 1), kept = d->item[i].drawn;
        d->item[i].drawn = d->item[other].drawn;
        d->item[other].drawn = kept;
    }
}

/* The i-th of n of a class is at (i + 1/2) / n of the epoch: so each batch has about its part of each. */
static int64_t spread_classes(struct sampler *d)
{
    int64_t kinds = 0, count = d->config->count;
    qsort(d->item, (size_t)count, sizeof *d->item, by_class);
    for (int64_t first = 0, end; first < count; first = end, kinds++) {
        for (end = first; end < count && d->item[end].class == d->item[first].class; end++) d->item[end].kind = kinds;
        for (int64_t i = first; i < end; i++) d->item[i].key = ((double)(i - first) + 0.5) / (double)(end - first);
    }
    return kinds;
}

/* Long ones first, so that those of a batch are about as long. */
static int64_t order_items(struct sampler *d)
{
    int64_t kinds = 1;
    for (int64_t i = 0; i < d->config->count; i++) d->item[i].key = d->how == LENGTH ? -(double)d->item[i].length : 0;
    if (d->how == STRATIFIED)
        kinds = spread_classes(d);
    qsort(d->item, (size_t)d->config->count, sizeof *d->item, by_key);
    return kinds;
}

/* ---- rows of a batch ------------------------------------------------------------------- */

/* As the batch cut of a plan divides them. */
static int rows_before(const struct sampler *d, int replica)
{
    return (int)((int64_t)d->config->rows * replica / d->config->replicas);
}

/* What a part has already of what is to be balanced: the less, the sooner it gets the next. */
static double load(const struct sampler *d, const struct item *item, int replica)
{
    double rows = rows_before(d, replica + 1) - rows_before(d, replica);
    if (d->how == LENGTH)
        return (double)d->steps[replica];
    return (d->how == STRATIFIED ? (double)d->taken[item->kind * d->config->replicas + replica] : d->filled[replica]) /
           rows;
}

static int choose_replica(const struct sampler *d, const struct item *item)
{
    int best = -1;
    for (int replica = 0; replica < d->config->replicas; replica++) {
        if (d->filled[replica] == rows_before(d, replica + 1) - rows_before(d, replica))
            continue;
        int order = best < 0 ? -1 : compare(load(d, item, replica), load(d, item, best));
        if (order < 0 || (order == 0 && d->total[replica] < d->total[best]))
            best = replica;
    }
    return best;
}

static void fill_batch(struct sampler *d, int64_t first, int64_t *row)
{
    const unroll_sampler *c = d->config;
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

/* Batches that were made in order of length are trained on in any. */
static void shuffle_batches(const unroll_sampler *c, struct rng *rng, int64_t *order)
{
    for (int64_t i = unroll_sampler_batches(c) - 1; i > 0; i--) {
        int64_t other = (int64_t)rng_below(rng, (uint64_t)i + 1);
        for (int row = 0; row < c->rows; row++) {
            int64_t kept = order[i * c->rows + row];
            order[i * c->rows + row] = order[other * c->rows + row];
            order[other * c->rows + row] = kept;
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------- */

static unroll_status check_config(const unroll_sampler *c, enum how *how)
{
    CHECK_BEGUN(c, unroll_sampler, "unroll_sampler_default()");
    for (*how = SHUFFLE; *how < HOWS && (!c->how || strcmp(c->how, hows[*how])); ++*how) {}
    if (*how == HOWS)
        return fail(UNROLL_USAGE, "data can't be divided '%.40s'; fix: even, length or stratified",
                    c->how ? c->how : "");
    if (c->count < 1 || c->count > INT32_MAX || c->rows < 1 || c->replicas < 1 || c->replicas > MAX_REPLICAS ||
        c->replicas > c->rows)
        return fail(UNROLL_USAGE,
                    "%" PRId64 " sequences in batches of %d rows for %d parts; fix: at least one sequence, and a "
                    "row for each part",
                    c->count, c->rows, c->replicas);
    if ((*how == LENGTH && !c->lengths) || (*how == STRATIFIED && !c->classes))
        return fail(UNROLL_USAGE, "data divided by '%s' needs the %s of the sequences", hows[*how],
                    *how == LENGTH ? "lengths" : "classes");
    for (int64_t i = 0; c->lengths && i < c->count; i++)
        if (c->lengths[i] < 0)
            return fail(UNROLL_DATA, "sequence %" PRId64 " has the length %d", i, c->lengths[i]);
    return UNROLL_OK;
}

unroll_sampler unroll_sampler_default(void)
{
    return (unroll_sampler){.size = sizeof(unroll_sampler), .how = "shuffle", .rows = 1, .replicas = 1};
}

unroll_status unroll_sampler_order(const unroll_sampler *config, int64_t *order)
{
    struct sampler *d;
    enum how how;
    TRY(check_config(config, &how));
    d = allocate_zeroed(1, sizeof *d);
    if (d)
        d->item = allocate_zeroed((size_t)config->count, sizeof *d->item);
    unroll_status status =
        d && d->item ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory to divide %" PRId64 " sequences", config->count);
    if (status == UNROLL_OK) {
        struct rng rng = rng_at(config->seed, DIVIDE_STREAM, (uint64_t)config->epoch << 32);
        d->config = config;
        d->how = how;
        draw(d, &rng);
        int64_t kinds = order_items(d);
        d->taken = allocate_zeroed((size_t)kinds * (size_t)config->replicas, sizeof *d->taken);
        if (!d->taken)
            status = fail(UNROLL_RESOURCE, "no memory to count %" PRId64 " classes", kinds);
        for (int64_t i = 0; status == UNROLL_OK && i < unroll_sampler_batches(config); i++)
            fill_batch(d, i * config->rows, order + i * config->rows);
        if (status == UNROLL_OK && how == LENGTH)
            shuffle_batches(config, &rng, order);
        release(d->taken);
    }
    if (d)
        release(d->item);
    release(d);
    return status;
}
