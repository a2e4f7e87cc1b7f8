/* unroll launch: starts ranks, and restarts them when one is lost or leaves, or when more can join. Each start
 * resumes from the newest checkpoint. The ranks need no other agreement with the launcher: every start is an
 * ordinary run of `unroll train`. Lost ranks are detected by launch_control.c; processes are started by
 * launch_start.c. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/try.h"
#include "cli/show/console.h"
#include "extensions/cluster/cli/launch.h"
#include "cli/show/output.h"
#include "cli/show/stopwatch.h"

enum { LOOK = 20 /* milliseconds */ };
static const double seconds_to_come = 30, seconds_to_end = 3, seconds_of_followers = 1, seconds_between_looks = 0.5;

/* How a start ended. */
enum ending { ENDED, PREEMPTED, MOVES, LOST, REFUSED };

static volatile sig_atomic_t stop_signal, save_signal, restore_signal;
static void ask_to_stop(int number) { stop_signal = number; }
static void ask_to_save(int number) { save_signal = number; }
static void ask_to_restore(int number) { restore_signal = number; }

static bool is_stopped(void) { return stop_signal != 0; }

static void listen_to_signals(void)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) sigaction(stops[i], &action, NULL);
    action.sa_handler = ask_to_save;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = ask_to_restore;
    sigaction(SIGUSR2, &action, NULL);
}

/* ---- the request ---- */

static unroll_status read_ranks(struct launch *l, const char *text)
{
    int64_t min, max;
    const char *at = text;
    bool is_sound = number_integer(&at, NULL, 1, RANKS_MAX, &min) == NUMBER_OK;
    max = min;
    if (is_sound && *at == ':')
        at++, is_sound = number_integer(&at, NULL, min, RANKS_MAX, &max) == NUMBER_OK;
    if (!is_sound || *at)
        return complain(UNROLL_USAGE,
                        "--ranks: '%.40s' is not MIN:MAX; fix: write for example --ranks 2:8 (1 to %d ranks)", text,
                        RANKS_MAX);
    l->min = (int)min, l->max = (int)max;
    return UNROLL_OK;
}

/* Only the batch is divided by the number of ranks; other axes of --split stay as given. */
static unroll_status read_mesh(struct launch *l)
{
    const struct settings *s = &l->train;
    const char *cuts = text_of(s, OPTION_SPLIT);
    int64_t most = l->max;
    TRY(read_split(cuts, &l->split));
    if (cuts && strstr(cuts, "batch="))
        return complain(UNROLL_USAGE,
                        "--split %s: the launcher divides the batch by the ranks that there are; fix: leave "
                        "out batch=%d",
                        cuts, l->split.batch);
    l->unit = l->split.time * l->split.layer * l->split.hidden * (int)integer_of(s, OPTION_WORKERS);
    if (is_given(s, OPTION_BATCH) && integer_of(s, OPTION_BATCH) > 0 && integer_of(s, OPTION_BATCH) * l->unit < most)
        most = integer_of(s, OPTION_BATCH) * l->unit;
    if (is_given(s, OPTION_EXACT) && is_on(s, OPTION_EXACT) && integer_of(s, OPTION_EXACT) * l->unit < most)
        most = integer_of(s, OPTION_EXACT) * l->unit;
    l->max = (int)most - (int)most % l->unit;
    l->min += (l->unit - l->min % l->unit) % l->unit;
    if (l->max < l->min)
        return complain(UNROLL_USAGE,
                        "--ranks: at least %d are asked for, and --split, --batch and --exact leave room for "
                        "%d; fix: ask for fewer",
                        l->min, l->max);
    return UNROLL_OK;
}

/* Checks the options of --engine. With ucx, surviving ranks continue without a restart, so each must hold a whole
 * replica of the training. */
static unroll_status read_engine(struct launch *l, const struct settings *s)
{
    l->worlds.are = strcmp(text_of(s, OPTION_ENGINE), "ucx") == 0;
    l->worlds.spares = (int)integer_of(s, OPTION_SPARES);
    if (l->worlds.spares > 0 && !l->worlds.are)
        return complain(UNROLL_UNSUPPORTED,
                        "--spares: a run of MPI has as many ranks as it began with; fix: use --engine ucx");
    if (l->worlds.are && l->unit > 1)
        return complain(UNROLL_UNSUPPORTED,
                        "--engine ucx divides the batch alone; fix: use --engine mpi with other cuts and "
                        "with workers");
    if (l->max + l->worlds.spares > RANKS_MAX)
        return complain(UNROLL_USAGE, "--spares: %d processes at most; fix: use fewer", RANKS_MAX);
    return UNROLL_OK;
}

static unroll_status find_run(struct launch *l)
{
    const struct settings *s = &l->train;
    TRY(settings_need(s, OPTION_DATA));
    if (strcmp(text_of(s, OPTION_DATA), "-") == 0)
        return complain(UNROLL_UNSUPPORTED,
                        "data of the standard input can't be read again when ranks start again; fix: "
                        "write them to a file");
    if (is_given(s, OPTION_RESUME))
        return run_name(&l->run, text_of(s, OPTION_RESUME));
    return run_choose(&l->run, s);
}

/* Reads the words after `launch`. They may only request help. */
static unroll_status read_training(struct launch *l, const struct settings *s)
{
    if (strcmp(s->word[0], "train") != 0)
        return complain(UNROLL_USAGE, "launch: '%.40s' can't be launched; fix: unroll launch --ranks 2:8 train FILE",
                        s->word[0]);
    return settings_load(&l->train, COMMAND_TRAIN, s->words - 1, s->word + 1);
}

/* Reads the options, the run and the hosts, and opens the control socket, whose address goes to the environment. */
static unroll_status read_request(struct launch *l, const struct settings *s)
{
    TRY(settings_need(s, OPTION_RANKS));
    TRY(read_ranks(l, text_of(s, OPTION_RANKS)));
    l->silence = number_of(s, OPTION_SILENCE);
    l->attempts = integer_of(s, OPTION_ATTEMPTS);
    l->timeout = number_of(&l->train, OPTION_TIMEOUT);
    l->mtbf = number_of(&l->train, OPTION_MTBF);
    l->began = seconds_now();
    l->newest = -1;
    TRY(read_mesh(l));
    TRY(read_engine(l, s));
    TRY(find_run(l));
    TRY(hosts_open(&l->hosts, text_of(s, OPTION_HOSTS), l->max));
    if (l->worlds.are && !hosts_are_here(&l->hosts))
        return complain(UNROLL_UNSUPPORTED,
                        "--engine ucx starts ranks on this machine alone; fix: use --engine mpi, or hosts "
                        "that are all this one");
    char place[128], variable[192];
    TRY(control_open(&l->control, !hosts_are_here(&l->hosts) ? l->hosts.of[l->hosts.count - 1].name : NULL, place));
    snprintf(variable, sizeof variable, "%s/0", place);
    setenv(MEMBER_VARIABLE, variable, 1);
    return start_open(&l->start);
}

/* ---- the command line of the ranks ---- */

__attribute__((format(printf, 2, 3))) static void add_word(struct words *words, const char *format, ...)
{
    va_list arguments;
    char *word = NULL;
    va_start(arguments, format);
    int length = vasprintf(&word, format, arguments);
    va_end(arguments);
    if (length >= 0 && words->count < LAUNCH_WORDS - 1)
        words->word[words->count++] = word;
}

void free_words(struct words *words)
{
    while (words->count > 0) free(words->word[--words->count]);
}

/* Passes on the settings of the command line. Files and environment variables are the same for all ranks. */
static void add_settings(const struct launch *l, struct words *words)
{
    static const enum option_id ours[] = {OPTION_OUT, OPTION_OVERWRITE, OPTION_RESUME, OPTION_SPLIT, OPTION_SET};
    for (int id = 0; id < option_count; id++) {
        bool is_ours = l->train.of[id].source != SOURCE_LINE;
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) is_ours |= id == (int)ours[i];
        if (!is_ours)
            add_word(words, "--%s=%s", options[id].name, l->train.of[id].text);
    }
}

void launch_words(const struct launch *l, struct words *words)
{
    char path[PATH_MAX] = "unroll";
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? (size_t)length : strlen(path)] = '\0';
    add_word(words, "%s", path);
    add_word(words, "train");
    add_settings(l, words);
    if (l->ranks > 1 && !l->worlds.are)
        add_word(words, "--split=batch=%d,time=%d,layer=%d,hidden=%d", l->ranks / l->unit, l->split.time,
                 l->split.layer, l->split.hidden);
    if (l->begun || is_given(&l->train, OPTION_RESUME)) {
        add_word(words, "--resume=%s", l->run.directory);
        return;
    }
    run_path(&l->run, "config.json", path);
    add_word(words, "--out=%s", l->run.directory);
    if (exists(path)) /* find_run rejected a run that must not be overwritten: this one may be, or is ours */
        add_word(words, "--overwrite");
}

/* ---- watching a start ---- */

static bool has_ended(const struct launch_member *m) { return m->ended; }
static bool has_left(const struct launch_member *m) { return m->left; }
static bool has_come(const struct launch_member *m) { return m->came; }
static bool has_met(const struct launch_member *m) { return m->met; }
static bool waited(const struct launch_member *m) { return m->ended && m->status == UNROLL_COMMUNICATION; }

/* New checkpoints count as progress. */
static void note_progress(struct launch *l)
{
    const struct launch_member *lead = &l->control.member[l->worlds.place[0] > 0 ? l->worlds.place[0] : 0];
    const bool trains = l->worlds.are && l->worlds.number > 0 ? lead->trains == l->worlds.number : lead->trained;
    l->begun |= lead->step >= 0;
    if (lead->checkpoint > l->newest) {
        l->newest = lead->checkpoint;
        l->stalled = 0;
    }
    if (l->lost > 0 && trains) {
        say_always("launch: %d rank%s train again after %.3g s", l->ranks, l->ranks == 1 ? "" : "s",
                   seconds_now() - l->lost);
        l->lost = 0;
    }
}

static void say_lost(struct launch *l, int rank, const char *what)
{
    const struct launch_member *m = &l->control.member[rank];
    char who[192] = "";
    if (m->came)
        snprintf(who, sizeof who, " (process %ld on %s)", m->process, m->host);
    say_always("launch: rank %d%s %s", rank, who, what);
    if (!l->hosts.path || hosts_of(&l->hosts, rank)->lost < hosts_of(&l->hosts, rank)->slots)
        hosts_of(&l->hosts, rank)->lost++;
}

/* Reports all ranks that have been silent for about as long as the most silent one. A host without any live rank is
 * considered dead. */
static void find_silent(struct launch *l, double seconds, const char *what)
{
    struct launch_control *c = &l->control;
    for (int i = 0; i < c->ranks; i++)
        if (!c->member[i].ended && seconds_now() - c->member[i].heard > seconds - 0.5)
            say_lost(l, i, what);
    for (int first = 0, h = 0; h < l->hosts.count; first += l->hosts.of[h++].ranks) {
        bool heard = l->hosts.of[h].ranks == 0 || l->hosts.path == NULL;
        for (int i = first; i < first + l->hosts.of[h].ranks; i++)
            heard |= c->member[i].ended || seconds_now() - c->member[i].heard <= seconds - 0.5;
        l->hosts.of[h].dead |= !heard;
        if (!heard)
            say_always("launch: no rank on %s responds: none is started there until the file of hosts changes",
                       l->hosts.of[h].name);
    }
}

/* Returns whether a rank is lost. If so, reports it and marks its slot as lost. */
static bool look_for_loss(struct launch *l, double begin)
{
    struct launch_control *c = &l->control;
    double seconds, since = seconds_now() - begin;
    int silent = control_silent(c, &seconds);
    char what[160];
    if (c->is_wrong && c->wrong < 0)
        say_always("launch: replicas differ, and it is unknown which one is wrong");
    else if (c->is_wrong)
        say_lost(l, c->wrong, "has a computing or memory error");
    if (c->is_wrong)
        return true;
    if (c->first >= 0) {
        say_lost(l, c->first, "was killed or ended without a message");
        return true;
    }
    if (silent < 0)
        return false;
    if (!c->member[silent].came && since > (l->silence > seconds_to_come ? l->silence : seconds_to_come)) {
        find_silent(l, seconds, "did not begin");
        return true;
    }
    bool is_over = control_count(c, waited) > 0 && seconds > 0.5; /* other ranks gave up waiting for it */
    if (c->member[silent].came && (seconds > l->silence || is_over)) {
        snprintf(what, sizeof what, "does not answer: it was not heard for %.1f s", seconds);
        find_silent(l, seconds, what);
        return true;
    }
    return false;
}

/* Returns whether ranks time out although no rank is known to be lost. */
static bool look_for_failure(const struct launch *l, double begin)
{
    const struct launch_control *c = &l->control;
    if (control_count(c, has_met) < c->ranks && seconds_now() - begin > l->timeout + seconds_to_come) {
        say_always("launch: the ranks did not meet in %.0f s", seconds_now() - begin);
        return true;
    }
    for (int i = 0; i < c->ranks; i++)
        if (waited(&c->member[i]) && seconds_now() - c->member[i].heard > seconds_of_followers) {
            say_always("launch: rank %d timed out: %s", i, c->member[i].words);
            return true;
        }
    return false;
}

/* Returns whether hosts that were added or removed change the number of ranks. */
static bool wants_to_move(struct launch *l, double *looked)
{
    bool changed = restore_signal != 0;
    if (seconds_now() - *looked < seconds_between_looks && !changed)
        return false;
    *looked = seconds_now();
    if (changed)
        hosts_restore(&l->hosts);
    restore_signal = 0;
    bool is_new = hosts_look(&l->hosts);
    return is_new || (changed && hosts_ranks(&l->hosts, l->min, l->max, l->unit) != l->ranks);
}

/* Returns the lease of a rank: it has ended when the rank counts as lost, and does not outlast the launcher's own
 * lease. */
static int64_t lease_of(const struct launch *l)
{
    int64_t own = store_grants(&l->store), most = (int64_t)(1e3 * l->silence);
    return own < most ? own : most;
}

struct watched {
    double begin, looked, ended; /* ended: seconds_now() when all ranks had ended; 0: not yet */
    bool stops, moves;           /* commands sent to the ranks */
};

/* Passes signals and changes of the hosts on to the ranks. */
static void pass_on(struct launch *l, struct watched *w)
{
    if (stop_signal && !w->stops) {
        control_stop(&l->control);
        w->stops = true;
    }
    if (save_signal)
        control_tell(&l->control, "save");
    save_signal = 0;
    if (l->worlds.are) {
        if (wants_to_move(l, &w->looked))
            worlds_want(l, hosts_ranks(&l->hosts, l->min, l->max, l->unit));
        return;
    }
    if (!w->stops && !w->moves && control_count(&l->control, has_met) == l->ranks && wants_to_move(l, &w->looked)) {
        say_always("launch: hosts have changed: the training is saved and continues on them");
        control_stop(&l->control);
        w->moves = true;
    }
}

/* Evaluates the exit reports of the ranks after all have ended. */
static enum ending judge(struct launch *l, const struct watched *w, unroll_status *status)
{
    struct launch_control *c = &l->control;
    int left = control_count(c, has_left);
    *status = UNROLL_OK;
    for (int i = 0; i < c->ranks; i++)
        if (c->member[i].ended && c->member[i].status > (int)*status && !waited(&c->member[i]))
            *status = (unroll_status)c->member[i].status;
    if (c->is_wrong && look_for_loss(l, w->begin)) /* all ranks report this, and may have ended by now */
        return LOST;
    if (control_count(c, waited) > 0)
        return LOST;
    if (*status == UNROLL_OK)
        return ENDED;
    if (*status != UNROLL_PREEMPTED)
        return REFUSED;
    if (w->stops || (!w->moves && (left == 0 || left == c->ranks)))
        return PREEMPTED;
    for (int i = 0; i < c->ranks && !w->moves; i++)
        if (c->member[i].left)
            say_lost(l, i, "was told to leave and has saved");
    return MOVES;
}

/* mpirun has exited; final reports of its ranks may still arrive. */
static enum ending end_without_mpirun(struct launch *l, const struct watched *w, unroll_status *status)
{
    struct launch_control *c = &l->control;
    for (int i = 0; i < 10 && control_count(c, has_ended) < c->ranks; i++) control_wait(c, LOOK);
    note_progress(l);
    if (control_count(c, has_ended) == c->ranks)
        return judge(l, w, status);
    *status = UNROLL_FAILURE;
    if (control_count(c, has_come) == 0) {
        int how = l->start.status;
        complain(UNROLL_FAILURE, "mpirun has ended with %d before a rank began; fix: see what it printed%s",
                 WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how),
                 WIFEXITED(how) && WEXITSTATUS(how) == 127 ? ", and install openmpi-bin" : "");
        return REFUSED;
    }
    if (!look_for_loss(l, w->begin))
        say_always("launch: mpirun has ended before its ranks");
    return LOST;
}

/* Watches a start until it ends, loses a rank or moves to other hosts. */
static enum ending watch_start(struct launch *l, unroll_status *status)
{
    struct launch_control *c = &l->control;
    struct watched w = {.begin = seconds_now(), .looked = seconds_now()};
    for (;;) {
        control_wait(c, LOOK);
        c->lease = lease_of(l);
        c->mtbf = (l->mtbf + seconds_now() - l->began) / (double)(1 + l->failures);
        note_progress(l);
        if (control_members(c) > 0 && control_count(c, has_ended) == control_members(c) &&
            control_count(c, waited) == 0) {
            w.ended = w.ended > 0 ? w.ended : seconds_now();
            if ((!l->worlds.are && start_has_ended(&l->start)) || seconds_now() - w.ended > seconds_to_end)
                return judge(l, &w, status);
            continue;
        }
        if (l->worlds.are && !c->is_wrong) {
            if (store_is_lost(&l->store) || !worlds_look(l))
                return LOST;
            pass_on(l, &w);
            continue;
        }
        if (store_is_lost(&l->store) || look_for_loss(l, w.begin) || look_for_failure(l, w.begin))
            return LOST;
        if (start_has_ended(&l->start))
            return end_without_mpirun(l, &w, status);
        pass_on(l, &w);
    }
}

/* ---- the sequence of starts ---- */

static unroll_status start(struct launch *l, int64_t epoch)
{
    struct words words = {.count = 0};
    char place[192];
    snprintf(place, sizeof place, "%s", getenv(MEMBER_VARIABLE));
    control_begin(&l->control, epoch, l->ranks + (l->worlds.are ? l->worlds.spares : 0));
    snprintf(strrchr(place, '/'), 24, "/%" PRId64, l->control.epoch);
    setenv(MEMBER_VARIABLE, place, 1);
    hosts_place(&l->hosts, l->ranks);
    if (l->worlds.are)
        return worlds_begin(l);
    launch_words(l, &words);
    unroll_status status = start_ranks(&l->start, &l->hosts, l->ranks, words.word);
    free_words(&words);
    return status;
}

static unroll_status refuse_more(const struct launch *l)
{
    return complain(UNROLL_COMMUNICATION,
                    "%" PRId64
                    " starts in a row lost a rank and made no new checkpoint; fix: see why it ends there, save "
                    "more often (--save-every), or allow more (--attempts)",
                    l->stalled);
}

/* After a loss: counts the failure and returns an error after too many attempts. */
static unroll_status after_loss(struct launch *l)
{
    l->failures++;
    l->stalled++;
    l->lost = l->lost > 0 ? l->lost : seconds_now();
    return l->stalled < l->attempts ? UNROLL_OK : refuse_more(l);
}

static unroll_status no_host(const struct launch *l)
{
    complain(UNROLL_PREEMPTED, "no host lives; fix: start again when one does");
    run_say_resume(&l->run);
    return UNROLL_PREEMPTED;
}

/* Starts the ranks again after each loss or move, until the training ends. */
static unroll_status run_starts(struct launch *l)
{
    unroll_status status = UNROLL_OK;
    for (int64_t epoch = 0;;) {
        l->ranks = hosts_ranks(&l->hosts, l->min, l->max, l->unit);
        if (l->ranks == 0)
            return no_host(l);
        TRY(store_begin(&l->store, l->ranks, &epoch));
        say_always("launch: start %" PRId64 " with %d rank%s%s", epoch, l->ranks, l->ranks == 1 ? "" : "s",
                   l->begun ? ", from the newest checkpoint" : "");
        TRY(start(l, epoch));
        enum ending ending = watch_start(l, &status);
        start_kill(&l->start); /* first, so that it does not report the following kills */
        if (ending == LOST)
            control_tell(&l->control, "end");
        start_sweep(&l->start);
        if (ending == LOST && stop_signal)
            return UNROLL_PREEMPTED;
        if (ending == LOST)
            TRY(after_loss(l));
        else if (ending == MOVES)
            l->stalled = 0, l->lost = seconds_now();
        else
            return status;
    }
}

unroll_status cmd_launch(struct settings *settings)
{
    static struct launch launch; /* several megabytes */
    unroll_status status = read_training(&launch, settings);
    const bool helps = status == UNROLL_OK && is_on(&launch.train, OPTION_HELP);
    if (helps)
        manual_help(COMMAND_TRAIN, launch.train.help_group);
    else if (status == UNROLL_OK)
        status = read_request(&launch, settings);
    if (status == UNROLL_OK && !helps) {
        listen_to_signals();
        status = store_open(&launch.store, text_of(settings, OPTION_CONTROL), launch.run.directory, launch.silence,
                            is_stopped);
        launch.control.stays = !launch.store.is_etcd;
        if (status == UNROLL_OK)
            status = run_starts(&launch);
    }
    store_close(&launch.store);
    if (*launch.start.folder)
        start_close(&launch.start);
    settings_free(&launch.train);
    return status;
}
