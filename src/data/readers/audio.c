/* The reader audio: a sound, or a folder or an archive of sounds, as examples with features of each frame. A folder for
 * each class gives the labels, or files of labels next to the sounds give those of each frame. Features are computed
 * here, once: with the cache of large data they are stored, which costs less than the samples. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audio/resample.h"
#include "audio/sound_features.h"
#include "audio/sound_file.h"
#include "audio/wav.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/readers/audio_labels.h"
#include "data/readers/folder.h"
#include "data/readers/reader_table.h"
#include "data/readers/spoken.h"

enum { FEATURES_TEXT = 256, MAX_SOUND = INT32_MAX, SHOWN = 80, MAX_PATH = 4096, MAX_RATE = 768000 };

struct audio_options {
    char features[FEATURES_TEXT];
    double rate;
    int channels, resample; /* enum sound_channels, enum resample_quality */
};

static const struct key audio_keys[] = {
    {.name = "features", .text = FEATURES_TEXT, .offset = offsetof(struct audio_options, features)},
    {.name = "sample-rate", .min = 1, .max = MAX_RATE, .offset = offsetof(struct audio_options, rate)},
    {.name = "channels", .choices = "mix first all", .offset = offsetof(struct audio_options, channels)},
    {.name = "resample", .choices = "best fast", .offset = offsetof(struct audio_options, resample)},
    {0}};

/* What is known of a sound before its samples are needed. */
struct fact {
    int rate, channels;
    size_t frames;
};

struct audio {
    const struct audio_options *options;
    struct input *in;
    struct builder *builder;
    struct fact *fact;
    size_t facts, facts_room;
    int rate, channels; /* of the features */
    struct features_plan plan;
    unroll_features *features;
    void *memory; /* of the features */
    struct resampler *resampler;
    int resampled; /* the rate that it converts from */
    float *steps;  /* of a sound */
    size_t steps_room;
    struct spoken_list spoken;
    bool has_classes, has_texts;
    struct audio_labels labels; /* of parts of sounds; none: no file of labels */
    int *frame_label;           /* of the frames of a sound, -1: none */
    size_t frames_room, used, unlabelled, beyond, overlapping;
    int x, label, text, file; /* columns */
    size_t sounds, silent_texts, too_short, converted, cut, silent, clipped;
};

static bool is_audio(const char *path, const char *head, size_t bytes)
{
    return !input_is_of_files(path) && (sound_begins(head, bytes) || sound_is_named(path));
}

/* ---- classes ---- */

/* Writes the name of the last folder in the path of a file; "": none. */
static void class_of(const char *member, char class[MAX_PATH])
{
    size_t length = (size_t)(member_base_name(member) - member);
    length -= length > 0;
    size_t begin = length;
    while (begin > 0 && member[begin - 1] != '/') begin--;
    snprintf(class, MAX_PATH, "%.*s", (int)(length - begin), member + begin);
}

/* ---- the first run: facts of all sounds ---- */

static unroll_status read_sound(struct audio *a, bool samples, struct sound *sound)
{
    void *bytes;
    size_t size;
    TRY(input_whole(a->in, MAX_SOUND, &bytes, &size));
    unroll_status status = sound_read(input_name(a->in), bytes, size, samples, sound);
    release(bytes);
    return status;
}

static unroll_status add_fact(struct audio *a)
{
    struct sound sound;
    if (a->facts == a->facts_room) {
        const size_t room = 2 * a->facts_room + 64;
        if (!enlarge(&a->fact, a->facts * sizeof *a->fact, room * sizeof *a->fact))
            return fail(UNROLL_RESOURCE, "no memory for %zu sounds", room);
        a->facts_room = room;
    }
    TRY(read_sound(a, false, &sound));
    a->fact[a->facts++] = (struct fact){sound.rate, sound.channels, sound.frames};
    return UNROLL_OK;
}

static bool is_sound(const struct audio *a, const char *member)
{
    return sound_is_named(member) || !input_is_of_files(input_path(a->in));
}

/* Reads a file of labels, or else of transcripts. */
static unroll_status read_labels(struct audio *a, const char *member)
{
    void *bytes;
    size_t size;
    bool found;
    TRY(input_whole(a->in, MAX_SOUND, &bytes, &size));
    unroll_status status = audio_labels_read(&a->labels, member, bytes, size, &found);
    if (status == UNROLL_OK && !found)
        status = spoken_add_file(&a->spoken, member, bytes, size);
    release(bytes);
    return status;
}

/* Chooses what is known of the sounds: labels of parts, transcripts, or classes. */
static unroll_status choose_target(struct audio *a)
{
    TRY(spoken_sort(&a->spoken, input_path(a->in), &a->has_texts));
    a->has_texts = a->has_texts && (!builder_reads_again(a->builder) || builder_wants_column(a->builder, "text", 4));
    a->has_classes = a->has_classes && !a->has_texts;
    if (builder_wants_steps(a->builder, "label"))
        a->has_classes = false;
    if (a->has_texts && builder_reads_again(a->builder))
        a->labels.count = 0; /* the model reads transcripts */
    if (a->labels.count) {
        audio_labels_sort(&a->labels);
        a->has_classes = a->has_texts = false; /* labels of parts are those of the sounds */
    }
    return UNROLL_OK;
}

/* Finds whether the sounds are in folders of classes, at least two, and in the first run the facts of each. */
static unroll_status find_facts(struct audio *a)
{
    char class[MAX_PATH], first[MAX_PATH] = "";
    const char *member;
    bool found = false;
    for (;;) {
        TRY(input_next(a->in, &member));
        if (member == NULL)
            break;
        if (member_is_hidden(member))
            continue;
        if (!is_sound(a, member)) {
            if (!member_is_about(member) && audio_labels_are_named(member))
                TRY(read_labels(a, member));
            continue;
        }
        TRY(spoken_add_sound(&a->spoken, member));
        class_of(member, class);
        if (!found)
            strcpy(first, class);
        a->has_classes = a->has_classes || strcmp(first, class) != 0;
        if (!builder_fills(a->builder) || (!found && a->options->channels == CHANNELS_ALL))
            TRY(add_fact(a));
        found = true;
    }
    TRY(choose_target(a));
    return found ? input_rewind(a->in)
                 : fail(UNROLL_DATA, "'%s' has no sound; fix: wav, flac, ogg, opus, mp3 or aiff files",
                        input_path(a->in));
}

/* Returns the most frequent rate; of two the larger. */
static int usual_rate(const struct audio *a)
{
    int usual = 0;
    size_t most = 0;
    for (size_t i = 0; i < a->facts && 2 * most <= a->facts; i++) {
        size_t count = 0;
        for (size_t k = 0; k < a->facts; k++) count += a->fact[k].rate == a->fact[i].rate;
        if (count > most || (count == most && a->fact[i].rate > usual))
            most = count, usual = a->fact[i].rate;
    }
    return usual;
}

static unroll_status check_channels(const struct audio *a)
{
    for (size_t i = 1; a->options->channels == CHANNELS_ALL && i < a->facts; i++)
        if (a->fact[i].channels != a->fact->channels)
            return fail(
                UNROLL_DATA,
                "'%s' has sounds of %d and of %d channels; fix: use `channels` mix or first, or sounds of one kind",
                input_path(a->in), a->fact->channels, a->fact[i].channels);
    return UNROLL_OK;
}

/* Chooses rate and channels. The rate that the first run finds becomes an option, which later runs and models read. */
static unroll_status choose_format(struct audio *a)
{
    char value[KEY_VALUE_SIZE];
    const char *decided = builder_decisions(a->builder);
    double rate = a->options->rate;
    TRY(check_channels(a));
    a->channels = a->options->channels == CHANNELS_ALL ? a->fact->channels : 1;
    if (rate == 0 && *decided && key_value_find(decided + 1, "sample-rate", value) &&
        number_whole_real(value, 1, MAX_RATE, &rate) != NUMBER_OK)
        rate = 0;
    if (rate == 0) {
        rate = usual_rate(a);
        builder_decide(a->builder, ",sample-rate=%d", (int)rate);
        if (*a->options->features == '\0')
            builder_decide(a->builder, ",features=" FEATURES_STORED);
    }
    a->rate = (int)rate;
    return UNROLL_OK;
}

static unroll_status open_features(struct audio *a)
{
    const char *text = *a->options->features ? a->options->features : FEATURES_DEFAULT;
    TRY(features_plan(text, a->rate, a->channels, &a->plan));
    builder_read_as(a->builder, "%d samples a second (`sample_rate`), %s (`features`)", a->rate, text);
    const size_t bytes = unroll_features_bytes(text, a->rate, a->channels);
    if ((a->memory = allocate_zeroed(bytes, 1)) == NULL)
        return fail(UNROLL_RESOURCE, "no memory for features");
    return features_init(a->memory, bytes, text, a->rate, a->channels, &a->features);
}

/* ---- a sound ---- */

static size_t frames_at(const struct audio *a, const struct fact *fact)
{
    return (size_t)(((__uint128_t)fact->frames * (unsigned)a->rate + (unsigned)fact->rate - 1) / (unsigned)fact->rate);
}

/* Checks the samples and counts what is unusual about them. */
static unroll_status examine(struct audio *a, const struct sound *sound)
{
    const size_t count = sound->frames * (size_t)sound->channels;
    const float limit = 32767.0f / 32768;
    size_t at_limit = 0, different = 0;
    for (size_t i = 0; i < count; i++) {
        const float x = sound->samples[i];
        if (!isfinite(x))
            return fail(UNROLL_DATA, "'%s', sample %zu is %s; fix: finite samples", input_name(a->in), i,
                        isnan(x) ? "NaN" : "infinite");
        at_limit += fabsf(x) >= limit;
        different += x != sound->samples[0];
    }
    a->silent += different == 0;
    a->clipped += different > 0 && (double)at_limit > 1e-3 * (double)count;
    return UNROLL_OK;
}

/* Converts the sound to the rate and the channels of the features, in place of its samples. */
static unroll_status convert(struct audio *a, struct sound *sound)
{
    float *converted, *one;
    sound_mix(sound->samples, sound->frames, sound->channels, (enum sound_channels)a->options->channels);
    if (sound->rate == a->rate)
        return UNROLL_OK;
    a->converted++;
    if (a->resampled != sound->rate) {
        resampler_free(a->resampler);
        a->resampler = NULL, a->resampled = 0;
        TRY(resampler_new(sound->rate, a->rate, (enum resample_quality)a->options->resample, &a->resampler));
        a->resampled = sound->rate;
    }
    const size_t frames = resampler_count(a->resampler, sound->frames), channels = (size_t)a->channels;
    TRY(ALLOCATE(converted, frames * channels, "for a sound"));
    unroll_status status = ALLOCATE(one, sound->frames + frames, "for a sound");
    for (size_t c = 0; status == UNROLL_OK && c < channels; c++) {
        for (size_t i = 0; i < sound->frames; i++) one[i] = sound->samples[i * channels + c];
        resampler_run(a->resampler, one, sound->frames, one + sound->frames);
        for (size_t i = 0; i < frames; i++) converted[i * channels + c] = one[sound->frames + i];
    }
    release(status == UNROLL_OK ? one : NULL);
    release(sound->samples);
    sound->samples = converted;
    sound->frames = frames;
    return status;
}

static unroll_status compute_features(struct audio *a, const float *samples, size_t steps)
{
    const size_t width = (size_t)unroll_features_width(a->features);
    const size_t hop = (size_t)unroll_features_hop(a->features) * (size_t)a->channels;
    if (steps * width > a->steps_room) {
        release(a->steps);
        a->steps = NULL, a->steps_room = 0;
        TRY(ALLOCATE(a->steps, steps * width, "for the features of '%s'", input_name(a->in)));
        a->steps_room = steps * width;
    }
    features_reset(a->features);
    for (size_t t = 0; t < steps; t++) TRY(unroll_features_push(a->features, samples + t * hop, a->steps + t * width));
    for (size_t k = 0; k < width && a->plan.mean; k++) {
        double sum = 0;
        for (size_t t = 0; t < steps; t++) sum += (double)a->steps[t * width + k];
        const float mean = steps ? (float)(sum / (double)steps) : 0;
        for (size_t t = 0; t < steps; t++) a->steps[t * width + k] -= mean;
    }
    return UNROLL_OK;
}

/* Reads the samples of a sound and computes its features. */
static unroll_status fill_features(struct audio *a, size_t *steps)
{
    struct sound sound;
    unroll_status status = read_sound(a, true, &sound);
    if (status == UNROLL_OK)
        status = examine(a, &sound);
    a->cut += sound.is_cut;
    if (status == UNROLL_OK)
        status = convert(a, &sound);
    *steps = features_steps(&a->plan, sound.frames);
    if (status == UNROLL_OK)
        status = compute_features(a, sound.samples, *steps);
    sound_end(&sound);
    return status;
}

/* Sets the label of each frame whose center is in the span; of a point, those of its frame and of the two next to it.
 */
static void label_span(struct audio *a, const struct span *span, size_t steps)
{
    const double hop = (double)a->plan.hop * a->plan.stack, rate = a->rate;
    const double window = a->plan.window + (double)a->plan.hop * (a->plan.stack - 1);
    const bool point = span->from == span->to;
    const double start = span->from > 0 ? span->from : -window / rate; /* centers may be before the sound */
    const double from = point ? span->from - 1.5 * hop / rate : start;
    const double to = point ? span->to + 1.5 * hop / rate : span->to, first = (from * rate + window / 2) / hop - 2;
    for (size_t t = first > 0 ? (size_t)first : 0; t < steps; t++) {
        const double center = ((double)(t + 1) * hop - window / 2) / rate;
        if (center >= to)
            return;
        if (center < from)
            continue;
        a->overlapping += a->frame_label[t] >= 0 && a->frame_label[t] != span->label;
        a->frame_label[t] = span->label;
    }
}

/* Finds the labels of all frames of a sound; *known: there are some. */
static unroll_status label_frames(struct audio *a, const char *member, size_t steps, bool *known)
{
    char stem[256];
    size_t first;
    audio_stem(member, stem);
    const size_t count = audio_labels_of(&a->labels, stem, &first);
    const double end = (double)((steps + 1) * (size_t)a->plan.hop * (size_t)a->plan.stack) / a->rate;
    *known = count > 0;
    if (steps > a->frames_room) {
        release(a->frame_label);
        a->frame_label = NULL, a->frames_room = 0;
        TRY(ALLOCATE(a->frame_label, steps, "for the labels of '%s'", member));
        a->frames_room = steps;
    }
    for (size_t t = 0; t < steps; t++) a->frame_label[t] = -1;
    for (size_t i = first; i < first + count; i++) {
        a->beyond += a->labels.span[i].to > end;
        label_span(a, &a->labels.span[i], steps);
    }
    a->used += count;
    return UNROLL_OK;
}

/* Passes the label of each frame; without files of labels for the sound they are missing. */
static unroll_status take_labels(struct audio *a, size_t steps, bool known)
{
    for (size_t t = 0; t < steps; t++) {
        const char *name = !known                  ? ""
                           : a->frame_label[t] < 0 ? "none"
                                                   : audio_label_name(&a->labels, a->frame_label[t]);
        TRY(builder_text(a->builder, a->label, name, strlen(name)));
    }
    return UNROLL_OK;
}

static unroll_status take_sound(struct audio *a, const char *member)
{
    char class[MAX_PATH];
    size_t steps;
    if (builder_fills(a->builder))
        TRY(fill_features(a, &steps));
    else
        steps = features_steps(&a->plan, frames_at(a, &a->fact[a->sounds]));
    a->sounds++;
    if (steps == 0) {
        a->too_short++;
        return UNROLL_OK;
    }
    const char *text = a->has_texts ? spoken_of(&a->spoken, member) : NULL;
    if (a->has_texts && text == NULL) {
        a->silent_texts++;
        return UNROLL_OK;
    }
    bool known = true;
    if (a->labels.count)
        TRY(label_frames(a, member, steps, &known));
    if (!known && !builder_reads_again(a->builder)) {
        a->unlabelled++;
        return UNROLL_OK;
    }
    class_of(member, class);
    if (a->labels.count)
        TRY(take_labels(a, steps, known));
    TRY(builder_numbers(a->builder, a->x, a->steps, steps));
    if (a->has_classes)
        TRY(builder_text(a->builder, a->label, class, strlen(class)));
    if (a->has_texts)
        TRY(builder_text(a->builder, a->text, text, strlen(text)));
    if (builder_reads_again(a->builder))
        TRY(builder_text(a->builder, a->file, member, strlen(member)));
    return builder_end_row(a->builder);
}

/* ---- all sounds ---- */

static unroll_status note(struct audio *a, size_t count, const char *what)
{
    return count ? builder_note(a->builder, "%zu of %zu sounds %s", count, a->sounds, what) : UNROLL_OK;
}

static unroll_status note_labels(struct audio *a)
{
    if (a->used < a->labels.count)
        TRY(builder_note(a->builder, "%zu of %zu labels belong to sounds that the data do not have",
                         a->labels.count - a->used, a->labels.count));
    if (a->beyond)
        TRY(builder_note(a->builder, "%zu labels end after the end of their sound and are cut", a->beyond));
    return a->overlapping
               ? builder_note(a->builder, "%zu frames have several labels; the label that begins last counts",
                              a->overlapping)
               : UNROLL_OK;
}

static unroll_status add_notes(struct audio *a)
{
    char converted[80];
    snprintf(converted, sizeof converted, "are converted to %d samples a second", a->rate);
    if (a->plan.hop > a->plan.window)
        TRY(builder_note(a->builder, "the hop of %d samples is longer than the window of %d: some samples are not used",
                         a->plan.hop, a->plan.window));
    TRY(note(a, a->too_short, "are shorter than one step of the features and are left out"));
    TRY(note(a, a->silent_texts, "have no transcript and are left out"));
    TRY(note(a, a->unlabelled, "have no labels and are left out"));
    TRY(note_labels(a));
    TRY(note(a, a->converted, converted));
    TRY(note(a, a->cut, "end before the end that their header declares; the samples that are there are used"));
    TRY(note(a, a->silent, "are constant, such as silence"));
    return note(a, a->clipped, "are clipped: more than 0.1% of the samples are at the limit");
}

static unroll_status read_members(struct audio *a)
{
    const char *member;
    TRY(find_facts(a));
    TRY(choose_format(a));
    TRY(open_features(a));
    TRY(builder_columns(a->builder, ROWS_ARE_EXAMPLES));
    TRY(builder_column(a->builder, "audio", CELL_NUMBERS, false, unroll_features_width(a->features), &a->x));
    if (a->has_classes)
        TRY(builder_column(a->builder, "label", CELL_LABEL, true, 0, &a->label));
    if (a->has_texts) {
        builder_unaligned(a->builder, "text");
        TRY(builder_column(a->builder, "text", CELL_TEXT, false, 0, &a->text));
    }
    if (a->labels.count)
        TRY(builder_column(a->builder, "label", CELL_WORD, false, 0, &a->label));
    if (builder_reads_again(a->builder))
        TRY(builder_column(a->builder, "file", CELL_LABEL, true, 0, &a->file));
    for (;;) {
        TRY(input_next(a->in, &member));
        if (member == NULL)
            break;
        if (!member_is_hidden(member) && is_sound(a, member))
            TRY(take_sound(a, member));
        else if (!member_is_hidden(member) && !a->has_texts && !(a->labels.count && audio_labels_are_named(member)))
            TRY(builder_note(a->builder, "left out: '%.*s' and other files that are not sounds", SHOWN,
                             member_base_name(member)));
    }
    if (a->unlabelled + a->too_short == a->sounds && a->unlabelled)
        return fail(UNROLL_DATA, "'%s': no sound has labels; fix: give a file of labels the name of its sound",
                    input_path(a->in));
    if (a->too_short == a->sounds)
        return fail(UNROLL_DATA, "'%s': all sounds are shorter than one step of the features; fix: longer sounds",
                    input_path(a->in));
    return builder_fills(a->builder) ? add_notes(a) : UNROLL_OK;
}

static unroll_status read_audio(struct input *in, const void *options, struct builder *b)
{
    struct audio a = {.options = options, .in = in, .builder = b};
    unroll_status status = read_members(&a);
    spoken_end(&a.spoken);
    release(a.fact);
    release(a.memory);
    release(a.steps);
    release(a.frame_label);
    audio_labels_end(&a.labels);
    resampler_free(a.resampler);
    return status;
}

const struct reader reader_audio = {.name = "audio",
                                    .about = "sounds, in folders of classes",
                                    .recognizes = is_audio,
                                    .recognizes_member = sound_is_named,
                                    .keys = audio_keys,
                                    .options_bytes = sizeof(struct audio_options),
                                    .read = read_audio};
