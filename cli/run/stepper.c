/* Runs a model one time step at a time (stepper.h), through a stream or a session. */
#include "cli/run/stepper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/console.h"
#include "cli/run/ranks.h"

/* ---- opening ---- */

static unroll_status open_stream(struct stepper *s, unroll_model *model, const unroll_stream_config *config)
{
    TRY(complain_library(unroll_stream_new(model, config, &s->stream)));
    s->width = unroll_stream_outputs(s->stream);
    return UNROLL_OK;
}

/* Finds the outputs: those of the head, or of the last layer. */
static void find_outputs(struct stepper *s, const unroll_model *model)
{
    snprintf(s->output, sizeof s->output, "z");
    if (unroll_session_count(s->session, s->output) == 0)
        snprintf(s->output, sizeof s->output, "y.l%d", unroll_model_layers(model) - 1);
    s->width = (int)unroll_session_count(s->session, s->output);
}

static unroll_status open_session(struct stepper *s, unroll_model *model, const struct settings *settings)
{
    unroll_session_config config = unroll_session_config_default();
    config.stateful = 1;
    config.raw = is_on(settings, OPTION_RAW);
    config.machine = machine_of(settings, &(struct ranks){0});
    TRY(complain_library(unroll_session_new(model, &config, &s->session)));
    find_outputs(s, model);
    return UNROLL_OK;
}

unroll_status stepper_open(struct stepper *s, unroll_model *model, const struct settings *settings)
{
    unroll_stream_config config = unroll_stream_config_default();
    const char *device = text_of(settings, OPTION_DEVICE);
    *s = (struct stepper){.width = 0};
    config.machine.isa = text_of(settings, OPTION_ISA);
    config.machine.dtype = text_of(settings, OPTION_DTYPE);
    config.raw = is_on(settings, OPTION_RAW);
    if (unroll_stream_bytes(model, &config) == 0) /* models that cannot be streamed are refused on all devices */
        return complain_library(UNROLL_UNSUPPORTED);
    if (device == NULL || strcmp(device, "cpu") == 0)
        return open_stream(s, model, &config);
    return open_session(s, model, settings);
}

void stepper_close(struct stepper *s)
{
    unroll_session_free(s->session);
    unroll_stream_free(s->stream);
    *s = (struct stepper){.width = 0};
}

/* ---- stepping ---- */

unroll_status stepper_step(struct stepper *s, const int32_t *tokens, const float *numbers, float *outputs)
{
    const unroll_batch batch = {.size = sizeof batch, .tokens = tokens, .inputs = numbers};
    if (s->stream)
        return unroll_stream_step(s->stream, tokens, numbers, outputs);
    TRY(unroll_session_forward(s->session, &batch));
    return unroll_session_read(s->session, s->output, outputs, (size_t)s->width);
}

unroll_status stepper_restart(struct stepper *s)
{
    if (s->stream)
        return complain_library(unroll_stream_reset(s->stream, -1));
    return complain(
        UNROLL_UNSUPPORTED,
        "several texts are supported on the CPU only; fix: leave --device out, or give one text without line ends");
}
