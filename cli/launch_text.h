/* What launchers read that others wrote: lines of a file of hosts, replies of HTTP. Nothing is opened or sent here. */
#ifndef CLI_LAUNCH_TEXT_H
#define CLI_LAUNCH_TEXT_H
#include <jansson.h>
#include <stdbool.h>

enum { HOST_NAME = 104 };

/* "NAME slots=N", N from 1 (which it is where it is not said) to most; # begins what is not read. An empty name: the
 * line says nothing. False: it is something else. The line is changed. */
bool host_read(char *line, int most, char name[HOST_NAME], int *slots);
/* The object of a reply; NULL: there is none, or no success. The text ends with a zero. */
json_t *http_reply(const char *text);

#endif
