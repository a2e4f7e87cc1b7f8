/* Fibers for x86-64 and 64-bit ARM: pushes the callee-saved registers and switches the stack pointer. */
#include "fibre.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

extern "C" void fake_switch(void **save, void *to);

#if defined __x86_64__
asm(".text\n.globl fake_switch\n.hidden fake_switch\n.type fake_switch, @function\n"
    "fake_switch:\n"
    "    pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n"
    "    ret\n");
enum { SAVED_WORDS = 8, RETURN_WORD = 6 }; /* the last one aligns calls */
#elif defined __aarch64__
asm(".text\n.globl fake_switch\n.hidden fake_switch\n.type fake_switch, %function\n"
    "fake_switch:\n"
    "    sub sp, sp, #160\n"
    "    stp x19, x20, [sp]\n stp x21, x22, [sp, #16]\n stp x23, x24, [sp, #32]\n stp x25, x26, [sp, #48]\n"
    "    stp x27, x28, [sp, #64]\n stp x29, x30, [sp, #80]\n"
    "    stp d8, d9, [sp, #96]\n stp d10, d11, [sp, #112]\n stp d12, d13, [sp, #128]\n stp d14, d15, [sp, #144]\n"
    "    mov x9, sp\n str x9, [x0]\n mov sp, x1\n"
    "    ldp x19, x20, [sp]\n ldp x21, x22, [sp, #16]\n ldp x23, x24, [sp, #32]\n ldp x25, x26, [sp, #48]\n"
    "    ldp x27, x28, [sp, #64]\n ldp x29, x30, [sp, #80]\n"
    "    ldp d8, d9, [sp, #96]\n ldp d10, d11, [sp, #112]\n ldp d12, d13, [sp, #128]\n ldp d14, d15, [sp, #144]\n"
    "    add sp, sp, #160\n"
    "    ret\n");
enum { SAVED_WORDS = 20, RETURN_WORD = 11 };
#else
#error "no switch between stacks for this processor"
#endif

static const uint64_t END_OF_STACK = 0x5aa55aa5deadbeef;

static size_t stack_bytes(void) { return under_tsan() || __asan_init ? 512 << 10 : 64 << 10; }

struct fibre *fibre_new(void (*f)(void))
{
    struct fibre *fibre = (struct fibre *)calloc(1, sizeof *fibre);
    size_t bytes = stack_bytes();
    char *stack = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!fibre || stack == MAP_FAILED) {
        fprintf(stderr, "fake_cuda: no memory for another thread's stack\n");
        abort();
    }
    void **top = (void **)(stack + bytes) - SAVED_WORDS;
    top[RETURN_WORD] = (void *)f;
    fibre->at = top;
    fibre->stack = stack;
    *(uint64_t *)stack = END_OF_STACK;
    if (under_tsan())
        fibre->tsan = __tsan_create_fiber(0);
    return fibre;
}

struct fibre *fibre_of_caller(void)
{
    static struct fibre main;
    if (under_tsan())
        main.tsan = __tsan_get_current_fiber();
    return &main;
}

void fibre_switch(struct fibre *from, struct fibre *to)
{
    if (from->stack && *(uint64_t *)from->stack != END_OF_STACK) {
        fprintf(stderr, "fake_cuda: a thread of a kernel uses more than %zu bytes of stack\n", stack_bytes());
        abort();
    }
    if (under_tsan())
        __tsan_switch_to_fiber(to->tsan, 1); /* 1: a switch does not order memory accesses */
    fake_switch(&from->at, to->at);
}
