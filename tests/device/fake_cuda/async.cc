/* Asynchronous copies, and barriers in shared memory that count them. A barrier has 64 bits: 16 of a mark, 1 of the
 * phase, 23 of pending bytes (signed), 12 of pending arrivals, 12 of all arrivals. */
#include "shim.h"
#include <cstring>

struct store {
    uintptr_t to, from; /* from 0: the bytes are stored here */
    unsigned bytes;
    uintptr_t barrier;
    fake_block *block;
    thread *by;
    char value[16];
    uint64_t order;
    double arrives; /* time on the clock */
    uint64_t until; /* while it is held */
};

struct copy {
    thread *by;
    void *to;
    const void *from;
    int group;
};

static list<store *> under_way, unused, held; /* held: disturbed, until a time or (0) the next store */
static list<copy> copies;                     /* not completed */

/* Not memcpy: ThreadSanitizer would attribute the store to the running thread. */
static void copy_bytes(uintptr_t to, const void *from, size_t bytes)
{
    volatile uint32_t *t = (volatile uint32_t *)to;
    for (size_t i = 0; i < bytes / 4; i++) t[i] = ((const volatile uint32_t *)from)[i];
}

/* ---- copies of a thread ------------------------------------------------------------------ */

static void copy_now(const copy &c)
{
    tell_read(c.from, 16);
    if (under_tsan())
        __tsan_write_range(c.to, 16);
    memcpy(c.to, c.from, 16);
}

void fake_copy_async(void *shared, const void *global)
{
    fake_check_shared(shared, 16, "copy_async's target");
    if ((uintptr_t)global % 16)
        fake_fail("copy_async's source at %p is not aligned to 16 bytes", global);
    thread *t = current();
    clock_copy();
    copy c = {t, shared, global, t->copy_group};
    if (late())
        copies.push(c);
    else
        copy_now(c);
}

void fake_copy_async_commit(void) { current()->copy_group++; }

void finish_copies(thread *t, int left)
{
    for (size_t i = 0; i < copies.count;)
        if (copies.at[i].by == t && (left < 0 || copies.at[i].group < t->copy_group - left)) {
            copy_now(copies.at[i]);
            copies.drop(i);
        } else {
            i++;
        }
}

void fake_copy_async_wait(int left)
{
    finish_copies(current(), left);
    clock_copies_done();
}

/* ---- barriers ---------------------------------------------------------------------------- */

struct state {
    unsigned phase, wanted, pending;
    int bytes;
};
enum { MARK = 0xb4a1, COUNT_MAX = 4095 };

static uint64_t packed(const struct state &s)
{
    return (uint64_t)MARK << 48 | (uint64_t)(s.phase & 1) << 47 | ((uint64_t)s.bytes & 0x7fffff) << 24 |
           (uint64_t)s.pending << 12 | s.wanted;
}

static struct state state_of(uintptr_t barrier)
{
    uint64_t w;
    memcpy(&w, (void *)barrier, 8);
    if (w >> 48 != MARK)
        fake_fail("the barrier at %#zx was not initialized (mbarrier_init)", (size_t)barrier);
    return {(unsigned)(w >> 47 & 1), (unsigned)w & 0xfff, (unsigned)(w >> 12) & 0xfff, (int)((int64_t)(w << 17) >> 41)};
}

static void keep(uintptr_t barrier, const struct state &s)
{
    uint64_t w = packed(s);
    memcpy((void *)barrier, &w, 8);
}

static bool may_go_on(const thread *t) { return state_of((uintptr_t)t->mbarrier).phase != t->parity; }

/* Ends the phase if all arrivals and bytes are in. */
static void settle(fake_block *b, uintptr_t barrier, struct state s)
{
    run.polls = 0;
    bool ends = s.pending == 0 && s.bytes == 0;
    if (ends) {
        clock_phase_ends(barrier, s.phase);
        s.phase ^= 1;
        s.pending = s.wanted;
    }
    keep(barrier, s);
    if (ends)
        wake_those(&b->mbarrier_waiting, may_go_on);
}

void fake_mbarrier_init(uint64_t *barrier, unsigned count)
{
    fake_check_shared(barrier, 8, "mbarrier_init's barrier");
    if (!count || count > COUNT_MAX)
        fake_fail("a barrier of %u arrivals: 1 to %d are counted here", count, COUNT_MAX);
    keep((uintptr_t)barrier, {0, count, count, 0});
    saw_before(barrier);
}

void fake_mbarrier_arrive(uintptr_t barrier, unsigned bytes)
{
    fake_block *b = block_of_shared(barrier, 8, "mbarrier_arrive's barrier");
    struct state s = state_of(barrier);
    if (!s.pending)
        fake_fail("arrives at a barrier of %u arrivals when all have come", s.wanted);
    s.pending--;
    s.bytes += (int)bytes;
    if (s.bytes >= 1 << 20)
        fake_fail("a barrier waits for more bytes than it can count (2^20 - 1)");
    saw_before((void *)barrier);
    clock_arrives(barrier, clock_now());
    settle(b, barrier, s);
}

bool fake_mbarrier_done(uint64_t *barrier, unsigned parity)
{
    fake_check_shared(barrier, 8, "mbarrier_wait's barrier");
    bool done = state_of((uintptr_t)barrier).phase != (parity & 1);
    if (done)
        sees_after(barrier);
    return done;
}

/* Suspends the thread until the phase ends; if the wait is limited, also when time passes. */
static void sleep_at(uint64_t *barrier, unsigned parity, bool limited, const char *file, int line)
{
    thread *t = current();
    t->mbarrier = barrier;
    t->parity = parity;
    t->limited = limited;
    t->next = t->block->mbarrier_waiting;
    t->block->mbarrier_waiting = t;
    wait_at(parity ? "an mbarrier, parity 1" : "an mbarrier, parity 0", file, line);
}

bool fake_mbarrier_try_wait(uint64_t *barrier, unsigned parity, const char *file, int line)
{
    if (parity > 1)
        fake_fail("waits for parity %u at line %d: 0 or 1", parity, line);
    bool done = fake_mbarrier_done(barrier, parity);
    if (!done) {
        sleep_at(barrier, parity, true, file, line);
        done = fake_mbarrier_done(barrier, parity);
    }
    if (done)
        clock_phase_seen((uintptr_t)barrier, parity);
    return done;
}

void fake_mbarrier_wait(uint64_t *barrier, unsigned parity, const char *file, int line)
{
    if (parity > 1)
        fake_fail("waits for parity %u at line %d: 0 or 1", parity, line);
    if (!fake_mbarrier_done(barrier, parity)) {
        sleep_at(barrier, parity, false, file, line);
        sees_after(barrier);
    }
    clock_phase_seen((uintptr_t)barrier, parity);
}

/* ---- stores that count at a barrier ------------------------------------------------------ */

/* Reports the write to ThreadSanitizer as that of a fiber that is not ordered after the requesting thread. */
static void tell_write(store *s, void *engine_at)
{
    static void *engine;
    if (!under_tsan())
        return;
    if (!engine)
        engine = __tsan_create_fiber(0);
    void *self = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(engine, 1);
    __tsan_acquire(&s->order);
    if (s->from)
        __tsan_read_range((void *)s->from, s->bytes);
    __tsan_write_range((void *)s->to, s->bytes);
    __tsan_release(engine_at);
    __tsan_switch_to_fiber(self, 1);
}

static void deliver(store *s)
{
    struct fake_thread *self = fake_current;
    fake_current = s->by; /* for error messages */
    block_of_shared(s->to, 4, "an asynchronous store's target");
    struct state state = state_of(s->barrier);
    if (state.bytes - (int)s->bytes <= -(1 << 20))
        fake_fail("more bytes come to a barrier than it can count");
    tell_write(s, (void *)s->barrier);
    copy_bytes(s->to, s->from ? (const void *)s->from : s->value, s->bytes);
    state.bytes -= (int)s->bytes;
    clock_arrives(s->barrier, s->arrives);
    settle(s->block, s->barrier, state);
    fake_current = self;
    unused.push(s);
}

bool deliver_one(void)
{
    if (!under_way.count)
        return false;
    size_t i = draw(under_way.count);
    store *s = under_way.at[i];
    under_way.drop(i);
    deliver(s);
    return true;
}

void deliver_some(void)
{
    while (under_way.count && !late() && !late()) deliver_one();
}

bool stores_under_way(const fake_block *b)
{
    for (size_t i = 0; i < under_way.count; i++)
        if (under_way.at[i]->block == b)
            return true;
    return false;
}

void release_stores(uint64_t now)
{
    for (size_t i = 0; i < held.count;) {
        if (held.at[i]->until > now) {
            i++;
            continue;
        }
        under_way.push(held.at[i]);
        held.drop(i);
    }
}

void async_reset(void)
{
    held.count = 0;
    while (under_way.count) unused.push(under_way.at[--under_way.count]);
    copies.count = 0;
}

static store *store_new(void)
{
    store *s = unused.count ? unused.at[--unused.count] : (store *)memory_for_ever(sizeof *s);
    s->from = 0;
    return s;
}

static void begin_store(store *s, uintptr_t last)
{
    s->block = block_of_shared(s->barrier, 8, "an asynchronous store's barrier");
    if (block_of_shared(s->to, 4, "an asynchronous store's target") != s->block ||
        block_of_shared(last, 4, "an asynchronous store's end") != s->block)
        fake_fail("an asynchronous store's barrier is in another block than its target");
    if (s->block != current()->block && !s->block->cluster->barrier.phase)
        fake_fail("stores into another block before a cluster_sync: it may not have begun");
    s->by = current();
    s->arrives = clock_send(s->bytes);
    saw_before(&s->order);
    const enum fake_disturbance what = disturbance_now((const void *)s->to);
    if (what == FAKE_SWAP || what == FAKE_DELAY) {
        s->until = what == FAKE_SWAP ? 0 : time_after(disturbance_delay());
        held.push(s);
        return;
    }
    if (what == FAKE_DROP)
        return;
    if (late())
        under_way.push(s);
    else
        deliver(s);
    release_stores(0);
}

/* Observed on an H100: without the cluster attribute, st.async is an illegal instruction even within a block. */
void fake_store_async(uintptr_t to, const void *value, unsigned bytes, uintptr_t barrier)
{
    if (!current()->launch->clustered)
        fake_fail("st.async in a launch without the attribute of clusters is an illegal instruction");
    block_of_shared(to, bytes, "store_async's target");
    store *s = store_new();
    s->to = to;
    s->bytes = bytes;
    s->barrier = barrier;
    copy_bytes((uintptr_t)s->value, value, bytes);
    begin_store(s, to + bytes - 4);
}

void fake_copy_bulk(uintptr_t to, const void *from, unsigned bytes, uintptr_t barrier, bool from_shared)
{
    block_of_shared(to, 16, "copy_bulk's target");
    if ((uintptr_t)from % 16 || bytes % 16 || !bytes)
        fake_fail("copy_bulk of %u bytes from %p: both are multiples of 16", bytes, from);
    if (from_shared)
        fake_check_shared(from, 16, "copy_bulk's source");
    store *s = store_new();
    s->to = to;
    s->from = (uintptr_t)from;
    s->bytes = bytes;
    s->barrier = barrier;
    begin_store(s, to + bytes - 4);
}
