/* unroll train: checks the request, opens the data, makes the network and the trainer, and finds the directory of
 * the run. Nothing is written before all of this has succeeded. train_loop.c runs the training. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/stopwatch.h"
#include "cli/show/console.h"
#include "cli/options/data.h"
#include "cli/run/member.h"
#include "cli/options/network.h"
#include "cli/run/plan_auto.h"
#include "cli/run/train.h"

/* ---- the request ---- */

static const enum option_id limits[] = {OPTION_EPOCHS, OPTION_STEPS, OPTION_FOR};
enum { LIMITS = sizeof limits / sizeof *limits };

/* Keeps one of --epochs, --steps and --for, that of the highest layer of settings, and clears the others. */
static unroll_status choose_limit(struct settings *s, enum option_id *chosen)
{
    *chosen = limits[0];
    for (int i = 1; i < LIMITS; i++) {
        if (s->of[limits[i]].source == s->of[*chosen].source && is_given(s, limits[i]))
            return complain(UNROLL_USAGE, "--%s and --%s: both set the end of the run; fix: give one of them",
                            options[*chosen].name, options[limits[i]].name);
        if (s->of[limits[i]].source > s->of[*chosen].source)
            *chosen = limits[i];
    }
    for (int i = 0; i < LIMITS; i++)
        if (limits[i] != *chosen)
            settings_clear(s, limits[i]);
    return UNROLL_OK;
}

static unroll_status check_request(struct settings *s)
{
    if (is_given(s, OPTION_RESUME) && is_given(s, OPTION_OUT))
        return complain(UNROLL_USAGE, "--out and --resume: a resumed run stays where it is; fix: leave out --out");
    if (is_given(s, OPTION_RESUME) && is_on(s, OPTION_DRY_RUN))
        return complain(UNROLL_USAGE, "--dry-run and --resume: the run has already started; fix: give one of them");
    if (is_on(s, OPTION_OVERWRITE) && !is_given(s, OPTION_OUT))
        return complain(
            UNROLL_USAGE,
            "--overwrite without --out: nothing would be overwritten; fix: name the run to replace with --out");
    if (is_on(s, OPTION_PATIENCE) && is_given(s, OPTION_VALIDATION) && number_of(s, OPTION_VALIDATION) == 0)
        return complain(UNROLL_USAGE,
                        "--patience counts validations, and with --val 0 there are none; fix: leave out one of them");
    return settings_need(s, OPTION_DATA);
}

/* Derives the settings that depend on the optimizer. Its hyperparameters are options after those of the table.
 * learning_rate: the task's rate for the default optimizer. */
static unroll_status derive_rates(struct settings *s, double learning_rate)
{
    unroll_trainer_config standard = unroll_trainer_config_default();
    const char *optimizer = text_of(s, OPTION_OPTIMIZER);
    bool is_standard = strcmp(optimizer, standard.rates.optimizer) == 0;
    unroll_hyperparameters rates = unroll_hyperparameters_default(optimizer);
    unroll_option h = {.size = sizeof h};
    if (!is_given(s, OPTION_RATE))
        TRY(settings_derive(s, OPTION_RATE, "%.15g", is_standard ? learning_rate : rates.learning_rate));
    for (int i = 0; unroll_list_option(UNROLL_LIST_OPTIMIZERS, optimizer, i, &h); i++)
        if (!is_given(s, option_find(h.name)))
            TRY(settings_derive(s, option_find(h.name), "%.15g", h.standard));
    return UNROLL_OK;
}

/* Derives the task's defaults for the training where no setting is given. A given number of updates or a given time
 * is not cut short by --patience. */
static unroll_status derive_training(struct training *t, const unroll_task_defaults *of_task)
{
    struct settings *s = t->settings;
    const bool follows = is_on(s, OPTION_PATIENCE) ||
                         (is_given(s, OPTION_SCHEDULE) && strcmp(text_of(s, OPTION_SCHEDULE), "plateau") == 0);
    const double held_out = follows ? 0.1 : of_task->validation;
    if (!is_given(s, OPTION_VALIDATION) && held_out == 0 && number_of(s, OPTION_TEST) == 0)
        say("note: too few examples for a validation split; use --val 0.2 to force one");
    if (!is_given(s, OPTION_VALIDATION) && of_task->groups && number_of(s, OPTION_TEST) == 0)
        TRY(settings_derive(s, OPTION_VALIDATION, "groups:%g", held_out));
    else if (!is_given(s, OPTION_VALIDATION))
        TRY(settings_derive(s, OPTION_VALIDATION, "%.15g", held_out));
    const struct {
        enum option_id id;
        double value;
    } derived[] = {
        {OPTION_BATCH, of_task->batch},
        {OPTION_WARMUP, (double)of_task->warmup},
        {OPTION_PATIENCE, t->limit == OPTION_EPOCHS && number_of(s, OPTION_VALIDATION) != 0 ? of_task->patience : 0}};
    for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
        if (!is_given(s, derived[i].id))
            TRY(settings_derive(s, derived[i].id, "%.15g", derived[i].value));
    if (!is_given(s, OPTION_BPTT))
        TRY(settings_derive(s, OPTION_BPTT, of_task->bptt ? "%d" : "full", of_task->bptt));
    if (!is_given(s, OPTION_SCHEDULE))
        TRY(settings_derive(s, OPTION_SCHEDULE, "%s", of_task->schedule));
    if (!is_given(s, OPTION_AUGMENT) && *of_task->augment)
        TRY(settings_derive(s, OPTION_AUGMENT, "%s", of_task->augment));
    if (t->limit == OPTION_EPOCHS && !is_given(s, OPTION_EPOCHS))
        TRY(settings_derive(s, OPTION_EPOCHS, "%.15g", of_task->epochs));
    return derive_rates(s, of_task->learning_rate);
}

/* ---- network and trainer ---- */

/* Copies the network of a model that is fine-tuned, except where options give another one. */
static unroll_status spec_like(const unroll_model *model, unroll_model_config *spec)
{
    unroll_model_config like = {.size = sizeof like};
    if (!unroll_model_stack(model, &like))
        return complain(
            UNROLL_UNSUPPORTED,
            "--init: the model of %d layers is not a stack of one cell; fix: give a model that was trained with unroll",
            unroll_model_layers(model));
    spec->cell = spec->cell ? spec->cell : like.cell;
    spec->layers = spec->layers == UNROLL_AUTO ? like.layers : spec->layers;
    spec->hidden = spec->hidden == UNROLL_AUTO ? like.hidden : spec->hidden;
    spec->bidirectional = spec->bidirectional == UNROLL_AUTO ? like.bidirectional : spec->bidirectional;
    if (spec->embed == UNROLL_AUTO && like.tokens)
        spec->embed = like.embed;
    spec->projection = spec->projection ? spec->projection : like.projection;
    spec->peephole |= like.peephole;
    spec->tied |= like.tied;
    return UNROLL_OK;
}

static void say_line(void *arg, const char *line) { say("%s: %s", (const char *)arg, line); }

/* Chooses the task from the data and prints it, so that a wrong guess is noticed. */
static unroll_status choose_task(struct settings *s, const unroll_dataset *data)
{
    const char *why = "", *task = is_given(s, OPTION_TASK) ? text_of(s, OPTION_TASK) : "auto";
    if (strcmp(task, "auto") != 0)
        return UNROLL_OK;
    task = unroll_task_suggest(data, &why);
    if (task == NULL)
        return complain(UNROLL_DATA,
                        "no task fits %s; fix: choose one with --task, and see its columns with 'unroll inspect'",
                        text_of(s, OPTION_DATA));
    TRY(settings_derive(s, OPTION_TASK, "%s", task));
    say("task %s: %s; --task chooses another", task, as_options(why));
    return UNROLL_OK;
}

/* Refuses options that the task does not use, so that the run does not record them. */
static unroll_status check_unused(const struct settings *s, const char *unused)
{
    const struct {
        const char *field;
        enum option_id id;
        bool given;
    } list[] = {{"bptt ", OPTION_BPTT, is_given(s, OPTION_BPTT) && integer_of(s, OPTION_BPTT) != 0},
                {"batch_tokens ", OPTION_BATCH, is_given(s, OPTION_BATCH) && integer_of(s, OPTION_BATCH) == 0},
                {"stateful ", OPTION_STATEFUL, is_given(s, OPTION_STATEFUL) && !is_on(s, OPTION_STATEFUL)}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].given && s->of[list[i].id].source > SOURCE_RUN && strstr(unused, list[i].field))
            return complain(UNROLL_USAGE, "--%s %s: the task %s does not use it with these data; fix: leave it out",
                            options[list[i].id].name, text_of(s, list[i].id), text_of(s, OPTION_TASK));
    return UNROLL_OK;
}

/* Makes the network for the task and the data, with the weights of `first` (NULL: random) unless the run is resumed. */
static unroll_status make_network(struct training *t, unroll_model *first)
{
    struct settings *s = t->settings;
    unroll_model_config spec = network_spec(s);
    unroll_task_defaults of_task = unroll_task_defaults_default();
    TRY(choose_task(s, t->data));
    data_options(s, true, t->task_options);
    if (first)
        TRY(spec_like(first, &spec));
    TRY(complain_library(unroll_task_configure(text_of(s, OPTION_TASK), t->task_options, t->data, &spec, &of_task)));
    TRY(check_unused(s, of_task.unused));
    if (*of_task.note)
        say("note: %s", as_options(of_task.note));
    TRY(network_derive(s, &spec));
    TRY(derive_training(t, &of_task));
    TRY(complain_library(unroll_model_new(&spec, (uint64_t)integer_of(s, OPTION_SEED), &t->model)));
    TRY(complain_library(unroll_model_set_schema(t->model, text_of(s, OPTION_TASK), t->task_options, t->data)));
    if (first == NULL || t->run.newest >= 0)
        return UNROLL_OK;
    return complain_library(unroll_model_transfer(t->model, first, say_line, (char *)text_of(s, OPTION_INIT)));
}

static unroll_status make_model(struct training *t)
{
    const char *init = text_of(t->settings, OPTION_INIT);
    unroll_model *first = NULL;
    char file[PATH_MAX];
    if (init && t->run.newest < 0) { /* a resumed run has its own weights, and its network in its settings */
        TRY(run_weights(init, "best", file));
        TRY(complain_library(unroll_model_load(file, &first)));
    }
    unroll_status status = make_network(t, first);
    unroll_model_free(first);
    return status;
}

/* Fills the trainer's configuration from the settings. */
static unroll_status configure(struct training *t, unroll_trainer_config *config)
{
    const struct settings *s = t->settings;
    unroll_option h = {.size = sizeof h};
    *config = unroll_trainer_config_default();
    config->task = text_of(s, OPTION_TASK);
    config->task_options = t->task_options;
    config->batch = (int)integer_of(s, OPTION_BATCH);
    if (config->batch == 0)
        config->batch_tokens = (int64_t)number_of(s, OPTION_BATCH), config->batch = 1;
    config->bptt = (int)integer_of(s, OPTION_BPTT);
    config->accumulate = (int)integer_of(s, OPTION_ACCUMULATE);
    config->label_smoothing = (float)number_of(s, OPTION_LABEL_SMOOTHING);
    config->balanced_classes = !strcmp(text_of(s, OPTION_CLASS_WEIGHTS), "auto");
    config->stateful = is_on(s, OPTION_STATEFUL);
    config->rates = unroll_hyperparameters_default(text_of(s, OPTION_OPTIMIZER));
    config->rates.learning_rate = number_of(s, OPTION_RATE);
    for (int i = 0; unroll_list_option(UNROLL_LIST_OPTIMIZERS, config->rates.optimizer, i, &h); i++)
        TRY(unroll_hyperparameters_set(&config->rates, h.name, number_of(s, option_find(h.name))));
    config->rates.clip = number_of(s, OPTION_CLIP);
    config->schedule = text_of(s, OPTION_SCHEDULE);
    config->warmup = integer_of(s, OPTION_WARMUP);
    if (!t->ranks.meets) /* a rank that joins later has not derived it yet; derive_end sets it */
        config->total_steps = integer_of(s, OPTION_SCHEDULE_STEPS);
    config->validation = t->validation;
    config->test = t->test;
    config->augment = text_of(s, OPTION_AUGMENT);
    config->divide_by = text_of(s, OPTION_DIVIDE_BY);
    config->checks_gradients = is_on(s, OPTION_VERIFY_EVERY);
    config->balance = is_on(s, OPTION_BALANCE);
    config->seed = (uint64_t)integer_of(s, OPTION_SEED);
    config->machine = machine_of(s, &t->ranks);
    config->sync = text_of(s, OPTION_SYNC);
    config->compress = text_of(s, OPTION_COMPRESS);
    config->arrivals = text_of(s, OPTION_ARRIVALS);
    config->replay = text_of(s, OPTION_REPLAY);
    config->log_interval = (int)integer_of(s, OPTION_LOG_INTERVAL);
    return UNROLL_OK;
}

/* Chooses the batch size of --batch auto. */
static unroll_status choose_batch(struct training *t, unroll_trainer_config *config)
{
    char number[NUMBER_TEXT];
    config->batch = 1;
    TRY(complain_library(
        unroll_trainer_choose_batch(t->model, t->data, config, (int)options[OPTION_BATCH].max, &config->batch)));
    say("--batch auto: %s", with_commas(number, config->batch));
    return settings_derive(t->settings, OPTION_BATCH, "%d", config->batch);
}

static unroll_status make_trainer(struct training *t)
{
    unroll_trainer_config config;
    TRY(configure(t, &config));
    if (config.batch == UNROLL_AUTO)
        TRY(choose_batch(t, &config));
    TRY(complain_library(unroll_trainer_new(t->model, t->data, &config, &t->trainer)));
    say_notes(unroll_last_notes());
    return UNROLL_OK;
}

/* ---- how long ---- */

/* Derives the length of the schedule, which ends with the run. A resumed run with a new limit has a new schedule.
 * With --for the number of steps is unknown in advance, so the loop adjusts the schedule as time passes. */
static unroll_status derive_schedule(struct training *t)
{
    struct settings *s = t->settings;
    enum option_id limit = t->limit;
    unroll_entry schedule = {.size = sizeof schedule};
    int at = 0;
    while (unroll_list(UNROLL_LIST_SCHEDULES, at, &schedule) && strcmp(schedule.name, text_of(s, OPTION_SCHEDULE)) != 0)
        at++;

    bool of_old_limit = s->of[OPTION_SCHEDULE_STEPS].source == SOURCE_RUN && s->of[limit].source > SOURCE_RUN;
    if (is_given(s, OPTION_SCHEDULE_STEPS) && !of_old_limit)
        return UNROLL_OK;
    settings_clear(s, OPTION_SCHEDULE_STEPS);
    t->schedule_by_clock = schedule.has_length && limit == OPTION_FOR;
    if (!schedule.has_length || limit == OPTION_FOR)
        return UNROLL_OK;
    return settings_derive(s, OPTION_SCHEDULE_STEPS, "%" PRId64, t->end_step);
}

/* Derives the step or the time at which the run ends, and the length of the schedule. */
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

/* Refuses an end that the run has already passed: it would have no effect, but replace the existing end. */
static unroll_status check_end(const struct training *t)
{
    enum option_id limit = is_given(t->settings, OPTION_STEPS) ? OPTION_STEPS : OPTION_EPOCHS;
    bool is_new = t->settings->of[limit].source > SOURCE_RUN;
    if (!is_new || t->run.newest <= t->end_step)
        return UNROLL_OK;
    return complain(UNROLL_USAGE,
                    "--%s %s: the run is at step %" PRId64
                    " already, and its end counts from its start; fix: give more, or leave it out",
                    options[limit].name, text_of(t->settings, limit), t->run.newest);
}

/* ---- all of it ---- */

/* Replaces a path by an absolute one, so that the run can be resumed in any directory. "-" stays as it is. */
static unroll_status derive_path(struct settings *s, enum option_id id)
{
    char path[PATH_MAX];
    if (!text_of(s, id) || strcmp(text_of(s, id), "-") == 0 || realpath(text_of(s, id), path) == NULL)
        return UNROLL_OK;
    return settings_set(s, id, path, s->of[id].source, options[id].name);
}

static unroll_status open_data(struct training *t)
{
    TRY(derive_path(t->settings, OPTION_STATIC));
    TRY(data_open(t->settings, OPTION_DATA, NULL, &t->data));
    return derive_path(t->settings, OPTION_DATA);
}

static unroll_status open_held_out(struct training *t, enum option_id id, unroll_dataset **file, unroll_held_out *part)
{
    TRY(data_held_out(t->settings, id, t->model, file, part));
    return part->data ? derive_path(t->settings, id) : UNROLL_OK;
}

static unroll_status load_checkpoint(struct training *t)
{
    char path[PATH_MAX];
    if (t->run.newest < 0)
        return UNROLL_OK;
    run_checkpoint(&t->run, t->run.newest, path);
    return complain_library(unroll_trainer_load(t->trainer, path));
}

/* Chooses a new run, or opens the one to resume. */
static unroll_status open_run(struct training *t)
{
    const char *directory = text_of(t->settings, OPTION_RESUME);
    if (t->ranks.meets && t->ranks.follows)
        return run_follow(&t->run, directory ? directory : text_of(t->settings, OPTION_OUT));
    if (directory == NULL) {
        unroll_status status = run_choose(&t->run, t->settings);
        t->run.watches = !ranks_lead(&t->ranks);
        return status;
    }
    return ranks_lead(&t->ranks) ? run_open(&t->run, directory) : run_follow(&t->run, directory);
}

/* Prepares everything that a rank does without the others. */
static unroll_status prepare_alone(struct training *t)
{
    struct settings *s = t->settings;
    TRY(choose_limit(s, &t->limit));
    TRY(check_request(s));
    TRY(open_run(t));
    t->began = seconds_now() - t->run.seconds;
    TRY(open_data(t));
    TRY(make_model(t));
    /* held-out data use the vocabulary of the training data */
    TRY(open_held_out(t, OPTION_VALIDATION, &t->validation_file, &t->validation));
    return open_held_out(t, OPTION_TEST, &t->test_file, &t->test);
}

/* Takes the newest checkpoint from rank 0, the only one that has read the run's directory. Fails unless all ranks
 * have the same settings for ending, validating and saving. */
static unroll_status follow_lead(struct training *t)
{
    const struct settings *s = t->settings;
    const double mine[] = {(double)t->run.newest,
                           (double)t->end_step,
                           t->end_seconds,
                           number_of(s, OPTION_VALIDATE_EVERY),
                           (double)integer_of(s, OPTION_SAVE_EVERY),
                           number_of(s, OPTION_PATIENCE),
                           number_of(s, OPTION_VERIFY_EVERY),
                           number_of(s, OPTION_DRY_RUN)};
    double lead[sizeof mine / sizeof *mine] = {0};
    if (ranks_lead(&t->ranks))
        memcpy(lead, mine, sizeof lead);
    TRY(complain_library(unroll_comm_sum(t->ranks.comm, lead, sizeof lead / sizeof *lead)));
    t->run.newest = (int64_t)lead[0];
    bool same = memcmp(lead + 1, mine + 1, sizeof lead - sizeof *lead) == 0;
    return ranks_together(
        &t->ranks,
        same ? UNROLL_OK
             : complain(UNROLL_USAGE,
                        "the end of the run, --patience, --validate-every, --save-every, --verify-every or --dry-run "
                        "differs from rank 0; fix: start all ranks with the same options"));
}

/* Begins a training in this process, from a checkpoint or from the start. */
static unroll_status begin_training(struct training *t)
{
    if (t->ranks.comm)
        TRY(follow_lead(t));
    TRY(load_checkpoint(t));
    return check_end(t);
}

/* Prints a header. A small session provides the device, since the trainer's session makes the same choice. */
static unroll_status say_header(const struct training *t)
{
    const struct settings *s = t->settings;
    unroll_session_config config = unroll_session_config_default();
    unroll_network network = {.size = sizeof network};
    unroll_session *session;
    char name[NAME_MAX], reads[NAME_MAX], parameters[NUMBER_TEXT], memory[NUMBER_TEXT];
    config.machine = machine_of(s, &t->ranks);
    config.machine.chunks = config.machine.checkpoint_time = config.machine.exact = 0;
    config.machine.pieces = 1;
    config.raw = 1;
    config.steps = t->ranks.split.time > 1 ? t->ranks.split.time * UNROLL_PIECE_STEPS : 1;
    config.rows = is_on(s, OPTION_BATCH) ? (int)integer_of(s, OPTION_BATCH) : 1;
    TRY(complain_library(unroll_session_new(t->model, &config, &session)));
    unroll_model_network(t->model, &network);
    network_name(t->model, name);
    network_reads(&network, reads);
    say("%s, %s params, %s | %s, %d thread%s | plan: %s | seed %" PRId64, name,
        with_commas(parameters, network_parameters(t->model)), reads, unroll_session_isa(session),
        unroll_session_threads(session), unroll_session_threads(session) == 1 ? "" : "s",
        as_bytes(memory, (double)unroll_trainer_memory_estimate(t->trainer)), integer_of(s, OPTION_SEED));
    unroll_session_free(session);
    for (int i = 0; i < 2; i++)
        if (*unroll_trainer_held_out(t->trainer, i))
            say("%s: %s (--%s)", i ? "test" : "validation", unroll_trainer_held_out(t->trainer, i), i ? "test" : "val");
    if (t->ranks.comm)
        say("%d ranks: batch %d x time %d x layer %d x hidden %d%s", unroll_comm_ranks(t->ranks.comm),
            t->ranks.split.batch, t->ranks.split.time, t->ranks.split.layer, t->ranks.split.hidden,
            is_on(s, OPTION_EXACT) ? ", exact" : "");
    if (t->ranks.workers > 1)
        say("%d workers of these ranks each, sync %s, compress %s", t->ranks.workers, text_of(s, OPTION_SYNC),
            text_of(s, OPTION_COMPRESS));
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

static unroll_status prepare(struct training *t)
{
    TRY(ranks_together(&t->ranks, prepare_alone(t)));
    if (split_is_auto(t->settings))
        TRY(ranks_together(&t->ranks, split_choose(t->settings, t->model, &t->ranks)));
    TRY(make_trainer(t));
    TRY(derive_end(t));
    return begin_training(t);
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

/* Trains in one world of ranks. Ranks that have trained continue from their replicas in memory, together with the
 * ranks that join. */
static unroll_status train_in_world(struct training *t)
{
    int64_t step;
    TRY(make_trainer(t));
    TRY(derive_end(t));
    TRY(training_take_replica(t, &step));
    if (step < 0 && ranks_lead(&t->ranks) && t->ranks.follows) {
        t->strays = true;
        return complain(UNROLL_COMMUNICATION,
                        "the rank that stores the files was lost before the first step; fix: start the run again");
    }
    if (step < 0) {
        TRY(begin_training(t));
        return train(t);
    }
    TRY(ranks_together(&t->ranks, ranks_lead(&t->ranks) ? run_take_over(&t->run, step) : UNROLL_OK));
    t->is_training = true;
    return training_run(t);
}

/* Trains in one world after the other, until a training in one of them ends. */
static unroll_status train_in_worlds(struct training *t)
{
    unroll_status status = prepare_alone(t);
    for (int i = 0; i < 2 && status == UNROLL_OK; i++) status = complain_library(unroll_replica_new(&t->replica[i]));
    if (status == UNROLL_OK)
        status = member_ready();
    console_hold();
    for (bool goes_on = status == UNROLL_OK; goes_on;) {
        status = ranks_meet(&t->ranks, t->settings);
        goes_on = status == UNROLL_OK;
        if (goes_on)
            status = train_in_world(t);
        goes_on = goes_on && status == UNROLL_COMMUNICATION && !t->strays;
        if (goes_on) {
            unroll_trainer_free(t->trainer);
            t->trainer = NULL;
        }
        member_part(&t->ranks.comm);
    }
    console_release(status != UNROLL_OK && status != UNROLL_PREEMPTED);
    return status == UNROLL_PREEMPTED && member_is_dismissed() ? UNROLL_OK : status; /* the other ranks continue */
}

/* Returns whether all ranks have this status, so that no rank waits for another. */
static bool is_common(const struct ranks *ranks, unroll_status status)
{
    return status == UNROLL_OK || status == UNROLL_PREEMPTED || (status == UNROLL_DIVERGED && !ranks->apart);
}

unroll_status cmd_train(struct settings *settings)
{
    struct training t = {.settings = settings};
    unroll_set_memory_limit((uint64_t)number_of(settings, OPTION_MEMORY));
    unroll_status status = ranks_open(&t.ranks, settings);
    if (status == UNROLL_OK && t.ranks.meets) {
        status = train_in_worlds(&t);
    } else if (status == UNROLL_OK) {
        status = prepare(&t);
        if (status == UNROLL_OK)
            status = train(&t);
    }
    if (t.ranks.comm && status == UNROLL_COMMUNICATION)
        run_close(&t.run); /* keeps what was reported, whatever happens next */
    member_close(status);
    unroll_trainer_free(t.trainer); /* the trainer may be waiting for messages */
    ranks_close(&t.ranks, status, t.is_training && !is_common(&t.ranks, status));
    for (int i = 0; i < 2; i++) unroll_replica_free(t.replica[i]);
    unroll_model_free(t.model);
    unroll_dataset_free(t.test_file);
    unroll_dataset_free(t.validation_file);
    unroll_dataset_free(t.data);
    run_close(&t.run);
    return status;
}
