/* A network as an audio effect: the host's preparation, the callback of its audio thread, and switching to another
 * network while the sound continues. The audio thread does not allocate, lock or wait.
 *     callback [MODEL]    MODEL: one number in, one out, as train_tiny saves; without it: an untrained one
 * The host in this example is a thread that requests blocks of samples; a real one is JACK, ALSA or a plug-in. */
#define _POSIX_C_SOURCE 200809L         /* nanosleep */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unroll_network.h>
#include <unroll_stream.h>

enum { BLOCK = 64, BLOCKS = 150, RATE = 48000, DAMAGED = 70 };

/* `next` is passed from the main thread to the audio thread, `retired` is passed back; `playing` belongs to the audio
 * thread. */
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
        unroll_model_config spec = unroll_model_config_default();
        spec.hidden = hidden;
        spec.input = spec.output = 1;
        check(unroll_model_new(&spec, 1, &model));
    }
    return model;
}

/* All operations that need memory or time are done here: weights are packed, and a step loads code and stack. */
static unroll_stream *prepare(unroll_model *model)
{
    unroll_stream_config config = unroll_stream_config_default();    /* numbers as in the training data; config.raw = 1: scaled */
    unroll_stream *stream;
    float in = 0, out;

    check(unroll_stream_new(model, &config, &stream));
    unroll_model_free(model);
    if (unroll_stream_inputs(stream) != 1 || unroll_stream_outputs(stream) != 1) {
        fprintf(stderr, "callback: this program is for models of one number in and one out\n");
        exit(UNROLL_USAGE);
    }
    check(unroll_stream_step(stream, NULL, &in, &out));
    check(unroll_stream_reset(stream, -1));
    return stream;
}

/* ---- the audio thread ---- */

/* The callback of the host for each block. An invalid block (NaN) results in silence. */
static void process(struct effect *e, const float *in, float *out, int samples)
{
    unroll_stream *next = atomic_exchange(&e->next, NULL);

    if (next) {
        atomic_store(&e->retired, e->playing);          /* the main thread frees it */
        e->playing = next;
        atomic_fetch_add(&e->changes, 1);
    }
    if (unroll_stream_run(e->playing, samples, NULL, in, out) != UNROLL_OK) {
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
    atomic_store(&e.next, prepare(open_model(NULL, 24)));     /* another network while the first one is playing */
    while (!(retired = atomic_exchange(&e.retired, NULL)))
        nanosleep(&moment, NULL);
    unroll_stream_free(retired);
    pthread_join(thread, NULL);
    unroll_stream_free(e.playing);
    printf("%d blocks played, %d refused, %d change of network\n", atomic_load(&e.blocks),
           atomic_load(&e.refused), atomic_load(&e.changes));
    return 0;
}
