/* Host names become words of a command line, so names that a shell or mpirun would split are refused. */
#include "cli/run/launch_text.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

const char *line_numbers(const char *line, const char *word, int count, int64_t *numbers)
{
    size_t length = strlen(word);
    if (strncmp(line, word, length) != 0)
        return NULL;
    line += length;
    for (int i = 0; i < count; i++) {
        if (*line++ != ' ' || number_integer(&line, NULL, INT64_MIN / 2, INT64_MAX / 2, &numbers[i]) != NUMBER_OK)
            return NULL;
    }
    return *line == ' ' || *line == '\0' ? line : NULL;
}

bool host_read(char *line, int most, char name[HOST_NAME], int *slots)
{
    char *rest;
    int64_t count = 1;
    *name = '\0';
    line[strcspn(line, "#\r\n")] = '\0';
    const char *first = strtok_r(line, " \t", &rest);
    if (first == NULL)
        return true;
    const char *second = strtok_r(NULL, " \t", &rest);
    bool is_sound = strlen(first) < HOST_NAME && !strpbrk(first, ",:;'\"$`\\&|<>(){}*?!~") && *first != '-';
    if (second && (strncmp(second, "slots=", 6) != 0 || number_whole_integer(second + 6, 1, most, &count) != NUMBER_OK))
        is_sound = false;
    if (!is_sound || (second && strtok_r(NULL, " \t", &rest)))
        return false;
    snprintf(name, HOST_NAME, "%s", first);
    *slots = (int)count;
    return true;
}

json_t *http_reply(const char *text)
{
    const char *body = strstr(text, "\r\n\r\n");
    if (strncmp(text, "HTTP/1.", 7) != 0 || text[7] == '\0' || strncmp(text + 8, " 200", 4) != 0 || body == NULL)
        return NULL;
    json_t *reply = json_loads(body + 4, JSON_DISABLE_EOF_CHECK, NULL); /* of a stream only the first object */
    if (json_is_object(reply))
        return reply;
    json_decref(reply);
    return NULL;
}
