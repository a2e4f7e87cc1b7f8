/* Runs a test program on a thread with a stack of 256 KB, which unroll.h documents as sufficient for any call. Debug
 * builds, which keep registers' contents in memory, get more. */
#ifndef TESTS_SMALL_STACK_H
#define TESTS_SMALL_STACK_H
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef UNROLL_DEBUG
enum { SMALL_STACK = 16 << 20 };
#else
enum { SMALL_STACK = 256 << 10 };
#endif

struct small_stack {
    int (*run)(int count, char **words);
    int count;
    char **words;
    int result;
};

static void *run_on_small_stack_(void *argument)
{
    struct small_stack *s = argument;
    s->result = s->run(s->count, s->words);
    return NULL;
}

static inline int on_small_stack(int (*run)(int count, char **words), int count, char **words)
{
    struct small_stack s = {run, count, words, 1};
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, SMALL_STACK) != 0 ||
        pthread_create(&thread, &attributes, run_on_small_stack_, &s) != 0) {
        fprintf(stderr, "cannot start a thread with %d bytes of stack\n", (int)SMALL_STACK);
        exit(1);
    }
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return s.result;
}

#endif
