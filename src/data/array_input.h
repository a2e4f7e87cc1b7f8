/* Arrays of numbers in binary files, read as they come: what NumPy's files and IDX share behind their headers. Not
 * arrays in memory (file/npy.h). */
#ifndef DATA_ARRAY_INPUT_H
#define DATA_ARRAY_INPUT_H
#include "data/input.h"

enum {
    ARRAY_RANK = 8,
    ARRAY_ELEMENT = 4 * 4096,     /* bytes of one, at most */
    ARRAY_TEXT = 64,              /* bytes of an element as text */
    MAX_EXAMPLE_NUMBERS = 1 << 28 /* of one example, which is held in memory */
};

struct array {
    char kind; /* 'f' floats, 'i' integers, 'u' unsigned ones, 'b' booleans, 'U' and 'S' texts, as NumPy names them */
    int bytes; /* of an element */
    bool big_endian;
    int rank;
    uint64_t shape[ARRAY_RANK];
};

static inline bool array_is_text(const struct array *a) { return a->kind == 'U' || a->kind == 'S'; }
static inline bool array_is_whole(const struct array *a) { return a->kind != 'f' && !array_is_text(a); }

/* The header of an .npy. Other elements than those above are refused, and arrays in Fortran's order. */
unroll_status array_npy_header(struct input *input, struct array *array);

/* Exactly so many bytes; fewer are refused. */
unroll_status array_bytes(struct input *input, void *to, size_t bytes);

/* How many elements the axes from `axis` on have; more than `max`, or none, is refused. */
unroll_status array_count(const struct input *input, const struct array *array, int axis, uint64_t max,
                          uint64_t *count);

/* The next elements, which are numbers. */
unroll_status array_floats(struct input *input, const struct array *array, float *to, size_t count);

/* Nothing may stand behind the last element. */
unroll_status array_end(struct input *input);

/* All elements as they lie there, *data for release(); memory grows with what is read, not with what the header says.
 */
unroll_status array_whole(struct input *input, const struct array *array, unsigned char **data);

/* An element of array_whole as a number, and as text, "7" or "cat"; its length. */
double array_number(const struct array *array, const unsigned char *at);
size_t array_text(const struct array *array, const unsigned char *at, char text[ARRAY_TEXT]);

#endif
