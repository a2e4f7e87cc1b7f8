/* Writes arrays as comma-separated lines, one line for each index of the leading axes. There is no reader: frames are
 * read as text by `unroll stream`. */
#pragma once
#include "base/status.h"
#include "io/tensor_view.h"

/* Writes a tensor of floats with enough digits to read the same floats back. The file is written atomically. */
unroll_status csv_write(const char *path, const struct tensor_view *tensor);
