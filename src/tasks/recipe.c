/* The input of a forecast: channels of a data set, their scales, and a window of them as steps of a network. */
#include "tasks/recipe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "data/data_schema.h"

enum { MAX_CATEGORIES = 32, MAX_INPUTS = 1 << 14, DEFAULT_PATCHES = 14, SHORT_PATCH = 8, LONG_PATCH = 48, PATCH = 24 };

void recipe_end(struct recipe *recipe)
{
    release(recipe->channel);
    release(recipe->of_group);
    *recipe = (struct recipe){0};
}

static void note(struct recipe *recipe, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct recipe *recipe, const char *format, ...)
{
    size_t used = strlen(recipe->notes);
    va_list arguments;
    used += (size_t)snprintf(recipe->notes + used, sizeof recipe->notes - used, used ? "; " : "");
    va_start(arguments, format);
    if (used < sizeof recipe->notes)
        vsnprintf(recipe->notes + used, sizeof recipe->notes - used, format, arguments);
    va_end(arguments);
}

int recipe_inputs(const struct recipe *r)
{
    return r->patch + 2 + r->masks * r->patch + r->past * r->patch + r->known * (r->patch + r->horizon);
}

/* ---- channels ---- */

/* True if the name is in a list "a;b". */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, ";"), at += *at == ';')
        if (strcspn(at, ";") == length && memcmp(at, name, length) == 0)
            return true;
    return false;
}

enum column_role { ROLE_NONE, ROLE_TARGET, ROLE_PAST, ROLE_KNOWN };

static enum column_role role_of(const unroll_dataset *data, int index, const struct recipe_options *options)
{
    const struct column *column = &data->column[index];
    bool all = options->target[0] == 0 || strcmp(options->target, "all") == 0;
    if (index == data->group || index == data->time || column->of_sequence || column->begin ||
        column_channels(column) == 0 || strcmp(column->name, options->ignored) == 0)
        return ROLE_NONE;
    if (is_listed(options->known, column->name))
        return ROLE_KNOWN;
    if (column->type == COLUMN_NUMBERS && (all || is_listed(options->target, column->name)))
        return ROLE_TARGET;
    return ROLE_PAST;
}

static void name_channel(struct recipe_channel *channel)
{
    const struct column *column = channel->in.column;
    snprintf(channel->column, sizeof channel->column, "%s", column->name);
    if (column->type == COLUMN_NUMBERS && column->width == 1)
        snprintf(channel->name, sizeof channel->name, "%s", column->name);
    else if (column->type == COLUMN_NUMBERS)
        snprintf(channel->name, sizeof channel->name, "%s[%d]", column->name, channel->in.part);
    else
        snprintf(channel->name, sizeof channel->name, "%s=%.24s", column->name, column->vocabulary[channel->in.part]);
}

static bool has_target(const struct recipe *recipe, size_t sequence, size_t step)
{
    for (int i = 0; i < recipe->targets; i++)
        if (!isnan(channel_at(&recipe->channel[i].in, sequence, step)))
            return true;
    return false;
}

/* Returns how many steps of a sequence have a target, from its beginning on; later steps are the future, which contains
 * only known channels. */
static size_t recipe_length(const struct recipe *recipe, size_t sequence)
{
    size_t begin = recipe->data->begin[sequence], end = recipe->data->begin[sequence + 1];
    while (end > begin && !has_target(recipe, sequence, end - 1)) end--;
    return end - begin;
}

/* True if a channel has different numbers; sets *missing if some are missing where they could exist. */
static bool varies(const struct recipe *recipe, const struct channel *channel, bool *missing)
{
    float first = NAN;
    bool varies = false;
    for (size_t s = 0; s < recipe->data->sequences; s++) {
        size_t begin = recipe->data->begin[s], length = recipe_length(recipe, s);
        for (size_t i = begin; i < begin + length; i++) {
            float number = channel_at(channel, s, i);
            *missing |= isnan(number);
            if (isnan(first))
                first = number;
            else
                varies |= !isnan(number) && number != first;
        }
    }
    return varies;
}

/* Appends the channels of a column to those of a role. */
static unroll_status add_column(struct recipe *recipe, const struct recipe_options *options, int index,
                                enum column_role role, int *count)
{
    const struct column *column = &recipe->data->column[index];
    int channels = column_channels(column);
    bool named = role == ROLE_KNOWN || is_listed(options->target, column->name);
    if (column->type != COLUMN_NUMBERS && channels > MAX_CATEGORIES) {
        note(recipe, "column '%s' is left out: it has more than %d categories", column->name, MAX_CATEGORIES);
        return UNROLL_OK;
    }
    for (int part = 0; part < channels; part++) {
        struct recipe_channel *channel = &recipe->channel[*count];
        bool missing = false;
        *channel = (struct recipe_channel){.in = {column, part}};
        name_channel(channel);
        if (varies(recipe, &channel->in, &missing)) {
            recipe->masks |= missing;
            ++*count;
        } else if (named && role == ROLE_TARGET) {
            return fail(UNROLL_DATA,
                        "column '%s' of '%s' is constant: there is nothing to forecast; fix: use another target",
                        channel->name, recipe->data->name);
        } else if (role == ROLE_TARGET) {
            note(recipe, "column '%s' is constant and left out", channel->name);
        }
    }
    return UNROLL_OK;
}

/* Chooses the channels. Targets decide the length of a sequence, so all of them are found first. */
static unroll_status choose_channels(const struct recipe_options *options, struct recipe *recipe)
{
    const unroll_dataset *data = recipe->data;
    int most = 0, count = 0;
    for (int i = 0; i < data->columns; i++) {
        int channels = column_channels(&data->column[i]);
        most += data->column[i].type == COLUMN_NUMBERS || channels <= MAX_CATEGORIES ? channels : 0;
    }
    TRY(ALLOCATE(recipe->channel, (size_t)most + 1, "for %d channels", most));
    for (int i = 0; i < data->columns; i++)
        for (int part = 0; role_of(data, i, options) == ROLE_TARGET && part < column_channels(&data->column[i]); part++)
            recipe->channel[recipe->targets++].in = (struct channel){&data->column[i], part};
    for (enum column_role role = ROLE_TARGET; role <= ROLE_KNOWN; role++) {
        int before = count;
        for (int i = 0; i < data->columns; i++)
            if (role_of(data, i, options) == role)
                TRY(add_column(recipe, options, i, role, &count));
        if (role == ROLE_TARGET)
            recipe->targets = count;
        else if (role == ROLE_PAST)
            recipe->past = count - before;
        else
            recipe->known = count - before;
    }
    if (recipe->targets == 0)
        return fail(UNROLL_DATA, "'%s' has no column of numbers that change: there is nothing to forecast; fix: %s",
                    data->name,
                    dataset_column(data, COLUMN_TOKENS, NULL)
                        ? "for logs and other texts use `task` events"
                        : "other data, or read a column as numbers (`columns` NAME=number)");
    return UNROLL_OK;
}

/* ---- periods ---- */

static size_t longest_length(const struct recipe *recipe)
{
    size_t longest = 0;
    for (size_t s = 0; s < recipe->data->sequences; s++) {
        size_t length = recipe_length(recipe, s);
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Chooses the patch: as many short seasons as fit eight steps, or a divisor of a long one. */
static int choose_patch(int season, int horizon, size_t length)
{
    int patch = horizon < SHORT_PATCH ? SHORT_PATCH : horizon > PATCH ? PATCH : horizon;
    if (season > 1 && season <= LONG_PATCH)
        return (SHORT_PATCH + season - 1) / season * season;
    for (int part = SHORT_PATCH; season > LONG_PATCH && part <= LONG_PATCH; part++)
        if (season % part == 0 && (season % patch != 0 || abs(part - PATCH) < abs(patch - PATCH)))
            patch = part;
    int most = length / SHORT_PATCH > 1 ? (int)(length / SHORT_PATCH) : 1;
    return patch < most ? patch : most;
}

/* Chooses the season, the horizon and the patch, and adds notes about them. */
static unroll_status choose_periods(const struct recipe_options *options, struct recipe *recipe)
{
    const unroll_dataset *data = recipe->data;
    size_t length = longest_length(recipe);
    struct channel target[8];
    int targets = recipe->targets < 8 ? recipe->targets : 8;
    for (int i = 0; i < targets; i++) target[i] = recipe->channel[i].in;
    TRY(series_interval(data, &recipe->interval));
    if (recipe->interval.weekdays)
        note(recipe, "the days are Mondays to Fridays");
    recipe->season = (int)options->season;
    if ((size_t)recipe->season >= length)
        return fail(UNROLL_DATA,
                    "`season` = %d, and the longest series of '%s' has %zu steps: none repeats; fix: use a season "
                    "that is shorter than the series, or leave it out",
                    recipe->season, data->name, length);
    if (recipe->season == 0) {
        TRY(series_season(data, target, targets, &recipe->interval, &recipe->season));
        if (recipe->season > 1)
            note(recipe, "the series repeat after %d steps (`season`)", recipe->season);
        else
            note(recipe, "the series have no season (`season`)");
    }
    recipe->horizon = (int)options->horizon;
    if (recipe->horizon == 0) {
        recipe->horizon = recipe->season > 1 && recipe->season <= LONG_PATCH ? recipe->season : 12;
        note(recipe, "%d steps ahead are forecast (`horizon`)", recipe->horizon);
    }
    recipe->patch = choose_patch(recipe->season, recipe->horizon, length);
    if (recipe_inputs(recipe) > MAX_INPUTS)
        return fail(
            UNROLL_UNSUPPORTED,
            "%d columns next to the targets with periods of %d steps make %d inputs, more than %d; fix: leave columns "
            "out (`columns` NAME=ignore), or a shorter season",
            recipe->past + recipe->known, recipe->patch, recipe_inputs(recipe), MAX_INPUTS);
    return UNROLL_OK;
}

unroll_status recipe_choose(const unroll_dataset *data, const struct recipe_options *options, struct recipe *recipe)
{
    *recipe = (struct recipe){.data = data};
    unroll_status status = choose_channels(options, recipe);
    if (status == UNROLL_OK)
        status = choose_periods(options, recipe);
    if (status != UNROLL_OK)
        recipe_end(recipe);
    return status;
}

/* ---- parts of a sequence ---- */

/* Returns the steps of a sequence that a validation by a share needs at least: together 24 targets, from which the
 * coverage of intervals can be measured, but at most a quarter of the sequence. */
static size_t least_validation(const struct recipe *recipe, size_t length)
{
    enum { TRUTHS = 24 };
    const size_t series = recipe->data->sequences * (size_t)recipe->targets, wanted = (TRUTHS + series - 1) / series;
    return wanted < length / 4 ? wanted : length / 4;
}

struct step_range recipe_range(const struct recipe *recipe, const struct task_request *request, enum part_of which,
                               size_t sequence)
{
    size_t length = recipe_length(recipe, sequence), held[2];
    if (part_data(request, which))
        return (struct step_range){0, length};
    held_steps(&request->validation, &request->test, length, (size_t)recipe->horizon, held);
    const size_t least = least_validation(recipe, length - held[1]);
    if (held[0] > 0 && request->validation.count == 0 && held[0] < least)
        held[0] = least;
    const size_t test = length - held[1], validation = test - held[0];
    if (which == PART_TRAINING)
        return (struct step_range){0, validation};
    return which == PART_VALIDATION ? (struct step_range){validation, test} : (struct step_range){test, length};
}

/* ---- scales ---- */

/* Sums over some sequences of the training part. */
struct recipe_sums {
    double count, mean, squares; /* of differences from the mean (Welford's algorithm) */
    double errors, naive;        /* of repeating the last season: how many, their sum */
};

static void add_sequence(const struct recipe *recipe, const struct channel *channel, size_t sequence, size_t length,
                         struct recipe_sums *sums)
{
    size_t begin = recipe->data->begin[sequence], season = (size_t)recipe->season;
    for (size_t i = 0; i < length; i++) {
        double number = (double)channel_at(channel, sequence, begin + i);
        if (isnan(number))
            continue;
        double change = number - sums->mean;
        sums->mean += change / ++sums->count;
        sums->squares += change * (number - sums->mean);
        double before = i < season ? (double)NAN : (double)channel_at(channel, sequence, begin + i - season);
        if (!isnan(before))
            sums->errors++, sums->naive += fabs(number - before);
    }
}

/* Returns the scale; a channel that is constant here gets numbers around 0. */
static struct scale scale_of(const struct recipe_sums *sums)
{
    double deviation = sums->count > 0 ? sqrt(sums->squares / sums->count) : 0;
    bool constant = !(deviation > 1e-9 * fabs(sums->mean));
    return (struct scale){sums->mean, constant ? 1 : deviation, sums->errors > 0 ? sums->naive / sums->errors : 0};
}

static unroll_status measure_groups(const struct task_request *request, enum part_of which, struct recipe *recipe)
{
    size_t sequences = recipe->data->sequences;
    if (recipe->data->group < 0)
        return UNROLL_OK;
    TRY(ALLOCATE(recipe->of_group, sequences * (size_t)recipe->targets, "for the scales of %zu series", sequences));
    for (size_t s = 0; s < sequences; s++)
        for (int i = 0; i < recipe->targets; i++) {
            struct recipe_sums sums = {0};
            add_sequence(recipe, &recipe->channel[i].in, s, recipe_range(recipe, request, which, s).to, &sums);
            recipe->of_group[s * (size_t)recipe->targets + (size_t)i] =
                sums.count > 1 ? scale_of(&sums) : recipe->channel[i].scale;
        }
    return UNROLL_OK;
}

/* Fails if a channel has no numbers in the training part, or the longest series is too short. */
unroll_status recipe_measure(const struct task_request *request, const struct recipe_options *options,
                             struct recipe *recipe)
{
    size_t longest = 0;
    for (size_t s = 0; s < recipe->data->sequences; s++) {
        size_t length = recipe_range(recipe, request, PART_TRAINING, s).to;
        longest = length > longest ? length : longest;
    }
    for (int i = 0; i < recipe->targets + recipe->past + recipe->known; i++) {
        struct recipe_sums sums = {0};
        for (size_t s = 0; s < recipe->data->sequences; s++)
            add_sequence(recipe, &recipe->channel[i].in, s, recipe_range(recipe, request, PART_TRAINING, s).to, &sums);
        if (sums.count == 0)
            return fail(UNROLL_DATA,
                        "column '%s' of '%s' has no numbers in the part that is trained on; fix: hold less "
                        "out, or leave the column out (`columns` %s=ignore)",
                        recipe->channel[i].name, recipe->data->name, recipe->channel[i].column);
        recipe->channel[i].scale = scale_of(&sums);
    }
    size_t needed = (size_t)recipe->patch + (size_t)recipe->horizon;
    if (longest < needed)
        return fail(UNROLL_DATA,
                    "the training part of '%s' has %zu steps in its longest series, too few for a period of %d and a "
                    "horizon of %d; fix: use a smaller horizon or season, or hold less out",
                    recipe->data->name, longest, recipe->patch, recipe->horizon);
    size_t room = (longest - (size_t)recipe->horizon) / (size_t)recipe->patch / 2; /* the other half is for origins */
    recipe->patches = room < 1 ? 1 : room > DEFAULT_PATCHES ? DEFAULT_PATCHES : (int)room;
    if (options->context > 0)
        recipe->patches = (int)ceil(options->context / recipe->patch);
    return measure_groups(request, PART_TRAINING, recipe);
}

/* ---- JSON ---- */

static json_t *scale_to_json(const struct scale *scale)
{
    return json_pack("[f, f, f]", scale->mean, scale->deviation, scale->naive);
}

static const char *group_of(const unroll_dataset *data, size_t sequence)
{
    const struct column *group = &data->column[data->group];
    int32_t id = column_id(group, group->of_sequence ? sequence : data->begin[sequence]);
    return id < 0 ? "" : group->vocabulary[id];
}

static json_t *groups_to_json(const struct recipe *recipe)
{
    json_t *groups = json_object();
    for (size_t s = 0; s < recipe->data->sequences; s++) {
        json_t *scales = json_array();
        for (int i = 0; i < recipe->targets; i++)
            json_array_append_new(scales, scale_to_json(recipe_scale(recipe, s, i)));
        json_object_set_new(groups, group_of(recipe->data, s), scales);
    }
    return groups;
}

/* Writes the schema's list of target columns. */
static json_t *targets_to_json(const struct recipe *recipe)
{
    json_t *names = json_array();
    for (int i = 0; i < recipe->targets; i++)
        if (i == 0 || strcmp(recipe->channel[i].column, recipe->channel[i - 1].column) != 0)
            json_array_append_new(names, json_string(recipe->channel[i].column));
    return names;
}

json_t *recipe_to_json(const struct recipe *recipe)
{
    json_t *channels = json_array();
    for (int i = 0; i < recipe->targets + recipe->past + recipe->known; i++)
        json_array_append_new(channels, json_pack("{s:s, s:i, s:s, s:o}", "column", recipe->channel[i].column, "part",
                                                  recipe->channel[i].in.part, "name", recipe->channel[i].name, "scale",
                                                  scale_to_json(&recipe->channel[i].scale)));
    json_t *json = json_pack("{s:i, s:i, s:i, s:i, s:b, s:f, s:i, s:i, s:i, s:i, s:o, s:o}", "horizon", recipe->horizon,
                             "patch", recipe->patch, "patches", recipe->patches, "season", recipe->season, "masks",
                             recipe->masks, "seconds", recipe->interval.seconds, "months", recipe->interval.months,
                             "forecast", recipe->targets, "past", recipe->past, "known", recipe->known, "channels",
                             channels, "targets", targets_to_json(recipe));
    if (json && recipe->interval.weekdays)
        json_object_set_new(json, "weekdays", json_true());
    if (json && recipe->interval.day)
        json_object_set_new(json, "day", json_integer(recipe->interval.day));
    if (json && recipe->interval.seconds > 0)
        json_object_set_new(json, "times", time_style_to_json(&recipe->interval.style));
    if (json && recipe->of_group)
        json_object_set_new(json, "groups", groups_to_json(recipe));
    if (json && recipe->notes[0])
        json_object_set_new(json, "notes", json_string(recipe->notes));
    return json;
}

/* Reads a channel from the schema; the data must have its column with a matching type. */
static unroll_status channel_from_json(const json_t *json, const unroll_dataset *data, bool target,
                                       struct recipe_channel *channel)
{
    const char *column, *name;
    int64_t part;
    json_t *scale;
    TRY(json_field_string(json, "the model's schema", "column", &column));
    TRY(json_field_string(json, "the model's schema", "name", &name));
    TRY(json_field_integer(json, "the model's schema", "part", 0, INT32_MAX, &part));
    TRY(json_field_array(json, "the model's schema", "scale", &scale));
    *channel = (struct recipe_channel){.in = {dataset_named(data, column), (int)part}, .scale = scale_from_json(scale)};
    snprintf(channel->column, sizeof channel->column, "%s", column);
    snprintf(channel->name, sizeof channel->name, "%s", name);
    if (channel->in.column == NULL)
        return fail(UNROLL_DATA,
                    "'%s' has no column '%s', which the model %s; fix: use data with all columns that it was "
                    "trained on",
                    data->name, column, target ? "forecasts" : "reads");
    if (channel->in.column->of_sequence || part >= column_channels(channel->in.column) ||
        (target && channel->in.column->type != COLUMN_NUMBERS))
        return fail(
            UNROLL_DATA,
            "column '%s' of '%s' differs from the training data of the model; fix: open the data with the model, and "
            "give it the same kind of column",
            column, data->name);
    return UNROLL_OK;
}

/* Reads the fields of a recipe and checks their ranges. */
static unroll_status fields_from_json(const json_t *json, struct recipe *recipe)
{
    enum { MANY = 1 << 20 };
    const char *where = "the model's schema";
    int64_t months, day = 0;
    struct {
        const char *name;
        int64_t min;
        int *value;
    } field[] = {{"horizon", 1, &recipe->horizon}, {"patch", 1, &recipe->patch},      {"patches", 1, &recipe->patches},
                 {"season", 1, &recipe->season},   {"forecast", 1, &recipe->targets}, {"past", 0, &recipe->past},
                 {"known", 0, &recipe->known}};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        int64_t value;
        TRY(json_field_integer(json, where, field[i].name, field[i].min, MANY, &value));
        *field[i].value = (int)value;
    }
    TRY(json_field_integer(json, where, "months", 0, MANY, &months));
    TRY(json_field_real(json, where, "seconds", &recipe->interval.seconds));
    recipe->interval.months = (int)months;
    recipe->interval.weekdays = json_is_true(json_object_get(json, "weekdays"));
    if (json_object_get(json, "day"))
        TRY(json_field_integer(json, where, "day", 1, 31, &day));
    recipe->interval.day = (int)day;
    TRY(time_style_from_json(json_object_get(json, "times"), where, &recipe->interval.style));
    recipe->masks = json_is_true(json_object_get(json, "masks"));
    return UNROLL_OK;
}

/* Reads the scales of the series. Series that were not in the training part get the scale of all their numbers. */
static unroll_status groups_from_json(const json_t *groups, struct recipe *recipe)
{
    const struct task_request all = {.data = recipe->data};
    if (groups == NULL)
        return UNROLL_OK;
    TRY(measure_groups(&all, PART_ALL, recipe));
    for (size_t s = 0; recipe->of_group && s < recipe->data->sequences; s++) {
        const json_t *scales = json_object_get(groups, group_of(recipe->data, s));
        for (int i = 0; scales && i < recipe->targets; i++)
            recipe->of_group[s * (size_t)recipe->targets + (size_t)i] =
                scale_from_json(json_array_get(scales, (size_t)i));
    }
    return UNROLL_OK;
}

static unroll_status read_recipe(const json_t *json, const unroll_dataset *data, struct recipe *recipe)
{
    json_t *channels;
    TRY(fields_from_json(json, recipe));
    TRY(json_field_array(json, "the model's schema", "channels", &channels));
    int count = recipe->targets + recipe->past + recipe->known;
    if (json_array_size(channels) != (size_t)count)
        return fail(UNROLL_DATA, "the model's schema: channels: %zu instead of %d; fix: use another copy of the model",
                    json_array_size(channels), count);
    TRY(ALLOCATE(recipe->channel, (size_t)count, "for %d channels", count));
    for (int i = 0; i < count; i++)
        TRY(channel_from_json(json_array_get(channels, (size_t)i), data, i < recipe->targets, &recipe->channel[i]));
    return groups_from_json(json_object_get(json, "groups"), recipe);
}

unroll_status recipe_from_json(const json_t *json, const unroll_dataset *data, struct recipe *recipe)
{
    *recipe = (struct recipe){.data = data};
    unroll_status status = read_recipe(json, data, recipe);
    if (status != UNROLL_OK)
        recipe_end(recipe);
    return status;
}

/* ---- windows ---- */

static float or_zero(double number) { return isnan(number) ? 0 : (float)number; }

/* Writes the other channels of a patch that begins at a step; known ones continue through the horizon. */
static float *write_others(const struct recipe *recipe, size_t sequence, size_t step, float *to)
{
    size_t begin = recipe->data->begin[sequence], end = recipe->data->begin[sequence + 1];
    for (int c = recipe->targets; c < recipe->targets + recipe->past + recipe->known; c++) {
        const struct recipe_channel *channel = &recipe->channel[c];
        int count = c < recipe->targets + recipe->past ? recipe->patch : recipe->patch + recipe->horizon;
        for (int k = 0; k < count; k++) {
            size_t at = begin + step + (size_t)k;
            *to++ = at < end ? or_zero(scaled(&channel->scale, channel_at(&channel->in, sequence, at))) : 0;
        }
    }
    return to;
}

/* Returns the last number of a patch that is not missing, scaled; `before` for a patch without one. */
static double level_of(const struct recipe *recipe, const struct window *window, size_t step, double before)
{
    const struct scale *scale = recipe_scale(recipe, window->sequence, window->target);
    size_t begin = recipe->data->begin[window->sequence] + step;
    for (size_t k = (size_t)recipe->patch; k-- > 0;) {
        float number = channel_at(&recipe->channel[window->target].in, window->sequence, begin + k);
        if (!isnan(number))
            return scaled(scale, number);
    }
    return before;
}

double recipe_level(const struct recipe *recipe, const struct window *window)
{
    for (int t = 1; t <= window->steps; t++) {
        double level = level_of(recipe, window, window->origin - (size_t)t * (size_t)recipe->patch, NAN);
        if (!isnan(level))
            return level;
    }
    return 0;
}

/* Writes one step of the network: the patch minus its level, the change of the level, the level, the marks of missing
 * numbers, the other channels. */
static void write_step(const struct recipe *recipe, const struct window *window, size_t step, double before,
                       double level, float *to)
{
    const struct scale *scale = recipe_scale(recipe, window->sequence, window->target);
    size_t begin = recipe->data->begin[window->sequence] + step, patch = (size_t)recipe->patch;
    double base = isnan(level) ? 0 : level;
    for (size_t k = 0; k < patch; k++) {
        double number = scaled(scale, channel_at(&recipe->channel[window->target].in, window->sequence, begin + k));
        to[k] = or_zero(number - base);
        if (recipe->masks)
            to[patch + 2 + k] = isnan(number);
    }
    to[patch] = or_zero(base - before);
    to[patch + 1] = (float)fmax(-UNITS_LEVEL_LIMIT, fmin(UNITS_LEVEL_LIMIT, base));
    write_others(recipe, window->sequence, step, to + patch + 2 + (recipe->masks ? patch : 0));
}

static void write_values(const struct recipe *recipe, const struct window *window, size_t step, size_t limit,
                         double level, float *to)
{
    const struct scale *scale = recipe_scale(recipe, window->sequence, window->target);
    size_t begin = recipe->data->begin[window->sequence];
    for (size_t k = 0; k < (size_t)recipe->horizon; k++) {
        bool seen = step + k < limit;
        float number = seen ? channel_at(&recipe->channel[window->target].in, window->sequence, begin + step + k) : NAN;
        to[k] = (float)(scaled(scale, number) - (isnan(level) ? 0 : level));
    }
}

void recipe_fill(const struct recipe *recipe, const struct window *window, size_t limit, bool last_alone, float *inputs,
                 float *values, size_t rows)
{
    size_t patch = (size_t)recipe->patch, step = window->origin - (size_t)window->steps * patch;
    size_t wide = (size_t)recipe_inputs(recipe), horizon = (size_t)recipe->horizon;
    double before = NAN;
    for (int t = 0; t < window->steps; t++, step += patch) {
        double level = level_of(recipe, window, step, before);
        bool counts = t == window->steps - 1 || !last_alone;
        write_step(recipe, window, step, before, level, inputs + (size_t)t * rows * wide);
        write_values(recipe, window, step + patch, counts ? limit : 0, level, values + (size_t)t * rows * horizon);
        before = level;
    }
}
