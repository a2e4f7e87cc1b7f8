/* Settings as JSON, for config files and for the settings saved with a run: an object whose keys are the options'
 * names. Keys of other commands are allowed, so that commands can share a file. */
#include "cli/options/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/console.h"
#include "cli/run/crc.h"
#include "cli/options/suggest.h"

/* Enough digits for numbers that people write; 0.1 stays 0.1. */
#define NUMBER_FORMAT "%.15g"

static unroll_status refuse_key(const char *path, const char *key)
{
    struct suggestion suggestion = suggestion_for(key);
    int known = option_find(key);
    if (known != option_count)
        return complain(UNROLL_USAGE, "%s: '%s' can only be given on the command line; fix: write --%s", path, key,
                        key);
    for (int id = 0; id < option_count; id++)
        if (options[id].scope != LINE)
            suggestion_offer(&suggestion, options[id].name);
    if (suggestion.nearest)
        return complain(UNROLL_USAGE, "%s: '%.80s' is not a setting; fix: write '%s'", path, key, suggestion.nearest);
    return complain(UNROLL_USAGE,
                    "%s: '%.80s' is not a setting; fix: settings are named like the options, "
                    "see 'unroll train --help'",
                    path, key);
}

/* Returns the text of a JSON value, or NULL if its type does not fit the option. */
static const char *text_of_json(const struct option *o, const json_t *value, char number[NUMBER_TEXT])
{
    enum option_kind kind = o->kind;
    bool numeric = option_counts(o) && kind != INTEGER;
    if (json_is_boolean(value) && kind == FLAG)
        return json_is_true(value) ? "true" : "false";
    if (json_is_integer(value) && (kind == INTEGER || numeric)) {
        snprintf(number, NUMBER_TEXT, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return number;
    }
    if (json_is_real(value) && numeric) {
        snprintf(number, NUMBER_TEXT, NUMBER_FORMAT, json_real_value(value));
        return number;
    }
    if (json_is_string(value) && (o->word || (kind >= SECONDS && kind <= DIRECTORY)))
        return json_string_value(value);
    return NULL;
}

/* Sets the option of a key. Keys of other commands are checked, but not set. */
static unroll_status read_key(struct settings *settings, const char *path, enum source source, const char *key,
                              const json_t *value)
{
    static const char *const wanted[] = {
        [FLAG] = "true or false",
        [INTEGER] = "a whole number",
        [NUMBER] = "a number",
        [SECONDS] = "a number or a time",
        [BYTES] = "a number or a size",
        [INTEGERS] = "a string of whole numbers",
        [NUMBER_OR_PATH] = "a number or a path",
        [CHOICE] = "a string",
        [TEXT] = "a string",
        [PATH] = "a string",
        [DIRECTORY] = "a string",
    };
    int id = option_find(key);
    char number[NUMBER_TEXT], where[512];

    if (id == option_count || options[id].scope == LINE)
        return refuse_key(path, key);
    const char *text = text_of_json(&options[id], value, number);
    if (text == NULL)
        return complain(UNROLL_USAGE, "%s: '%s' has a value of the wrong type; fix: give %s", path, key,
                        wanted[options[id].kind]);
    if (!option_is_of(&options[id], settings->command))
        return UNROLL_OK;
    snprintf(where, sizeof where, "%.400s: %s", path, key);
    return settings_set(settings, id, text, source, where);
}

/* ---- the checksum of saved settings ---- */

static const char checksum_key[] = "checksum";
enum { CHECKSUM_SIZE = 9 };

/* Equal objects have equal text. */
static char *text_of_object(const json_t *object)
{
    return json_dumps(object, JSON_SORT_KEYS | JSON_INDENT(2) | JSON_REAL_PRECISION(15));
}

/* Returns false if there is no memory. */
static bool checksum_of(const json_t *object, char checksum[CHECKSUM_SIZE])
{
    char *text = text_of_object(object);
    if (text)
        snprintf(checksum, CHECKSUM_SIZE, "%08" PRIx32, crc32c(text, strlen(text)));
    free(text);
    return text != NULL;
}

/* Verifies the checksum and removes it from the object. Files that people write have none. */
static unroll_status check_checksum(const char *path, json_t *object)
{
    json_t *stated = json_incref(json_object_get(object, checksum_key));
    char found[CHECKSUM_SIZE];
    unroll_status status = UNROLL_OK;
    json_object_del(object, checksum_key);
    if (stated && !checksum_of(object, found))
        status = complain(UNROLL_RESOURCE, "no memory for the settings");
    else if (stated && (!json_is_string(stated) || strcmp(json_string_value(stated), found) != 0))
        status = complain(
            UNROLL_DATA,
            "%s was changed after it was saved: its checksum is not %s; fix: use another copy, or remove \"%s\" if it "
            "was changed on purpose",
            path, found, checksum_key);
    json_decref(stated);
    return status;
}

char *settings_to_text(const struct settings *settings)
{
    json_t *object = settings_to_json(settings);
    char checksum[CHECKSUM_SIZE], *text = NULL;
    if (object && checksum_of(object, checksum) &&
        json_object_set_new(object, checksum_key, json_string(checksum)) == 0)
        text = text_of_object(object);
    json_decref(object);
    return text;
}

/* ---- reading and writing ---- */

unroll_status settings_read_json(struct settings *settings, const char *path, enum source source)
{
    json_error_t error;
    json_t *object, *value;
    const char *key;
    unroll_status status = UNROLL_OK;
    if (source == SOURCE_RUN && access(path, F_OK) != 0)
        return complain(UNROLL_DATA, "no run to resume: there is no '%s'; fix: give the directory of a run", path);
    FILE *file = fopen(path, "r");
    object = file ? json_loadf(file, JSON_REJECT_DUPLICATES, &error) : NULL;
    int reason = !file || ferror(file) ? errno : 0;
    if (file)
        fclose(file);
    if (reason)
        return complain(UNROLL_DATA, "cannot read '%s': %s; fix: give a file of JSON", path, strerror(reason));
    if (object == NULL && json_error_code(&error) == json_error_numeric_overflow)
        return complain(UNROLL_USAGE,
                        "%s: line %d, column %d: %s; fix: 'unroll %s --help' has the range of each setting", path,
                        error.line, error.column, error.text, commands[settings->command].name);
    if (object == NULL)
        return complain(UNROLL_DATA, "%s is not JSON: line %d, column %d: %s; fix: correct it there", path, error.line,
                        error.column, error.text);
    if (!json_is_object(object))
        status = complain(UNROLL_DATA, "%s is not a JSON object; fix: write {\"hidden\": 128}", path);
    else
        status = check_checksum(path, object);
    json_object_foreach(object, key, value) if (status == UNROLL_OK) status =
        read_key(settings, path, source, key, value);
    json_decref(object);
    return status;
}

/* Returns the value of a setting as JSON. */
static json_t *json_of(const struct option *o, const struct setting *setting)
{
    switch (o->kind) {
    case FLAG: return json_boolean(setting->integer != 0);
    case INTEGER:
        if (o->word && strcmp(setting->text, o->word) == 0)
            return json_string(o->word);
        if (o->suffix && setting->integer == 0)
            return json_string(setting->text);
        return json_integer(setting->integer);
    case BYTES: return json_integer((json_int_t)setting->number);
    case NUMBER:
    case SECONDS:
    case NUMBER_OR_PATH:
        if (!isnan(setting->number))
            return json_real(setting->number);
        break;
    default: break;
    }
    return json_string(setting->text);
}

json_t *settings_to_json(const struct settings *settings)
{
    json_t *object = json_object();
    for (int id = 0; object && id < option_count; id++) {
        bool saved = options[id].scope == FIXED || options[id].scope == FREE;
        if (!saved || !is_given(settings, id) || !option_is_of(&options[id], settings->command))
            continue;
        if (json_object_set_new(object, options[id].name, json_of(&options[id], &settings->of[id])) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}
