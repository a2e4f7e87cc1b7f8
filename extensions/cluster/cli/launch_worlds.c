/* Processes that are started individually and survive the loss of others. The launcher sends the remaining ones
 * their new ranks and the addresses of their peers; they resume from the checkpoints in their memory
 * (train_worlds.c). A late process or a spare joins with the next world. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "cli/show/console.h"
#include "extensions/cluster/cli/launch.h"
#include "cli/show/stopwatch.h"

static const double seconds_to_begin = 30;

/* ---- processes ---- */

static unroll_status start_at(struct launch *l, int place)
{
    struct launch_control *c = &l->control;
    struct words words = {.count = 0};
    if (place >= c->ranks)
        c->ranks = place + 1;
    control_empty(c, place, false);
    launch_words(l, &words);
    c->member[place].child = start_process(words.word, place);
    free_words(&words);
    return c->member[place].child > 0 ? UNROLL_OK
                                      : complain(UNROLL_RESOURCE, "cannot start a process; fix: raise the limit of "
                                                                  "processes (ulimit -u)");
}

unroll_status worlds_begin(struct launch *l)
{
    struct launch_worlds *w = &l->worlds;
    w->number = 0;
    w->count = 0;
    w->wanted = l->ranks;
    w->begun = seconds_now();
    for (int i = 0; i < l->ranks + w->spares; i++) TRY(start_at(l, i));
    return UNROLL_OK;
}

static int rank_of(const struct launch_worlds *w, int place)
{
    for (int rank = 0; rank < w->count; rank++)
        if (w->place[rank] == place)
            return rank;
    return -1;
}

static bool is_ready(const struct launch_member *m) { return m->address && !m->lost && !m->ended && !m->left; }
static bool has_left(const struct launch_member *m) { return m->left; }

static int count_ready(const struct launch *l) { return control_count(&l->control, is_ready); }

static void say_who(const struct launch *l, int place, const char *what)
{
    const struct launch_member *m = &l->control.member[place];
    const int rank = rank_of(&l->worlds, place);
    char who[48];
    if (rank >= 0)
        snprintf(who, sizeof who, "rank %d", rank);
    else
        snprintf(who, sizeof who, l->worlds.number ? "a spare" : "a process");
    if (m->came)
        say_always("launch: %s (process %ld on %s) %s", who, m->process, m->host, what);
    else
        say_always("launch: %s %s", who, what);
}

/* Handles a lost process. If a spare replaces it, no slot is lost. */
static void lose(struct launch *l, int place, const char *what)
{
    struct launch_member *m = &l->control.member[place];
    const int rank = rank_of(&l->worlds, place);
    const bool was_rank = rank >= 0 || l->worlds.number == 0;
    say_who(l, place, what);
    if (m->child > 0)
        kill(m->child, SIGKILL);
    control_empty(&l->control, place, true);
    if (rank >= 0)
        l->worlds.place[rank] = -1; /* the rank may be filled by another process */
    if (!was_rank)
        return;
    if (l->lost == 0)
        l->lost = seconds_now();
    l->failures++;
    if (count_ready(l) >= l->worlds.wanted)
        return;
    l->hosts.of[0].lost += l->hosts.of[0].lost < l->hosts.of[0].slots || !l->hosts.path;
    l->worlds.wanted = hosts_ranks(&l->hosts, l->min, l->max, l->unit);
}

/* Handles processes that ended before they connected. */
static void reap(struct launch *l)
{
    struct launch_control *c = &l->control;
    pid_t ended;
    while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
        for (int i = 0; i < c->ranks; i++)
            if (c->member[i].child == ended) {
                c->member[i].child = 0;
                if (!c->member[i].came && !c->member[i].gone)
                    lose(l, i, "ended before it began");
            }
}

/* Checks one process: a process that ended, gave up, is silent or did not begin is lost. */
static void look_at(struct launch *l, int place)
{
    struct launch_member *m = &l->control.member[place];
    char what[160];
    const double silent = seconds_now() - m->heard;
    if (m->gone)
        return;
    if (m->lost) {
        lose(l, place, "was killed or ended without a message");
    } else if (m->ended && m->status == UNROLL_COMMUNICATION) {
        snprintf(what, sizeof what, "gave up: %.120s", m->words);
        lose(l, place, what);
    } else if (m->ended && rank_of(&l->worlds, place) < 0 && l->worlds.number > 0) {
        control_empty(&l->control, place, true);
    } else if (!m->ended && m->came && silent > l->silence) {
        snprintf(what, sizeof what, "does not answer: it was not heard for %.1f s", silent);
        lose(l, place, what);
    } else if (!m->came && silent > seconds_to_begin + l->silence) {
        lose(l, place, "did not begin");
    }
}

/* ---- worlds ---- */

static bool is_there(const struct launch *l, int place)
{
    return place >= 0 && !l->control.member[place].gone && is_ready(&l->control.member[place]);
}

/* Chooses the processes of the next world. Members of the previous world come first, in order, so that rank 0 stays
 * as long as it lives. */
static int choose(const struct launch *l, int most, int places[RANKS_MAX])
{
    const struct launch_worlds *w = &l->worlds;
    int count = 0;
    for (int rank = 0; rank < w->count && count < most; rank++)
        if (is_there(l, w->place[rank]))
            places[count++] = w->place[rank];
    for (int i = 0; i < l->control.ranks && count < most; i++)
        if (rank_of(w, i) < 0 && is_there(l, i))
            places[count++] = i;
    return count;
}

/* Returns whether these are the processes that were started first, as required for the first world: ranks then
 * follow their order, and no process becomes a spare because it was early. */
static bool is_first(const struct launch *l, const int *places, int count)
{
    int here = 0;
    for (int i = 0; i < l->control.ranks && here < count; i++)
        if (!l->control.member[i].gone && places[here++] != i)
            return false;
    return here == count && count > 0 && places[0] == 0; /* process 0 writes the files */
}

static void tell_world(struct launch *l, int rank)
{
    const struct launch_worlds *w = &l->worlds;
    char line[CONTROL_LINE];
    snprintf(line, sizeof line, "world %" PRId64 " %d %d\n", w->number, rank, w->count);
    control_tell_one(&l->control, w->place[rank], line);
    for (int i = 0; i < w->count; i++) {
        snprintf(line, sizeof line, "peer %d %s\n", i, l->control.member[w->place[i]].address);
        control_tell_one(&l->control, w->place[rank], line);
    }
    control_tell_one(&l->control, w->place[rank], "meet\n");
}

/* Dismisses a process; if it was asked to leave, its slot is not filled again. */
static void dismiss(struct launch *l, int place)
{
    control_tell_one(&l->control, place, "dismissed\n");
    if (!l->control.member[place].left)
        return;
    say_who(l, place, "was told to leave");
    l->hosts.of[0].lost += l->hosts.of[0].lost < l->hosts.of[0].slots || !l->hosts.path;
    int ranks = hosts_ranks(&l->hosts, l->min, l->max, l->unit);
    l->worlds.wanted = ranks < l->worlds.wanted ? ranks : l->worlds.wanted;
}

/* Forms a new world; processes that do not belong to it any more are dismissed. */
static void call_together(struct launch *l, const int *places, int count)
{
    struct launch_worlds *w = &l->worlds;
    int before[RANKS_MAX], had = w->count;
    for (int i = 0; i < had; i++) before[i] = w->place[i];
    for (int i = 0; i < count; i++) w->place[i] = places[i];
    w->count = l->ranks = count;
    w->number++;
    for (int rank = 0; rank < count; rank++) tell_world(l, rank);
    for (int i = 0; i < had; i++)
        if (before[i] >= 0 && rank_of(w, before[i]) < 0)
            dismiss(l, before[i]);
    if (w->number == 1)
        return;
    say_always("launch: %d rank%s go on, without a start", count, count == 1 ? "" : "s");
    if (l->lost == 0)
        l->lost = seconds_now();
}

static bool is_whole(const struct launch *l)
{
    for (int rank = 0; rank < l->worlds.count; rank++)
        if (!is_there(l, l->worlds.place[rank]))
            return false;
    return l->worlds.count > 0;
}

static int free_place(const struct launch *l)
{
    int place = 1; /* only the first process may lead the first world */
    while (place < l->control.ranks && !l->control.member[place].gone) place++;
    return place;
}

static bool stays(const struct launch_member *m) { return !m->left; }

/* Starts processes until the wanted number and the spares are there. */
static bool fill(struct launch *l)
{
    while (control_count(&l->control, stays) < l->worlds.wanted + l->worlds.spares && free_place(l) < RANKS_MAX)
        if (start_at(l, free_place(l)) != UNROLL_OK)
            return false;
    return true;
}

static bool has_ended(const struct launch_member *m) { return m->ended; }

/* Lets all processes end. Returns false if one was lost, because it may have been the one that writes the files. */
static bool goes_to_end(struct launch *l)
{
    for (int i = 0; i < l->control.ranks; i++)
        if (!l->control.member[i].gone && rank_of(&l->worlds, i) < 0)
            control_tell_one(&l->control, i, "dismissed\n");
    for (int rank = 0; rank < l->worlds.count; rank++)
        if (l->worlds.place[rank] < 0)
            return false;
    return true;
}

bool worlds_look(struct launch *l)
{
    struct launch_worlds *w = &l->worlds;
    int places[RANKS_MAX];
    reap(l);
    for (int i = 0; i < l->control.ranks; i++) look_at(l, i);
    if (l->control.stops || control_count(&l->control, has_ended) > 0)
        return goes_to_end(l);
    if (w->number == 0) {
        int count = choose(l, w->wanted, places);
        if (l->control.member[0].gone || w->wanted == 0)
            return false;
        if (count == w->wanted && is_first(l, places, count))
            call_together(l, places, count);
        return true;
    }
    const bool whole = is_whole(l);
    if (whole && w->count == w->wanted)
        return fill(l);
    if (control_count(&l->control, has_left) > 0 && count_ready(l) == 0) {
        control_stop(&l->control);
        return true;
    }
    int count = choose(l, w->wanted, places);
    if ((count > 0 && rank_of(w, places[0]) < 0) || (w->place[0] < 0 && !l->begun))
        return false; /* no process with a checkpoint in memory is left, or the files did not exist yet */
    if (count >= l->min && (!whole || count != w->count))
        call_together(l, places, count);
    return fill(l) && control_members(&l->control) > 0;
}

void worlds_want(struct launch *l, int ranks) { l->worlds.wanted = ranks > 0 ? ranks : l->worlds.wanted; }
