/* unroll train: checks the request, opens the data, makes the network and the trainer, finds the place of
 * the run. Nothing is written before all of this has succeeded. The training itself: train_loop.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stopwatch.h"
#include "console.h"
#include "network.h"
#include "train.h"
#include "unroll_advanced.h"

/* ---- the request ---- */

static const enum option_id limits[] = {OPTION_EPOCHS, OPTION_STEPS, OPTION_FOR};
enum { LIMITS = sizeof limits / sizeof *limits };

/* Of --epochs, --steps and --for one counts: that of the highest layer. The others are cleared. */
static unroll_status choose_limit(struct settings *s, enum option_id *chosen)
{
    *chosen = limits[0];
    for (int i = 1; i < LIMITS; i++) {
        if (s->of[limits[i]].source == s->of[*chosen].source && is_given(s, limits[i]))
            return complain(UNROLL_USAGE, "--%s and --%s: each says when to end; fix: give one of them",
                            options[*chosen].name, options[limits[i]].name);
        if (s->of[limits[i]].source > s->of[*chosen].source)
            *chosen = limits[i];
    }
    for (int i = 0; i < LIMITS; i++)
        if (limits[i] != *chosen)
            settings_clear(s, limits[i]);
    return UNROLL_OK;
}

/* --val FILE. */
static bool validates_on_file(const struct settings *s) { return isnan(number_of(s, OPTION_VALIDATION)); }

static unroll_status check_request(struct settings *s)
{
    if (is_given(s, OPTION_RESUME) && is_given(s, OPTION_OUT))
        return complain(UNROLL_USAGE, "--out and --resume: a resumed run stays where it is; fix: leave out --out");
    if (is_given(s, OPTION_RESUME) && is_on(s, OPTION_DRY_RUN))
        return complain(UNROLL_USAGE,
                        "--dry-run and --resume: there is nothing to try, the run has begun; fix: give one of them");
    if (is_on(s, OPTION_OVERWRITE) && !is_given(s, OPTION_OUT))
        return complain(UNROLL_USAGE,
                        "--overwrite without --out: nothing would be overwritten; fix: name the run to begin "
                        "anew with --out");
    if (integer_of(s, OPTION_PATIENCE) > 0 && number_of(s, OPTION_VALIDATION) == 0)
        return complain(UNROLL_USAGE,
                        "--patience counts validations, and with --val 0 there are none; fix: leave out one of them");
    return settings_need(s, OPTION_DATA);
}

/* What depends on the optimizer: its hyperparameters are options behind those of the table. */
static unroll_status derive_rates(struct settings *s)
{
    unroll_train_config standard = unroll_train_default();
    const char *optimizer = text_of(s, OPTION_OPTIMIZER);
    bool is_standard = strcmp(optimizer, standard.rates.optimizer) == 0;
    unroll_hyperparameters rates = is_standard ? standard.rates : unroll_hyperparameters_default(optimizer);
    const unroll_hyperparameter *h;
    if (!is_given(s, OPTION_RATE))
        TRY(settings_derive(s, OPTION_RATE, "%.15g", rates.learning_rate));
    for (int i = 0; (h = unroll_optimizer_hyperparameter(optimizer, i)); i++)
        if (!is_given(s, option_find(h->name)))
            TRY(settings_derive(s, option_find(h->name), "%.15g", h->standard));
    return UNROLL_OK;
}

/* ---- network and trainer ---- */

static unroll_status make_model(struct training *t)
{
    struct settings *s = t->settings;
    const char *task = is_given(s, OPTION_TASK) ? text_of(s, OPTION_TASK) : unroll_task_suggest(t->data, NULL);
    unroll_task_defaults defaults = unroll_task_defaults_default();
    unroll_spec spec = network_spec(s);
    TRY(complain_library(unroll_task_network(task, NULL, t->data, &spec, &defaults)));
    TRY(complain_library(unroll_model_new(&spec, (uint64_t)integer_of(s, OPTION_SEED), &t->model)));
    TRY(complain_library(unroll_model_set_schema(t->model, task, NULL, t->data)));
    return is_given(s, OPTION_EMBED) ? UNROLL_OK : settings_derive(s, OPTION_EMBED, "%d", spec.embed);
}

static unroll_status make_trainer(struct training *t)
{
    const struct settings *s = t->settings;
    unroll_train_config config = unroll_train_default();
    const unroll_hyperparameter *h;
    config.task = text_of(s, OPTION_TASK);
    config.batch = (int)integer_of(s, OPTION_BATCH);
    config.bptt = (int)integer_of(s, OPTION_BPTT);
    config.stateful = is_on(s, OPTION_STATEFUL);
    config.rates = unroll_hyperparameters_default(text_of(s, OPTION_OPTIMIZER));
    config.rates.learning_rate = number_of(s, OPTION_RATE);
    for (int i = 0; (h = unroll_optimizer_hyperparameter(config.rates.optimizer, i)); i++)
        TRY(unroll_hyperparameters_set(&config.rates, h->name, number_of(s, option_find(h->name))));
    config.rates.clip = number_of(s, OPTION_CLIP);
    config.schedule = text_of(s, OPTION_SCHEDULE);
    config.warmup = integer_of(s, OPTION_WARMUP);
    config.total_steps = integer_of(s, OPTION_SCHEDULE_STEPS);
    config.validation = validates_on_file(s) ? 0 : number_of(s, OPTION_VALIDATION);
    config.validation_data = t->validation;
    config.seed = (uint64_t)integer_of(s, OPTION_SEED);
    config.machine = machine_of(s, &t->ranks);
    config.log_interval = (int)integer_of(s, OPTION_LOG_INTERVAL);
    return complain_library(unroll_trainer_new(t->model, t->data, &config, &t->trainer));
}

/* ---- how long ---- */

/* The schedule ends with the run; a resumed run with a new limit has a new schedule. How many steps --for
 * will leave room for nobody knows: the loop tells the schedule as time goes by. */
static unroll_status derive_schedule(struct training *t)
{
    struct settings *s = t->settings;
    enum option_id limit = t->limit;
    const char *name;
    int has_length = 0;
    for (int i = 0; (name = unroll_schedule_name(i, NULL, &has_length)) && strcmp(name, text_of(s, OPTION_SCHEDULE));
         i++)
        has_length = 0;

    bool of_old_limit = s->of[OPTION_SCHEDULE_STEPS].source == SOURCE_RUN && s->of[limit].source > SOURCE_RUN;
    if (is_given(s, OPTION_SCHEDULE_STEPS) && !of_old_limit)
        return UNROLL_OK;
    settings_clear(s, OPTION_SCHEDULE_STEPS);
    t->schedule_by_clock = has_length && limit == OPTION_FOR;
    if (!has_length || limit == OPTION_FOR)
        return UNROLL_OK;
    return settings_derive(s, OPTION_SCHEDULE_STEPS, "%" PRId64, t->end_step);
}

static unroll_status derive_end(struct training *t)
{
    struct settings *s = t->settings;
    unroll_progress begin = {.size = sizeof begin};
    TRY(complain_library(unroll_trainer_progress(t->trainer, &begin)));
    t->steps_of_epoch = begin.steps_per_epoch;
    t->end_step = INT64_MAX;
    t->end_seconds = INFINITY;
    if (t->limit == OPTION_STEPS)
        t->end_step = integer_of(s, OPTION_STEPS);
    else if (t->limit == OPTION_EPOCHS)
        t->end_step = (int64_t)fmax(1, ceil(number_of(s, OPTION_EPOCHS) * (double)t->steps_of_epoch - 1e-9));
    else
        t->end_seconds = number_of(s, OPTION_FOR);
    TRY(derive_schedule(t));
    if (is_given(s, OPTION_SCHEDULE_STEPS))
        unroll_trainer_set_total_steps(t->trainer, integer_of(s, OPTION_SCHEDULE_STEPS));
    return UNROLL_OK;
}

/* An end that the run has passed would do nothing, and take the place of the one it has. */
static unroll_status check_end(const struct training *t)
{
    enum option_id limit = is_given(t->settings, OPTION_STEPS) ? OPTION_STEPS : OPTION_EPOCHS;
    bool is_new = t->settings->of[limit].source > SOURCE_RUN;
    if (!is_new || t->run.newest <= t->end_step)
        return UNROLL_OK;
    return complain(UNROLL_USAGE,
                    "--%s %s: the run is at step %" PRId64
                    " already, and its end is counted from its beginning; fix: give more, or leave it out",
                    options[limit].name, text_of(t->settings, limit), t->run.newest);
}

/* ---- all of it ---- */

/* Standard input and output of a resumed run may be others; a path must lead to the data from anywhere. */
static unroll_status derive_path(struct settings *s, enum option_id id)
{
    char path[PATH_MAX];
    if (strcmp(text_of(s, id), "-") == 0 || realpath(text_of(s, id), path) == NULL)
        return UNROLL_OK;
    return settings_set(s, id, path, s->of[id].source, options[id].name);
}

/* "tokens=words,vocab=500": those that are not as they are anyway, since each reader has its own. */
static void reader_options(const struct settings *s, char *text, size_t size)
{
    size_t at = 0;
    *text = '\0';
    for (int id = 0; id < OPTION_COUNT; id++)
        if (options[id].of_reader && strcmp(text_of(s, (enum option_id)id), options[id].fallback) && at < size)
            at += (size_t)snprintf(text + at, size - at, "%s%s=%s", at ? "," : "", options[id].name,
                                   text_of(s, (enum option_id)id));
}

/* model: whose data they are to be; NULL: there is none yet. */
static unroll_status open_data(struct settings *s, enum option_id id, const unroll_model *model, unroll_dataset **data)
{
    unroll_dataset_config config = unroll_dataset_default();
    char chosen[256];
    reader_options(s, chosen, sizeof chosen);
    config.reader = text_of(s, OPTION_READER);
    config.options = model ? NULL : chosen;
    config.model = model;
    TRY(complain_library(unroll_dataset_open(text_of(s, id), &config, data)));
    return derive_path(s, id);
}

static unroll_status load_checkpoint(struct training *t)
{
    char path[PATH_MAX];
    if (t->run.newest < 0)
        return UNROLL_OK;
    run_checkpoint(&t->run, t->run.newest, path);
    return complain_library(unroll_trainer_load(t->trainer, path));
}

/* A run to go on with. */
static unroll_status open_run(struct training *t)
{
    const char *directory = text_of(t->settings, OPTION_RESUME);
    if (directory == NULL) {
        unroll_status status = run_choose(&t->run, t->settings);
        t->run.watches = !ranks_lead(&t->ranks);
        return status;
    }
    return ranks_lead(&t->ranks) ? run_open(&t->run, directory) : run_follow(&t->run, directory);
}

/* What each rank does alone. */
static unroll_status prepare_alone(struct training *t)
{
    struct settings *s = t->settings;
    TRY(choose_limit(s, &t->limit));
    TRY(check_request(s));
    TRY(open_run(t));
    t->began = seconds_now() - t->run.seconds;
    TRY(open_data(s, OPTION_DATA, NULL, &t->data));
    TRY(derive_rates(s));
    TRY(make_model(t));
    /* its vocabulary is that of the data that are trained on */
    return validates_on_file(s) ? open_data(s, OPTION_VALIDATION, t->model, &t->validation) : UNROLL_OK;
}

/* Only rank 0 has seen the directory of the run. When to end, to validate and to save all must know alike. */
static unroll_status follow_lead(struct training *t)
{
    const struct settings *s = t->settings;
    const double mine[] = {(double)t->run.newest,
                           (double)t->end_step,
                           t->end_seconds,
                           number_of(s, OPTION_VALIDATE_EVERY),
                           number_of(s, OPTION_SAVE_EVERY),
                           number_of(s, OPTION_PATIENCE),
                           number_of(s, OPTION_DRY_RUN)};
    double lead[sizeof mine / sizeof *mine] = {0};
    if (ranks_lead(&t->ranks))
        memcpy(lead, mine, sizeof lead);
    TRY(complain_library(unroll_comm_sum(t->ranks.comm, lead, sizeof lead / sizeof *lead)));
    t->run.newest = (int64_t)lead[0];
    bool same = memcmp(lead + 1, mine + 1, sizeof lead - sizeof *lead) == 0;
    return ranks_together(
        &t->ranks,
        same
            ? UNROLL_OK
            : complain(
                  UNROLL_USAGE,
                  "the end of the run, --patience, "
                  "--validate-every, --save-every or --dry-run is not the same as on rank 0; fix: start all ranks with the same "
                  "options"));
}

static unroll_status prepare(struct training *t)
{
    TRY(ranks_together(&t->ranks, prepare_alone(t)));
    TRY(make_trainer(t));
    TRY(derive_end(t));
    if (t->ranks.comm)
        TRY(follow_lead(t));
    TRY(load_checkpoint(t));
    return check_end(t);
}

/* What the network will run on, asked of a small session: the trainer's makes the same choice. */
static unroll_status say_header(const struct training *t)
{
    const struct settings *s = t->settings;
    unroll_session_config config = unroll_session_default();
    unroll_network network;
    unroll_session *session;
    char name[NAME_MAX], reads[NAME_MAX], parameters[NUMBER_TEXT], memory[NUMBER_TEXT];
    config.machine = machine_of(s, &t->ranks);
    config.machine.chunks = config.machine.checkpoint_time = config.machine.exact = 0;
    config.rows = (int)integer_of(s, OPTION_BATCH);
    TRY(complain_library(unroll_session_new(t->model, &config, &session)));
    unroll_model_network(t->model, &network);
    network_name(t->model, name);
    network_reads(&network, reads);
    say("%s, %s params, %s | %s, %d thread%s | plan: %s | seed %" PRId64, name,
        with_commas(parameters, network_parameters(t->model)), reads, unroll_session_isa(session),
        unroll_session_threads(session), unroll_session_threads(session) == 1 ? "" : "s",
        as_bytes(memory, (double)unroll_trainer_memory_estimate(t->trainer)), integer_of(s, OPTION_SEED));
    unroll_session_free(session);
    if (t->ranks.comm)
        say("%d ranks: batch %d x layer %d x hidden %d%s", unroll_comm_ranks(t->ranks.comm), t->ranks.split.batch,
            t->ranks.split.layer, t->ranks.split.hidden, is_on(s, OPTION_EXACT) ? ", exact" : "");
    return UNROLL_OK;
}

static unroll_status print_settings(const struct settings *s)
{
    json_t *object = settings_to_json(s);
    size_t layout = is_on(s, OPTION_JSON) ? JSON_COMPACT : JSON_INDENT(2);
    if (object == NULL)
        return complain(UNROLL_RESOURCE, "no memory for the settings");
    json_dumpf(object, stdout, JSON_SORT_KEYS | layout | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(object);
    return UNROLL_OK;
}

static unroll_status train(struct training *t)
{
    bool resumes = is_given(t->settings, OPTION_RESUME);
    TRY(say_header(t));
    if (is_on(t->settings, OPTION_DRY_RUN))
        return ranks_lead(&t->ranks) ? print_settings(t->settings) : UNROLL_OK;
    TRY(ranks_together(&t->ranks, resumes ? run_go_on(&t->run, t->settings) : run_create(&t->run, t->settings)));
    t->is_training = true;
    return training_run(t);
}

/* These all ranks know of: nobody waits for one that has them. */
static bool is_common(unroll_status status)
{
    return status == UNROLL_OK || status == UNROLL_PREEMPTED || status == UNROLL_DIVERGED;
}

unroll_status cmd_train(struct settings *settings)
{
    struct training t = {.settings = settings};
    unroll_status status = ranks_open(&t.ranks, settings);
    if (status == UNROLL_OK)
        status = prepare(&t);
    if (status == UNROLL_OK)
        status = train(&t);
    if (t.ranks.comm && status == UNROLL_COMMUNICATION)
        run_close(&t.run); /* what was reported is kept whatever happens now */
    ranks_close(&t.ranks, status, t.is_training && !is_common(status));
    unroll_trainer_free(t.trainer);
    unroll_model_free(t.model);
    unroll_dataset_free(t.validation);
    unroll_dataset_free(t.data);
    run_close(&t.run);
    return status;
}
