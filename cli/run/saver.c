/* Starts a thread for each checkpoint. That costs about 30 us, and processes that are forked from this one or save
 * nothing have no thread. The thread changes its own copy of the run, which is taken over when it has ended. If no
 * thread can be started, as in WebAssembly, training waits while the checkpoint is written. */
#include "cli/run/saver.h"

#include <time.h>

#include "cli/show/console.h"
#include "cli/run/member.h"
#include "cli/options/options.h"

static double thread_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void *write_checkpoint(void *argument)
{
    struct saver *saver = argument;
    bool may_write = member_lease();
    saver->status = !may_write        ? UNROLL_COMMUNICATION
                    : saver->is_shard ? run_save_shard(&saver->run, saver->snapshot, &saver->progress)
                                      : run_save(&saver->run, saver->snapshot, &saver->progress, saver->keep);
    if (saver->status != UNROLL_OK)
        snprintf(saver->error, sizeof saver->error, "%s",
                 may_write ? as_options(unroll_last_error()) : MEMBER_NO_LEASE);
    saver->cost += thread_seconds();
    atomic_store(&saver->is_done, true);
    return NULL;
}

static void begin_save(struct saver *saver)
{
    atomic_store(&saver->is_done, false);
    saver->is_writing = true;
    saver->has_thread = start_thread(&saver->thread, write_checkpoint, saver) == 0;
    if (!saver->has_thread)
        write_checkpoint(saver);
}

void saver_start(struct saver *saver, const struct run *run, unroll_snapshot *snapshot, const unroll_progress *progress,
                 int64_t keep)
{
    if (saver->status != UNROLL_OK)
        return;
    saver->run = *run;
    saver->snapshot = snapshot;
    saver->progress = *progress;
    saver->keep = keep;
    saver->is_shard = unroll_snapshot_shards(snapshot) > 0;
    saver->cost = 0;
    saver->has_shard = false;
    if (saver->is_shard || !run->watches)
        begin_save(saver);
}

void saver_finish(struct saver *saver)
{
    if (saver->status != UNROLL_OK)
        return;
    saver->is_shard = saver->has_shard = false;
    begin_save(saver);
}

unroll_status saver_wait(struct saver *saver, struct run *run)
{
    if (!saver->is_writing)
        return saver->status;
    if (saver->has_thread)
        pthread_join(saver->thread, NULL);
    saver->is_writing = false;
    saver->has_shard = saver->is_shard && saver->status == UNROLL_OK;
    if (saver->status == UNROLL_OK && !saver->is_shard) {
        run->newest = saver->run.newest;
        run->best = saver->run.best;
    } else if (saver->status != UNROLL_OK && saver->status != UNROLL_DIVERGED) {
        complain(saver->status, "%s", saver->error);
    }
    return saver->status;
}

unroll_status saver_look(struct saver *saver, struct run *run)
{
    return saver->is_writing && !atomic_load(&saver->is_done) ? UNROLL_OK : saver_wait(saver, run);
}
