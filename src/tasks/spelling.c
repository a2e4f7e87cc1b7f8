/* Letters beyond ASCII keep their case: a table of them would cost more than it is worth. */
#include "tasks/spelling.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "data/vocabulary.h"

/* ---- spellings of a word ---- */

static bool is_inside(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; } /* of a character of UTF-8 */

static bool is_between(char c, char from, char to) { return c >= from && c <= to; }

/* Writes a word in lower case, with all digits replaced by one: numbers that were never seen look like known ones. */
static void lower_case(const char *word, char text[SPELLING_MAX])
{
    size_t n = 0;
    for (; word[n] && n < SPELLING_MAX - 1; n++)
        text[n] = is_between(word[n], 'A', 'Z') ? (char)(word[n] + 32) : is_between(word[n], '0', '9') ? '0' : word[n];
    while (n > 0 && is_inside(word[n])) n--; /* whole characters */
    text[n] = 0;
}

/* Writes the last characters of a word, or all if it is shorter. */
static void end_of(const char *word, int characters, char text[SPELLING_MAX])
{
    char all[SPELLING_MAX];
    lower_case(word, all);
    size_t at = strlen(all);
    while (at > 0 && characters > 0)
        if (!is_inside(all[--at]))
            characters--;
    memcpy(text, all + at, strlen(all + at) + 1);
}

static void last_1(const char *word, char text[SPELLING_MAX]) { end_of(word, 1, text); }
static void last_2(const char *word, char text[SPELLING_MAX]) { end_of(word, 2, text); }
static void last_3(const char *word, char text[SPELLING_MAX]) { end_of(word, 3, text); }

/* Writes the shape of a word, "Xx-d" for Well-12: one mark for each run of capitals, small letters, digits and
 * others. */
static void shape(const char *word, char text[SPELLING_MAX])
{
    size_t n = 0;
    for (; *word && n < SPELLING_MAX - 1; word++) {
        const char kind = is_between(*word, 'A', 'Z')                                  ? 'X'
                          : is_between(*word, 'a', 'z') || (unsigned char)*word > 0x7f ? 'x'
                          : is_between(*word, '0', '9')                                ? 'd'
                                                                                       : *word;
        if (n == 0 || text[n - 1] != kind)
            text[n++] = kind;
    }
    text[n] = 0;
}

const struct spelling spellings[SPELLINGS] = {{"word", 100, lower_case},
                                              {"last1", 16, last_1},
                                              {"last2", 32, last_2},
                                              {"last3", 50, last_3},
                                              {"shape", 16, shape}};

/* ---- as ids ---- */

static unroll_status list_strings(const struct vocabulary *vocabulary, struct spelled *s)
{
    s->known = vocabulary_size(vocabulary);
    s->strings = json_array();
    for (int i = 0; i < s->known; i++) {
        size_t size;
        const char *text = vocabulary_at(vocabulary, i, &size);
        if (json_array_append_new(s->strings, json_stringn(text, size)))
            return fail(UNROLL_RESOURCE, "no memory for %d words", s->known);
    }
    return UNROLL_OK;
}

unroll_status spelled_find(const struct column *column, const struct spelling *how, struct spelled *s)
{
    struct vocabulary *vocabulary;
    char text[SPELLING_MAX];
    *s = (struct spelled){.how = how};
    TRY(ALLOCATE(s->map, (size_t)column->vocabulary_size, "for the words of '%s'", column->name));
    TRY(vocabulary_new(&vocabulary));
    unroll_status status = UNROLL_OK;
    for (int i = 0; status == UNROLL_OK && i < column->vocabulary_size; i++) {
        how->make(column->vocabulary[i], text);
        status = vocabulary_add(vocabulary, text, strlen(text), &s->map[i]);
    }
    if (status == UNROLL_OK)
        status = list_strings(vocabulary, s);
    s->unknown = s->known;
    vocabulary_free(vocabulary);
    return status;
}

static void count_times(const struct spelled *s, const struct column *column, const struct members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        const struct step_range steps = member_steps(members, i);
        for (size_t step = steps.from; step < steps.to; step++) {
            const int32_t id = column_id(column, step);
            if (id >= 0)
                s->times[s->map[id]]++;
        }
    }
}

unroll_status spelled_fit(struct spelled *s, const struct column *column, const struct members *members)
{
    int32_t *number;
    int known = 0;
    TRY(ALLOCATE(s->times, (size_t)s->known, "for the words of '%s'", column->name));
    TRY(ALLOCATE(number, (size_t)s->known, "for the words of '%s'", column->name));
    count_times(s, column, members);
    json_t *strings = json_array();
    for (int i = 0; i < s->known; i++) {
        number[i] = s->times[i] ? known : s->unknown;
        if (s->times[i] == 0)
            continue;
        s->times[known++] = s->times[i];
        json_array_append(strings, json_array_get(s->strings, (size_t)i));
    }
    for (int i = 0; i < column->vocabulary_size; i++) s->map[i] = number[s->map[i]];
    release(number);
    json_decref(s->strings);
    s->strings = strings;
    s->known = known;
    return UNROLL_OK;
}

void spelled_end(struct spelled *s)
{
    release(s->map);
    release(s->times);
    json_decref(s->strings);
    *s = (struct spelled){0};
}

/* ---- in the schema ---- */

unroll_status spelled_to_json(const struct spelled *s, json_t *json)
{
    json_t *times = json_array();
    for (int i = 0; i < s->known; i++) json_array_append_new(times, json_integer(s->times ? s->times[i] : 0));
    json_object_set_new(json, "spelling", json_string(s->how->name));
    json_object_set(json, "strings", s->strings);
    return json_object_set_new(json, "times", times) ? fail(UNROLL_RESOURCE, "no memory for a schema") : UNROLL_OK;
}

static unroll_status read_strings(const json_t *times, const char *where, struct vocabulary *vocabulary,
                                  struct spelled *s)
{
    int32_t index;
    for (int i = 0; i < s->known; i++) {
        const json_t *string = json_array_get(s->strings, (size_t)i);
        if (!json_is_string(string))
            return fail(UNROLL_DATA, "%s: strings: %d is not a string; fix: use another copy of the model", where, i);
        s->times[i] = json_integer_value(json_array_get(times, (size_t)i));
        TRY(vocabulary_add(vocabulary, json_string_value(string), json_string_length(string), &index));
        if (index != i)
            return fail(UNROLL_DATA, "%s: '%s' occurs twice; fix: use another copy of the model", where,
                        json_string_value(string));
    }
    return UNROLL_OK;
}

unroll_status spelled_from_json(const json_t *json, const char *where, const struct column *column, int unknown,
                                struct spelled *s)
{
    struct vocabulary *vocabulary;
    const char *name;
    char text[SPELLING_MAX];
    json_t *times;
    TRY(json_field_string(json, where, "spelling", &name));
    TRY(json_field_array(json, where, "strings", &s->strings));
    json_incref(s->strings);
    TRY(json_field_array(json, where, "times", &times));
    for (int i = 0; i < SPELLINGS; i++)
        if (strcmp(spellings[i].name, name) == 0)
            s->how = &spellings[i];
    s->known = (int)json_array_size(s->strings);
    s->unknown = unknown;
    if (s->how == NULL || s->known > unknown)
        return fail(UNROLL_DATA, "%s: this version does not support the spelling '%s'; fix: use a newer unroll", where,
                    name);
    TRY(ALLOCATE(s->times, (size_t)s->known, "for the words of '%s'", column->name));
    TRY(ALLOCATE(s->map, (size_t)column->vocabulary_size, "for the words of '%s'", column->name));
    TRY(vocabulary_new(&vocabulary));
    unroll_status status = read_strings(times, where, vocabulary, s);
    for (int i = 0; status == UNROLL_OK && i < column->vocabulary_size; i++) {
        s->how->make(column->vocabulary[i], text);
        const int32_t id = vocabulary_find(vocabulary, text, strlen(text));
        s->map[i] = id == VOCABULARY_NONE ? unknown : id;
    }
    vocabulary_free(vocabulary);
    return status;
}

/* Decides whether to forget a string: one that was seen n times becomes unknown once in 1 + 4 n (Kiperwasser and
 * Goldberg, TACL 2016). */
int32_t spelled_forget(const struct spelled *s, int32_t id, float random)
{
    return id < s->known && random * (float)(1 + 4 * s->times[id]) < 1 ? s->unknown : id;
}
