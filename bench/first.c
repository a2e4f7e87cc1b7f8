/* Prints the microseconds of CPU time that creating a stream takes, the least and the median: first MODEL */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "unroll.h"
#include "unroll_stream.h"

enum { COUNT = 2000 };

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    const double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv)
{
    static double taken[COUNT];
    unroll_model *model;
    unroll_stream *stream;
    const unroll_stream_config config = unroll_stream_config_default();
    if (argc != 2)
        return 2;
    bool good = unroll_model_load(argv[1], &model) == UNROLL_OK;
    const size_t bytes = good ? unroll_stream_bytes(model, &config) : 0;
    void *memory = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    for (int i = 0; memory && good && i < COUNT; i++) {
        const double begin = microseconds();
        good = unroll_stream_init(memory, bytes, model, &config, &stream) == UNROLL_OK;
        taken[i] = microseconds() - begin;
    }
    if (!memory || !good) {
        fprintf(stderr, "first: %s\n", unroll_last_error());
        return 1;
    }
    qsort(taken, COUNT, sizeof *taken, compare);
    printf("%.1f %.1f\n", taken[0], taken[COUNT / 2]);
    free(memory);
    unroll_model_free(model);
    return 0;
}
