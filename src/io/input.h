/* Reads data from a file, standard input, a folder of files, or an archive, packed or not. Inputs can be read twice:
 * what comes from a pipe is kept in a temporary file. Formats of data are parsed elsewhere. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct input;

#define INPUT_STANDARD "standard input" /* the path that "-" stands for */
unroll_status input_open(const char *path, struct input **input); /* "-": standard input */
void input_limit(uint64_t bytes);                                 /* for tests: most bytes read from a pipe */
/* Reads from memory, which is borrowed. name: for messages. */
unroll_status input_of_memory(const void *bytes, size_t size, const char *name, struct input **input);

/* Advances to the next member; the first call selects the first one. A plain file is a single member with the file's
 * own name. *member is NULL after the last. */
unroll_status input_next(struct input *input, const char **member);

/* Reads up to `wanted` bytes of this member; *got is 0 at its end. */
unroll_status input_read(struct input *input, void *to, size_t wanted, size_t *got);

/* Sets *line to the next line without its end (\n or \r\n), valid until the next call. *more is false after the last
 * line. Lines longer than 64 MiB are an error. */
unroll_status input_line(struct input *input, const char **line, size_t *length, bool *more);

/* Like input_line, but reads the lines of all members from the first one on, without calls of input_next. */
unroll_status input_next_line(struct input *input, const char **line, size_t *length, bool *more);
bool path_ends_with(const char *path, const char *end); /* suffix, case-insensitive, after a nonempty name */
bool line_is_blank(const char *line, size_t length);    /* only spaces and tabs, or empty */

/* Reads all of this member, at most max_bytes, into memory that the caller releases. A zero byte, not counted in *size,
 * follows. */
unroll_status input_whole(struct input *input, uint64_t max_bytes, void **bytes, size_t *size);

unroll_status input_rewind(struct input *input); /* back to before the first member */

/* Reads the first bytes of the first member, at most `room`, and rewinds. */
unroll_status input_head(struct input *input, char *head, size_t room, size_t *got);

const char *input_path(const struct input *input); /* as passed to input_open */
/* Total bytes and hash (continued from *hash) of all files as stored on disk, packed or not. input_bytes returns false
 * if the input is memory. */
bool input_bytes(const struct input *input, uint64_t *bytes);
unroll_status input_hash(struct input *input, uint64_t *hash);
/* Copies the path without ".gz" or the like if the last member was a single packed file. Returns path. */
const char *input_unpacked_path(const struct input *input, char *path, size_t size);
const char *input_name(const struct input *input); /* name of the member for messages: "train.tar.gz: a/b.txt" */
int64_t input_lines(const struct input *input);    /* lines of this member read so far */
bool input_is_of_files(const char *path);          /* true for a folder, or a name that ends like an archive's */
bool input_is_folder(const struct input *input);
void input_close(struct input *input); /* NULL is a no-op */
