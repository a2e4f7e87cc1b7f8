/* The formats in which models come from other tools and go to them: one row each, one file each.
 * Not the containers (safetensors, npy, JSON), which know no models, and not our own model file
 * (model_file.c): that one needs no conversion. */
#ifndef FILE_FILE_TABLE_H
#define FILE_FILE_TABLE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct file_format {
    const char *name, *about; /* "torch"; what it is, in a few words */
    /* Is this file likely one? `head` are its first bytes, at most FORMAT_HEAD. NULL: only when asked for. */
    bool (*recognises)(const char *path, const char *head, size_t bytes);
    /* NULL where a direction is not offered. Configs are checked for their size and have a format. */
    unroll_status (*import)(const char *path, const unroll_import_config *, unroll_model **);
    unroll_status (*export)(const unroll_model *, const char *path, const unroll_export_config *);
    unsigned import_takes, export_takes; /* what they may be given; the rest is refused, not ignored */
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

/* Asked in this order when a file is to be recognised. A new format is one more here. */
#define FILE_FORMATS(FORMAT) \
    FORMAT(torch) FORMAT(rtneural) FORMAT(rnnoise) FORMAT(c99) FORMAT(onnx) FORMAT(stablehlo) FORMAT(verilog)

#define DECLARE_FORMAT(name) extern const struct file_format format_##name;
FILE_FORMATS(DECLARE_FORMAT)
#undef DECLARE_FORMAT

unroll_status format_add(const struct file_format *format); /* one more row, for tests */

/* One line for the caller's report, if it wants one: what was found, what was chosen. */
#define report_import(config, ...) report_line((config)->report, (config)->arg, __VA_ARGS__)
#define report_export(config, ...) report_line((config)->report, (config)->arg, __VA_ARGS__)
void report_line(void (*report)(void *arg, const char *line), void *arg, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool path_ends_in(const char *path, const char *ending);

#endif
