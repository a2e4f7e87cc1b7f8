/* Allocates all memory at the beginning. The slots are a ring: those that the thread has filled follow the one taken
 * last. */
#include "apply/feed.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/memory.h"
#include "base/system/clock.h"
#include "base/system/process.h"
#include "nn/losses/loss.h"
#include "model/model.h"

enum { BATCHES_TRIED = 8 };               /* before starting a thread is considered */
static const double noticeable = 1. / 50; /* fraction of the time */

struct feed_thread {
    pthread_t thread;
    bool runs;
    unsigned process; /* in which it runs: not in a forked child */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int filled;            /* filled slots after feed.first */
    int64_t epoch, number; /* the next batch to fill */
    bool fills, ends;      /* fills: a batch is being filled, by the thread or the caller; ends: the thread must exit */
};

/* ---- memory ---- */

/* Allocates the arrays of a slot for the largest shape of the part. */
static unroll_status take_arrays(const unroll_model *model, const struct part *part, struct filled *filled)
{
    const struct loss *loss = loss_at(model->loss.index);
    const bool classes = loss && loss->of_classes;
    const size_t columns = (size_t)model_token_columns(model), numbers = (size_t)model_numbers(model);
    struct task_batch *a = &filled->arrays;
    size_t rows = 0, entries = 0;
    for (int i = 0; i < part->shapes; i++) {
        size_t r = (size_t)part->shape[i].rows, n = (size_t)part->shape[i].steps * r;
        rows = r > rows ? r : rows;
        entries = n > entries ? n : entries;
    }
    size_t targets = part->pooled ? rows : entries;
#define TAKE(member, count, wanted) \
    if (wanted)                     \
        TRY(ALLOCATE(a->member, count, "for batches of %zu entries", entries));
    TAKE(tokens, entries * columns, columns > 0)
    TAKE(inputs, entries * numbers, numbers > 0)
    TAKE(classes, targets, classes)
    TAKE(values, targets * (size_t)unroll_model_targets(model), loss && !classes)
    TAKE(lengths, rows, part->lengths)
    TAKE(reset, entries, part->resets)
#undef TAKE
    filled->batch = (unroll_batch){sizeof(unroll_batch),  a->tokens,        a->inputs, a->classes, a->values,
                                   .lengths = a->lengths, .reset = a->reset};
    return UNROLL_OK;
}

unroll_status feed_new(const unroll_model *model, const struct part *part, bool repeats, int ahead, struct feed *feed)
{
    *feed = (struct feed){.part = part, .repeats = repeats, .ahead = ahead, .slots = ahead ? 1 + FEED_AHEAD : 1};
    feed->first = -1;
    TRY(ALLOCATE(feed->slot, (size_t)feed->slots, "for batches"));
    for (int i = 0; i < feed->slots; i++) TRY(take_arrays(model, part, &feed->slot[i]));
    return ahead ? ALLOCATE(feed->thread, 1, "for a thread that fills batches") : UNROLL_OK;
}

static void release_arrays(struct task_batch *a)
{
    release(a->reset);
    release(a->lengths);
    release(a->values);
    release(a->classes);
    release(a->inputs);
    release(a->tokens);
}

/* ---- filling ---- */

static double seconds_by(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double feed_seconds(void) { return seconds_by(CLOCK_MONOTONIC); }

/* Fills a batch and measures the time: CPU time, because others may use the processor meanwhile, or elapsed time if the
 * thread slept. */
static void fill_slot(const struct feed *feed, int64_t epoch, int64_t number, struct filled *filled)
{
    const struct part *part = feed->part;
    const long slept = clock_sleeps();
    const double since = feed_seconds(), used = seconds_by(CLOCK_THREAD_CPUTIME_ID);
    filled->epoch = epoch;
    filled->number = number;
    filled->shape = part->shape_of ? part->shape_of(part, epoch, number) : 0;
    part->fill(part, epoch, number, &filled->arrays);
    filled->seconds = clock_sleeps() > slept ? feed_seconds() - since : seconds_by(CLOCK_THREAD_CPUTIME_ID) - used;
}

static void go_on(const struct feed *feed, int64_t *epoch, int64_t *number)
{
    if (++*number < feed->part->batches)
        return;
    *number = 0;
    *epoch += !feed->repeats;
}

/* ---- the thread ---- */

/* Fills the slot after the filled ones. Called by the thread, or by the caller if the thread has not started the batch,
 * which may happen on busy processors. The lock must be held; it is released while the batch is filled. */
static void fill_next(struct feed *feed)
{
    struct feed_thread *t = feed->thread;
    struct filled *filled = &feed->slot[(feed->first + 1 + t->filled) % feed->slots];
    const int64_t epoch = t->epoch, number = t->number;
    t->fills = true;
    pthread_mutex_unlock(&t->lock);
    fill_slot(feed, epoch, number, filled);
    pthread_mutex_lock(&t->lock);
    t->fills = false;
    t->filled++;
    go_on(feed, &t->epoch, &t->number);
    pthread_cond_broadcast(&t->changed);
}

static void *fill_ahead(void *argument)
{
    struct feed *feed = argument;
    struct feed_thread *t = feed->thread;
    pthread_mutex_lock(&t->lock);
    while (!t->ends)
        if (t->fills || t->filled == FEED_AHEAD)
            pthread_cond_wait(&t->changed, &t->lock);
        else
            fill_next(feed);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Starts the thread, which blocks all signals. If that fails, batches are filled by the caller. */
static void start_thread(struct feed *feed, int64_t epoch, int64_t number)
{
    sigset_t all, before;
    struct feed_thread *t = feed->thread;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    t->process = process_number();
    t->epoch = epoch;
    t->number = number;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    t->runs = pthread_create(&t->thread, NULL, fill_ahead, feed) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!t->runs)
        feed->ahead = 0;
}

void feed_end(struct feed *feed)
{
    struct feed_thread *t = feed->thread;
    if (t && t->runs && t->process == process_number()) {
        pthread_mutex_lock(&t->lock);
        t->ends = true;
        pthread_cond_broadcast(&t->changed);
        pthread_mutex_unlock(&t->lock);
        pthread_join(t->thread, NULL);
        pthread_cond_destroy(&t->changed);
        pthread_mutex_destroy(&t->lock);
    }
    release(t);
    for (int i = 0; feed->slot && i < feed->slots; i++) release_arrays(&feed->slot[i].arrays);
    release(feed->slot);
}

/* ---- taking ---- */

/* Counts the time of filling that the caller waited for, which is at most its waiting time: the thread may have started
 * earlier. */
static void count_waiting(struct feed *feed, const struct filled *next, double waited)
{
    feed->waited += next->seconds < waited ? next->seconds : waited;
}

/* Takes the batch that the thread has filled. If it is not the requested one, because a checkpoint was loaded or a part
 * is repeated, the thread restarts there. */
static const struct filled *take_ahead(struct feed *feed, int64_t epoch, int64_t number)
{
    struct feed_thread *t = feed->thread;
    pthread_mutex_lock(&t->lock);
    const double since = feed_seconds();
    struct filled *next = &feed->slot[(feed->first + 1) % feed->slots];
    bool follows =
        t->filled ? next->epoch == epoch && next->number == number : t->epoch == epoch && t->number == number;
    if (!follows) {
        while (t->fills) pthread_cond_wait(&t->changed, &t->lock);
        t->filled = 0;
        t->epoch = epoch;
        t->number = number;
    }
    const bool waits = t->filled == 0;
    while (t->filled == 0)
        if (t->fills)
            pthread_cond_wait(&t->changed, &t->lock);
        else
            fill_next(feed);
    if (waits)
        count_waiting(feed, next, feed_seconds() - since);
    feed->first = (feed->first + 1) % feed->slots;
    t->filled--;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return next;
}

static const struct filled *take_now(struct feed *feed, int64_t epoch, int64_t number)
{
    struct filled *next = &feed->slot[0];
    fill_slot(feed, epoch, number, next);
    feed->first = 0;
    feed->waited += next->seconds;
    bool is_slow = feed->waited > noticeable * (feed_seconds() - feed->began);
    if (feed->thread && !feed->thread->runs &&
        (feed->ahead > 0 || (feed->ahead < 0 && feed->taken >= BATCHES_TRIED && is_slow))) {
        go_on(feed, &epoch, &number);
        start_thread(feed, epoch, number);
    }
    return next;
}

const struct filled *feed_take(struct feed *feed, int64_t epoch, int64_t number)
{
    if (feed->taken++ == 0)
        feed->began = feed_seconds();
    bool ahead = feed->thread && feed->thread->runs && feed->thread->process == process_number();
    return ahead ? take_ahead(feed, epoch, number) : take_now(feed, epoch, number);
}
