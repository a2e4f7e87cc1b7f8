/* The Open Inference Protocol, version 2: requests and answers in JSON with binary tensors, and Triton's parameters of
 * sequences. Everything here reads bytes of strangers; tests/fuzz/fuzz_inference.c feeds it. */
#ifndef SERVE_INFERENCE_H
#define SERVE_INFERENCE_H
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "extensions/serve/cli/buffer.h"

enum { INFER_NAME = 64, INFER_TENSORS = 64, INFER_RANK = 8, INFER_ERROR = 256, INFER_ID = 128 };

enum infer_type {
    INFER_BOOL,
    INFER_INT8,
    INFER_UINT8,
    INFER_INT16,
    INFER_UINT16,
    INFER_INT32,
    INFER_UINT32,
    INFER_INT64,
    INFER_UINT64,
    INFER_FP32,
    INFER_FP64,
    INFER_BYTES,
    INFER_TYPES
};

struct infer_tensor {
    char name[INFER_NAME];
    enum infer_type type;
    int rank;
    size_t shape[INFER_RANK], count; /* elements */
    const unsigned char *raw;        /* [bytes] little-endian; NULL: `data` */
    size_t bytes;
    json_t *data; /* of the request */
};

struct infer_output {
    char name[INFER_NAME];
    bool binary;
};

struct infer {
    json_t *root;
    char id[INFER_ID];
    int inputs, outputs;
    struct infer_tensor input[INFER_TENSORS];
    struct infer_output output[INFER_TENSORS]; /* that are wanted; none: all */
    bool binary;                               /* of all, where no output is named */
    bool has_sequence, start, end;
    char sequence[INFER_NAME]; /* a number as text, too */
    int priority;              /* 0 .. 3 */
    double timeout;            /* microseconds; 0: not given */
    uint32_t number;           /* sequence_step; 0: not given */
    json_t *parameters;        /* NULL: none */
};

/* Reads a request of `bytes` bytes, of which the first `header` (0: all) are JSON. false: error says why. Free it in
 * either case. The body must stay. */
bool infer_parse(const char *body, size_t bytes, size_t header, struct infer *, char error[INFER_ERROR]);
void infer_free(struct infer *);
const struct infer_tensor *infer_input(const struct infer *, const char *name);
/* Is this output wanted, and how? */
bool infer_wants(const struct infer *, const char *name, bool *binary);

/* All elements as numbers; false: they are texts or not finite. */
bool infer_floats(const struct infer_tensor *, float *to, char error[INFER_ERROR]);
bool infer_integers(const struct infer_tensor *, int32_t *to, char error[INFER_ERROR]);
/* Calls take with each element: a text, or of numbers NULL and the number (NAN: null). It ends where that is false. */
bool infer_each(const struct infer_tensor *, bool (*take)(void *arg, const char *text, size_t bytes, double number),
                void *arg, char error[INFER_ERROR]);

/* An answer. Begin, add each output, end; binary data follow the JSON in the order of the outputs. */
struct infer_answer {
    struct buffer json, data;
};

void infer_begin(struct infer_answer *, const char *model, int version, const char *id);
void infer_add_floats(struct infer_answer *, const char *name, bool binary, const size_t *shape, int rank,
                      const float *values);
/* BYTES of shape [count]; the texts follow each other, each with a zero at its end. */
void infer_add_texts(struct infer_answer *, const char *name, bool binary, const char *texts, size_t count);
/* Completes a->json, the whole body; *header as for peer_respond. false: no memory. */
bool infer_end(struct infer_answer *, size_t *header);
void infer_answer_free(struct infer_answer *);

/* A whole number of a request in its range; NULL leaves *value as it is. false: it is no such number. */
bool infer_integer(const json_t *, int64_t min, int64_t max, int64_t *value);

/* A message of a WebSocket: { u32 id; u32 deadline in microseconds, 0: the server's } and records { u64 session;
 * u32 flags; u32 number of the step, 0: not counted; i32 tokens[..]; f32 inputs[..] }, little-endian. Answers have {
 * u32 id; u32 microseconds } and records { u64 session; u32 status; u32 zero; f32 outputs[..] } in the order of the
 * request. */
enum frame_flag { FRAME_START = 1, FRAME_END = 2 };
enum frame_status { FRAME_OK, FRAME_UNKNOWN, FRAME_DUPLICATE, FRAME_INVALID, FRAME_FULL, FRAME_LATE, FRAME_ORDER };
enum { FRAME_HEAD = 8, FRAME_RECORD = 16 };

struct frame {
    uint64_t session;
    uint32_t flags, number;
    const uint8_t *values; /* tokens, then inputs */
};

/* Records in a message whose values have `bytes` bytes each; -1: its length is wrong. */
long frames_count(size_t count, size_t bytes);
struct frame frame_at(const uint8_t *message, size_t index, size_t bytes);

/* The state of a session after a step, for a second server: { u64 fingerprint of the model; u32 number of the step;
 * u8 flags; u8 bytes of the key; u16 zero; u32 bytes of the state; key; state }, little-endian. */
enum { RECORD_HEAD = 20 };

struct record {
    uint64_t fingerprint;
    uint32_t number, flags;
    char key[INFER_NAME];
    const uint8_t *state;
    size_t bytes;
};

/* Reads a record at the start of `count` bytes, and returns its length; 0: it is no record. */
size_t record_at(const uint8_t *, size_t count, struct record *);

#endif
