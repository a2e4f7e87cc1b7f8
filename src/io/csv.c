/* Formats the whole text in memory and writes it at once. */
#include "io/csv.h"

#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/point.h"

enum { LONGEST_NUMBER = 17 }; /* -1.17549435e-38, a separator, and snprintf's terminator */

unroll_status csv_write(const char *path, const struct tensor_view *tensor)
{
    const float *number = tensor->data;
    size_t count = (size_t)tensor_view_count(tensor), width = (size_t)tensor->shape[tensor->rank - 1], used = 0;
    char *text = count < SIZE_MAX / LONGEST_NUMBER ? allocate_zeroed(count + 1, LONGEST_NUMBER) : NULL;
    if (!text)
        return fail(UNROLL_RESOURCE, "no memory for the %zu values of '%s'", count, path);
    const locale_t before = point_begin();
    for (size_t i = 0; i < count; i++)
        used +=
            (size_t)snprintf(text + used, LONGEST_NUMBER, "%.9g%c", (double)number[i], (i + 1) % width ? ',' : '\n');
    point_end(before);
    unroll_status status = write_file_atomically(path, &(struct piece){text, used}, 1);
    release(text);
    return status;
}
