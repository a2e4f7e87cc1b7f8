/* Shared by the parts of the runtime: threads, blocks, and the blocks that run together (a wave). */
#ifndef FAKE_CUDA_SHIM_H
#define FAKE_CUDA_SHIM_H
#include "fibre.h"
#include "runtime.h"
#include <vector>

/* Allocates memory that is never freed, because ThreadSanitizer reports races for what fibers do with the C library's
 * memory. */
void *memory_for_ever(size_t bytes);
template <typename T> struct list {
    T *at;
    size_t count, room;
    void push(const T &x)
    {
        if (count == room) {
            T *bigger = (T *)memory_for_ever((room = 2 * room + 64) * sizeof(T));
            for (size_t i = 0; i < count; i++) bigger[i] = at[i];
            at = bigger;
        }
        at[count++] = x;
    }
    void drop(size_t i) { at[i] = at[--count]; }
};

/* Cycles (clock.cc). */
struct chain {
    const void *sums;
    double ready;
};
struct clock_state {
    double at, since;         /* current time; start of its current part */
    double matrices, pending; /* when the last load of matrices, or product, completes */
    double copies, loads[8];  /* the same for copies from L2 to shared memory, and loads from device memory */
    double asked;             /* when packets were requested */
    struct chain chain[8];    /* of products, by their sums */
    int part;
};
enum { PIPE_SHARED, PIPE_L2, PIPE_L2_OUT, PIPE_TENSOR, PIPES = PIPE_TENSOR + 4 };
struct pipe {
    double first, used; /* since the last block barrier */
};

struct thread : fake_thread {
    struct clock_state clock;
    struct fibre *fibre; /* NULL: not started */
    bool ended;
    const char *waits_at, *file; /* NULL: can run */
    int line;
    unsigned cluster_phase; /* of its last arrival */
    bool cluster_arrived;
    const uint32_t *flag;
    uint32_t flag_value;
    uint64_t *mbarrier;
    unsigned parity;
    bool limited; /* its wait for mbarrier ends when time passes */
    int copy_group;
    thread *next; /* next thread that waits for the same */
};

/* A point where threads wait for each other. */
struct gate {
    unsigned arrived, phase, wanted;
    const char *file;
    int line;
    thread *waiting;
    uint64_t order[2]; /* ThreadSanitizer's handles of its phases */
    double latest[2];  /* time on the clock of its phases */
};

/* Lanes that wait for the others in their mask. */
struct warp_gate {
    unsigned warp;
    uint32_t mask, arrived;
    fake_warp_function *f;
    const char *file;
    int line;
    void *slot[32];
    thread *lane[32];
    uint64_t order;
    warp_gate *next;
};

struct fake_block {
    struct fake_index index;
    struct cluster *cluster;
    unsigned rank, live, number;
    char *region, *shared; /* its shared memory: all of it; the part for the launch */
    size_t static_bytes;
    gate barrier[16];
    warp_gate *warps;
    thread *mbarrier_waiting;
    thread *threads;
    struct pipe pipe[PIPES];
    double cluster_free; /* when its last store to the cluster has been sent */
};

struct cluster {
    std::vector<fake_block *> blocks;
    gate barrier;
};

/* The running launch. */
extern struct run {
    const struct fake_kernel *kernel;
    const struct fake_launch *launch;
    unsigned threads;               /* of a block */
    unsigned live;                  /* threads of the wave that have not ended */
    std::vector<fake_block> blocks; /* of the wave */
    thread *flag_waiting;
    std::vector<thread *> ready; /* a ring buffer with room for all */
    size_t first_ready, readies;
    unsigned polls; /* since the last change */
} run;

static inline thread *current(void) { return static_cast<thread *>(fake_current); }

uint64_t draw(uint64_t below);
bool late(void); /* random: whether something that may happen later does */

void wait_at(const char *what, const char *file, int line); /* suspends the current thread until it is woken */
void wake(thread *);
void wake_those(thread **chain, bool (*which)(const thread *));
void warps_end(fake_block *);
void gate_wake(gate *); /* all have arrived: begins the next phase */

/* Shared memory (memory.cc). */
void block_memory_new(fake_block *, size_t shared);
void block_memory_check(fake_block *); /* fails if the block wrote out of bounds */
void block_memory_end(fake_block *);
void memory_of_launch_end(void);
fake_block *block_of_shared(uintptr_t at, size_t bytes, const char *what);
void fill(void *p, int byte, size_t bytes);

/* Pending stores (async.cc). */
bool deliver_one(void); /* false: none left */
void deliver_some(void);
bool stores_under_way(const fake_block *);
void async_reset(void);
void release_stores(uint64_t now); /* those that were held until then */
void finish_copies(thread *, int left);

/* Time and disturbances (time.cc). */
void time_begin(void);
void time_passes(void);
bool time_wakes(void);
uint64_t time_after(unsigned milliseconds);
enum fake_disturbance disturbance_now(const void *to);
unsigned disturbance_delay(void);

/* Clocks (clock.cc). */
void clock_begin(void);
void clock_arrive(gate *, unsigned phase);
void clock_barrier_ends(gate *, unsigned phase, fake_block *);
void clock_passed(const gate *, unsigned phase, bool cluster);
void clock_fence(void);
double clock_of_lanes(const warp_gate *);
void clock_warp(const warp_gate *, bool only_sync);
void clock_matrices(const warp_gate *, int count);
void clock_mma(const warp_gate *, const void *sums, double adds);
void clock_store(const void *word, uint32_t value, unsigned bytes, bool after_all);
void clock_flag(const uint32_t *flag, uint32_t value);
void clock_copy(void);
void clock_copies_done(void);
double clock_send(unsigned bytes);
double clock_now(void);
void clock_arrives(uintptr_t barrier, double time);
void clock_phase_ends(uintptr_t barrier, unsigned parity);
void clock_phase_seen(uintptr_t barrier, unsigned parity);

#endif
