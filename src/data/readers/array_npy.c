/* Reads the header of an .npy; array_input.h reads the array. */
#include <stdio.h>
#include <string.h>

#include "io/npy.h"
#include "io/npy_header.h"
#include "base/number.h"
#include "data/readers/array_input.h"

enum { MAX_TEXT = ARRAY_ELEMENT / 4 /* characters */ };

/* Finds the type and size of the elements from NumPy's description. */
static unroll_status find_type(struct input *in, const struct npy_header *h, struct array *a)
{
    const char *type = h->type + (h->type[0] && strchr("<>|=", h->type[0]));
    int64_t characters;
    *a = (struct array){.rank = h->rank, .character = *type == 'U' ? 4 : *type == 'S'};
    memcpy(a->shape, h->shape, sizeof a->shape);
    if (npy_dtype(h->type, &a->dtype, &a->big_endian))
        a->bytes = (int)dtype_size(a->dtype);
    else if (array_is_text(a) && number_whole_integer(type + 1, 1, MAX_TEXT, &characters) == NUMBER_OK)
        a->bytes = a->character * (int)characters;
    if (a->bytes == 0)
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
    const char *message;
    if (!npy_read_header(read_input, in, &h, &message))
        return *message ? fail(UNROLL_DATA, "'%s' %s", input_name(in), message) : UNROLL_DATA;
    return find_type(in, &h, a);
}
