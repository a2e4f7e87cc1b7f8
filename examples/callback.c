/* A network as a sound effect: what a host prepares, what its audio thread calls, and how another network
 * takes over while the sound goes on. The audio thread allocates nothing, locks nothing and waits for nobody.
 *     callback [MODEL]    MODEL: one number in, one out, as train_tiny saves; without it: an untrained one
 * The host here is a thread that asks for a block of samples at a time; a real one is JACK,
 * ALSA or a plug-in. */
#define _POSIX_C_SOURCE 200809L         /* nanosleep */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unroll.h>

enum { BLOCK = 64, BLOCKS = 150, RATE = 48000, DAMAGED = 70 };

/* `next` goes from the main thread to the audio thread, `retired` comes back;
 * `playing` is the audio thread's. */
struct effect {
    unroll_stream *playing;
    _Atomic(unroll_stream *) next, retired;
    atomic_int blocks, refused, changes;
};

/* ---- the main thread ---- */

static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "callback: %s\n", unroll_last_error());
    exit(status);
}

static unroll_model *open_model(const char *path, int hidden)
{
    unroll_model *model;

    if (path) {
        check(unroll_model_load(path, &model));
    } else {
        unroll_spec spec = unroll_spec_default();
        spec.hidden = hidden;
        spec.input = spec.output = 1;
        check(unroll_model_new(&spec, 1, &model));
    }
    return model;
}

/* All that takes memory or time happens here: weights are packed, and a step touches code and stack. */
static unroll_stream *prepare(unroll_model *model)
{
    unroll_stream_config config = unroll_stream_default();
    size_t bytes = unroll_stream_bytes(model, &config);
    void *memory = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    unroll_stream *stream;
    float in = 0, out;

    if (!memory) {
        fprintf(stderr, "callback: %s\n", bytes ? "no memory" : unroll_last_error());
        exit(UNROLL_RESOURCE);
    }
    check(unroll_stream_init(memory, bytes, model, &config, &stream));
    unroll_model_free(model);
    if (unroll_stream_inputs(stream) != 1 || unroll_stream_outputs(stream) != 1) {
        fprintf(stderr, "callback: this program is for models of one number in and one out\n");
        exit(UNROLL_USAGE);
    }
    check(unroll_stream_step(stream, &in, &out));
    check(unroll_stream_reset(stream, -1));
    return stream;
}

/* ---- the audio thread ---- */

/* What a host calls for each block. A block that is no sound (NaN) is answered with silence. */
static void process(struct effect *e, const float *in, float *out, int samples)
{
    unroll_stream *next = atomic_exchange(&e->next, NULL);

    if (next) {
        atomic_store(&e->retired, e->playing);          /* the main thread frees it */
        e->playing = next;
        atomic_fetch_add(&e->changes, 1);
    }
    if (unroll_stream_run(e->playing, samples, in, out) != UNROLL_OK) {
        memset(out, 0, (size_t)samples * sizeof *out);
        unroll_stream_reset(e->playing, -1);
        atomic_fetch_add(&e->refused, 1);
    }
    atomic_fetch_add(&e->blocks, 1);
}

static void *host(void *arg)
{
    struct timespec block = { 0, 1000000000L / RATE * BLOCK };
    float in[BLOCK], out[BLOCK];

    for (int b = 0; b < BLOCKS; b++) {
        for (int i = 0; i < BLOCK; i++)
            in[i] = (float)(0.5 * sin(0.05 * (b * BLOCK + i)));
        if (b == DAMAGED)
            in[10] = NAN;
        process(arg, in, out, BLOCK);
        nanosleep(&block, NULL);                        /* the sound card's clock */
    }
    return NULL;
}

int main(int count, char *words[])
{
    struct effect e = { .playing = prepare(open_model(count > 1 ? words[1] : NULL, 16)) };
    struct timespec moment = { 0, 1000000 };
    unroll_stream *retired;
    pthread_t thread;

    if (pthread_create(&thread, NULL, host, &e) != 0)
        return UNROLL_RESOURCE;
    while (atomic_load(&e.blocks) < BLOCKS / 3)
        nanosleep(&moment, NULL);
    atomic_store(&e.next, prepare(open_model(NULL, 24)));     /* another network, while the first one plays */
    while (!(retired = atomic_exchange(&e.retired, NULL)))
        nanosleep(&moment, NULL);
    free(retired);
    pthread_join(thread, NULL);
    free(e.playing);
    printf("%d blocks played, %d refused, %d change of network\n", atomic_load(&e.blocks),
           atomic_load(&e.refused), atomic_load(&e.changes));
    return 0;
}
