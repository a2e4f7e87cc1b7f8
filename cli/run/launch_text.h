/* Parses texts for launchers and their ranks: messages between them, lines of a host file, HTTP replies. Opens and
 * sends nothing. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { HOST_NAME = 104 };

/* Parses "WORD 1 -2 3". Returns the text after the numbers: a blank and more, or the end. NULL: the line is
 * different. */
const char *line_numbers(const char *line, const char *word, int count, int64_t *numbers);
/* Parses "NAME slots=N", with N from 1 (the default) to most; # begins a comment. Name is empty if the line is.
 * Returns false if the line is malformed. Modifies the line. */
bool host_read(char *line, int most, char name[HOST_NAME], int *slots);
/* Returns the object of a reply; NULL if there is none or the status is not success. The text ends with a zero byte. */
json_t *http_reply(const char *text);
