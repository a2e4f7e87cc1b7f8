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

struct thread : fake_thread {
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

#endif
