/* Formats for exchanging models with other tools: one row and one file each. Containers (safetensors, npy, JSON) are in
 * io, and our own model file, which needs no conversion, in model_file.c. */
#pragma once
#include "unroll_network.h"
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct file_format {
    const char *name, *about; /* "torch"; a short description */
    /* Is this file likely in the format? `head` holds its first bytes, at most FORMAT_HEAD. NULL: the format must be
     * named. */
    bool (*recognizes)(const char *path, const char *head, size_t bytes);
    /* NULL if not supported. The configurations have been checked and name a format. */
    unroll_status (*import)(const char *path, const unroll_import_config *, unroll_model **);
    unroll_status (*export)(const unroll_model *, const char *path, const unroll_export_config *);
    unsigned import_takes, export_takes; /* supported options; others are refused */
};

enum {
    TAKES_PREFIX = 1,
    TAKES_DTYPE = 2,
    TAKES_CALIBRATION = 4,
    TAKES_PROGRAM = 8,
    TAKES_OPSET = 16,
    TAKES_ORDER = 32,
    TAKES_NONLINEARITY = 64,
    TAKES_GRU_RESET = 128,
    TAKES_HARDWARE = 256
};

enum { FORMAT_HEAD = 4096 };

/* Formats are tried in this order, then those of extensions. Add new ones here. */
#define FILE_FORMATS(FORMAT) FORMAT(torch) FORMAT(guitarml) FORMAT(aidax) FORMAT(rtneural) FORMAT(nam) FORMAT(rnnoise) FORMAT(c99) FORMAT(onnx)

#define DECLARE_FORMAT(name) extern const struct file_format format_##name;
FILE_FORMATS(DECLARE_FORMAT)
#undef DECLARE_FORMAT

const struct file_format *format_at(int index);             /* NULL after the last */
unroll_status format_add(const struct file_format *format); /* adds a row, for tests */

/* Formats one line and passes it to the caller's report, if there is one. */
#define report_import(config, ...) report_line((config)->report, (config)->arg, __VA_ARGS__)
#define report_export(config, ...) report_line((config)->report, (config)->arg, __VA_ARGS__)
void report_line(void (*report)(void *arg, const char *line), void *arg, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool path_ends_in(const char *path, const char *ending);
