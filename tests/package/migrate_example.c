/* A program written for 0.1 (tests/package/test_migrate.sh). */
#include <stdio.h>
#include <stdlib.h>
#include "unroll.h"
#include "unroll_stream.h"
#include "unroll_network.h"

static void must(unroll_status status)
{
    if (status != UNROLL_OK)
        fprintf(stderr, "%s\n", unroll_last_error()), exit(1);
}

int main(void)
{
    unroll_model *model;
    unroll_stream *stream;
    unroll_model_config spec = unroll_model_config_default();
    unroll_stream_config config = unroll_stream_config_default();
    int32_t token = 1;
    float output[2], last[2];
    spec.tokens = 1, spec.input = 3, spec.hidden = 4, spec.output = 2;
    must(unroll_model_new(&spec, 1, &model));
    size_t bytes = unroll_stream_bytes(model, &config);
    must(unroll_stream_init(malloc(bytes), bytes, model, &config, &stream));
    must(unroll_stream_step(stream, (token, &token), NULL, output)); /* unroll_stream_step is for floats */
    must(unroll_stream_run(stream, 1, &token, NULL, last));
    must(unroll_stream_step(stream, &token, NULL, last));
    printf("%d %d\n", output[0] != last[0], unroll_model_can_sample(model));
    unroll_model_free(model);
    return 0;
}
