/* What launchers and their ranks read that others wrote: what they tell each other, lines of a file of hosts, replies
 * of HTTP. Nothing is opened or sent here. */
#ifndef CLI_LAUNCH_TEXT_H
#define CLI_LAUNCH_TEXT_H
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { HOST_NAME = 104 };

/* "WORD 1 -2 3": the numbers, and what stands behind them: a blank and more, or nothing. NULL: the line is something
 * else. */
const char *line_numbers(const char *line, const char *word, int count, int64_t *numbers);
/* "NAME slots=N", N from 1 (which it is where it is not said) to most; # begins what is not read. An empty name: the
 * line says nothing. False: it is something else. The line is changed. */
bool host_read(char *line, int most, char name[HOST_NAME], int *slots);
/* The object of a reply; NULL: there is none, or no success. The text ends with a zero. */
json_t *http_reply(const char *text);

#endif
