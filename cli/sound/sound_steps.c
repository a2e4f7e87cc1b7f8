#include "cli/sound/sound_steps.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/try.h"
#include "cli/show/console.h"

/* Finds the value of an option in "key=value,key=value"; the last one counts. */
static bool find_value(const char *options, const char *key, char value[SOUND_TEXT])
{
    bool found = false;
    for (const char *at = options; *at; at += strcspn(at, ","), at += *at == ',') {
        const size_t length = strlen(key), all = strcspn(at, ",");
        if (all > length && all - length < SOUND_TEXT && !strncmp(at, key, length) && at[length] == '=') {
            snprintf(value, SOUND_TEXT, "%.*s", (int)(all - length - 1), at + length + 1);
            found = true;
        }
    }
    return found;
}

void sound_steps_find(const unroll_model *model, struct sound_steps *s)
{
    const char *text = unroll_model_schema(model);
    json_t *schema = text ? json_loads(text, 0, NULL) : NULL;
    const json_t *data = json_object_get(schema, "data");
    const char *reader = json_string_value(json_object_get(data, "reader"));
    const char *options = json_string_value(json_object_get(data, "options"));
    char rate[SOUND_TEXT], how[SOUND_TEXT] = "mix";
    int64_t number = 0;
    *s = (struct sound_steps){0};
    const bool is_sound = reader && options && strcmp(reader, "audio") == 0 &&
                          find_value(options, "features", s->features) && find_value(options, "sample-rate", rate) &&
                          number_whole_integer(rate, 1, 768000, &number) == NUMBER_OK;
    if (is_sound)
        find_value(options, "channels", how);
    else
        *s->features = '\0';
    s->rate = (int)number;
    s->how = strcmp(how, "first") == 0 ? CHANNELS_FIRST : strcmp(how, "all") == 0 ? CHANNELS_ALL : CHANNELS_MIX;
    json_decref(schema);
}

/* Opens the features for this number of channels. */
static unroll_status make_features(struct sound_steps *s, int channels)
{
    const size_t bytes = unroll_features_bytes(s->features, s->rate, channels);
    if (bytes == 0)
        return complain_library(UNROLL_DATA);
    free(s->memory);
    if ((s->memory = aligned_alloc(64, (bytes + 63) / 64 * 64)) == NULL)
        return complain(UNROLL_RESOURCE, "no memory for features");
    return complain_library(unroll_features_init(s->memory, bytes, s->features, s->rate, channels, &s->made));
}

/* Opens the frames: the hop is that of one channel; how many the file has is known after its header. */
unroll_status sound_steps_open(struct sound_steps *s, struct frames *frames, FILE *file, int width)
{
    TRY(make_features(s, 1));
    const unroll_status status = frames_open_sound(frames, file, unroll_features_hop(s->made));
    if (status != UNROLL_OK)
        return complain(status, "%s", frames->error);
    if (s->how == CHANNELS_ALL)
        TRY(make_features(s, frames->wav.channels));
    if ((s->samples = malloc((size_t)frames->width * sizeof *s->samples)) == NULL)
        return complain(UNROLL_RESOURCE, "no memory for samples");
    if (frames->wav.rate != s->rate)
        return complain(
            UNROLL_DATA,
            "the sound has %d samples a second, the model reads %d; fix: record at that rate, or convert it, "
            "for example with 'sox - -r %d -t wav -'",
            frames->wav.rate, s->rate, s->rate);
    if (unroll_features_width(s->made) != width)
        return complain(
            UNROLL_DATA,
            "the sound has %d channels, of which the features have %d values a step, and the model reads %d; "
            "fix: give the channels that the model was trained with",
            frames->wav.channels, unroll_features_width(s->made), width);
    return UNROLL_OK;
}

unroll_status sound_steps_next(struct sound_steps *s, struct frames *frames, float *step, bool *more)
{
    const unroll_status status = frames_next(frames, s->samples, more);
    if (status != UNROLL_OK)
        return complain(status, "%s", frames->error);
    if (!*more)
        return UNROLL_OK;
    const int channels = frames->wav.channels;
    sound_mix(s->samples, (size_t)(frames->width / channels), channels, s->how);
    return complain_library(unroll_features_push(s->made, s->samples, step));
}

void sound_steps_close(struct sound_steps *s)
{
    free(s->samples);
    free(s->memory);
}
