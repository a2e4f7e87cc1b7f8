/* Fuzz target: saved states of a stream. Refused states change nothing, accepted ones are saved again unchanged. For
 * libFuzzer, or for driver.c without it. The seed is a state of this stream. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/state 20000 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unroll.h"
#include "unroll_network.h"
#include "unroll_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 2 };

static unroll_stream *new_stream(void)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_stream_config config = unroll_stream_config_default();
    unroll_model *model;
    unroll_stream *stream;
    spec.layers = 2;
    spec.hidden = 3;
    spec.input = 1;
    config.rows = ROWS;
    if (unroll_model_new(&spec, 1, &model) != UNROLL_OK)
        abort();
    size_t bytes = unroll_stream_bytes(model, &config);
    void *memory = aligned_alloc(64, bytes);
    if (memory == NULL || unroll_stream_init(memory, bytes, model, &config, &stream) != UNROLL_OK)
        abort();
    unroll_model_free(model);
    return stream;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unroll_stream *stream;
    static const float inputs[ROWS] = {0.5f, -2};
    float outputs[ROWS * 3];
    uint8_t before[1024], after[1024];
    if (stream == NULL)
        stream = new_stream();
    size_t bytes = unroll_stream_state_bytes(stream);
    if (bytes > sizeof before || unroll_stream_step(stream, NULL, inputs, outputs) != UNROLL_OK ||
        unroll_stream_save(stream, before, bytes) != UNROLL_OK)
        abort();
    bool taken = unroll_stream_load(stream, data, size) == UNROLL_OK;
    if (unroll_stream_save(stream, after, bytes) != UNROLL_OK)
        abort();
    if (taken ? size != bytes || memcmp(after, data, bytes) != 0 : memcmp(after, before, bytes) != 0)
        abort();
    if (!taken && unroll_last_error()[0] == '\0')
        abort(); /* refused without a message */
    return 0;
}
