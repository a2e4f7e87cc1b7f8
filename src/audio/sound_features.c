/* Parses the text of features and runs them hop by hop. */
#include "audio/sound_features.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audio/feature_kinds.h"
#include "base/memory.h"
#include "base/number.h"

enum { WORD = 64, NUMBERS = 3, MOST_CHANNELS = 1024, MOST_STACK = 64, MOST_SECONDS = 1, USUAL_MELS = 40 };

/* ---- the text ---- */

/* The next part of a text, which ends with a comma or a semicolon. */
static unroll_status next_part(const char **text, char part[WORD])
{
    const size_t length = strcspn(*text, ",;");
    if (length >= WORD)
        return fail(UNROLL_USAGE, "features: '%.40s..' is too long; fix: use a text such as " FEATURES_DEFAULT, *text);
    memcpy(part, *text, length);
    part[length] = '\0';
    *text += length + ((*text)[length] != '\0');
    return UNROLL_OK;
}

/* Reads a number, or a time in s or ms as samples. */
static unroll_status read_number(const char *part, int rate, double *number)
{
    const char *end = part;
    const bool found = number_real(&end, 0, 1e9, number) == NUMBER_OK;
    const double unit = strcmp(end, "ms") == 0 ? rate / 1000.0 : strcmp(end, "s") == 0 ? rate : *end ? 0 : 1;
    *number *= unit;
    return found && unit > 0
               ? UNROLL_OK
               : fail(UNROLL_USAGE,
                      "features: '%s' is not a number; fix: use a number of samples, or a time such as 25ms", part);
}

static unroll_status find_kind(const char *name, size_t length, const struct feature_kind **kind)
{
    char known[128] = "";
    for (*kind = feature_kinds; (*kind)->name; ++*kind) {
        if (strlen((*kind)->name) == length && memcmp((*kind)->name, name, length) == 0)
            return UNROLL_OK;
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", *known ? ", " : "", (*kind)->name);
    }
    return fail(UNROLL_USAGE, "features: there is no kind '%.*s'; fix: use one of %s", (int)(length < 40 ? length : 40),
                name, known);
}

/* Reads the kind and its numbers; those that are not given are the usual ones. *text: the keys. */
static unroll_status read_kind(const char **text, int rate, const struct feature_kind **kind, double number[NUMBERS])
{
    char part[WORD];
    const size_t name = strcspn(*text, ":,;");
    TRY(find_kind(*text, name, kind));
    const char *usual = (*kind)->usual;
    bool given = (*text)[name] == ':';
    *text += name + ((*text)[name] != '\0');
    for (int i = 0; i < (*kind)->numbers; i++) {
        TRY(next_part(&usual, part));
        if (given && **text && strcspn(*text, "=") >= strcspn(*text, ",;"))
            TRY(next_part(text, part));
        else
            given = false;
        TRY(read_number(part, rate, &number[i]));
    }
    return UNROLL_OK;
}

static unroll_status read_word(const char *part, const char *value, const char *const words[], int *found)
{
    for (*found = 0; words[*found]; ++*found)
        if (strcmp(words[*found], value) == 0)
            return UNROLL_OK;
    return fail(UNROLL_USAGE, "features: '%s'; fix: %s, %s%s%s", part, words[0], words[1], words[2] ? " or " : "",
                words[2] ? words[2] : "");
}

static unroll_status read_key(const char *part, struct features_plan *p)
{
    static const char *const means[] = {"none", "sound", NULL};
    static const char *const scales[] = {"slaney", "htk", "kaldi", NULL}, *const norms[] = {"none", "slaney", NULL};
    const char *value = strchr(part, '=');
    const size_t length = value ? (size_t)(value - part) : 0;
    const struct {
        const char *name;
        double *number;
        bool of_mels;
    } keys[] = {{"low", &p->low, true}, {"high", &p->high, true}, {"preemphasis", &p->preemphasis, true}};
    double number;
    int word = 0;
    if (value && length == 5 && strncmp(part, "stack", 5) == 0) {
        TRY(read_number(value + 1, 1, &number));
        p->stack = (int)number;
        return number == p->stack && p->stack >= 1 && p->stack <= MOST_STACK
                   ? UNROLL_OK
                   : fail(UNROLL_USAGE, "features: '%s'; fix: stack from 1 to %d", part, MOST_STACK);
    }
    for (size_t i = 0; value && p->kind->has_mels && i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].name) == length && strncmp(keys[i].name, part, length) == 0)
            return read_number(value + 1, 1, keys[i].number);
    if (value && p->kind->has_mels && length == 4 && strncmp(part, "mels", 4) == 0) {
        TRY(read_number(value + 1, 1, &number));
        p->mels = (int)number;
        return number == p->mels && p->mels >= 1 && p->mels <= 1024
                   ? UNROLL_OK
                   : fail(UNROLL_USAGE, "features: '%s'; fix: mels from 1 to 1024", part);
    }
    if (value && length == 4 && strncmp(part, "mean", 4) == 0) {
        TRY(read_word(part, value + 1, means, &word));
        p->mean = word;
        return UNROLL_OK;
    }
    if (value && p->kind->has_mels && length == 5 && strncmp(part, "scale", 5) == 0) {
        TRY(read_word(part, value + 1, scales, &word));
        p->scale = (enum mel_scale)word;
        return UNROLL_OK;
    }
    if (value && p->kind->has_mels && length == 4 && strncmp(part, "norm", 4) == 0)
        return read_word(part, value + 1, norms, &p->norm);
    return fail(UNROLL_USAGE, "features: %s has no '%s'; fix: %sstack=N", p->kind->name, part,
                p->kind->has_mels ? "scale=NAME, norm=NAME, low=HZ, high=HZ, preemphasis=X, mels=N or " : "");
}

/* ---- the plan ---- */

static void place_array(struct features_plan *p, enum feature_array array, int floats)
{
    p->first[array] = p->floats;
    p->floats += (floats + 15) / 16 * 16;
}

static void place_arrays(struct features_plan *p)
{
    place_array(p, ARRAY_WINDOW, p->window);
    place_array(p, ARRAY_TABLES, 2 * p->size);
    place_array(p, ARRAY_SCRATCH, 2 * p->size);
    place_array(p, ARRAY_FRAME, p->size);
    place_array(p, ARRAY_SPECTRUM, p->size + 2);
    place_array(p, ARRAY_FILTERS, p->mels ? p->mels * (2 + p->size / 2 + 1) : 0);
    place_array(p, ARRAY_COSINES, p->mels ? (p->count + 1) * p->mels : 0);
    place_array(p, ARRAY_HISTORY, p->channels * p->window);
}

static unroll_status check_plan(const char *text, const struct features_plan *p, bool is_kept)
{
    if (!is_kept)
        return fail(UNROLL_USAGE, "features: '%.80s' has a number that %s does not have; fix: %s:%s", text,
                    p->kind->name, p->kind->name, p->kind->usual);
    if (p->window < 2 - !p->size || p->hop < 1 || p->window > MOST_SECONDS * p->rate || p->hop > MOST_SECONDS * p->rate)
        return fail(
            UNROLL_USAGE,
            "features: '%.80s' has windows of %d samples every %d at a rate of %d; fix: use at least one sample, and "
            "at most one second",
            text, p->window, p->hop, p->rate);
    return UNROLL_OK;
}

unroll_status features_plan(const char *text, int rate, int channels, struct features_plan *plan)
{
    double number[NUMBERS] = {0};
    struct features_plan p = {
        .rate = rate, .channels = channels, .stack = 1, .mels = USUAL_MELS, .norm = -1, .low = -1};
    const char *keys = text;
    char part[WORD];
    bool is_kept = true;
    if (rate < 1 || rate > 768000 || channels < 1 || channels > MOST_CHANNELS)
        return fail(
            UNROLL_USAGE,
            "features: %d channels of %d samples a second; fix: use 1 to %d channels, and 1 to 768000 samples a second",
            channels, rate, MOST_CHANNELS);
    TRY(read_kind(&keys, rate, &p.kind, number));
    p.preemphasis = -1;
    while (*keys) {
        TRY(next_part(&keys, part));
        TRY(read_key(part, &p));
    }
    const bool kaldi = p.scale == SCALE_KALDI;
    p.norm = p.norm < 0 ? p.scale == SCALE_SLANEY : p.norm;
    p.low = p.low < 0 ? 20 * kaldi : p.low;
    p.high = p.high > 0 ? p.high : rate / 2.0;
    p.preemphasis = p.preemphasis < 0 ? .97 * kaldi : p.preemphasis;
    p.mels = p.kind->has_mels ? p.mels : 0;
    TRY(p.kind->plan(&p, number, &is_kept));
    TRY(check_plan(text, &p, is_kept));
    if (p.mels)
        TRY(mel_plan(&p));
    place_arrays(&p);
    *plan = p;
    return UNROLL_OK;
}

/* ---- the public functions ---- */

size_t unroll_features_bytes(const char *features, int rate, int channels)
{
    struct features_plan plan;
    if (features_plan(features, rate, channels, &plan) != UNROLL_OK)
        return 0;
    return sizeof(struct unroll_features) + (size_t)plan.floats * sizeof(float);
}

unroll_status unroll_features_init(void *memory, size_t bytes, const char *features, int rate, int channels,
                                   unroll_features **made)
{
    struct features_plan plan;
    TRY(features_plan(features, rate, channels, &plan));
    if (plan.mean)
        return fail(
            UNROLL_UNSUPPORTED,
            "features: '%.80s' removes the mean of the whole sound, which a stream has not read yet; fix: train "
            "without mean=sound",
            features);
    return features_init(memory, bytes, features, rate, channels, made);
}

unroll_status features_init(void *memory, size_t bytes, const char *features, int rate, int channels,
                            unroll_features **made)
{
    struct unroll_features *f = memory;
    struct features_plan plan;
    TRY(features_plan(features, rate, channels, &plan));
    const size_t wanted = sizeof *f + (size_t)plan.floats * sizeof(float);
    if (bytes < wanted)
        return fail(UNROLL_USAGE, "the memory of the features has %zu bytes; fix: %zu, from unroll_features_bytes()",
                    bytes, wanted);
    memset(memory, 0, wanted);
    f->plan = plan;
    if (plan.size)
        fft_init(&f->fft, plan.size, features_array(f, ARRAY_TABLES));
    plan.kind->init(f);
    *made = f;
    return UNROLL_OK;
}

int unroll_features_hop(const unroll_features *f) { return f->plan.hop * f->plan.stack; }

int unroll_features_width(const unroll_features *f) { return f->plan.width * f->plan.channels * f->plan.stack; }

void features_reset(unroll_features *f)
{
    memset(features_array(f, ARRAY_HISTORY), 0, (size_t)f->plan.channels * (size_t)f->plan.window * sizeof(float));
}

/* Appends the samples of a hop to the history of each channel and computes a frame. */
static void push_frame(struct unroll_features *f, const float *samples, float *to)
{
    const struct features_plan *p = &f->plan;
    const int kept = p->hop < p->window ? p->window - p->hop : 0, first = p->hop - (p->window - kept);
    for (int c = 0; c < p->channels; c++) {
        float *history = features_array(f, ARRAY_HISTORY) + c * p->window;
        memmove(history, history + p->window - kept, (size_t)kept * sizeof *history);
        for (int i = kept; i < p->window; i++) history[i] = samples[(first + i - kept) * p->channels + c];
        p->kind->compute(f, history, to + c * p->width);
    }
}

unroll_status unroll_features_push(unroll_features *f, const float *samples, float *step)
{
    const struct features_plan *p = &f->plan;
    const size_t all = (size_t)p->hop * (size_t)p->stack * (size_t)p->channels;
    for (size_t i = 0; i < all; i++)
        if (!isfinite(samples[i]))
            return fail(UNROLL_DATA, "sample %zu is %s; fix: finite samples", i,
                        isnan(samples[i]) ? "NaN" : "infinite");
    for (int k = 0; k < p->stack; k++)
        push_frame(f, samples + (size_t)k * (size_t)p->hop * (size_t)p->channels, step + k * p->channels * p->width);
    return UNROLL_OK;
}
