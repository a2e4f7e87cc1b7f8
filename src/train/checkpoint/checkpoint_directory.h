/* A directory with two files, or with shards and their indexes, that is replaced atomically, even if the process or the
 * machine stops. The contents of the files are not used here. */
#pragma once
#include <limits.h>

#include "base/status.h"

#define MODEL_FILE "model.safetensors"
#define OPTIMIZER_FILE "optim.safetensors"

struct checkpoint_places {
    char final[PATH_MAX];      /* DIR */
    char aside[PATH_MAX];      /* DIR.old: the previous checkpoint while it is replaced */
    char unfinished[PATH_MAX]; /* DIR.tmp.PID, or another word shared by several processes */
    char parent[PATH_MAX];
};

/* Creates the directory `unfinished`, into which the caller then writes and syncs the files. Refuses to replace
 * anything other than a checkpoint. word: NULL for the process id. */
unroll_status checkpoint_begin(const char *directory, const char *word, struct checkpoint_places *places);
/* Replace the previous files, or discard the unfinished ones. */
unroll_status checkpoint_commit(const struct checkpoint_places *places);
void checkpoint_abandon(const struct checkpoint_places *places);

/* Finds the newest complete checkpoint of `directory`: there, or in DIR.old if a commit was interrupted. */
unroll_status checkpoint_find(const char *directory, char found[PATH_MAX]);

unroll_status checkpoint_path(const char *directory, const char *file, char path[PATH_MAX]);
