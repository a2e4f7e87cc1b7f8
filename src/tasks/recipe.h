/* What a forecast reads of its series, what it says, and in what scale: chosen by the data and the options, measured in
 * the training part, kept in the model's schema. Which windows a part has is forecast.c's.
 *
 * A step of the network reads a period of one target (`patch` numbers, less the last of them), so a few steps see far
 * back; each target is a row of its own, and all share the weights; each step predicts the whole horizon (Wen et al.,
 * "A Multi-Horizon Quantile Recurrent Forecaster", 2017), so that a window of many steps trains as many forecasts and a
 * stream answers after every period. */
#ifndef TASKS_RECIPE_H
#define TASKS_RECIPE_H
#include "tasks/examples.h"
#include "tasks/series.h"

enum { RECIPE_NAME = 96 };
enum { RECIPE_LEVEL_LIMIT = 4 }; /* standard deviations: a trend leads far from what was trained on */

struct scale {
    double mean, deviation;
    double naive; /* mean absolute error of repeating the last season, in units: MASE's; 0: not known */
};

struct recipe_channel {
    struct channel in;
    char column[COLUMN_NAME], name[RECIPE_NAME]; /* "load", "x[2]", "wind=NW" */
    struct scale scale;
};

struct recipe {
    int horizon;        /* steps of the series ahead */
    int patch, patches; /* steps of the series that a step of the network reads; steps that it goes back, at most */
    int season;         /* 1: none */
    bool masks;         /* there are missing numbers: it also reads which */
    struct interval interval;
    int targets, past, known;       /* past: known up to the origin; known: for the future, too */
    struct recipe_channel *channel; /* [targets + past + known] */
    struct scale *of_group;         /* [sequences, targets]; NULL: the channels' */
    const unroll_dataset *data;
    char notes[200]; /* what was chosen that the user may want otherwise, what was left out */
};

struct recipe_options {
    double horizon, context, season; /* in steps of the series; 0: chosen */
    char target[256], known[256];    /* names with ';' between; target "" or "all": all numbers */
    char ignored[COLUMN_NAME];       /* a column that is not read */
};

/* Keys of options whose struct begins with these. */
#define RECIPE_NUMBER(field, least, most, words) \
    {.name = #field, .min = (least), .max = (most), .offset = offsetof(struct recipe_options, field), .about = (words)}
#define RECIPE_TEXT(key, field, words)                                   \
    {.name = key,                                                        \
     .text = sizeof(((struct recipe_options *)0)->field),                \
     .offset = offsetof(struct recipe_options, field),                   \
     .about = (words)}
#define RECIPE_CONTEXT RECIPE_NUMBER(context, 1, 1 << 20, "how many steps are read before; default: by the season")
#define RECIPE_SEASON  RECIPE_NUMBER(season, 1, 1 << 16, "steps of a season, which the floor repeats; default: found")
#define RECIPE_TARGET  RECIPE_TEXT("target", target, "the columns that are forecast, A,B, or all")
#define RECIPE_KNOWN   RECIPE_TEXT("known", known, "columns that are known ahead, A,B: prices, holidays")

/* With all but patches and scales. Release with recipe_end. */
unroll_status recipe_choose(const unroll_dataset *data, const struct recipe_options *options, struct recipe *recipe);
/* patches and scales, of the training part. */
unroll_status recipe_measure(const struct task_request *request, const struct recipe_options *options,
                             struct recipe *recipe);
void recipe_end(struct recipe *recipe);

struct scale scale_from_json(const json_t *json);
json_t *recipe_to_json(const struct recipe *recipe);
/* Of what a model keeps, for data that it reads. */
unroll_status recipe_from_json(const json_t *json, const unroll_dataset *data, struct recipe *recipe);

/* How wide a step of the network's input is. */
int recipe_inputs(const struct recipe *recipe);

/* The steps of a sequence that a part has: a share is at least a horizon long. */
struct range recipe_range(const struct recipe *recipe, const struct task_request *request, enum part_of which,
                          size_t sequence);

static inline const struct scale *recipe_scale(const struct recipe *recipe, size_t sequence, int target)
{
    return recipe->of_group ? &recipe->of_group[sequence * (size_t)recipe->targets + (size_t)target]
                            : &recipe->channel[target].scale;
}

static inline double scaled(const struct scale *scale, float number)
{
    return ((double)number - scale->mean) / scale->deviation;
}

/* A target of a sequence, read up to an origin: the first step of the sequence that is forecast. */
struct window {
    size_t sequence, origin;
    int target, steps; /* of the network */
};

/* Its inputs [steps, rows, recipe_inputs] and values [steps, rows, horizon] in one row. Values are scaled, less the
 * level of their step: the last number of its patch that is not missing. Those from `limit` on are not seen, and NaN;
 * where the last step alone counts those of the others are, too. */
void recipe_fill(const struct recipe *recipe, const struct window *window, size_t limit, bool last_alone, float *inputs,
                 float *values, size_t rows);
/* The level of a window's last step, scaled. */
double recipe_level(const struct recipe *recipe, const struct window *window);

#endif
