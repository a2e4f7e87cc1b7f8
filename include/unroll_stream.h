/* unroll_stream.h: models in real time, one step at a time, for one sequence, a few or many.
 *
 *     unroll_model *model;
 *     unroll_stream *stream;
 *     unroll_stream_config config = unroll_stream_config_default();
 *     float frame[40] = { 0 }, output[8];                      // the widths of the model's input and output
 *     if (unroll_model_load("model.safetensors", &model) != UNROLL_OK ||
 *         unroll_stream_new(model, &config, &stream) != UNROLL_OK ||
 *         unroll_stream_step(stream, NULL, frame, output) != UNROLL_OK)      // one time step, in the units of the data
 *         return fprintf(stderr, "%s\n", unroll_last_error()), 1;
 *     printf("%.4f %.4f\n", output[0], output[7]);
 *     unroll_stream_free(stream);
 *     unroll_model_free(model);
 */
#ifndef UNROLL_STREAM_H
#define UNROLL_STREAM_H
#include "unroll.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- features of sounds ---------------------------------------------------------------- */

/* Features of a sound, such as "log-mel:40,25ms,10ms" (docs/howto/audio.md), computed hop by hop: frame t ends at
 * sample (t + 1) hop, with zeros before the sound. A push has the bits of the data set that a reader makes of the whole
 * sound. They use only the caller's memory and have no pointer into it, except to constants of the library. */
typedef struct unroll_features unroll_features;

/* Returns the number of bytes that features need, or 0 if they are invalid (see unroll_last_error). rate: samples of
 * each channel per second. */
UNROLL_API size_t unroll_features_bytes(const char *features, int rate, int channels);
/* Makes features in the caller's memory, aligned to 64 bytes, at the beginning of a sound. */
UNROLL_API unroll_status unroll_features_init(void *memory, size_t bytes, const char *features, int rate, int channels,
                                              unroll_features **made);
UNROLL_API int unroll_features_hop(const unroll_features *features);   /* samples of each channel for a step */
UNROLL_API int unroll_features_width(const unroll_features *features); /* values of a step */
/* Computes one step [width] from the next samples [hop, channels], usually from -1 to 1. If a sample is not finite, it
 * returns an error and changes nothing. */
UNROLL_API unroll_status unroll_features_push(unroll_features *features, const float *samples, float *step);

/* ---- streams: rows that step together ---------------------------------------------------- */

/* A stream runs a unidirectional model step by step: a step computes on the caller's thread and makes no allocation,
 * lock, system call or page fault (docs/howto/realtime.md). Its outputs have the bits of unroll_session_forward over
 * the whole sequence, in a session with weights of the same dtype. Start from unroll_stream_config_default(). */
typedef struct unroll_stream_weights unroll_stream_weights;

typedef struct unroll_stream_config {
    size_t size;                          /* sizeof(unroll_stream_config) */
    int rows;                             /* B: independent sequences that step together */
    unroll_machine machine;               /* only isa and dtype are used */
    const unroll_stream_weights *weights; /* shared with other streams; NULL: packed inside the stream */
    int raw;                              /* as in unroll_run_config, like series */
    const char *series;
    const unroll_allocator *allocator; /* for unroll_stream_new; NULL: the C library's */
} unroll_stream_config;

UNROLL_DEFAULT(unroll_stream_config) /* 1 row, fp32, weights of its own, data units */

typedef struct unroll_stream unroll_stream;

/* Makes a stream with zero states. The model may be freed afterwards, shared weights must stay. A stream uses the
 * weights in the model's own memory (unroll_session_pull copies trained weights there). */
UNROLL_API unroll_status unroll_stream_new(const unroll_model *model, const unroll_stream_config *config,
                                           unroll_stream **stream);
/* Frees a stream of unroll_stream_new, with the allocator that made it. */
UNROLL_API void unroll_stream_free(unroll_stream *stream);

/* Returns the number of bytes a stream needs, or 0 if the configuration is invalid (see unroll_last_error). */
UNROLL_API size_t unroll_stream_bytes(const unroll_model *model, const unroll_stream_config *config);
/* Makes a stream like unroll_stream_new in the caller's memory, which is all that it uses; the caller frees that
 * memory. It must be aligned as by malloc, best to 64 bytes. A stream has no pointer into itself: memcpy of its bytes
 * makes an independent copy. */
UNROLL_API unroll_status unroll_stream_init(void *memory, size_t bytes, const unroll_model *model,
                                            const unroll_stream_config *config, unroll_stream **stream);

/* Packed weights for any number of streams on any threads, which only read them. rows and weights of the configuration
 * are ignored; raw and series must be those of the streams. */
UNROLL_API size_t unroll_stream_weights_bytes(const unroll_model *model, const unroll_stream_config *config);
UNROLL_API unroll_status unroll_stream_weights_init(void *memory, size_t bytes, const unroll_model *model,
                                                    const unroll_stream_config *config,
                                                    unroll_stream_weights **weights);

/* Computes one step: tokens [B, token columns], inputs [B, numbers], NULL if the model has none; outputs [B, output],
 * for a model without head [B, width of h], for a model with a pool those of the sequences so far. If an input is not
 * finite, it returns an error and changes nothing. */
UNROLL_API unroll_status unroll_stream_step(unroll_stream *stream, const int32_t *tokens, const float *inputs,
                                            float *outputs);
/* Computes many steps: the arrays of a step with a leading axis of steps. After an error the stream is in the state
 * before the step that failed. */
UNROLL_API unroll_status unroll_stream_run(unroll_stream *stream, int steps, const int32_t *tokens, const float *inputs,
                                           float *outputs);

/* Copies the output of an inner layer in the last step, [B, width], if it is marked as an output (unroll_layer). */
UNROLL_API unroll_status unroll_stream_read(const unroll_stream *stream, int layer, float *to);
/* Resets the states of a row to zero; row -1: of all rows. */
UNROLL_API unroll_status unroll_stream_reset(unroll_stream *stream, int row);

/* Save and load the states as bytes with a header, the same on every ISA. Load checks the header, a checksum and the
 * values before anything changes; the stream must have the same cell, layers, widths and rows. */
UNROLL_API size_t unroll_stream_state_bytes(const unroll_stream *stream);
UNROLL_API unroll_status unroll_stream_save(const unroll_stream *stream, void *state, size_t bytes);
UNROLL_API unroll_status unroll_stream_load(unroll_stream *stream, const void *state, size_t bytes);

UNROLL_API int unroll_stream_inputs(const unroll_stream *stream);  /* numbers per row; without numbers: its tokens */
UNROLL_API int unroll_stream_tokens(const unroll_stream *stream);  /* token columns per row, 0 or more */
UNROLL_API int unroll_stream_outputs(const unroll_stream *stream); /* outputs per row */
UNROLL_API const char *unroll_stream_isa(const unroll_stream *stream);

/* ---- pools: many independent sequences, any of which step together ---------------------- */

/* A pool holds the states of N sequences in slots, and steps any of them in one call, so that the weights are read once
 * for all. A step computes on the caller's thread and makes no allocation, lock, system call or page fault. The outputs
 * and states of a slot have the bits of a stream of one row, whichever slots step with it. Start from
 * unroll_stream_pool_config_default(). */
typedef struct unroll_stream_pool_config {
    size_t size;                          /* sizeof(unroll_stream_pool_config) */
    int slots;                            /* N: 1 .. 16777216 */
    unroll_machine machine;               /* only isa and dtype are used */
    const unroll_stream_weights *weights; /* shared with other pools and streams; NULL: packed inside the pool */
    int raw;                              /* as in unroll_run_config, like series */
    const char *series;
} unroll_stream_pool_config;

UNROLL_DEFAULT(unroll_stream_pool_config) /* 1 slot, fp32, weights of its own */

typedef struct unroll_stream_pool unroll_stream_pool;

/* Returns the number of bytes a pool needs, or 0 if the configuration is invalid (see unroll_last_error). */
UNROLL_API size_t unroll_stream_pool_bytes(const unroll_model *model, const unroll_stream_pool_config *config);
/* Makes a pool whose states are zero in the caller's memory, under the conditions of unroll_stream_init. */
UNROLL_API unroll_status unroll_stream_pool_init(void *memory, size_t bytes, const unroll_model *model,
                                                 const unroll_stream_pool_config *config, unroll_stream_pool **pool);

/* Computes one step of n slots, each at most once: slots [n], tokens [n, token columns] and inputs [n, numbers], NULL
 * if the model has none; outputs [n, output]. If a slot or an input is invalid, it returns an error and changes
 * nothing. */
UNROLL_API unroll_status unroll_stream_pool_step(unroll_stream_pool *pool, int n, const int32_t *slots,
                                                 const int32_t *tokens, const float *inputs, float *outputs);

/* Resets the states of a slot to zero; slot -1: of all slots. */
UNROLL_API unroll_status unroll_stream_pool_reset(unroll_stream_pool *pool, int slot);
/* Moves the states of a slot to another slot, and resets the first to zero. */
UNROLL_API unroll_status unroll_stream_pool_move(unroll_stream_pool *pool, int from, int to);

/* Save and load the states of a slot, in the bytes of a saved stream of one row, for streams and pools of the same
 * model. Load checks them as unroll_stream_load does before anything changes. */
UNROLL_API size_t unroll_stream_pool_state_bytes(const unroll_stream_pool *pool);
UNROLL_API unroll_status unroll_stream_pool_save(const unroll_stream_pool *pool, int slot, void *state, size_t bytes);
UNROLL_API unroll_status unroll_stream_pool_load(unroll_stream_pool *pool, int slot, const void *state, size_t bytes);

UNROLL_API int unroll_stream_pool_slots(const unroll_stream_pool *pool);
UNROLL_API int unroll_stream_pool_inputs(const unroll_stream_pool *pool);  /* numbers per slot, 0 or more */
UNROLL_API int unroll_stream_pool_tokens(const unroll_stream_pool *pool);  /* token columns per slot, 0 or more */
UNROLL_API int unroll_stream_pool_outputs(const unroll_stream_pool *pool); /* outputs per slot */
UNROLL_API const char *unroll_stream_pool_isa(const unroll_stream_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
