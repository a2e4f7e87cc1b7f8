/* The choice of the library's planner as a table, as JSON, or as settings of a training. */
#include "cli/run/plan_auto.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "cli/show/console.h"
#include "cli/show/output.h"

enum { WAYS = 10, WHY = 512 };

static const char *given(const struct settings *s, enum option_id id)
{
    return s->of[id].source > SOURCE_DEFAULT ? text_of(s, id) : NULL;
}

unroll_status plan_auto_check(const struct settings *s)
{
    static const enum option_id chosen[] = {OPTION_SPLIT, OPTION_WORKERS, OPTION_CHUNK, OPTION_CHUNKS};
    static const enum option_id wants[] = {OPTION_NETWORK, OPTION_HOSTS};
    const bool is_auto = is_on(s, OPTION_AUTO);
    int64_t hosts;
    if (is_auto && given(s, OPTION_SPLIT) && strstr(text_of(s, OPTION_SPLIT), "time="))
        return complain(
            UNROLL_USAGE,
            "--split time= and --auto: the planner cannot price a cut along time; fix: leave out one of them");
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen && is_auto; i++)
        if (given(s, chosen[i]))
            return complain(UNROLL_USAGE, "--%s and --auto: the planner chooses that; fix: leave out one of them",
                            options[chosen[i]].name);
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        if (is_auto != (given(s, wants[i]) != NULL))
            return is_auto ? complain(UNROLL_USAGE,
                                      "--auto: the planner needs the cluster; fix: use --network FILE --hosts N")
                           : complain(UNROLL_USAGE, "--%s is for the planner; fix: add --auto", options[wants[i]].name);
    if (is_auto && number_whole_integer(text_of(s, OPTION_HOSTS), 1, RANKS_MAX, &hosts) != NUMBER_OK)
        return complain(UNROLL_USAGE, "--hosts '%.40s' is not a number of hosts; fix: choose a value from 1 to %d",
                        text_of(s, OPTION_HOSTS), RANKS_MAX);
    return UNROLL_OK;
}

/* ---- table ---- */

static const char *mesh_text(const unroll_choice *w, char text[64])
{
    snprintf(text, 64, "batch=%d,layer=%d,hidden=%d", w->split.batch, w->split.layer, w->split.hidden);
    return text;
}

static void print_way(const unroll_choice *w, int rows)
{
    char mesh[64], chunks[16], memory[NUMBER_TEXT], joules[24] = "-", money[24] = "-";
    snprintf(chunks, sizeof chunks, w->chunks ? "%d" : "auto", w->chunks);
    if (w->joules > 0)
        snprintf(joules, sizeof joules, "%.4g", w->joules / rows);
    if (w->money > 0)
        snprintf(money, sizeof money, "%.3g", w->money);
    printf("%5d  %7d  %-28s  %6s  %-16s  %-9s  %-9s  %9.4g  %6.1f%%  %8s  %9s  %8s\n", w->ranks, w->workers,
           mesh_text(w, mesh), chunks, w->sum, w->sync, w->compress, 1e3 * w->seconds, 100 * w->busy,
           as_bytes(memory, w->memory), joules, money);
}

static void print_table(const unroll_choice *way, int ways, int rows, const char *goal, const char *why)
{
    printf("ranks  workers  mesh                          chunks  sum               sync       compress   ms/update  "
           "computes    memory  J/sequence     money\n");
    for (int i = 0; i < ways; i++) print_way(&way[i], rows);
    printf("best for %s: %s\nall modeled: costs of operations and messages from the network file\n", goal,
           as_options(why));
}

/* ---- JSON ---- */

static json_t *way_to_json(const unroll_choice *w)
{
    return json_pack("{si si s{si si si} si ss ss ss sf sf sf sf sf sf sf sf}", "ranks", w->ranks, "workers",
                     w->workers, "split", "batch", w->split.batch, "layer", w->split.layer, "hidden", w->split.hidden,
                     "chunks", w->chunks, "sum", w->sum, "sync", w->sync, "compress", w->compress, "seconds",
                     w->seconds, "computes", w->busy, "memory", w->memory, "sent", w->sent, "joules", w->joules,
                     "money", w->money, "saved", w->saved, "slower", w->slower);
}

static unroll_status print_ways_json(const unroll_choice *way, int ways, const char *goal, const char *why)
{
    json_t *list = json_array();
    for (int i = 0; i < ways; i++) json_array_append_new(list, way_to_json(&way[i]));
    return print_json(
        json_pack("{ss ss ss so}", "source", "modelled", "goal", goal, "why", as_options(why), "ways", list));
}

/* ---- choosing ---- */

unroll_status plan_auto_print(const struct settings *s, const unroll_plan_config *config)
{
    unroll_planner_config planner = unroll_planner_config_default();
    unroll_choice way[WAYS] = {{.size = sizeof *way}};
    char why[WHY] = "";
    int ways;
    int64_t hosts = 1;
    (void)number_whole_integer(text_of(s, OPTION_HOSTS), 1, RANKS_MAX, &hosts);
    planner.plan = config;
    planner.network = text_of(s, OPTION_NETWORK);
    planner.hosts = (int)hosts;
    planner.goal = text_of(s, OPTION_GOAL);
    planner.sync = given(s, OPTION_SYNC);
    planner.compress = given(s, OPTION_COMPRESS);
    planner.longer = strcmp(planner.goal, "energy") == 0 ? 1 + number_of(s, OPTION_SLOWER) : 0;
    TRY(complain_library(unroll_planner_choose(NULL, &planner, way, WAYS, &ways, why, sizeof why)));
    if (is_on(s, OPTION_JSON))
        return print_ways_json(way, ways, planner.goal, as_options(why));
    print_table(way, ways, config->rows, planner.goal, as_options(why));
    return UNROLL_OK;
}

static unroll_status take_choice(struct settings *s, const unroll_choice *way, struct ranks *ranks)
{
    char mesh[64];
    ranks->split = way->split;
    ranks->workers = way->workers;
    ranks->apart = way->workers > 1 && strcmp(way->sync, "every") != 0;
    TRY(settings_set(s, OPTION_SPLIT, mesh_text(way, mesh), SOURCE_LINE, "--split"));
    TRY(settings_derive(s, OPTION_WORKERS, "%d", way->workers));
    if (way->chunks)
        TRY(settings_derive(s, OPTION_CHUNKS, "%d", way->chunks));
    TRY(settings_derive(s, OPTION_SYNC, "%s", way->sync));
    TRY(settings_derive(s, OPTION_COMPRESS, "%s", way->compress));
    return settings_derive(s, OPTION_SUM, "%s", way->sum);
}

unroll_status split_choose(struct settings *s, const unroll_model *model, struct ranks *ranks)
{
    unroll_planner_config planner = unroll_planner_config_default();
    unroll_plan_config config = unroll_plan_config_default();
    unroll_choice way = {.size = sizeof way};
    char why[WHY] = "";
    int found;
    if (integer_of(s, OPTION_BATCH) < 1 || given(s, OPTION_WORKERS))
        return complain(
            UNROLL_USAGE,
            "--split auto: the planner also chooses workers, for a number of rows; fix: give --batch as a number, and "
            "leave out --workers");
    config.steps = integer_of(s, OPTION_BPTT) > 0 ? (int)integer_of(s, OPTION_BPTT) : config.steps;
    config.rows = (int)integer_of(s, OPTION_BATCH);
    config.optimizer = text_of(s, OPTION_OPTIMIZER);
    config.machine = machine_of(s, &(struct ranks){.split = {1, 1, 1, 1}, .workers = 1});
    planner.plan = &config;
    planner.network = text_of(s, OPTION_NETWORK);
    planner.hosts = 0;
    planner.ranks = unroll_comm_ranks(ranks->comm);
    planner.goal = text_of(s, OPTION_GOAL);
    planner.sync = text_of(s, OPTION_SYNC); /* a policy changes what the model learns, so the user chooses it .. */
    planner.sync = strcmp(planner.sync, "auto") == 0 ? NULL : planner.sync; /* .. unless it is auto */
    planner.compress = text_of(s, OPTION_COMPRESS);
    planner.compress = strcmp(planner.compress, "auto") == 0 ? NULL : planner.compress;
    TRY(complain_library(unroll_planner_choose(model, &planner, &way, 1, &found, why, sizeof why)));
    TRY(take_choice(s, &way, ranks));
    say("--split auto: %s (modeled)", as_options(why));
    return UNROLL_OK;
}
