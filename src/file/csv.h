/* An array as lines of numbers with commas between them: the last axis is a line. Not a reader: frames come as text
 * through `unroll stream`. */
#ifndef FILE_CSV_H
#define FILE_CSV_H
#include "base/status.h"
#include "file/tensor_view.h"

/* Of floats, each with the digits that give the same float again. Whole or not at all. */
unroll_status csv_write(const char *path, const struct tensor_view *tensor);

#endif
