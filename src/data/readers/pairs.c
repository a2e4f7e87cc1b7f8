/* The reader pairs: pairs of sounds, before and after an effect such as an amplifier, in a folder or an archive:
 * input.wav and target.wav, or NAME-input.wav and NAME-target.wav; output.wav is another name of target.wav. Each pair
 * is an example with the columns input and target, a sample at each step. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "audio/delay.h"
#include "audio/sound_file.h"
#include "audio/wav.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/readers/folder.h"
#include "data/readers/reader_table.h"

enum { MAX_PATH = 1024, MAX_SOUND = INT32_MAX, MAX_RATE = 768000, MAX_DELAY = 2000, DELAY_TEXT = 16, NOTED = 8 };
enum { INPUT, TARGET, ROLES };
static const char *const role_name[ROLES] = {"input", "target"};

enum { MUST_BE_MONO, MIX, FIRST };
struct pairs_options {
    char delay[DELAY_TEXT];
    double rate;
    int channels;
};

static const struct key pairs_keys[] = {
    {.name = "delay", .text = DELAY_TEXT, .offset = offsetof(struct pairs_options, delay)},
    {.name = "sample-rate", .min = 1, .max = MAX_RATE, .offset = offsetof(struct pairs_options, rate)},
    {.name = "channels", .choices = "one mix first", .offset = offsetof(struct pairs_options, channels)},
    {0}};

/* The sounds of a pair, until both have been read. stem: their common path, without role and suffix. */
struct sound_pair {
    char stem[MAX_PATH];
    struct sound sound[ROLES];
    bool has[ROLES], done;
};

struct pairs {
    const struct pairs_options *options;
    struct input *in;
    struct builder *builder;
    struct sound_pair *pair;
    size_t count, room;
    int rate, column[ROLES];
    bool finds_delay;
    int64_t delay;
    float *shifted; /* a target */
};

/* ---- names ---- */

/* Returns whether the name of a sound ends in a role, and where the role begins in the path. */
static bool find_role(const char *member, int *role, size_t *begin)
{
    static const struct {
        const char *word;
        int role;
    } words[] = {{"input", INPUT}, {"target", TARGET}, {"output", TARGET}};
    const char *name = member_base_name(member), *dot = strrchr(name, '.');
    const size_t length = dot ? (size_t)(dot - name) : 0;
    for (size_t i = 0; sound_is_named(member) && i < sizeof words / sizeof *words; i++) {
        const size_t word = strlen(words[i].word);
        if (length < word || strncasecmp(name + length - word, words[i].word, word) != 0)
            continue;
        *begin = (size_t)(name - member) + length - word;
        *role = words[i].role;
        if (length == word || strchr("-_ .", name[length - word - 1]))
            return true;
    }
    return false;
}

static bool is_pair_member(const char *member)
{
    int role;
    size_t begin;
    return find_role(member, &role, &begin);
}

/* A lone file is no pair. */
static bool is_pair_file(const char *path, const char *head, size_t bytes)
{
    return (void)path, (void)head, (void)bytes, false;
}

static unroll_status pair_of(struct pairs *p, const char *member, size_t length, struct sound_pair **found)
{
    if (length >= MAX_PATH)
        return fail(UNROLL_DATA, "'%.80s..': the path is longer than %d bytes; fix: use shorter names of folders",
                    member, MAX_PATH);
    for (size_t i = 0; i < p->count; i++)
        if (strlen(p->pair[i].stem) == length && memcmp(p->pair[i].stem, member, length) == 0) {
            *found = &p->pair[i];
            return UNROLL_OK;
        }
    if (p->count == p->room) {
        const size_t room = 2 * p->room + 16;
        if (!enlarge(&p->pair, p->count * sizeof *p->pair, room * sizeof *p->pair))
            return fail(UNROLL_RESOURCE, "no memory for %zu pairs of sounds", room);
        p->room = room;
    }
    *found = &p->pair[p->count++];
    **found = (struct sound_pair){.done = false};
    memcpy((*found)->stem, member, length);
    return UNROLL_OK;
}

/* ---- a sound ---- */

static unroll_status check_format(struct pairs *p, const struct sound *sound)
{
    const char *name = input_name(p->in);
    if (p->rate == 0)
        p->rate = sound->rate;
    if (sound->rate != p->rate)
        return fail(UNROLL_DATA,
                    "'%s' has %d samples a second, not %d as the others (`sample_rate`); fix: convert it, for example "
                    "with 'sox IN.wav -r %d OUT.wav'",
                    name, sound->rate, p->rate, p->rate);
    if (sound->channels > 1 && p->options->channels == MUST_BE_MONO)
        return fail(
            UNROLL_DATA,
            "'%s' has %d channels, and an effect is learned from one; fix: use `channels` first, or mix the channels of the file",
            name, sound->channels);
    return UNROLL_OK;
}

/* Refuses samples that are not finite or all equal, such as silence. */
static unroll_status check_samples(const struct pairs *p, const struct sound *sound)
{
    bool differs = false;
    for (size_t i = 0; i < sound->frames; i++) {
        if (!isfinite(sound->samples[i]))
            return fail(UNROLL_DATA, "'%s', sample %zu is %s; fix: use finite samples", input_name(p->in), i,
                        isnan(sound->samples[i]) ? "NaN" : "infinite");
        differs = differs || sound->samples[i] != sound->samples[0];
    }
    return differs
               ? UNROLL_OK
               : fail(UNROLL_DATA, "'%s' is silent: all samples are equal; fix: record it again", input_name(p->in));
}

static unroll_status take_sound(struct pairs *p, struct sound *sound)
{
    const bool samples = builder_fills(p->builder);
    void *bytes;
    size_t size;
    TRY(input_whole(p->in, MAX_SOUND, &bytes, &size));
    unroll_status status = sound_read(input_name(p->in), bytes, size, samples, sound);
    release(bytes);
    TRY(status);
    TRY(check_format(p, sound));
    if (!samples)
        return UNROLL_OK;
    sound_mix(sound->samples, sound->frames, sound->channels,
              p->options->channels == FIRST ? CHANNELS_FIRST : CHANNELS_MIX);
    return check_samples(p, sound);
}

/* ---- a pair ---- */

/* Returns "'a-': " or "" for messages. */
static const char *pair_name(const struct sound_pair *pair, char text[MAX_PATH + 8])
{
    snprintf(text, MAX_PATH + 8, *pair->stem ? "'%s': " : "%s", pair->stem);
    return text;
}

static unroll_status check_lengths(struct pairs *p, const struct sound_pair *pair)
{
    const size_t x = pair->sound[INPUT].frames, y = pair->sound[TARGET].frames;
    const size_t longer = x > y ? x : y, difference = longer - (x > y ? y : x);
    char name[MAX_PATH + 8];
    if (100 * difference > longer)
        return fail(UNROLL_DATA,
                    "%sthe input has %zu samples and the target %zu, which differ by more than 1%%; fix: cut them to "
                    "the same length",
                    pair_name(pair, name), x, y);
    if (difference && builder_fills(p->builder))
        return builder_note(p->builder, "%sthe %s has %zu samples more, which are not used", pair_name(pair, name),
                            role_name[x > y ? INPUT : TARGET], difference);
    return UNROLL_OK;
}

/* Chooses by how many samples the target comes later than the input, and reports a lag that is not corrected. */
static unroll_status choose_delay(struct pairs *p, const struct sound_pair *pair, size_t count, int64_t *delay)
{
    char name[MAX_PATH + 8];
    const int found = sound_delay(pair->sound[INPUT].samples, pair->sound[TARGET].samples, count, MAX_DELAY);
    *delay = p->finds_delay ? found : p->delay;
    if (p->finds_delay)
        return builder_note(p->builder, "%sthe target lags by %d samples, which is corrected", pair_name(pair, name),
                            found);
    if (llabs(found - p->delay) > NOTED)
        return builder_note(p->builder, "%sthe target seems to lag by %d samples, not %d; `delay` auto corrects it",
                            pair_name(pair, name), found, (int)p->delay);
    return UNROLL_OK;
}

/* Moves the target earlier by its delay; samples that it does not have are NaN, which do not count. */
static unroll_status shift(struct pairs *p, const struct sound_pair *pair, size_t count)
{
    const struct sound *target = &pair->sound[TARGET];
    int64_t delay;
    TRY(choose_delay(p, pair, count, &delay));
    release(p->shifted);
    p->shifted = NULL;
    TRY(ALLOCATE(p->shifted, count, "for %zu samples", count));
    for (size_t t = 0; t < count; t++) {
        const int64_t from = (int64_t)t + delay;
        p->shifted[t] = from >= 0 && from < (int64_t)target->frames ? target->samples[from] : NAN;
    }
    return UNROLL_OK;
}

static unroll_status take_pair(struct pairs *p, struct sound_pair *pair)
{
    const size_t x = pair->sound[INPUT].frames, y = pair->sound[TARGET].frames, count = x < y ? x : y;
    TRY(check_lengths(p, pair));
    if (builder_fills(p->builder))
        TRY(shift(p, pair, count));
    TRY(builder_numbers(p->builder, p->column[INPUT], pair->sound[INPUT].samples, count));
    TRY(builder_numbers(p->builder, p->column[TARGET], p->shifted, count));
    for (int role = 0; role < ROLES; role++) sound_end(&pair->sound[role]);
    pair->done = true;
    return builder_end_row(p->builder);
}

static unroll_status take_member(struct pairs *p, const char *member)
{
    struct sound_pair *pair;
    int role;
    size_t begin;
    if (!find_role(member, &role, &begin))
        return builder_note(p->builder, "left out: '%.80s' and other files that are no input or target",
                            member_base_name(member));
    TRY(pair_of(p, member, begin, &pair));
    if (pair->has[role])
        return fail(UNROLL_DATA, "'%s' is a second %s of the same pair; fix: keep one of them", input_name(p->in),
                    role_name[role]);
    TRY(take_sound(p, &pair->sound[role]));
    pair->has[role] = true;
    return pair->has[!role] ? take_pair(p, pair) : UNROLL_OK;
}

/* ---- all pairs ---- */

static unroll_status read_delay(struct pairs *p)
{
    const char *text = p->options->delay;
    p->finds_delay = strcmp(text, "auto") == 0;
    if (*text == '\0' || p->finds_delay || number_whole_integer(text, -MAX_DELAY, MAX_DELAY, &p->delay) == NUMBER_OK)
        return UNROLL_OK;
    return fail(UNROLL_USAGE, "`delay` %s; fix: use auto, or samples from %d to %d", text, -MAX_DELAY, MAX_DELAY);
}

static unroll_status check_pairs(const struct pairs *p)
{
    for (size_t i = 0; i < p->count; i++)
        for (int role = 0; role < ROLES; role++)
            if (!p->pair[i].has[role])
                return fail(UNROLL_DATA,
                            "'%s' has '%s%s' without '%s%s'; fix: put %s.wav next to it, of the same length",
                            input_path(p->in), p->pair[i].stem, role_name[!role], p->pair[i].stem, role_name[role],
                            role_name[role]);
    return p->count ? UNROLL_OK
                    : fail(UNROLL_DATA,
                           "'%s' has no pair of sounds; fix: name them input.wav and target.wav, or "
                           "NAME-input.wav and NAME-target.wav",
                           input_path(p->in));
}

static unroll_status read_members(struct pairs *p)
{
    const char *member;
    TRY(read_delay(p));
    p->rate = (int)p->options->rate;
    TRY(builder_columns(p->builder, ROWS_ARE_EXAMPLES));
    for (int role = 0; role < ROLES; role++)
        TRY(builder_column(p->builder, role_name[role], CELL_NUMBERS, false, 1, &p->column[role]));
    for (;;) {
        TRY(input_next(p->in, &member));
        if (member == NULL)
            break;
        if (!member_is_hidden(member) && !member_is_about(member))
            TRY(take_member(p, member));
    }
    TRY(check_pairs(p));
    if (p->options->rate == 0 && !*builder_decisions(p->builder))
        builder_decide(p->builder, ",sample-rate=%d", p->rate);
    builder_read_as(p->builder, "pairs of sounds, %d samples a second", p->rate);
    return UNROLL_OK;
}

static unroll_status read_pairs(struct input *in, const void *options, struct builder *b)
{
    struct pairs p = {.options = options, .in = in, .builder = b};
    unroll_status status = read_members(&p);
    for (size_t i = 0; i < p.count; i++)
        for (int role = 0; role < ROLES && !p.pair[i].done; role++) sound_end(&p.pair[i].sound[role]);
    release(p.pair);
    release(p.shifted);
    return status;
}

const struct reader reader_pairs = {.name = "pairs",
                                    .about = "pairs of sounds before and after an effect",
                                    .recognizes = is_pair_file,
                                    .recognizes_member = is_pair_member,
                                    .keys = pairs_keys,
                                    .options_bytes = sizeof(struct pairs_options),
                                    .read = read_pairs};
