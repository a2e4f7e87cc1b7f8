/* The recipe of a forecast: which channels it reads, what it predicts, and in which scale. Data and options choose it,
 * the training part sets the scales, and the model's schema stores it. windows.h decides which windows a part has.
 *
 * A step of the network reads a period of one target (`patch` numbers, minus the last of them), so a few steps see far
 * back. Each target is a row of its own, and all share the weights. Each step predicts the whole horizon (Wen et al.,
 * "A Multi-Horizon Quantile Recurrent Forecaster", 2017). A window of many steps thus trains as many forecasts, and a
 * stream answers after every period. */
#pragma once
#include "model/units.h"
#include "tasks/examples/examples.h"
#include "tasks/examples/series.h"

enum { RECIPE_NAME = UNITS_NAME };

struct recipe_channel {
    struct channel in;
    char column[COLUMN_NAME], name[RECIPE_NAME]; /* "load", "x[2]", "wind=NW" */
    struct scale scale;
};

struct recipe {
    int horizon;        /* steps of the series that are predicted */
    int patch, patches; /* steps of the series in a step of the network; steps that it goes back, at most */
    int season;         /* 1: none */
    bool masks;         /* some numbers are missing: it also reads which ones */
    struct interval interval;
    int targets, past, known;       /* past: known up to the origin; known: also for the future */
    struct recipe_channel *channel; /* [targets + past + known] */
    struct scale *of_group;         /* [sequences, targets]; NULL: those of the channels */
    const unroll_dataset *data;
    char notes[200]; /* choices that the user may want to change, and what was omitted */
};

struct recipe_options {
    double horizon, context, season; /* in steps of the series; 0: chosen automatically */
    char target[256], known[256];    /* names separated by ';'; target "" or "all": all numbers */
    char ignored[COLUMN_NAME];       /* a column that is not read */
};

/* Keys of options whose struct begins with these fields. */
#define RECIPE_NUMBER(field, least, most, words) \
    {.name = #field, .min = (least), .max = (most), .offset = offsetof(struct recipe_options, field), .about = (words)}
#define RECIPE_TEXT(key, field, words)                                   \
    {.name = key,                                                        \
     .text = sizeof(((struct recipe_options *)0)->field),                \
     .offset = offsetof(struct recipe_options, field),                   \
     .about = (words)}
#define RECIPE_CONTEXT RECIPE_NUMBER(context, 1, 1 << 20, "steps read before a forecast; default: by the season")
#define RECIPE_SEASON  RECIPE_NUMBER(season, 1, 1 << 16, "steps of a season, which the baseline repeats; default: detected")
#define RECIPE_TARGET  RECIPE_TEXT("target", target, "columns to forecast, A,B, or all")
#define RECIPE_KNOWN   RECIPE_TEXT("known", known, "columns known in advance, A,B: prices, holidays")

/* Chooses all but patches and scales. Release it with recipe_end. */
unroll_status recipe_choose(const unroll_dataset *data, const struct recipe_options *options, struct recipe *recipe);
/* Measures patches and scales in the training part. */
unroll_status recipe_measure(const struct task_request *request, const struct recipe_options *options,
                             struct recipe *recipe);
void recipe_end(struct recipe *recipe);

json_t *recipe_to_json(const struct recipe *recipe);
/* Restores the recipe that a model stores, for the data that it reads. */
unroll_status recipe_from_json(const json_t *json, const unroll_dataset *data, struct recipe *recipe);

/* Returns the size of the network's input for one step. */
int recipe_inputs(const struct recipe *recipe);

/* Returns the steps of a sequence that belong to a part; a share is at least a horizon long. */
struct step_range recipe_range(const struct recipe *recipe, const struct task_request *request, enum part_of which,
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

/* A target of a sequence, read up to an origin: the first step of the sequence that is predicted. */
struct window {
    size_t sequence, origin;
    int target, steps; /* of the network */
    bool partial;      /* only a part of the horizon is in the part that is evaluated */
};

/* Writes the inputs [steps, rows, recipe_inputs] and values [steps, rows, horizon] of a window into one row. Values are
 * scaled, minus the level of their step (the last number of its patch that is not missing). Values from `limit` on are
 * hidden: NaN. With last_alone, so are those of all but the last step. */
void recipe_fill(const struct recipe *recipe, const struct window *window, size_t limit, bool last_alone, float *inputs,
                 float *values, size_t rows);
/* Returns the level of a window's last step, scaled. */
double recipe_level(const struct recipe *recipe, const struct window *window);
