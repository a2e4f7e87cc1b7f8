/* The directory of a run. The order of writes makes a kill at any moment harmless. A checkpoint appears whole,
 * because the library renames it. Metrics are lines, of which an unfinished last one is dropped. Old checkpoints are
 * removed only after the new one exists. */
#include "cli/run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/show/console.h"
#include "cli/run/member.h"
#include "cli/run/metrics.h"
#include "cli/show/output.h"

enum { NAMES_RESERVED = 320 }; /* of PATH_MAX, for the names within a run's directory */

/* ---- names ---- */

static void join(char path[PATH_MAX], const char *directory, const char *name)
{
    size_t length = strnlen(directory, PATH_MAX - NAMES_RESERVED);
    memcpy(path, directory, length);
    snprintf(path + length, PATH_MAX - length, "/%s", name);
}

void run_path(const struct run *run, const char *name, char path[PATH_MAX]) { join(path, run->directory, name); }

void run_checkpoint(const struct run *run, int64_t step, char path[PATH_MAX])
{
    char name[64];
    snprintf(name, sizeof name, "ckpt/step-%" PRId64, step);
    run_path(run, name, path);
}

/* "step-N.old" is left if a kill interrupts the replacement of step-N; the library reads it, too. */
int64_t run_step_of(const char *name)
{
    char canonical[64], old[64];
    int64_t step;
    if (strncmp(name, "step-", 5) != 0 || number_whole_integer(name + 5, 0, INT64_MAX, &step) != NUMBER_OK)
        return -1;
    snprintf(canonical, sizeof canonical, "step-%" PRId64, step);
    snprintf(old, sizeof old, "step-%" PRId64 ".old", step);
    return strcmp(canonical, name) == 0 || strcmp(old, name) == 0 ? step : -1;
}

unroll_status run_name(struct run *run, const char *directory)
{
    size_t length = strlen(directory);
    *run = (struct run){.newest = -1, .best = -1, .loss = NAN, .validation = NAN};
    while (length > 1 && directory[length - 1] == '/') length--;
    if (length > PATH_MAX - NAMES_RESERVED)
        return complain(UNROLL_USAGE, "the name of the directory '%.80s...' is too long; fix: use a shorter name",
                        directory);
    memcpy(run->directory, directory, length);
    run->directory[length] = '\0';
    return UNROLL_OK;
}

static bool is_empty(const char *directory)
{
    DIR *entries = NULL;
    int count = 0;
    while (next_name(directory, &entries)) count++;
    return count <= 2; /* . and .. */
}

/* Returns whether a file may come from a process that was killed before it wrote config.json, and so before it
 * trained. */
static bool is_left_by_a_beginning(const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct stat found;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "config.json.tmp") == 0)
        return true;
    join(path, directory, name);
    if (strcmp(name, "ckpt") == 0)
        return is_directory(path) && is_empty(path);
    return strcmp(name, "metrics.jsonl") == 0 && stat(path, &found) == 0 && found.st_size == 0;
}

static bool is_unused(const char *directory)
{
    DIR *entries = NULL;
    const char *name;
    bool unused = true;
    while ((name = next_name(directory, &entries))) unused = unused && is_left_by_a_beginning(directory, name);
    return unused;
}

/* Chooses runs/book for some/book.txt, or runs/book-2 if that exists. */
static unroll_status choose_name(struct run *run, const char *data)
{
    const char *slash = strrchr(data, '/'), *base = slash && slash[1] ? slash + 1 : data;
    char name[NAME_MAX + 32];
    int length = (int)strcspn(base, ".");
    if (strcmp(data, "-") == 0)
        base = "stdin", length = 5;
    if (length == 0 || length > 200)
        base = "text", length = 4;
    for (int number = 1; number < 100000; number++) {
        if (number == 1)
            snprintf(name, sizeof name, "runs/%.*s", length, base);
        else
            snprintf(name, sizeof name, "runs/%.*s-%d", length, base, number);
        if (!exists(name))
            return run_name(run, name);
    }
    return complain(UNROLL_USAGE, "%s and its numbered names all exist; fix: choose a directory with --out", name);
}

/* Without a checkpoint, resuming would be the same as beginning again, so it is not suggested. */
static unroll_status refuse_existing(const struct run *run)
{
    char word[PATH_MAX], resume[PATH_MAX + 32] = "";
    if (run_has_checkpoint(run))
        snprintf(resume, sizeof resume, "resume it with --resume %s, ", as_word(word, sizeof word, run->directory));
    return complain(UNROLL_USAGE, "--out: '%s' exists; fix: %sreplace it with --overwrite, or choose another --out",
                    run->directory, resume);
}

unroll_status run_choose(struct run *run, const struct settings *settings)
{
    const char *out = text_of(settings, OPTION_OUT);
    char config[PATH_MAX];
    if (out == NULL)
        return choose_name(run, text_of(settings, OPTION_DATA));
    TRY(run_name(run, out));
    if (!exists(run->directory))
        return UNROLL_OK;
    if (!is_directory(run->directory))
        return complain(UNROLL_USAGE, "--out: '%s' exists and is not a directory; fix: choose another --out", out);
    join(config, run->directory, "config.json");
    run->overwrites = exists(config) && is_on(settings, OPTION_OVERWRITE);
    if (exists(config) && !run->overwrites)
        return refuse_existing(run);
    if (!run->overwrites && !is_unused(run->directory))
        return complain(UNROLL_USAGE, "--out: '%s' exists and holds other files; fix: choose another --out", out);
    return UNROLL_OK;
}

/* ---- writing ---- */

static unroll_status cannot(const char *what, const char *path)
{
    return complain(UNROLL_RESOURCE, "cannot %s '%s': %s; fix: free space on the disk, or write to another place", what,
                    path, strerror(errno));
}

/* Makes a directory and its parents. */
static unroll_status make_directory(const char *path)
{
    char part[PATH_MAX];
    for (size_t i = 1; i <= strlen(path); i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        int reason = mkdir(part, 0777) == 0 ? 0 : errno;
        if (reason == 0 || is_directory(part))
            continue;
        errno = reason == EEXIST ? ENOTDIR : reason; /* is_directory has changed errno */
        return complain(UNROLL_RESOURCE, "cannot make the directory '%s': %s; fix: choose another --out", part,
                        strerror(errno));
    }
    return UNROLL_OK;
}

static unroll_status write_settings(const struct run *run, const struct settings *settings)
{
    char path[PATH_MAX], *text = settings_to_text(settings);
    if (text == NULL)
        return complain(UNROLL_RESOURCE, "no memory for the settings");
    join(path, run->directory, "config.json");
    size_t length = strlen(text);
    text[length] = '\n'; /* replaces the zero byte by a line end */
    unroll_status status = replace_file(path, text, length + 1);
    free(text);
    return status;
}

/* Locks the metrics. A launched rank may start before the one it replaces has ended on another host. */
static bool lock_metrics(const struct run *run)
{
    int tries = member_is() ? 300 : 0; /* longer than such a rank waits for its lease */
    while (flock(fileno(run->metrics), LOCK_EX | LOCK_NB) != 0) {
        if (tries-- == 0)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    return true;
}

static unroll_status open_metrics(struct run *run)
{
    char path[PATH_MAX];
    join(path, run->directory, "metrics.jsonl");
    run->metrics = fopen(path, "a");
    if (run->metrics == NULL)
        return cannot("write", path);
    if (lock_metrics(run))
        return UNROLL_OK;
    fclose(run->metrics);
    run->metrics = NULL;
    return complain(UNROLL_USAGE, "another process is training '%s'; fix: wait for it, or stop it with SIGTERM",
                    run->directory);
}

void run_close(struct run *run)
{
    if (run->metrics)
        fclose(run->metrics);
    run->metrics = NULL;
    events_close(&run->events);
}

/* Appends a report to metrics.jsonl. */
static unroll_status write_metrics(const struct run *run, const struct report *r)
{
    json_t *object = json_pack("{sI}", "step", (json_int_t)r->step);
#define ADD_NUMBER(member, key) json_object_set_new(object, key, json_finite(r->member));
    REPORT_NUMBERS(ADD_NUMBER)
    if (r->metric_name)
        json_object_set_new(object, "metric", json_string(r->metric_name));
    if (r->is_best)
        json_object_set_new(object, "best", json_true());
    if (run->newest >= 0)
        json_object_set_new(object, "checkpoint", json_integer(run->newest));
    if (r->divided)
        json_object_set(object, "divided", r->divided);
    if (r->energy)
        json_object_set(object, "energy", r->energy);
    if (r->ranks)
        json_object_set(object, "ranks", r->ranks);
    char *line = object ? metrics_format(object) : NULL;

    json_decref(object);
    if (line == NULL)
        return complain(UNROLL_RESOURCE, "no memory for the metrics");
    bool written = fputs(line, run->metrics) >= 0 && fflush(run->metrics) == 0;
    free(line);
    if (!written)
        return complain(UNROLL_RESOURCE,
                        "cannot write '%s/metrics.jsonl': %s; fix: free space on the disk, or write to another place",
                        run->directory, strerror(errno));
    return UNROLL_OK;
}

static unroll_status write_events(struct run *run, const struct report *r)
{
    const struct event_value values[] = {
        {"loss/train", r->loss},
        {"loss/validation", r->validation},
        {"norm", r->norm},
        {"learning_rate", r->rate},
        {"items_per_second", r->speed},
        {"joules_per_item", json_number_value(json_object_get(r->energy, "joules_per_item"))}};
    if (run->events.file == NULL)
        TRY(events_open(&run->events, run->directory, run->newest));
    return events_write(&run->events, r->step, values, sizeof values / sizeof *values - !r->energy);
}

void run_metric_name(const char *key, char *name, size_t size)
{
    snprintf(name, size, "%s", key);
    char *per = strstr(name, "_per_"); /* "bits" of bits_per_character */
    if (per)
        *per = '\0';
    for (char *c = name; *c; c++) *c = *c == '_' ? ' ' : *c;
}

static void take_validation(struct run *run, double loss, double metric, const char *name)
{
    run->validation = loss;
    run->metric.value = metric;
    run_metric_name(name && isfinite(metric) ? name : "", run->metric.name, sizeof run->metric.name);
}

unroll_status run_report(struct run *run, const struct report *r)
{
    if (!run->watches && !member_lease())
        return complain(UNROLL_COMMUNICATION, MEMBER_NO_LEASE);
    if (!run->watches) {
        TRY(write_metrics(run, r));
        TRY(write_events(run, r));
    }
    run->loss = r->loss;
    if (!isnan(r->validation))
        take_validation(run, r->validation, r->metric, r->metric_name);
    return UNROLL_OK;
}

/* ---- checkpoints ---- */

/* Returns whether a name is the temporary one of a file or checkpoint. */
static bool is_unfinished(const char *name)
{
    size_t length = strlen(name);
    return strstr(name, ".tmp.") || (length > 4 && strcmp(name + length - 4, ".tmp") == 0);
}

static bool is_anything(const char *name) { return strcmp(name, ".") != 0 && strcmp(name, "..") != 0; }

static bool is_of_a_run(const char *name)
{
    return strcmp(name, RUN_MODEL) == 0 || strcmp(name, RUN_DETAILS) == 0 || strcmp(name, "metrics.jsonl") == 0 ||
           strncmp(name, EVENTS_PREFIX, strlen(EVENTS_PREFIX)) == 0;
}

/* Removes the files of a directory with unwanted names. This process holds the lock, so no other process writes
 * them. */
static void remove_files(const char *directory, bool (*is_unwanted)(const char *name))
{
    DIR *entries = NULL;
    const char *name;
    char path[PATH_MAX];
    while ((name = next_name(directory, &entries)))
        if (is_unwanted(name)) {
            join(path, directory, name);
            unlink(path);
        }
}

/* Returns how many checkpoints are newer than that of `step`, up to the newest known one. Damaged ones may be beyond
 * it; they are removed when the run has passed them. */
static int64_t newer(const struct run *run, const char *directory, int64_t step)
{
    DIR *entries = NULL;
    const char *name;
    int64_t count = 0;
    while ((name = next_name(directory, &entries)))
        count += run_step_of(name) > step && run_step_of(name) <= run->newest;
    return count;
}

/* Removes checkpoints that are no longer needed, and incomplete files of killed processes. Failures to remove are
 * harmless, so they are not reported. */
static void tidy(const struct run *run, int64_t keep)
{
    char directory[PATH_MAX], path[PATH_MAX];
    DIR *entries = NULL;
    const char *name;
    join(directory, run->directory, "ckpt");
    while ((name = next_name(directory, &entries))) {
        int64_t step = run_step_of(name);
        bool old = step >= 0 && step != run->best && newer(run, directory, step) >= keep;
        if (!old && !is_unfinished(name))
            continue;
        join(path, directory, name);
        remove_files(path, is_anything);
        rmdir(path);
    }
}

/* Removes the earlier run. Its settings are replaced last: until then it is still the earlier run. Other files stay. */
static unroll_status remove_run(struct run *run)
{
    remove_files(run->directory, is_of_a_run);
    tidy(run, 0);
    fclose(run->metrics);
    return open_metrics(run);
}

unroll_status run_create(struct run *run, const struct settings *settings)
{
    char checkpoints[PATH_MAX];
    if (run->watches)
        return UNROLL_OK;
    join(checkpoints, run->directory, "ckpt");
    TRY(make_directory(checkpoints));
    TRY(open_metrics(run));
    if (run->overwrites)
        TRY(remove_run(run));
    return write_settings(run, settings);
}

unroll_status run_save_shard(const struct run *run, unroll_snapshot *snapshot, const unroll_progress *progress)
{
    char path[PATH_MAX];
    run_checkpoint(run, progress->step, path);
    return unroll_snapshot_write_shard(snapshot, path);
}

unroll_status run_save(struct run *run, unroll_snapshot *snapshot, const unroll_progress *progress, int64_t keep)
{
    char path[PATH_MAX];
    run_checkpoint(run, progress->step, path);
    unroll_status status = unroll_snapshot_write(snapshot, path);
    if (status != UNROLL_OK)
        return status;
    run->newest = progress->step;
    run_mark_best(run, progress);
    tidy(run, keep);
    return UNROLL_OK;
}

void run_resume(const struct run *run, char line[RESUME_LONGEST])
{
    char word[PATH_MAX];
    snprintf(line, RESUME_LONGEST, "resume: unroll train --resume %s", as_word(word, sizeof word, run->directory));
}

void run_say_resume(const struct run *run)
{
    char line[RESUME_LONGEST];
    run_resume(run, line);
    say_always("%s", line);
}

/* ---- resuming ---- */

/* Reads a line of the metrics into the run; returns false if it is after the newest checkpoint. */
static bool take_line(struct run *run, const json_t *line)
{
    json_int_t step = json_integer_value(json_object_get(line, "step"));
    const json_t *loss = json_object_get(line, "loss"), *validation = json_object_get(line, "val_loss");
    if (step > run->newest)
        return false;
    if (json_is_real(loss))
        run->loss = json_real_value(loss);
    if (json_is_real(validation))
        take_validation(run, json_real_value(validation), json_number_value(json_object_get(line, "val_metric")),
                        json_string_value(json_object_get(line, "metric")));
    run->seconds = json_number_value(json_object_get(line, "seconds"));
    return true;
}

/* Reads the metrics. A last line without an end is from a killed process. Lines after the newest checkpoint only
 * show whether there was one. */
static unroll_status read_lines(struct run *run, FILE *file, const char *path)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    int number = 0;
    bool takes = true;
    unroll_status status = UNROLL_OK;
    while (status == UNROLL_OK && (length = getline(&line, &capacity, file)) > 0 && line[length - 1] == '\n') {
        json_t *object = metrics_parse(line, (size_t)length);
        number++;
        if (object == NULL && takes)
            status = complain(UNROLL_DATA, "%s: line %d is damaged or not a JSON object; fix: remove the line", path,
                              number);
        takes = takes && object && take_line(run, object);
        run->kept += takes ? length : 0;
        run->had_checkpoint |= json_object_get(object, "checkpoint") != NULL;
        json_decref(object);
    }
    free(line);
    return status;
}

/* Returns false if the metrics are not a regular file, such as a pipe, which is only written. */
static bool can_be_read(const struct run *run)
{
    struct stat found;
    return fstat(fileno(run->metrics), &found) == 0 && S_ISREG(found.st_mode);
}

static unroll_status read_metrics(struct run *run)
{
    char path[PATH_MAX];
    if (!can_be_read(run))
        return UNROLL_OK;
    join(path, run->directory, "metrics.jsonl");
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return cannot("read", path);
    unroll_status status = read_lines(run, file, path);
    fclose(file);
    if (status == UNROLL_OK && run->newest > 0 && run->kept == 0)
        say_always("note: '%s' has no reports up to step %" PRId64 ": curves and the time of the run start there", path,
                   run->newest);
    return status;
}

unroll_status run_refuse_damaged(const struct run *run)
{
    char word[PATH_MAX];
    return complain(
        UNROLL_DATA,
        "all checkpoints of '%s' are damaged; fix: use another copy of one, or start again with --out %s --overwrite",
        run->directory, as_word(word, sizeof word, run->directory));
}

/* Begins again at step 0 if the run was killed before its first checkpoint. Fails if it had checkpoints, which are
 * lost. */
static unroll_status begin_again(const struct run *run)
{
    char model[PATH_MAX], checkpoints[PATH_MAX], word[PATH_MAX];
    join(model, run->directory, RUN_MODEL);
    join(checkpoints, run->directory, "ckpt");
    if (run->had_checkpoint || exists(model) || !exists(checkpoints))
        return complain(
            UNROLL_DATA,
            "the checkpoints of '%s' are missing; fix: use another copy of them, or start again with --out %s "
            "--overwrite",
            run->directory, as_word(word, sizeof word, run->directory));
    say_always("note: '%s' has no checkpoint yet: it starts again at step 0", run->directory);
    return UNROLL_OK;
}

unroll_status run_open(struct run *run, const char *directory)
{
    unroll_progress newest = {.size = sizeof newest};
    int damaged = 0;
    TRY(run_name(run, directory));
    TRY(open_metrics(run));
    TRY(run_find_checkpoint(run, &newest, &damaged));
    run->newest = newest.step;
    if (newest.step < 0 && damaged > 0)
        return run_refuse_damaged(run);
    if (newest.step >= 0)
        TRY(run_check_best(run, &newest));
    TRY(read_metrics(run));
    return run->newest < 0 ? begin_again(run) : UNROLL_OK;
}

unroll_status run_go_on(struct run *run, const struct settings *settings)
{
    struct stat metrics;
    char path[PATH_MAX];
    if (run->watches)
        return UNROLL_OK;
    join(path, run->directory, "metrics.jsonl");
    if (can_be_read(run) && fstat(fileno(run->metrics), &metrics) == 0 && run->kept < metrics.st_size &&
        ftruncate(fileno(run->metrics), run->kept) != 0)
        return cannot("shorten", path);
    remove_files(run->directory, is_unfinished);
    tidy(run, INT64_MAX); /* removes only unfinished files */
    return write_settings(run, settings);
}

unroll_status run_follow(struct run *run, const char *directory)
{
    unroll_status status = run_name(run, directory);
    run->watches = true;
    return status;
}

unroll_status run_take_over(struct run *run, int64_t step)
{
    struct stat metrics;
    const int64_t newest = run->newest;
    const double seconds = run->seconds;
    char path[PATH_MAX];
    run_path(run, "metrics.jsonl", path);
    if (run->metrics == NULL)
        TRY(open_metrics(run));
    run->watches = false;
    if (!can_be_read(run))
        return UNROLL_OK;
    run->newest = step;
    run->kept = 0;
    unroll_status status = read_metrics(run);
    run->newest = newest;
    run->seconds = seconds; /* this process has its own clock */
    events_close(&run->events);
    if (status == UNROLL_OK && fstat(fileno(run->metrics), &metrics) == 0 && run->kept < metrics.st_size &&
        ftruncate(fileno(run->metrics), run->kept) != 0)
        return cannot("shorten", path);
    return status;
}
