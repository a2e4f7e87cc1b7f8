/* What the parts of the runtime share: threads, blocks and those that live together (a wave). */
#ifndef FAKE_CUDA_SHIM_H
#define FAKE_CUDA_SHIM_H
#include "fibre.h"
#include "runtime.h"
#include <vector>

/* Grows and never gives back: what fibres do with the C library's memory, ThreadSanitizer takes for races. */
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
    double at, since;         /* now; when its part began */
    double matrices, pending; /* loads of matrices; products: when the last of them is there */
    double copies, loads[8];  /* from L2 to shared memory; from device memory */
    double asked;             /* when packets were asked for */
    struct chain chain[8];    /* of products, by their sums */
    int part;
};
enum { PIPE_SHARED, PIPE_L2, PIPE_L2_OUT, PIPE_TENSOR, PIPES = PIPE_TENSOR + 4 };
struct pipe {
    double first, used; /* since the last barrier of the block */
};

struct thread : fake_thread {
    struct clock_state clock;
    struct fibre *fibre; /* NULL: has not begun */
    bool ended;
    const char *waits_at, *file; /* NULL: goes on */
    int line;
    unsigned cluster_phase; /* of its last arrival */
    bool cluster_arrived;
    const uint32_t *flag;
    uint32_t flag_value;
    uint64_t *mbarrier;
    unsigned parity;
    int copy_group;
    thread *next; /* of those that wait with it */
};

/* Where threads wait for each other. */
struct gate {
    unsigned arrived, phase, wanted;
    const char *file;
    int line;
    thread *waiting;
    uint64_t order[2]; /* what ThreadSanitizer knows its phases as */
    double latest[2];  /* by the clock, of its phases */
};

/* Lanes that wait for the others of their mask. */
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
    char *region, *shared; /* its shared memory: all of it; what the launch asked for */
    size_t static_bytes;
    gate barrier[16];
    warp_gate *warps;
    thread *mbarrier_waiting;
    thread *threads;
    struct pipe pipe[PIPES];
    double cluster_free; /* when what it sends into its cluster has left */
};

struct cluster {
    std::vector<fake_block *> blocks;
    gate barrier;
};

/* The launch that runs. */
extern struct run {
    const struct fake_kernel *kernel;
    const struct fake_launch *launch;
    unsigned threads;               /* of a block */
    unsigned live;                  /* threads of the wave that have not ended */
    std::vector<fake_block> blocks; /* of the wave */
    thread *flag_waiting;
    std::vector<thread *> ready; /* a ring with room for all */
    size_t first_ready, readies;
    unsigned polls; /* since anything changed */
} run;

static inline thread *current(void) { return static_cast<thread *>(fake_current); }

uint64_t draw(uint64_t below);
bool late(void); /* drawn: shall what may happen later happen later? */

void wait_at(const char *what, const char *file, int line); /* the current thread, until it is woken */
void wake(thread *);
void wake_those(thread **chain, bool (*which)(const thread *));
void warps_end(fake_block *);
void gate_wake(gate *); /* all have come: the next phase begins */

/* Shared memory (memory.cc). */
void block_memory_new(fake_block *, size_t shared);
void block_memory_check(fake_block *); /* fails where it wrote beyond */
void block_memory_end(fake_block *);
void memory_of_launch_end(void);
fake_block *block_of_shared(uintptr_t at, size_t bytes, const char *what);
void fill(void *p, int byte, size_t bytes);

/* Stores under way (async.cc). */
bool deliver_one(void); /* false: there is none */
void deliver_some(void);
bool stores_under_way(const fake_block *);
void async_reset(void);
void finish_copies(thread *, int left);

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
