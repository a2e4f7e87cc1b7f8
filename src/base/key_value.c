/* Parses lists of "key=value". A value contains no comma. */
#include "base/key_value.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { VALUE_SIZE = KEY_VALUE_SIZE, KNOWN = 256 };

static unroll_status refuse_key(const char *name, int length, const char *owner, const struct key *keys)
{
    char known[KNOWN] = "none";
    for (int at = 0; keys->name && at < KNOWN; keys++)
        at += snprintf(known + at, KNOWN - (size_t)at, "%s%s", at ? ", " : "", keys->name);
    return fail(UNROLL_USAGE, "%s has no option '%.*s'; fix: its options are %s", owner, length, name, known);
}

static unroll_status read_choice(const char *value, const char *owner, const struct key *key, int *into)
{
    const char *at = key->choices;
    size_t length = strlen(value);
    for (int i = 0; *at; i++) {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, value, size) == 0) {
            *into = i;
            return UNROLL_OK;
        }
        at += size + strspn(at + size, " ");
    }
    return fail(UNROLL_USAGE, "%s: %s = '%s'; fix: choose one of %s", owner, key->name, value, key->choices);
}

static unroll_status read_number(const char *value, const char *owner, const struct key *key, double *into)
{
    bool whole = floor(key->min) == key->min && floor(key->max) == key->max;
    if (number_whole_real(value, key->min, key->max, into) == NUMBER_OK && (!whole || floor(*into) == *into))
        return UNROLL_OK;
    return fail(UNROLL_USAGE, "%s: %s = '%s'; fix: give a %snumber from %.10g to %.10g", owner, key->name, value,
                whole ? "whole " : "", key->min, key->max);
}

unroll_status key_values_read(const char *text, const char *owner, const struct key *keys, void *into)
{
    char value[VALUE_SIZE];
    while (text && *text) {
        const struct key *key = keys;
        int name = (int)strcspn(text, "=,"), rest = (int)strcspn(text + name, ",");
        while (key->name && (strlen(key->name) != (size_t)name || memcmp(key->name, text, (size_t)name))) key++;
        if (key->name == NULL)
            return refuse_key(text, name, owner, keys);
        if (rest > VALUE_SIZE)
            return fail(UNROLL_USAGE, "%s: the value of %s has more than %d bytes; fix: use a shorter one", owner,
                        key->name, VALUE_SIZE - 1);
        snprintf(value, sizeof value, "%.*s", rest > 0 ? rest - 1 : 0, text + name + (rest > 0));
        if (key->text && strlen(value) >= key->text)
            return fail(UNROLL_USAGE, "%s: %s has more than %zu bytes; fix: use a shorter one", owner, key->name,
                        key->text - 1);
        int choice;
        double number;
        if (key->text && into)
            strcpy((char *)into + key->offset, value);
        else if (key->choices)
            TRY(read_choice(value, owner, key, into ? (int *)((char *)into + key->offset) : &choice));
        else if (key->text == 0)
            TRY(read_number(value, owner, key, into ? (double *)((char *)into + key->offset) : &number));
        text += name + rest;
        text += *text == ',';
    }
    return UNROLL_OK;
}

bool key_value_find(const char *text, const char *name, char value[KEY_VALUE_SIZE])
{
    const size_t length = strlen(name);
    bool found = false;
    while (text && *text) {
        const size_t rest = strcspn(text, ",");
        if (strncmp(text, name, length) == 0 && text[length] == '=') {
            snprintf(value, KEY_VALUE_SIZE, "%.*s", (int)(rest - length - 1), text + length + 1);
            found = true;
        }
        text += rest + (text[rest] == ',');
    }
    return found;
}

const struct key *key_at(const struct key *keys, int index)
{
    for (const struct key *key = keys; key && key->name; key++)
        if (key->about && index >= 0 && index-- == 0)
            return key;
    return NULL;
}
