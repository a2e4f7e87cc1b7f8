/* Settings as text, "tokens=words,vocab=5000", for options that only one reader has. The reader lists its keys; others
 * are refused with a list of the known ones. The command's options (cli/options/options.h) are converted to such
 * texts. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* A list ends with a key whose name is NULL. */
struct key {
    const char *name;
    const char *choices; /* names separated by spaces: the value is an int, the index of a name; NULL: see min */
    double min, max;     /* bounds of a double, which must be whole if both are; or .. */
    size_t text;         /* .. if not 0, the size of a char array in bytes */
    size_t offset;       /* offset of the value in the struct `into` */
    const char *about;   /* for help: a few words with the default; NULL: undocumented */
};

/* Reads the keys that `text` contains and leaves other values unchanged. If `into` is NULL, only checks. A NULL text is
 * empty. `owner` is for messages: "the reader text". */
unroll_status key_values_read(const char *text, const char *owner, const struct key *keys, void *into);

enum { KEY_VALUE_SIZE = 1024 }; /* bytes of a value with its final zero */

/* Copies the value of the last key of this name. Returns false if there is none. */
bool key_value_find(const char *text, const char *name, char value[KEY_VALUE_SIZE]);

/* Returns the index-th documented key, or NULL after the last. keys may be NULL. */
const struct key *key_at(const struct key *keys, int index);
