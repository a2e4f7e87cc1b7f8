/* A directory of two files, or of shards and their indexes, that appears whole or not at all, whenever the process or
 * the machine stops. Knows the names of the files, not what is in them. */
#ifndef TRAIN_CHECKPOINT_DIRECTORY_H
#define TRAIN_CHECKPOINT_DIRECTORY_H
#include <limits.h>

#include "base/status.h"

#define MODEL_FILE "model.safetensors"
#define OPTIMIZER_FILE "optim.safetensors"

struct checkpoint_places {
    char final[PATH_MAX];      /* DIR */
    char aside[PATH_MAX];      /* DIR.old: what was there before, for the moment of the exchange */
    char unfinished[PATH_MAX]; /* DIR.tmp.PID, or another word that several processes know */
    char parent[PATH_MAX];
};

/* Makes the directory `unfinished`, into which the caller then writes both files, each synced. Refuses
 * to take the place of anything that is not a checkpoint. word: NULL: the number of this process. */
unroll_status checkpoint_begin(const char *directory, const char *word, struct checkpoint_places *places);
/* Puts the files in place of those that were there; or gives up and removes the unfinished ones. */
unroll_status checkpoint_commit(const struct checkpoint_places *places);
void checkpoint_abandon(const struct checkpoint_places *places);

/* Where the newest complete checkpoint of `directory` lies: there, or aside if a commit was cut short. */
unroll_status checkpoint_find(const char *directory, char found[PATH_MAX]);

unroll_status checkpoint_path(const char *directory, const char *file, char path[PATH_MAX]);

#endif
