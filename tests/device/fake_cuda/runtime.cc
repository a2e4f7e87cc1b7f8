/* Launches: creates the threads of a wave (a block, a cluster, or a cooperative grid), runs them in random order, and
 * reports where each thread waits if none can run. */
#include "shim.h"
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

struct fake_thread *fake_current;
struct run run;

static struct fake_kernel *kernels;
static struct fibre *here, *running; /* the caller's fiber and the running one */
static list<struct fibre *> fibres;  /* from `begun` on: free */
static size_t begun;
static thread *to_begin;
static char error[2000];
static uint64_t random_state, seed, launches;
static unsigned temperament;
static uint64_t begin_order, end_order; /* 8 bytes: ThreadSanitizer does not support smaller ones */

/* ---- kernels and randomness -------------------------------------------------------------- */

void fake_kernel_add(struct fake_kernel *k)
{
    k->next = kernels;
    kernels = k;
}

struct fake_kernel *fake_kernel_find(const char *name)
{
    struct fake_kernel *k = kernels;
    while (k && strcmp(k->name, name) != 0) k = k->next;
    return k;
}

void fake_seed(uint64_t s)
{
    seed = s;
    launches = 0;
}

uint64_t draw(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % below;
}

/* 0: in turn, immediately. 1: random, half late. 2: some warps far ahead of others. 3: random, all as late as
 * possible. */
bool late(void) { return temperament == 3 || (temperament && draw(2)); }

/* ---- scheduling -------------------------------------------------------------------------- */

static thread *&ready_at(size_t i) { return run.ready[(run.first_ready + i) % run.ready.size()]; }

static void push_ready(thread *t) { ready_at(run.readies++) = t; }

void wake(thread *t)
{
    t->waits_at = NULL;
    push_ready(t);
    run.polls = 0;
}

/* Wakes the threads of a chain for which the predicate holds. */
void wake_those(thread **chain, bool (*which)(const thread *))
{
    while (*chain) {
        thread *t = *chain;
        if (which(t)) {
            *chain = t->next;
            wake(t);
        } else {
            chain = &t->next;
        }
    }
}

/* Prefers warps with a high number, most of the time. */
static size_t eager(size_t count)
{
    size_t best = draw(count);
    for (int i = 0; i < 3; i++) {
        size_t other = draw(count);
        const thread *a = ready_at(other), *b = ready_at(best);
        unsigned rank_a = (a->block->number * 32 + a->number / 32) * 2654435761u >> 8;
        unsigned rank_b = (b->block->number * 32 + b->number / 32) * 2654435761u >> 8;
        if ((rank_a ^ seed) > (rank_b ^ seed))
            best = other;
    }
    return best;
}

static thread *take_ready(void)
{
    size_t count = run.readies, i = 0;
    if (temperament)
        i = temperament == 2 && !run.polls ? eager(count) : draw(count);
    thread *t = ready_at(i);
    ready_at(i) = ready_at(0);
    run.first_ready++;
    run.readies--;
    return t;
}

static thread *pick(void)
{
    deliver_some();
    if (run.polls > run.live)
        deliver_one();
    while (!run.readies)
        if (!deliver_one() && !time_wakes()) {
            fake_flags_changed(); /* a plain store sends no notification */
            if (!run.readies)
                return NULL;
        }
    return take_ready();
}

static void switch_to(struct fibre *to)
{
    struct fibre *from = running;
    saw_before(&end_order); /* an error may end the launch first */
    running = to;
    fibre_switch(from, to);
}

static void fibre_main(void);

/* Returns the fiber that continues t: its own, or one to start it. */
static struct fibre *fibre_for(thread *t)
{
    if (t->fibre)
        return t->fibre;
    if (begun == fibres.count)
        fibres.push(fibre_new(fibre_main));
    to_begin = t;
    return fibres.at[begun++];
}

static void go_on(thread *next)
{
    struct fibre *to = next ? fibre_for(next) : here;
    if (next)
        fake_current = next;
    if (to != running)
        switch_to(to);
}

static void thread_ends(thread *t)
{
    finish_copies(t, -1);
    t->ended = true;
    run.live--;
    run.polls = 0;
    if (--t->block->live == 0 && t->block->cluster->blocks.size() > 1) {
        block_memory_check(t->block);
        block_memory_end(t->block);
    }
}

/* Returns a fiber for other threads of the wave. Not with ThreadSanitizer, which treats threads on one fiber as one
 * thread. */
static void give_back(struct fibre *f)
{
    if (!under_tsan())
        fibres.at[--begun] = f;
}

/* A fiber runs one thread after another as long as they end without having waited. */
static void fibre_main(void)
{
    for (;;) {
        thread *t = to_begin;
        fake_current = t;
        t->fibre = running;
        sees_after(&begin_order);
        run.kernel->run(run.launch->args);
        thread_ends(t);
        thread *next = pick();
        if (next && !next->fibre && !under_tsan()) {
            to_begin = next;
            continue;
        }
        struct fibre *self = running, *to = next ? fibre_for(next) : here;
        if (next)
            fake_current = next;
        give_back(self);
        switch_to(to);
    }
}

void wait_at(const char *what, const char *file, int line)
{
    thread *t = current();
    t->waits_at = what;
    t->file = file;
    t->line = line;
    go_on(pick());
}

/* Polls of each thread without progress until a launch fails; a kernel that limits its waits ends before. */
enum { POLLS_MAX = 8192 };

void fake_poll(const char *file, int line)
{
    thread *t = current();
    t->waits_at = "a polled word";
    t->file = file;
    t->line = line;
    push_ready(t);
    if (++run.polls % run.live == 0)
        time_passes();
    if (run.polls > POLLS_MAX * run.live + 1000)
        fake_fail("nothing changes what is polled for");
    go_on(pick());
    t->waits_at = NULL;
}

/* ---- errors ------------------------------------------------------------------------------ */

struct failed {
}; /* thrown outside of kernel threads */

static void name_thread(char *to, size_t size, const fake_thread *t)
{
    const fake_block *b = t->block;
    snprintf(to, size, "thread (%u,%u,%u) of block (%u,%u,%u)", t->index.x, t->index.y, t->index.z, b->index.x,
             b->index.y, b->index.z);
}

void fake_fail(const char *format, ...)
{
    char what[1000], who[200] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    name_thread(who, sizeof who, fake_current);
    snprintf(error, sizeof error, "kernel %s, %s: %s", run.kernel->name, who, what);
    if (running == here)
        throw failed();
    switch_to(here);
    abort();
}

/* Reports in a few lines where the threads of the wave wait. */
static void say_deadlock(thread *all, size_t count)
{
    std::map<std::string, std::pair<int, thread *>> places;
    size_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        thread *t = &all[i];
        ended += t->ended;
        if (t->ended || !t->waits_at)
            continue;
        const char *file = strrchr(t->file, '/');
        std::string place =
            std::string(t->waits_at) + " (" + (file ? file + 1 : t->file) + ":" + std::to_string(t->line) + ")";
        auto &entry = places[place];
        entry.first++;
        entry.second = t;
    }
    int n =
        snprintf(error, sizeof error, "kernel %s is in a deadlock: %zu threads have ended", run.kernel->name, ended);
    for (auto &p : places) {
        char who[200];
        name_thread(who, sizeof who, p.second.second);
        if (n < (int)sizeof error)
            n += snprintf(error + n, sizeof error - n, "; %d wait at %s, one is %s", p.second.first, p.first.c_str(),
                          who);
    }
}

static void on_signal(int number, siginfo_t *info, void *)
{
    char text[400], who[200] = "";
    name_thread(who, sizeof who, fake_current);
    int n = snprintf(text, sizeof text, "fake_cuda: kernel %s, %s: %s, address %p\n", run.kernel->name, who,
                     number == SIGILL ? "a misaligned or impossible access"
                                      : "an access to memory that is not the device's or not the block's",
                     info->si_addr);
    fwrite(text, 1, (size_t)n, stderr);
    abort();
}

static const int caught[] = {SIGSEGV, SIGBUS, SIGILL};
static struct sigaction before[3];

static void catch_signals(bool on)
{
    static char stack[64 << 10];
    if (under_tsan() || __asan_init)
        return;
    if (on) {
        stack_t other = {};
        other.ss_sp = stack;
        other.ss_size = sizeof stack;
        sigaltstack(&other, NULL);
    }
    for (int i = 0; i < 3; i++) {
        struct sigaction action = {};
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaction(caught[i], on ? &action : &before[i], on ? &before[i] : NULL);
    }
}

/* ---- waves ------------------------------------------------------------------------------- */

struct wave {
    std::vector<cluster> clusters;
    thread *threads;
    size_t room, count;
};

static struct fake_index index_of(unsigned number, const struct fake_index &of)
{
    return {number % of.x, number / of.x % of.y, number / of.x / of.y};
}

static unsigned volume(const struct fake_index &i) { return i.x * i.y * i.z; }

/* Returns the index of block `rank` of cluster `number` in the grid. */
static struct fake_index block_index(unsigned number, unsigned rank, const struct fake_launch *l)
{
    struct fake_index grid = {l->grid.x / l->cluster.x, l->grid.y / l->cluster.y, l->grid.z / l->cluster.z};
    struct fake_index c = index_of(number, grid), r = index_of(rank, l->cluster);
    return {c.x * l->cluster.x + r.x, c.y * l->cluster.y + r.y, c.z * l->cluster.z + r.z};
}

/* Initializes a block and its threads; all threads are ready to run. */
static void begin_block(struct wave *w, size_t b, struct fake_index index, unsigned rank, cluster *c)
{
    fake_block *block = &run.blocks[b];
    *block = fake_block();
    block->index = index;
    block->rank = rank;
    block->cluster = c;
    block->live = run.threads;
    block->number = (unsigned)b;
    block->threads = &w->threads[b * run.threads];
    c->blocks.push_back(block);
    block_memory_new(block, run.launch->shared);
    for (unsigned i = 0; i < run.threads; i++) {
        thread *t = &block->threads[i];
        *t = thread();
        t->index = index_of(i, run.launch->block);
        t->number = i;
        t->lane = i % 32;
        t->launch = run.launch;
        t->block = block;
        push_ready(t);
    }
}

static void begin_wave(struct wave *w, const unsigned *order, unsigned clusters)
{
    unsigned size = volume(run.launch->cluster), blocks = clusters * size;
    w->clusters.assign(clusters, cluster());
    run.blocks.resize(blocks);
    w->count = (size_t)blocks * run.threads;
    if (w->count > w->room)
        w->threads = (thread *)memory_for_ever((w->room = 2 * w->count) * sizeof(thread));
    run.ready.resize((size_t)blocks * run.threads);
    run.flag_waiting = NULL;
    run.first_ready = run.readies = run.polls = 0;
    run.live = blocks * run.threads;
    for (unsigned c = 0; c < clusters; c++) {
        w->clusters[c].barrier.wanted = size * run.threads;
        for (unsigned r = 0; r < size; r++)
            begin_block(w, c * size + r, block_index(order[c], r, run.launch), r, &w->clusters[c]);
    }
}

/* Checks what the threads leave and frees the wave. */
static void end_wave(struct wave *w)
{
    if (run.live && !error[0])
        say_deadlock(w->threads, w->count);
    try {
        while (!error[0] && deliver_one());
        for (auto &b : run.blocks) {
            fake_current = b.threads;
            if (!error[0])
                block_memory_check(&b);
        }
    } catch (const failed &) {
    }
    for (auto &b : run.blocks) {
        block_memory_end(&b);
        warps_end(&b);
    }
    async_reset();
}

static void run_wave(struct wave *w, const unsigned *order, unsigned clusters)
{
    begin_wave(w, order, clusters);
    saw_before(&begin_order); /* also the blocks of this wave */
    running = here;
    begun = 0;
    go_on(pick());
    if (error[0] || run.live)
        fibres.count = 0; /* those that wait forever keep theirs */
    end_wave(w);
}

/* Runs clusters in random order, one after another; a cooperative grid runs as a whole. */
static void run_grid(void)
{
    static struct wave w;
    unsigned clusters = volume(run.launch->grid) / volume(run.launch->cluster);
    std::vector<unsigned> order(clusters);
    for (unsigned i = 0; i < clusters; i++) {
        unsigned j = temperament ? (unsigned)draw(i + 1) : i;
        order[i] = order[j];
        order[j] = i;
    }
    unsigned together = run.launch->cooperative ? clusters : 1;
    for (unsigned i = 0; i < clusters && !error[0]; i += together) run_wave(&w, &order[i], together);
}

/* Keeps denormals, as a GPU does; threads of the library flush them. */
static unsigned floats_as_on_gpu(void)
{
#if defined __x86_64__
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
    return before;
#else
    uint64_t before;
    asm volatile("mrs %0, fpcr" : "=r"(before));
    asm volatile("msr fpcr, %0" ::"r"((uint64_t)0));
    return (unsigned)before;
#endif
}

static void floats_as_before(unsigned before)
{
#if defined __x86_64__
    __builtin_ia32_ldmxcsr(before);
#else
    asm volatile("msr fpcr, %0" ::"r"((uint64_t)before));
#endif
}

/* Runs a kernel in a random order of its threads; returns an error message or NULL. */
const char *fake_run(const struct fake_kernel *k, const struct fake_launch *l)
{
    error[0] = 0;
    time_begin();
    run.kernel = k;
    run.launch = l;
    run.threads = volume(l->block);
    here = fibre_of_caller();
    random_state = (seed * 0x9e3779b97f4a7c15 ^ ++launches * 0xbf58476d1ce4e5b9) | 1;
    unsigned rounding = floats_as_on_gpu();
    temperament = seed ? (unsigned)draw(8) % 4 : 0;
    clock_begin();
    catch_signals(true);
    run_grid();
    catch_signals(false);
    sees_after(&end_order);
    memory_of_launch_end();
    floats_as_before(rounding);
    return error[0] ? error : NULL;
}

const struct fake_index *fake_block_index(void) { return &current()->block->index; }
