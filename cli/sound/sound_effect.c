#include "cli/sound/sound_effect.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/try.h"
#include "cli/run/frames.h"
#include "cli/run/stepper.h"
#include "cli/show/console.h"
#include "cli/show/output.h"

enum { HEADER = 58, RATE_AT = 24, BLOCK = 64, OPEN = -1 };

/* Returns the model's schema of a task as a new object; NULL: none. */
static json_t *task_of(const unroll_model *model)
{
    const char *text = unroll_model_schema(model);
    json_t *schema = text ? json_loads(text, 0, NULL) : NULL, *task = json_incref(json_object_get(schema, "task"));
    json_decref(schema);
    return task;
}

bool is_effect(const unroll_model *model)
{
    json_t *task = task_of(model);
    const char *name = json_string_value(json_object_get(task, "name"));
    const bool is = name && strcmp(name, "effect") == 0;
    json_decref(task);
    return is;
}

/* ---- the output ---- */

/* Writes a number and returns the place after it. */
static char *put(char *to, uint64_t number, size_t bytes)
{
    put_number(to, number, bytes);
    return to + bytes;
}

/* Makes the header of one channel of 32-bit floats; samples OPEN: unknown. */
static void make_header(char header[HEADER], int rate, int64_t samples)
{
    const uint32_t bytes = samples == OPEN ? UINT32_MAX : (uint32_t)(4 * samples);
    char *at = stpcpy(header, "RIFF");
    at = put(at, samples == OPEN ? UINT32_MAX : bytes + HEADER - 8, 4);
    at = put(stpcpy(at, "WAVEfmt "), 18, 4);
    at = put(put(at, 3, 2), 1, 2); /* floats, one channel */
    at = put(put(at, (uint64_t)rate, 4), 4 * (uint64_t)rate, 4);
    at = put(put(put(at, 4, 2), 32, 2), 0, 2);
    memcpy(at, "fact", 4);
    at = put(put(at + 4, 4, 4), samples == OPEN ? UINT32_MAX : (uint32_t)samples, 4);
    memcpy(at, "data", 4);
    put(at + 4, bytes, 4);
}

/* ---- the sound ---- */

/* Checks that the sound has the form that the model reads. */
static unroll_status check_sound(const unroll_model *model, const struct stepper *stepper, const struct frames *frames)
{
    json_t *task = task_of(model);
    const json_int_t rate = json_integer_value(json_object_get(task, "sample_rate"));
    json_decref(task);
    if (stepper->width != 1)
        return complain(UNROLL_USAGE,
                        "the model has %d outputs, and a sound of one channel is written; fix: use a model of the task "
                        "effect",
                        stepper->width);
    if (frames->wav.channels != 1)
        return complain(UNROLL_DATA,
                        "the sound has %d channels, and the model reads one; fix: mix them, for example with 'sox "
                        "IN.wav -c 1 OUT.wav'",
                        frames->wav.channels);
    if (rate && frames->wav.rate != rate)
        return complain(UNROLL_DATA,
                        "the sound has %d samples a second, and the model was trained with %lld; fix: convert it, for "
                        "example with 'sox IN.wav -r %lld OUT.wav'",
                        frames->wav.rate, (long long)rate, (long long)rate);
    return UNROLL_OK;
}

/* Opens the frames: a sample each. */
static unroll_status open_frames(const unroll_model *model, FILE *from, struct frames *frames)
{
    unroll_network network = {.size = sizeof network};
    unroll_model_network(model, &network);
    if (network.tokens || network.input != 1)
        return complain(UNROLL_USAGE, "the model does not read one number a step, as a sound of one channel has; fix: "
                                      "use a model of the task effect");
    const unroll_status status = frames_open_sound(frames, from, 1);
    return status == UNROLL_OK ? UNROLL_OK : complain(status, "%s", frames->error);
}

static unroll_status run_frames(struct stepper *stepper, struct frames *frames, FILE *to, bool live,
                                const volatile sig_atomic_t *stopped)
{
    float x, y;
    bool more = true;
    for (int64_t t = 0; !(stopped && *stopped); t++) {
        const unroll_status status = frames_next(frames, &x, &more);
        if (status != UNROLL_OK)
            return complain(status, "%s", frames->error);
        if (!more)
            break;
        TRY(complain_library(stepper_step(stepper, NULL, &x, &y)));
        if (fwrite(&y, sizeof y, 1, to) != 1 || (live && t % BLOCK == BLOCK - 1 && fflush(to) != 0))
            return stopped && *stopped ? UNROLL_OK
                                       : complain(UNROLL_RESOURCE,
                                                  "cannot write the sound: %s; fix: give "
                                                  "it a reader or a disk with room",
                                                  strerror(errno));
    }
    return UNROLL_OK;
}

unroll_status sound_effect_run(unroll_model *model, const struct settings *settings, FILE *from, FILE *to, bool live,
                               const volatile sig_atomic_t *stopped)
{
    struct frames frames = {0};
    struct stepper stepper = {0};
    char header[HEADER];
    unroll_status status = open_frames(model, from, &frames);
    if (status == UNROLL_OK)
        status = stepper_open(&stepper, model, settings);
    if (status == UNROLL_OK)
        status = check_sound(model, &stepper, &frames);
    if (status == UNROLL_OK) {
        make_header(header, frames.wav.rate, OPEN);
        fwrite(header, 1, HEADER, to);
        status = run_frames(&stepper, &frames, to, live, stopped);
    }
    stepper_close(&stepper);
    frames_close(&frames);
    return status;
}

unroll_status sound_effect_file(unroll_model *model, const struct settings *settings, const char *source,
                                const char *target)
{
    char *bytes = NULL, header[HEADER];
    size_t size = 0;
    FILE *from = strcmp(source, "-") == 0 ? stdin : fopen(source, "rb"), *to;
    if (from == NULL)
        return complain(UNROLL_DATA, "cannot open '%s': %s; fix: give a wav file", source, strerror(errno));
    to = open_memstream(&bytes, &size);
    unroll_status status = to ? sound_effect_run(model, settings, from, to, false, NULL)
                              : complain(UNROLL_RESOURCE, "no memory for a sound; fix: give a shorter one");
    if (from != stdin)
        fclose(from);
    if (to && fclose(to) != 0 && status == UNROLL_OK)
        status = complain(UNROLL_RESOURCE, "no memory for a sound; fix: give a shorter one");
    if (status == UNROLL_OK) {
        make_header(header, (int)get_number(bytes + RATE_AT, 4), (int64_t)(size - HEADER) / 4);
        memcpy(bytes, header, HEADER);
        status = replace_file(target, bytes, size);
    }
    free(bytes);
    if (status == UNROLL_OK)
        say("saved %s", target);
    return status;
}
