/* Settings as text, "tokens=words,vocab=5000": what one reader has and others have not. Who reads them lists the keys;
 * others are refused with those that there are. Not the options of the command (cli/options.h), which become such
 * texts. */
#ifndef BASE_KEY_VALUE_H
#define BASE_KEY_VALUE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* A list ends with a key without a name. */
struct key {
    const char *name;
    const char *choices; /* names with a space between: the value is an int, the number of one; NULL: .. */
    double min, max;     /* .. it is a double, whole if both of these are; or .. */
    size_t text;         /* .. not 0: a char array of so many bytes */
    size_t offset;       /* of the value in the struct that is read into */
    const char *about;   /* for help: a few words, with the default; NULL: nobody is told of it */
};

/* What the text does not name stays as it is; into NULL: it is checked alone. NULL is as "". `owner` is for messages:
 * "the reader text". */
unroll_status key_values_read(const char *text, const char *owner, const struct key *keys, void *into);

enum { KEY_VALUE_SIZE = 1024 }; /* bytes of a value, with its end */

/* Copies the value of the last such name; false: the text has none. */
bool key_value_find(const char *text, const char *name, char value[KEY_VALUE_SIZE]);

/* The index-th key of those that people are told of (keys NULL: none); NULL: there is no more. */
const struct key *key_at(const struct key *keys, int index);

#endif
