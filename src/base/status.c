/* The last error of each thread. Messages may quote names from damaged files, so control characters are replaced before
 * a terminal can interpret them. Only the last error is kept. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_SIZE = 2048 };

static _Thread_local char last_error[MESSAGE_SIZE];

/* ---- names and the log ---- */

const char *unroll_status_name(unroll_status status)
{
    static const char *const names[] = {[UNROLL_OK] = "ok",
                                        [UNROLL_FAILURE] = "failure",
                                        [UNROLL_USAGE] = "usage",
                                        [UNROLL_DATA] = "data",
                                        [UNROLL_UNSUPPORTED] = "unsupported",
                                        [UNROLL_RESOURCE] = "resource",
                                        [UNROLL_DIVERGED] = "diverged",
                                        [UNROLL_COMMUNICATION] = "communication"};
    if (status == UNROLL_PREEMPTED)
        return "preempted";
    return (size_t)status < sizeof names / sizeof *names ? names[status] : NULL;
}

static unroll_log *log_of_process;
static void *log_arg;

void unroll_set_log(unroll_log *log, void *arg)
{
    log_of_process = log;
    log_arg = arg;
}

/* Sends the message as one line. */
static void send_to_log(unroll_log_kind kind, const char *message)
{
    char line[MESSAGE_SIZE];
    if (!log_of_process)
        return;
    snprintf(line, sizeof line, "%s", message);
    for (char *c = line; *c; c++)
        if (*c == '\n')
            *c = ' ';
    log_of_process(log_arg, kind, line);
}

/* ---- messages ---- */

static void replace_control_characters(char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < 0x20 && *text != '\n') || *text == 0x7f)
            *text = '?';
}

/* Appends the fix for exhausted memory, which is always the same. */
static void suggest_memory(char message[MESSAGE_SIZE])
{
    const size_t length = strlen(message);
    if (strstr(message, "no memory") && strstr(message, "fix: ") == NULL)
        snprintf(message + length, MESSAGE_SIZE - length,
                 "; fix: end other programs, or use less data, a smaller network or a smaller batch");
}

void set_error(const char *format, ...)
{
    char message[MESSAGE_SIZE]; /* not last_error, which may be an argument */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    suggest_memory(message);
    replace_control_characters(message);
    memcpy(last_error, message, sizeof last_error);
    send_to_log(UNROLL_LOG_ERROR, last_error);
}

static _Thread_local char notes[MESSAGE_SIZE];

void clear_notes(void) { *notes = '\0'; }

void add_note(const char *format, ...)
{
    const size_t used = strlen(notes);
    char line[MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    replace_control_characters(line);
    send_to_log(UNROLL_LOG_NOTE, line);
    const size_t length = strlen(line), start = used + (used > 0);
    if (start + length >= sizeof notes)
        return;
    if (used)
        notes[used] = '\n';
    memcpy(notes + start, line, length + 1);
}

const char *unroll_last_notes(void) { return notes; }

const char *list_names(const char *(*name_of)(int index), char *text, size_t size)
{
    const char *name;
    size_t used = 0;
    *text = '\0';
    for (int i = 0; (name = name_of(i)) != NULL && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", name);
    return text;
}

const char *unroll_last_error(void) { return last_error; }
