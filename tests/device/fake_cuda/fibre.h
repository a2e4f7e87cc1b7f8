/* Fibers: stacks that one thread of the process switches between. The scheduler is in runtime.cc. */
#ifndef FAKE_CUDA_FIBRE_H
#define FAKE_CUDA_FIBRE_H

struct fibre {
    void *at;    /* its stack pointer while it is suspended */
    char *stack; /* its low end */
    void *tsan;  /* ThreadSanitizer's handle */
};

/* Creates a fiber that calls f, which never returns, on its own stack. */
struct fibre *fibre_new(void (*f)(void));
void fibre_switch(struct fibre *from, struct fibre *to);
struct fibre *fibre_of_caller(void); /* for the thread's own stack */

/* ThreadSanitizer's interface (sanitizer/tsan_interface.h); NULL without it. */
extern "C" {
#define WEAK __attribute__((weak))
WEAK void *__tsan_get_current_fiber(void);
WEAK void *__tsan_create_fiber(unsigned flags);
WEAK void __tsan_switch_to_fiber(void *fiber, unsigned flags);
WEAK void __tsan_acquire(void *);
WEAK void __tsan_release(void *);
WEAK void __tsan_read_range(void *, long); /* declared as g++ does in some modes */
WEAK void __tsan_write_range(void *, long);
WEAK void __asan_init(void);
#undef WEAK
}
static inline bool under_tsan(void) { return __tsan_create_fiber != nullptr; }
static inline void tell_read(const void *p, unsigned long bytes)
{
    if (under_tsan())
        __tsan_read_range(const_cast<void *>(p), bytes);
}
static inline void saw_before(void *what)
{
    if (under_tsan())
        __tsan_release(what);
}
static inline void sees_after(void *what)
{
    if (under_tsan())
        __tsan_acquire(what);
}

#endif
