/* Estimates the clocks of steps, before any synthesis: runs segments in order, with each element waiting for its
 * units and each segment for its sums, like rtl/unroll_core.v. Values are not simulated. */
#include "base/memory.h"
#include "extensions/hardware/hardware.h"

/* Latencies between stages of the core, in clocks. */
enum {
    TO_ROWS = 5,   /* from a segment's last product to its first row */
    TO_UNITS = 10, /* from a group's last row until a unit may begin */
    TO_LEAD = 19,  /* from the start of a unit, in addition to the clock of its last word, until the lanes may read */
    TO_Y = 9,      /* from the head's last row until y is available */
    TO_LIST = 4,   /* with skipping: from a value to its entry in a list */
    TO_COUNT = 2,  /* .. and from a complete list to the first product */
    MIN_ROWS = 8   /* minimum between two segments, so that rows can read what others wrote */
};

struct clocks {
    const struct hardware *h;
    int64_t *done;   /* [2][groups] when a group may be read; indexed by step modulo 2 */
    int64_t now;     /* time of the last product */
    int64_t rows;    /* time when the rows are free again */
    int64_t held[2]; /* when the sums of the last two segments had left the lanes */
    int64_t unit;    /* start of the last unit */
    int stage;       /* stage whose program the units run */
    int64_t busy, y;
};

static int last_word(const struct stage *s)
{
    int last = 0;
    for (int i = 0; i < s->words; i++) last = s->word[i].clock > last ? s->word[i].clock : last;
    return last;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* Units of a group begin at rounds. Another stage's program waits until the previous units have ended. */
static void run_group(struct clocks *c, int group, int64_t made, int64_t *done)
{
    const struct group *g = &c->h->group[group];
    const struct stage *s = &c->h->stage[g->stage];
    int64_t begin = later(made + s->interval / 2, c->unit + s->interval); /* half: the average wait for a round */
    if (g->stage != c->stage) {
        const struct stage *before = &c->h->stage[c->stage];
        const int rounds = 1 << bits_of((uint64_t)(last_word(before) / before->interval));
        begin =
            later(made + before->interval / 2 + s->interval, c->unit + (rounds + 1) * before->interval + s->interval);
    }
    c->stage = g->stage;
    c->unit = begin + (int64_t)(g->units - 1) * s->interval;
    *done = c->unit + last_word(s) + TO_LEAD + (c->h->skips ? TO_LIST : 0);
}

static int group_of(const struct hardware *h, int stage, uint32_t first)
{
    int g = 0;
    while (h->group[g].stage != stage || h->group[g].first != first) g++;
    return g;
}

/* Returns when element k of a segment may be read, in step t. */
static int64_t ready(const struct clocks *c, const struct segment *s, uint32_t k, int t)
{
    const int need = s->need + (s->units ? (int)(k / s->units) : 0), groups = c->h->groups;
    const int of = t + (s->is_head ? 1 : 0) + (need < 0 ? -1 : 0);
    return of < 0 ? 0 : c->done[(of & 1) * groups + (need < 0 ? need + groups : need)];
}

/* Returns the number of products in step t, at least one. */
static uint32_t length_of(const struct hardware *h, const struct segment *s, int t)
{
    const int of = t - (s->is_zero ? 1 : 0); /* step that computed the vector */
    if (!h->moved || s->is_token)
        return s->length;
    const uint32_t moved =
        of < 0 ? 0 : h->moved[(size_t)(of % h->moved_steps) * (size_t)h->program->vectors + (size_t)s->vector];
    return moved ? moved : 1;
}

/* Simulates the clocks of a segment in step t, and of its group after the last segment. */
static void run_segment(struct clocks *c, const struct segment *s, int t)
{
    const struct hardware *h = c->h;
    const struct stage *stage = &h->stage[s->stage];
    const int rows = s->rows < MIN_ROWS ? MIN_ROWS : (int)s->rows;
    const uint32_t length = length_of(h, s, t);
    if (h->skips)
        c->now = later(c->now, ready(c, s, 0, t)) + TO_COUNT;
    for (uint32_t k = 0; k < length; k++) {
        c->now = later(c->now + 1, ready(c, s, k, t));
        if (k + 1 == length)
            c->now = later(c->now, c->held[h->holds == 2 ? 0 : 1]);
    }
    c->busy += length;
    const int64_t begin = later(c->now + TO_ROWS + (h->skips ? 1 : 0), c->rows);
    c->rows = begin + rows;
    c->held[0] = c->held[1];
    c->held[1] = c->rows - TO_ROWS - (h->skips ? 1 : 0);
    c->y = s->is_head ? begin + s->rows + TO_Y : c->y;
    if (s->is_head || s->source != stage->sources - 1)
        return;
    const int g = group_of(h, s->stage, s->first);
    run_group(c, g, begin + s->rows - 1 + TO_UNITS, &c->done[(t & 1) * h->groups + g]);
}

static void run_list(struct clocks *c, enum list list, int t)
{
    for (int i = 0; i < c->h->segments; i++)
        if (c->h->segment[i].list == list)
            run_segment(c, &c->h->segment[i], t);
}

unroll_status hardware_clocks(const struct hardware *h, double *step, double *busy, double *latency)
{
    enum { WARM = 4 };
    const int steps = h->moved_steps > 16 + WARM ? h->moved_steps - WARM : 16;
    int64_t *done;
    TRY(ALLOCATE(done, 2 * (size_t)h->groups, "for the clocks of groups"));
    struct clocks c = {.h = h, .done = done, .unit = -1000, .stage = h->group[0].stage};
    const bool late = h->first_segment[LIST_LATE] < h->segments;
    int64_t begin = 0;
    for (int t = 0; t < WARM + steps; t++) {
        if (t == 0 || late)
            run_list(&c, LIST_EARLY, t);
        if (t > 0)
            run_list(&c, LIST_HEAD, t - 1);
        if (t > 0 && !late)
            run_list(&c, LIST_EARLY, t);
        run_list(&c, LIST_LATE, t);
        if (t + 1 == WARM) {
            begin = c.now;
            c.busy = 0;
        }
    }
    *step = (double)(c.now - begin) / steps;
    *busy = (double)c.busy / steps;
    for (int g = 0; g < 2 * h->groups; g++) done[g] = 0;
    c = (struct clocks){.h = h, .done = done, .unit = -1000, .stage = h->group[0].stage};
    run_list(&c, LIST_EARLY, 0);
    run_list(&c, LIST_LATE, 0);
    run_list(&c, LIST_HEAD, 0);
    *latency = (double)c.y;
    release(done);
    return UNROLL_OK;
}
