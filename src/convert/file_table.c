/* Import and export: finds the format and calls its row. Formats have no other code here. */
#include "base/sized.h"
#include "convert/file_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/extension.h"
#include "base/table.h"
#include "model/model.h"
#include "model/units.h"

#define ROW(name) &format_##name,
static const void *const rows[] = {FILE_FORMATS(ROW)};
static struct table formats = TABLE("format", rows);

unroll_status format_add(const struct file_format *format) { return table_add(&formats, format); }

const struct file_format *format_at(int index) { return table_at(&formats, index); }

enum direction { IMPORT, EXPORT };

static bool offers(const struct file_format *format, enum direction direction)
{
    return direction == IMPORT ? format->import != NULL : format->export != NULL;
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

/* Returns the name of the index-th format that supports the direction, or NULL. */
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
    TRY(extension_refuse(formats.what, name));
    return fail(UNROLL_USAGE, "models cannot be %s '%.40s'; fix: choose one of %s",
                direction == IMPORT ? "imported from" : "exported to", name,
                list_names(direction == IMPORT ? importable : exportable, known, sizeof known));
}

/* True for a zip archive whose first file has this name, in any folder. */
static bool is_archive_of(const char *name, const char *head, size_t bytes)
{
    enum { LENGTH_AT = 26, NAME_AT = 30 }; /* offsets in a zip local header */
    size_t wanted = strlen(name);
    if (bytes < NAME_AT || memcmp(head, "PK\3\4", 4))
        return false;
    size_t length = get_number(head + LENGTH_AT, 2);
    return length >= wanted && NAME_AT + length <= bytes && !memcmp(head + NAME_AT + length - wanted, name, wanted);
}

/* Refuses common files of other tools with a hint on how to convert them. */
static unroll_status refuse_content(const char *path, const char *head, size_t bytes)
{
    static const char hdf5[] = "\x89HDF\r\n\x1a\n";
    char known[KNOWN];
    bool is_pickle = bytes >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
    if ((bytes >= 8 && !memcmp(head, hdf5, 8)) || path_ends_in(path, ".keras"))
        return fail(UNROLL_DATA,
                    "'%s' is a Keras file, which is not supported; fix: write its weights as safetensors with the "
                    "script in docs/howto/from-keras.md",
                    path);
    if (is_pickle || is_archive_of("data.pkl", head, bytes))
        return fail(UNROLL_DATA,
                    "'%s' looks like a pickled PyTorch file, which can run code and is not supported; fix: in "
                    "Python, safetensors.torch.save_file(torch.load(FILE, weights_only=True), 'x.safetensors')",
                    path);
    return fail(UNROLL_DATA,
                "the format of '%s' is not recognized; fix: if it is one of %s, name the format before the file", path,
                list_names(importable, known, sizeof known));
}

static unroll_status find_by_content(const char *path, const struct file_format **found)
{
    char head[FORMAT_HEAD];
    size_t bytes;
    uint64_t size;
    TRY(read_file_start(path, head, sizeof head, &bytes, &size));
    for (int i = 0; (*found = format_at(i)) != NULL; i++)
        if ((*found)->import && (*found)->recognizes && (*found)->recognizes(path, head, bytes))
            return UNROLL_OK;
    return refuse_content(path, head, bytes);
}

/* ---- the public interface -------------------------------------------------------------- */

void unroll_import_config_begin(unroll_import_config *config, size_t size)
{
    const unroll_import_config standard = {.size = sizeof(unroll_import_config)};
    sized_begin(&standard, sizeof standard, config, size);
}

void unroll_export_config_begin(unroll_export_config *config, size_t size)
{
    const unroll_export_config standard = {
        .size = sizeof(unroll_export_config), .steps = 64, .rows = 1, .lanes = 0, .operand_bits = 8, .delta = -1};
    sized_begin(&standard, sizeof standard, config, size);
}

/* An option of the caller that a format may not support. */
struct given_option {
    unsigned bit;
    bool given;
    const char *what;
};

static unroll_status check_wishes(const char *format, enum direction direction, unsigned takes,
                                  const struct given_option wishes[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (wishes[i].given && !(takes & wishes[i].bit))
            return fail(UNROLL_UNSUPPORTED, "an %s '%s' does not support %s; fix: leave it out",
                        direction == IMPORT ? "import from" : "export to", format, wishes[i].what);
    return UNROLL_OK;
}

static unroll_status check_import(const struct file_format *format, const unroll_import_config *config)
{
    const char *nonlinearity = config->nonlinearity, *reset = config->gru_reset;
    const struct given_option wishes[] = {{TAKES_PREFIX, config->prefix != NULL, "a prefix"},
                                          {TAKES_ORDER, config->order != NULL, "an order of modules"},
                                          {TAKES_NONLINEARITY, nonlinearity != NULL, "a nonlinearity"},
                                          {TAKES_GRU_RESET, reset != NULL, "a reset convention of the GRU"}};
    if (reset && strcmp(reset, "after") && strcmp(reset, "before"))
        return fail(UNROLL_USAGE, "`gru_reset` = '%.40s'; fix: choose one of after, before", reset);
    if (nonlinearity && strcmp(nonlinearity, "tanh") && strcmp(nonlinearity, "relu"))
        return fail(UNROLL_USAGE, "`nonlinearity` = '%.40s'; fix: choose one of tanh, relu", nonlinearity);
    return check_wishes(format->name, IMPORT, format->import_takes, wishes, sizeof wishes / sizeof *wishes);
}

unroll_status unroll_model_import(const char *path, const unroll_import_config *given, unroll_model **model)
{
    const struct file_format *format;
    unroll_import_config config = unroll_import_config_default();
    TRY(sized_take(SIZED(unroll_import_config, "unroll_import_config_default()"), given, &config));
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
    const unroll_export_config plain = unroll_export_config_default();
    const struct given_option wishes[] = {
        {TAKES_PREFIX, config->prefix != NULL, "a prefix"},
        {TAKES_DTYPE, config->dtype && strcmp(config->dtype, "fp32"), "a data type of weights other than fp32"},
        {TAKES_CALIBRATION, config->calibration != NULL, "a calibration"},
        {TAKES_OPSET, config->opset != plain.opset, "an opset"},
        {TAKES_PROGRAM, config->steps != plain.steps || config->rows != plain.rows, "steps and rows of a program"},
        {TAKES_HARDWARE,
         config->lanes != plain.lanes || config->operand_bits != plain.operand_bits || config->delta != plain.delta ||
             is_other(config->target, "generic") || is_other(config->store, "rom") || is_other(config->head, "linear"),
         "lanes, operands, target, store or head of hardware"}};
    return check_wishes(format->name, EXPORT, format->export_takes, wishes, sizeof wishes / sizeof *wishes);
}

unroll_status unroll_model_export(const unroll_model *model, const char *path, const unroll_export_config *given)
{
    const struct file_format *format;
    unroll_export_config config = unroll_export_config_default();
    TRY(sized_take(SIZED(unroll_export_config, "unroll_export_config_default()"), given, &config));
    TRY(find_by_name(config.format ? config.format : "", EXPORT, &format));
    TRY(check_export(format, &config));
    if (model_has_chain(model))
        return fail(
            UNROLL_UNSUPPORTED,
            "`loss` = 'crf': '%s' does not hold the scores of moves from label to label; fix: use the model file, "
            "or train with `loss` = 'xent'",
            format->name);
    unroll_model *used = (unroll_model *)model, *own; /* not modified */
    TRY(units_take(&used, config.raw, config.series, true, &own));
    unroll_status status = units_check_dtype(used, config.dtype);
    if (status == UNROLL_OK)
        status = format->export(used, path, &config);
    unroll_model_free(own);
    return status;
}
