/* Transcripts of sounds: NAME.txt next to a sound, the *.trans.txt of LibriSpeech ("NAME TEXT" in each line), or a
 * table with the columns path,text. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* A sound, whose text is NULL, or the transcript of one. key: its path without the suffix. */
struct spoken {
    char *key, *text;
};

struct spoken_list {
    struct spoken *at;
    size_t count, room;
};

unroll_status spoken_add_sound(struct spoken_list *list, const char *member);
/* Adds the transcripts of a file, if it is one of transcripts. */
unroll_status spoken_add_file(struct spoken_list *list, const char *member, char *bytes, size_t size);
/* Sorts the list, after all files. *found: a sound has a transcript. Refuses two transcripts of a sound. */
unroll_status spoken_sort(struct spoken_list *list, const char *name, bool *found);
/* Returns the transcript of a sound; NULL: it has none. */
const char *spoken_of(const struct spoken_list *list, const char *member);
void spoken_end(struct spoken_list *list);
