/* Reads the header of an .npy; array_input.h reads the array. */
#include <stdio.h>
#include <string.h>

#include "io/npy_header.h"
#include "base/number.h"
#include "data/readers/array_input.h"

enum { MAX_TEXT = ARRAY_ELEMENT / 4 /* characters */ };

/* Finds the type and size of the elements from NumPy's description. */
static unroll_status find_type(struct input *in, const struct npy_header *h, struct array *a)
{
    const char *type = h->type + (h->type[0] && strchr("<>|=", h->type[0]));
    int64_t bytes = 0;
    *a = (struct array){.kind = type[0], .big_endian = h->type[0] == '>', .rank = h->rank};
    memcpy(a->shape, h->shape, sizeof a->shape);
    bool good = type[0] && number_whole_integer(type + 1, 1, MAX_TEXT, &bytes) == NUMBER_OK &&
                (array_is_text(a) || (type[0] == 'b' && bytes == 1) || (type[0] == 'f' && bytes > 1 && bytes <= 8) ||
                 (strchr("iu", type[0]) && bytes <= 8)) &&
                (array_is_text(a) || (bytes & (bytes - 1)) == 0);
    a->bytes = (int)bytes * (type[0] == 'U' ? 4 : 1);
    if (!good)
        return fail(
            UNROLL_UNSUPPORTED,
            "'%s' has elements of the type '%s', not numbers; fix: .astype('float32'), or .astype(str) of names, "
            "before it is saved",
            input_name(in), h->type);
    if (h->fortran && h->rank > 1)
        return fail(UNROLL_UNSUPPORTED, "'%s' is in Fortran order; fix: numpy.ascontiguousarray before it is saved",
                    input_name(in));
    if (h->rank == 0)
        return fail(UNROLL_DATA, "'%s' is a single number, not an array; fix: save an array with an axis",
                    input_name(in));
    return UNROLL_OK;
}

static bool read_input(void *source, void *to, size_t count)
{
    return array_bytes((struct input *)source, to, count) == UNROLL_OK;
}

unroll_status array_npy_header(struct input *in, struct array *a)
{
    struct npy_header h;
    const char *error;
    if (!npy_read_header(read_input, in, &h, &error))
        return *error ? fail(UNROLL_DATA, "'%s' %s", input_name(in), error) : UNROLL_DATA;
    return find_type(in, &h, a);
}
