/* A model one time step at a time (stepper.h): opens a stream or a session, and hides from `unroll stream` which of
 * the two it is. */
#include "stepper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "ranks.h"

/* ---- opening ---- */

static unroll_status open_stream(struct stepper *s, unroll_model *model, const unroll_stream_config *config,
                                 size_t bytes)
{
    s->memory = aligned_alloc(64, bytes);
    if (s->memory == NULL)
        return complain(UNROLL_RESOURCE, "no memory for a stream of the model");
    TRY(complain_library(unroll_stream_init(s->memory, bytes, model, config, &s->stream)));
    s->width = unroll_stream_outputs(s->stream);
    return UNROLL_OK;
}

/* The outputs are those of the head, or of the last layer. */
static void find_outputs(struct stepper *s, const unroll_model *model)
{
    snprintf(s->output, sizeof s->output, "z");
    if (unroll_count(s->session, s->output) == 0)
        snprintf(s->output, sizeof s->output, "y.l%d", unroll_model_layers(model) - 1);
    s->width = (int)unroll_count(s->session, s->output);
}

static unroll_status open_session(struct stepper *s, unroll_model *model, const struct settings *settings)
{
    unroll_session_config config = unroll_session_default();
    config.stateful = 1;
    config.machine = machine_of(settings, &(struct ranks){0});
    TRY(complain_library(unroll_session_new(model, &config, &s->session)));
    find_outputs(s, model);
    return UNROLL_OK;
}

unroll_status stepper_open(struct stepper *s, unroll_model *model, const struct settings *settings)
{
    unroll_stream_config config = unroll_stream_default();
    const char *device = text_of(settings, OPTION_DEVICE);
    *s = (struct stepper){.width = 0};
    config.machine.isa = text_of(settings, OPTION_ISA);
    config.machine.dtype = text_of(settings, OPTION_DTYPE);
    size_t bytes = unroll_stream_bytes(model, &config); /* what no stream can be is none on a device either */
    if (bytes == 0)
        return complain_library(UNROLL_UNSUPPORTED);
    if (device == NULL || strcmp(device, "cpu") == 0)
        return open_stream(s, model, &config, bytes);
    return open_session(s, model, settings);
}

void stepper_close(struct stepper *s)
{
    unroll_session_free(s->session);
    free(s->memory);
    *s = (struct stepper){.width = 0};
}

/* ---- stepping ---- */

unroll_status stepper_step(struct stepper *s, const int32_t *tokens, const float *numbers, float *outputs)
{
    const unroll_batch batch = {.size = sizeof batch, .tokens = tokens, .inputs = numbers};
    if (s->stream)
        return unroll_stream_step_mixed(s->stream, tokens, numbers, outputs);
    TRY(unroll_forward(s->session, &batch));
    return unroll_read(s->session, s->output, outputs, (size_t)s->width);
}

unroll_status stepper_restart(struct stepper *s)
{
    if (s->stream)
        return complain_library(unroll_stream_reset(s->stream, -1));
    return complain(UNROLL_UNSUPPORTED, "texts begin anew on the processor alone; fix: leave --device out, or give one "
                                        "text without line ends");
}
