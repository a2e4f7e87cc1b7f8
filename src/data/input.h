/* The bytes of data, wherever they lie: a file, standard input, the files of a folder one after the other, the members
 * of an archive, packed or not. They can be read twice: what comes from a pipe is kept in a temporary file. Knows no
 * format of data. */
#ifndef DATA_INPUT_H
#define DATA_INPUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct input;

#define INPUT_STANDARD "standard input" /* the path of what "-" opens */
unroll_status input_open(const char *path, struct input **input); /* "-": standard input */
void input_limit(uint64_t bytes);                                 /* for tests: of what a pipe may bring, 8 GiB */
/* The bytes are borrowed. name: for messages. */
unroll_status input_of_memory(const void *bytes, size_t size, const char *name, struct input **input);

/* The next member, which the first call begins with; a plain file has one, of its own name. NULL: there are no more. */
unroll_status input_next(struct input *input, const char **member);

/* Bytes of this member; *got 0: it has ended. */
unroll_status input_read(struct input *input, void *to, size_t wanted, size_t *got);

/* The next line without its end (\n or \r\n), valid until the next call; *more: there was one. Lines may not be longer
 * than 64 MiB. */
unroll_status input_line(struct input *input, const char **line, size_t *length, bool *more);

/* The same of all members, one after the other, from the first on; input_next is not called. */
unroll_status input_next_line(struct input *input, const char **line, size_t *length, bool *more);
bool path_ends_with(const char *path, const char *end); /* behind a name; letters of any case */
bool line_is_blank(const char *line, size_t length);    /* spaces and tabs, or nothing */

/* All of this member, at most max_bytes, in memory that the caller releases; a zero byte follows that *size does not
 * count. */
unroll_status input_whole(struct input *input, uint64_t max_bytes, void **bytes, size_t *size);

unroll_status input_rewind(struct input *input); /* before the first member again */

/* The first bytes of the first member, at most `room`; then it is rewound. */
unroll_status input_head(struct input *input, char *head, size_t room, size_t *got);

const char *input_path(const struct input *input); /* as it was given */
/* Of all its files as they lie there, packed or not: how many bytes, and a hash that goes on from *hash. False: it has
 * no files, but memory. */
bool input_bytes(const struct input *input, uint64_t *bytes);
unroll_status input_hash(struct input *input, uint64_t *hash);
/* The path without .gz and the like, if the last member was packed alone. Returns path. */
const char *input_unpacked_path(const struct input *input, char *path, size_t size);
const char *input_name(const struct input *input); /* of the member, for messages: "train.tar.gz: a/b.txt" */
int64_t input_lines(const struct input *input);    /* of this member that input_line has read so far */
bool input_is_of_files(const char *path);          /* a folder, or by its name an archive of one */
bool input_is_folder(const struct input *input);
void input_close(struct input *input); /* NULL is allowed */

#endif
