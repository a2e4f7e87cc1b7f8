/* Division of the work, the other ranks, and ending together. */
#include "cli/run/ranks.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/show/console.h"
#include "cli/run/guard.h"
#include "cli/run/member.h"

/* ---- the division ---- */

enum { AXES = 4 };

/* Reads one AXIS=RANKS of --split. */
static unroll_status read_cut(const char *cut, unroll_split *split, bool seen[AXES])
{
    const struct {
        const char *axis;
        int *ranks;
    } axes[AXES] = {
        {"batch", &split->batch}, {"layer", &split->layer}, {"hidden", &split->hidden}, {"time", &split->time}};
    int length = (int)strcspn(cut, "=");
    int64_t ranks;

    if (memchr(cut, ':', (size_t)length))
        return complain(
            UNROLL_UNSUPPORTED,
            "--split: '%.40s' would cut one layer alone, but a plan cuts all layers along batch and hidden; fix: cut "
            "the axis for all layers, or use a separate stage for the head with layer=N",
            cut);
    if (cut[length] != '=' || number_whole_integer(cut + length + 1, 1, RANKS_MAX, &ranks) != NUMBER_OK)
        return complain(UNROLL_USAGE,
                        "--split: '%.40s' is not AXIS=RANKS; fix: write for example "
                        "--split batch=2,layer=2 (1 to %d ranks)",
                        cut, RANKS_MAX);
    for (int i = 0; i < AXES; i++) {
        if ((int)strlen(axes[i].axis) != length || strncmp(axes[i].axis, cut, (size_t)length) != 0)
            continue;
        if (seen[i])
            return complain(UNROLL_USAGE, "--split: %s is cut twice; fix: name each axis once", axes[i].axis);
        *axes[i].ranks = (int)ranks;
        seen[i] = true;
        return UNROLL_OK;
    }
    return complain(UNROLL_USAGE, "--split: there is no axis '%.*s' to cut; fix: choose batch, time, layer or hidden",
                    length, cut);
}

unroll_status read_split(const char *text, unroll_split *split)
{
    char cuts[256], *rest = cuts;
    bool seen[AXES] = {false};
    unroll_status status = UNROLL_OK;
    *split = (unroll_split){1, 1, 1, 1};
    if (text == NULL)
        return UNROLL_OK;
    if (snprintf(cuts, sizeof cuts, "%s", text) >= (int)sizeof cuts || *text == '\0')
        return complain(UNROLL_USAGE, "--split: '%.40s' is not a list of cuts; fix: write for example --split batch=2",
                        text);
    for (char *cut = strtok_r(cuts, ",", &rest); cut && status == UNROLL_OK; cut = strtok_r(NULL, ",", &rest))
        status = read_cut(cut, split, seen);
    return status;
}

/* Returns --chunks, or the number of chunks that --chunk gives. */
static int chunks_of(const struct settings *s, const unroll_split *split)
{
    int64_t whole = integer_of(s, OPTION_BPTT), chunk = integer_of(s, OPTION_CHUNK);
    bool is_rows = is_on(s, OPTION_BIDIRECTIONAL) && split->layer > 1 && integer_of(s, OPTION_CHECKPOINT_TIME) == 0;
    if (!is_given(s, OPTION_CHUNK) || chunk == 0)
        return (int)integer_of(s, OPTION_CHUNKS);
    if (is_rows) /* of the rank with the fewest rows */
        whole = integer_of(s, OPTION_BATCH) / split->batch;
    return whole > chunk ? (int)((whole + chunk - 1) / chunk) : 1;
}

unroll_machine machine_of(const struct settings *s, const struct ranks *ranks)
{
    unroll_machine machine = unroll_machine_default();
    machine.device = text_of(s, OPTION_DEVICE);
    machine.isa = text_of(s, OPTION_ISA);
    machine.precision = text_of(s, OPTION_PRECISION);
    machine.dtype = text_of(s, OPTION_DTYPE);
    machine.threads = (int)integer_of(s, OPTION_THREADS);
    machine.queues = (int)integer_of(s, OPTION_QUEUES);
    machine.chunks = chunks_of(s, &ranks->split);
    machine.checkpoint_time = (int)integer_of(s, OPTION_CHECKPOINT_TIME);
    machine.pieces = (int)integer_of(s, OPTION_PIECES);
    machine.time_tolerance = (float)number_of(s, OPTION_TIME_TOLERANCE);
    machine.memory = (uint64_t)number_of(s, OPTION_MEMORY);
    machine.comm = ranks->comm;
    machine.split = ranks->split;
    machine.workers = ranks->workers;
    machine.exact = (int)integer_of(s, OPTION_EXACT);
    machine.sum = text_of(s, OPTION_SUM);
    return machine;
}

/* ---- the other ranks ---- */

/* Checks that the started ranks match --split and --workers. */
static unroll_status check_count(const struct ranks *ranks, const struct settings *s)
{
    const unroll_split *split = &ranks->split;
    int mesh = split->batch * split->time * split->layer * split->hidden, cut = ranks->workers * mesh;
    int started = unroll_comm_ranks(ranks->comm);
    if (cut == started)
        return UNROLL_OK;
    const char *device = text_of(s, OPTION_DEVICE);

    if (started == 1 && device && strcmp(device, "cpu") != 0)
        return UNROLL_OK; /* the session checks what one process can drive */
    if (ranks->workers > 1)
        return complain(
            UNROLL_USAGE,
            "--workers %d of %d ranks each are %d ranks, and %d %s; fix: start it as 'mpirun -n %d unroll %s "
            "...'",
            ranks->workers, mesh, cut, started, started == 1 ? "is here" : "were started", cut,
            commands[s->command].name);
    if (started == 1)
        return complain(
            UNROLL_USAGE,
            "--split %s is for %d ranks, but one process was started; fix: start it as 'mpirun -n %d unroll %s ...'",
            text_of(s, OPTION_SPLIT), cut, cut, commands[s->command].name);
    if (cut == 1)
        return complain(UNROLL_USAGE, "%d ranks were started without a division of the work; fix: use --split batch=%d",
                        started, started);
    return complain(UNROLL_USAGE, "--split %s is for %d ranks, but %d were started; fix: start %d, or cut for %d",
                    text_of(s, OPTION_SPLIT), cut, started, cut, started);
}

/* Returns a number that processes share if they have the same kernel and process ids. */
static double number_of_machine(void)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    struct stat space = {0};
    unsigned long first = 0;
    if (file && fscanf(file, "%8lx", &first) != 1)
        first = 0;
    if (file)
        fclose(file);
    stat("/proc/self/ns/pid", &space);
    return (double)first * 0x1p20 + (double)(space.st_ino & 0xfffff);
}

/* Tells the guard the process of rank 0 on the same machine. */
static unroll_status find_lead(const struct ranks *ranks)
{
    double mine = number_of_machine(), lead[2] = {0};
    if (ranks_lead(ranks))
        lead[0] = getpid(), lead[1] = mine;
    TRY(complain_library(unroll_comm_sum(ranks->comm, lead, 2)));
    if (!ranks_lead(ranks) && lead[1] == mine)
        guard_lead((pid_t)lead[0]);
    return UNROLL_OK;
}

bool split_is_auto(const struct settings *s)
{
    return is_given(s, OPTION_SPLIT) && strcmp(text_of(s, OPTION_SPLIT), "auto") == 0;
}

unroll_status ranks_open(struct ranks *ranks, const struct settings *s)
{
    const char *sync = text_of(s, OPTION_SYNC);
    unroll_status status = split_is_auto(s) ? UNROLL_OK : read_split(text_of(s, OPTION_SPLIT), &ranks->split);
    ranks->workers = (int)integer_of(s, OPTION_WORKERS);
    ranks->workers = ranks->workers ? ranks->workers : 1; /* the command has no workers */
    ranks->apart = ranks->workers > 1 && strcmp(sync, "every") != 0;
    bool is_many = unroll_comm_launched() > 1;
    if (is_many)
        guard_start();
    TRY(member_open(number_of_machine()));
    ranks->meets = member_rejoins();
    ranks->follows = !member_is_first();
    if (ranks->follows)
        console_mute();
    if (ranks->meets)
        return status;
    if (is_many) {
        TRY(complain_library(unroll_comm_open("mpi", number_of(s, OPTION_TIMEOUT), &ranks->comm)));
        if (unroll_comm_rank(ranks->comm) > 0)
            console_mute();
        TRY(find_lead(ranks));
    }
    member_met();
    TRY(status);
    if (is_many && s->of[OPTION_SAMPLE_EVERY].source > SOURCE_RUN && number_of(s, OPTION_SAMPLE_EVERY) > 0)
        return complain(
            UNROLL_UNSUPPORTED,
            "--sample-every: with several ranks, no rank has the whole model before a checkpoint; fix: leave it out, "
            "and sample the run afterwards");
    return split_is_auto(s) ? UNROLL_OK : check_count(ranks, s);
}

unroll_status ranks_together(const struct ranks *ranks, unroll_status mine)
{
    double failed = mine != UNROLL_OK;
    if (ranks->comm == NULL)
        return mine;
    TRY(complain_library(unroll_comm_sum(ranks->comm, &failed, 1)));
    if (failed > 0 && failed < unroll_comm_ranks(ranks->comm))
        console_unmute(unroll_comm_rank(ranks->comm));
    return failed > 0 ? unroll_comm_agree(ranks->comm, mine) : UNROLL_OK;
}

unroll_status ranks_meet(struct ranks *ranks, const struct settings *s)
{
    const double seconds = number_of(s, OPTION_TIMEOUT);
    TRY(member_meet(seconds, seconds, &ranks->comm));
    ranks->split = (unroll_split){.batch = unroll_comm_ranks(ranks->comm), .layer = 1, .hidden = 1, .time = 1};
    if (ranks_lead(ranks))
        console_lead(is_on(s, OPTION_QUIET));
    member_met();
    return UNROLL_OK;
}

bool ranks_lead(const struct ranks *ranks)
{
    return ranks->comm ? unroll_comm_rank(ranks->comm) == 0 : !ranks->follows;
}

struct rank_time ranks_now(const struct ranks *ranks)
{
    struct rank_time now = {0};
    unroll_comm_seconds(ranks->comm, &now.communication, &now.exposed);
    now.sent = (double)unroll_comm_sent(ranks->comm);
    return now;
}

void ranks_count(const struct ranks *ranks, const struct rank_time *before, double seconds, struct rank_time *sum)
{
    struct rank_time now = ranks_now(ranks);
    sum->compute += fmax(0, seconds - (now.exposed - before->exposed));
    sum->communication += now.communication - before->communication;
    sum->exposed += now.exposed - before->exposed;
    sum->sent += now.sent - before->sent;
}

json_t *ranks_to_json(const struct ranks *ranks, const struct rank_time *all)
{
    json_t *list = ranks->comm ? json_array() : NULL;
    for (int i = 0; list && i < unroll_comm_ranks(ranks->comm); i++)
        json_array_append_new(list, json_pack("{sf sf sf sI}", "compute", all[i].compute, "communication",
                                              all[i].communication, "exposed", all[i].exposed, "sent",
                                              (json_int_t)all[i].sent));
    return list;
}

/* One rank reports for all that wait for a lost one. A failure that only one rank has seen, it reports itself. */
bool ranks_report(const struct ranks *ranks, unroll_status status)
{
    int rank = unroll_comm_rank(ranks->comm), first = unroll_comm_first(ranks->comm);
    if (status != UNROLL_COMMUNICATION || (first >= 0 && first != rank))
        return false;
    if (rank > 0)
        console_unmute(-1);
    return true;
}

/* Ends this rank after a timeout, because MPI may wait for a machine that is unreachable. */
static void end_at_once(int number)
{
    (void)number;
    _exit(UNROLL_COMMUNICATION);
}

void ranks_close(struct ranks *ranks, unroll_status status, bool alone)
{
    enum { SECONDS_TO_END = 5, SECONDS_TO_REPORT = 1 };

    if (ranks->comm == NULL)
        return;
    if (ranks_lead(ranks))
        guard_done();
    guard_hush();
    signal(SIGALRM, end_at_once);
    alarm(SECONDS_TO_END);
    if (status == UNROLL_COMMUNICATION && !ranks_report(ranks, status))
        for (alarm(SECONDS_TO_REPORT);;) /* the rank that reports ends all others */
            pause();
    if (status == UNROLL_COMMUNICATION || alone)
        unroll_comm_abort(ranks->comm, status);
    unroll_comm_close(ranks->comm);
    alarm(0);
    ranks->comm = NULL;
}
