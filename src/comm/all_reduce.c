/* Schedules of all-reduce algorithms. Each algorithm is one function of (size, place, round). The two ends of a message
 * agree because every member computes the same schedule. */
#include "comm/all_reduce.h"
#include "base/table.h"

static void send(struct round *r, int to, size_t first, size_t count)
{
    r->to = to;
    r->sent_first = first;
    r->sent = count;
}

static void receive(struct round *r, int from, size_t first, size_t count, bool adds)
{
    r->from = from;
    r->received_first = first;
    r->received = count;
    r->adds = adds;
}

static int levels(int size)
{
    int n = 0;
    while (1 << n < size) n++;
    return n;
}

/* ---- tree and star --------------------------------------------------------------------- */

/* Reduces up the tree at distances 1, 2, 4 ...; place 0 ends with the sum. */
static void climb(const struct sum_shape *s, int level, struct round *r)
{
    int distance = 1 << level;
    if (s->place & (distance - 1))
        return;
    if (s->place & distance)
        send(r, s->place - distance, 0, s->count);
    else if (s->place + distance < s->size)
        receive(r, s->place + distance, 0, s->count, true);
}

/* Broadcasts down the same tree: members that have the sum pass it on at each smaller distance. */
static void descend(const struct sum_shape *s, int level, struct round *r)
{
    int distance = 1 << level;
    if (s->place & (distance - 1))
        return;
    if (s->place & distance)
        receive(r, s->place - distance, 0, s->count, false);
    else if (s->place + distance < s->size)
        send(r, s->place + distance, 0, s->count);
}

static bool tree(const struct sum_shape *s, int number, struct round *r)
{
    int n = levels(s->size);
    if (number >= 2 * n)
        return false;
    if (number < n)
        climb(s, number, r);
    else if (number < 2 * n)
        descend(s, 2 * n - 1 - number, r);
    return true;
}

static bool gather_broadcast(const struct sum_shape *s, int number, struct round *r)
{
    int others = s->size - 1, other = 1 + number % (others ? others : 1);
    bool back = number >= others;
    if (number >= 2 * others)
        return false;
    if (s->place == 0 && back)
        send(r, other, 0, s->count);
    else if (s->place == 0)
        receive(r, other, 0, s->count, true);
    else if (s->place == other && back)
        receive(r, 0, 0, s->count, false);
    else if (s->place == other)
        send(r, 0, 0, s->count);
    return true;
}

/* ---- rings ----------------------------------------------------------------------------- */

struct value_range {
    size_t first, count;
};

static struct value_range piece(struct value_range all, int n, int at)
{
    at = (at % n + n) % n;
    size_t begin = all.count * (size_t)at / (size_t)n, end = all.count * (size_t)(at + 1) / (size_t)n;
    return (struct value_range){all.first + begin, end - begin};
}

/* A ring of n members, of which this is number i, at places base + stride * i. After n - 1 rounds member i has the sum
 * of piece i + 1; n - 1 more rounds distribute the sums. */
struct ring {
    int n, i, base, stride;
    struct value_range all;
};

static int place_of(const struct ring *g, int i) { return g->base + g->stride * ((i + g->n) % g->n); }

static void ring_add(const struct ring *g, int k, struct round *r)
{
    struct value_range out = piece(g->all, g->n, g->i - k), in = piece(g->all, g->n, g->i - k - 1);
    send(r, place_of(g, g->i + 1), out.first, out.count);
    receive(r, place_of(g, g->i - 1), in.first, in.count, true);
}

static void ring_copy(const struct ring *g, int k, struct round *r)
{
    struct value_range out = piece(g->all, g->n, g->i + 1 - k), in = piece(g->all, g->n, g->i - k);
    send(r, place_of(g, g->i + 1), out.first, out.count);
    receive(r, place_of(g, g->i - 1), in.first, in.count, false);
}

static bool ring(const struct sum_shape *s, int number, struct round *r)
{
    struct ring g = {s->size, s->place, 0, 1, {0, s->count}};
    int half = s->size - 1;
    if (number >= 2 * half)
        return false;
    if (number < half)
        ring_add(&g, number, r);
    else
        ring_copy(&g, number - half, r);
    return true;
}

/* Returns the number of rows of the squarest rectangle with `size` elements. */
static int rows_of(int size)
{
    int rows = 1;
    for (int i = 2; i * i <= size; i++)
        if (size % i == 0)
            rows = i;
    return rows;
}

/* Reduce-scatter along the rows, all-reduce down the columns, all-gather along the rows. */
static bool ring_2d(const struct sum_shape *s, int number, struct round *r)
{
    int rows = rows_of(s->size), columns = s->size / rows, row = s->place / columns, column = s->place % columns;
    struct value_range all = {0, s->count};
    struct ring along = {columns, column, row * columns, 1, all};
    struct ring down = {rows, row, column, columns, piece(all, columns, column + 1)};
    int add = columns - 1, half = rows - 1;
    if (number < add)
        ring_add(&along, number, r);
    else if ((number -= add) < half)
        ring_add(&down, number, r);
    else if ((number -= half) < half)
        ring_copy(&down, number, r);
    else if ((number -= half) < add)
        ring_copy(&along, number, r);
    else
        return false;
    return true;
}

/* ---- halving and doubling -------------------------------------------------------------- */

/* Returns the range that `place` holds after `halvings` halvings. At distances 1, 2, 4 ... the lower partner keeps the
 * lower half. */
static struct value_range half_of(const struct sum_shape *s, int place, int halvings)
{
    struct value_range range = {0, s->count};
    for (int k = 0; k < halvings; k++) range = piece(range, 2, place >> k & 1);
    return range;
}

/* Recursive halving, then doubling. Members beyond the largest power of two first send their values to a member below
 * it, and receive the sum from it at the end. */
static bool halving_doubling(const struct sum_shape *s, int number, struct round *r)
{
    int n = levels(s->size + 1) - ((1 << levels(s->size + 1)) > s->size), even = 1 << n, extra = s->size - even;
    int rounds = 2 * n + 2 * (extra > 0), at = number - (extra > 0);
    if (number >= rounds)
        return false;
    if (at < 0 || at >= 2 * n) { /* before, after */
        if (s->place >= even && at < 0)
            send(r, s->place - even, 0, s->count);
        else if (s->place >= even)
            receive(r, s->place - even, 0, s->count, false);
        else if (s->place < extra && at < 0)
            receive(r, s->place + even, 0, s->count, true);
        else if (s->place < extra)
            send(r, s->place + even, 0, s->count);
        return true;
    }
    if (s->place >= even)
        return true;
    bool adds = at < n;
    int level = adds ? at : 2 * n - 1 - at, partner = s->place ^ 1 << level;
    struct value_range mine = half_of(s, s->place, level + 1), other = half_of(s, partner, level + 1);
    struct value_range out = adds ? other : mine, in = adds ? mine : other;
    send(r, partner, out.first, out.count);
    receive(r, partner, in.first, in.count, adds);
    return true;
}

/* ---- shards ---------------------------------------------------------------------------- */

static int first_shard(const struct sum_shape *s, int place) { return (int)((long)s->shards * place / s->size); }

static int owner_of(const struct sum_shape *s, int shard)
{
    int place = 0;
    while (first_shard(s, place + 1) <= shard) place++;
    return place;
}

/* Finds the shards that addition `number` of the tree combines, at distances 1, 2, 4 ..., from the left. */
static bool find_pair(int shards, int number, int *left, int *right)
{
    for (int distance = 1; distance < shards; distance *= 2)
        for (int i = 0; i + distance < shards; i += 2 * distance)
            if (number-- == 0) {
                *left = i;
                *right = i + distance;
                return true;
            }
    return false;
}

/* Reduces the virtual shards in the order of the tree over all shards, then broadcasts the sum. */
static bool shards(const struct sum_shape *s, int number, struct round *r)
{
    int left, right, n = levels(s->size);
    if (!find_pair(s->shards, number, &left, &right)) {
        number -= s->shards - 1;
        if (number >= n)
            return false;
        descend(s, n - 1 - number, r);
        return true;
    }
    int to = owner_of(s, left), from = owner_of(s, right), mine = first_shard(s, s->place);
    if (from == s->place) {
        r->sent_first = (size_t)(right - mine) * s->count;
        r->sent = s->count;
        r->to = to == from ? -1 : to;
    }
    if (to == s->place)
        receive(r, from, (size_t)(left - mine) * s->count, s->count, true);
    return true;
}

/* ---- the table ------------------------------------------------------------------------- */

static bool few(int size, size_t bytes, bool ordered)
{
    (void)size, (void)ordered;
    return bytes <= 1 << 14;
}

static bool power_of_two(int size, size_t bytes, bool ordered)
{
    (void)bytes, (void)ordered;
    return (size & (size - 1)) == 0;
}

static bool unordered(int size, size_t bytes, bool ordered)
{
    (void)size, (void)bytes;
    return !ordered;
}

/* "auto" takes the first row that suits a sum, or the tree if none does. */
#define ALGORITHM(name_, about_, ...) &(const struct algorithm_row){.name = name_, .about = about_, __VA_ARGS__}
static const void *const rows[] = {
    [COMM_AUTO] = ALGORITHM("auto", "by size", .round = NULL),
    [COMM_TREE] = ALGORITHM("tree", "binary tree, fewest messages", .round = tree, .suits = few),
    [COMM_HALVING_DOUBLING] = ALGORITHM("halving_doubling", "recursive halving and doubling", .round = halving_doubling,
                                        .suits = power_of_two),
    [COMM_RING] = ALGORITHM("ring", "fewest bytes per link", .round = ring, .suits = unordered),
    [COMM_RING_2D] = ALGORITHM("ring_2d", "rings along rows, then columns", .round = ring_2d),
    [COMM_GATHER_BROADCAST] = ALGORITHM("gather_broadcast", "gathered on the first rank", .round = gather_broadcast),
    [COMM_NATIVE] = ALGORITHM("native", "MPI_Allreduce", .round = NULL),
};
static struct table algorithms = TABLE("all-reduce algorithm (`sum`)", rows);

const char *algorithm_name(int index) { return table_name(&algorithms, index, NULL); }

const char *algorithm_about(int index)
{
    const char *about = NULL;
    table_name(&algorithms, index, &about);
    return about;
}

unroll_status algorithm_find(const char *name, bool exact, int *found)
{
    *found = name ? table_find(&algorithms, name) : COMM_AUTO;
    if (*found < 0)
        return table_refuse(&algorithms, name);
    if (exact && *found > COMM_TREE)
        return fail(UNROLL_UNSUPPORTED,
                    "exact: the sum '%s' adds in a different order than one process; fix: set `sum` auto, or leave "
                    "out `exact`",
                    name);
    return UNROLL_OK;
}

enum algorithm algorithm_choose(int size, size_t bytes, bool ordered)
{
    const struct algorithm_row *row;
    for (int i = 0; (row = table_at(&algorithms, i)); i++)
        if (row->suits && row->suits(size, bytes, ordered))
            return (enum algorithm)i;
    return COMM_TREE;
}

unroll_status algorithm_add(const struct algorithm_row *row) { return table_add(&algorithms, row); }

bool algorithm_round(enum algorithm algorithm, const struct sum_shape *shape, int number, struct round *round)
{
    const struct algorithm_row *row = table_at(&algorithms, algorithm);
    *round = (struct round){.to = -1, .from = -1};
    return (algorithm == COMM_SHARDS ? shards : row->round)(shape, number, round);
}
