/* Import and export: finds the format and leaves the rest to it. No format is known here but by its row. */
#include "base/sized.h"
#include "file/file_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/table.h"

#define ROW(name) &format_##name,
static const void *const rows[] = {FILE_FORMATS(ROW)};
static struct table formats = TABLE("format", rows);

unroll_status format_add(const struct file_format *format) { return table_add(&formats, format); }

static const struct file_format *format_at(int index) { return table_at(&formats, index); }

enum direction { IMPORT, EXPORT };

static bool offers(const struct file_format *format, enum direction direction)
{
    return direction == IMPORT ? format->import != NULL : format->export != NULL;
}

const char *unroll_format_name(int index, int *can_import, int *can_export, const char **about)
{
    const struct file_format *format = format_at(index);
    if (format && can_import)
        *can_import = offers(format, IMPORT);
    if (format && can_export)
        *can_export = offers(format, EXPORT);
    return table_name(&formats, index, about);
}

void report_line(void (*report)(void *arg, const char *line), void *arg, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    if (!report)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    report(arg, line);
}

bool path_ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), end = strlen(ending);
    return length >= end && !strcmp(path + length - end, ending);
}

/* ---- finding the format ---------------------------------------------------------------- */

enum { KNOWN = 256 };

/* The formats that a direction offers, by their number among them. */
static const char *name_of(enum direction direction, int index)
{
    const struct file_format *format;
    for (int i = 0; (format = format_at(i)) != NULL; i++)
        if (offers(format, direction) && index-- == 0)
            return format->name;
    return NULL;
}

static const char *importable(int index) { return name_of(IMPORT, index); }
static const char *exportable(int index) { return name_of(EXPORT, index); }

static unroll_status find_by_name(const char *name, enum direction direction, const struct file_format **found)
{
    char known[KNOWN];
    *found = format_at(table_find(&formats, name));
    if (*found && offers(*found, direction))
        return UNROLL_OK;
    return fail(UNROLL_USAGE, "models are not %s '%.40s'; fix: choose one of %s",
                direction == IMPORT ? "imported from" : "exported to", name,
                list_names(direction == IMPORT ? importable : exportable, known, sizeof known));
}

/* A zip archive whose first file is called so, behind its folders. */
static bool is_archive_of(const char *name, const char *head, size_t bytes)
{
    enum { LENGTH_AT = 26, NAME_AT = 30 }; /* of a zip's local header */
    size_t wanted = strlen(name);
    if (bytes < NAME_AT || memcmp(head, "PK\3\4", 4))
        return false;
    size_t length = get_number(head + LENGTH_AT, 2);
    return length >= wanted && NAME_AT + length <= bytes && !memcmp(head + NAME_AT + length - wanted, name, wanted);
}

/* What people often have who come from elsewhere, and what they can do. */
static unroll_status refuse_content(const char *path, const char *head, size_t bytes)
{
    static const char hdf5[] = "\x89HDF\r\n\x1a\n";
    char known[KNOWN];
    bool is_pickle = bytes >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
    if ((bytes >= 8 && !memcmp(head, hdf5, 8)) || path_ends_in(path, ".keras"))
        return fail(UNROLL_DATA,
                    "'%s' is a file of Keras, which is not read; fix: write its weights as safetensors "
                    "with the script in docs/howto/from-keras.md",
                    path);
    if (is_pickle || is_archive_of("data.pkl", head, bytes))
        return fail(UNROLL_DATA,
                    "'%s' looks like a pickled file of PyTorch, which is a program and not read; fix: in "
                    "Python, safetensors.torch.save_file(torch.load(FILE, weights_only=True), 'x.safetensors')",
                    path);
    return fail(UNROLL_DATA, "the format of '%s' is not recognised; fix: if it is one of %s, name it before the file",
                path, list_names(importable, known, sizeof known));
}

static unroll_status find_by_content(const char *path, const struct file_format **found)
{
    char head[FORMAT_HEAD];
    size_t bytes;
    uint64_t size;
    TRY(read_file_start(path, head, sizeof head, &bytes, &size));
    for (int i = 0; (*found = format_at(i)) != NULL; i++)
        if ((*found)->import && (*found)->recognises && (*found)->recognises(path, head, bytes))
            return UNROLL_OK;
    return refuse_content(path, head, bytes);
}

/* ---- the public interface -------------------------------------------------------------- */

void unroll_import_begin(unroll_import_config *config, size_t size)
{
    const unroll_import_config standard = {.size = sizeof(unroll_import_config)};
    sized_begin(&standard, sizeof standard, config, size);
}

void unroll_export_begin(unroll_export_config *config, size_t size)
{
    const unroll_export_config standard = {
        .size = sizeof(unroll_export_config), .steps = 64, .rows = 1, .lanes = 0, .operand_bits = 8, .delta = -1};
    sized_begin(&standard, sizeof standard, config, size);
}

/* What a caller may wish for, and does or not. */
struct wish {
    unsigned bit;
    bool given;
    const char *what;
};

static unroll_status check_wishes(const char *format, enum direction direction, unsigned takes,
                                  const struct wish wishes[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (wishes[i].given && !(takes & wishes[i].bit))
            return fail(UNROLL_UNSUPPORTED, "an %s '%s' takes no %s; fix: leave it out",
                        direction == IMPORT ? "import from" : "export to", format, wishes[i].what);
    return UNROLL_OK;
}

static unroll_status check_import(const struct file_format *format, const unroll_import_config *config)
{
    const char *nonlinearity = config->nonlinearity, *reset = config->gru_reset;
    const struct wish wishes[] = {{TAKES_PREFIX, config->prefix != NULL, "prefix"},
                                  {TAKES_ORDER, config->order != NULL, "order of modules"},
                                  {TAKES_NONLINEARITY, nonlinearity != NULL, "nonlinearity"},
                                  {TAKES_GRU_RESET, reset != NULL, "choice of the reset of a GRU"}};
    if (reset && strcmp(reset, "after") && strcmp(reset, "before"))
        return fail(UNROLL_USAGE, "gru_reset = '%.40s'; fix: choose one of after, before", reset);
    if (nonlinearity && strcmp(nonlinearity, "tanh") && strcmp(nonlinearity, "relu"))
        return fail(UNROLL_USAGE, "nonlinearity = '%.40s'; fix: choose one of tanh, relu", nonlinearity);
    return check_wishes(format->name, IMPORT, format->import_takes, wishes, sizeof wishes / sizeof *wishes);
}

unroll_status unroll_import(const char *path, const unroll_import_config *given, unroll_model **model)
{
    const struct file_format *format;
    unroll_import_config config = unroll_import_default();
    TRY(sized_take(SIZED(unroll_import_config, "unroll_import_default()"), given, &config));
    if (config.format)
        TRY(find_by_name(config.format, IMPORT, &format));
    else
        TRY(find_by_content(path, &format));
    config.format = format->name;
    TRY(check_import(format, &config));
    return format->import(path, &config, model);
}

static bool is_other(const char *given, const char *usual) { return given && strcmp(given, usual); }

static unroll_status check_export(const struct file_format *format, const unroll_export_config *config)
{
    const unroll_export_config plain = unroll_export_default();
    const struct wish wishes[] = {
        {TAKES_PREFIX, config->prefix != NULL, "prefix"},
        {TAKES_DTYPE, config->dtype && strcmp(config->dtype, "fp32"), "type of weights but fp32"},
        {TAKES_CALIBRATION, config->calibration != NULL, "calibration"},
        {TAKES_OPSET, config->opset != plain.opset, "opset"},
        {TAKES_PROGRAM, config->steps != plain.steps || config->rows != plain.rows, "steps and rows of a program"},
        {TAKES_HARDWARE,
         config->lanes != plain.lanes || config->operand_bits != plain.operand_bits || config->delta != plain.delta ||
             is_other(config->target, "generic") || is_other(config->store, "rom") || is_other(config->head, "linear"),
         "lanes, operands, target, store or head of hardware"}};
    return check_wishes(format->name, EXPORT, format->export_takes, wishes, sizeof wishes / sizeof *wishes);
}

unroll_status unroll_export(const unroll_model *model, const char *path, const unroll_export_config *given)
{
    const struct file_format *format;
    unroll_export_config config = unroll_export_default();
    TRY(sized_take(SIZED(unroll_export_config, "unroll_export_default()"), given, &config));
    TRY(find_by_name(config.format ? config.format : "", EXPORT, &format));
    TRY(check_export(format, &config));
    return format->export(model, path, &config);
}
