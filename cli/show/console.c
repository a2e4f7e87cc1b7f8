/* Messages and the live line on standard error, and the formatting of numbers. */
#include "cli/show/console.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/options/options.h"
#include "cli/show/terminal.h"

enum { WIDTH_UNKNOWN = 80, LINE_LONGEST = 4096 };

static struct {
    bool quiet, live, color;
    bool line_is_up;  /* the cursor is at the end of the live line */
    bool mute, holds; /* holds: errors wait for console_release */
    char held[LINE_LONGEST];
} console;

void console_open(bool quiet)
{
    const char *terminal = getenv("TERM"), *plain = getenv("NO_COLOR");
    console.quiet = quiet;
    console.live = !quiet && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
    console.color = console.live && (plain == NULL || *plain == '\0');
}

bool console_is_live(void) { return console.live; }

void console_mute(void)
{
    console.quiet = console.mute = true;
    console.live = console.color = false;
}

void end_live(void)
{
    if (console.line_is_up)
        fputs("\r\033[K", stderr);
    console.line_is_up = false;
}

static char *harmless(char *text)
{
    unsigned char before = 0;
    make_harmless(text, strlen(text), &before);
    return text;
}

static void print_error(const char *who, char *text)
{
    static const char mark[] = "; fix: ";
    end_live();
    char *fix = strstr(harmless(text), mark);
    if (fix)
        *fix = '\0';
    fprintf(stderr, "error: %s%s\n", who, text);
    if (fix)
        fprintf(stderr, "  fix: %s\n", fix + sizeof mark - 1);
}

void console_unmute(int rank)
{
    char who[32] = "";
    if (rank >= 0)
        snprintf(who, sizeof who, "rank %d: ", rank);
    if (console.mute && *console.held)
        print_error(who, console.held);
    console.mute = false;
}

void console_lead(bool quiet)
{
    if (!console.mute)
        return;
    console.mute = false;
    console_open(quiet);
}

void console_hold(void)
{
    console.holds = true;
    *console.held = '\0';
}

void console_release(bool prints)
{
    if (prints && console.holds && !console.mute && *console.held)
        print_error("", console.held);
    console.holds = false;
}

static void say_line(bool silent, const char *format, va_list arguments)
{
    char *text = NULL;
    if (silent || vasprintf(&text, format, arguments) < 0)
        return;
    end_live();
    fprintf(stderr, "%s\n", harmless(text));
    free(text);
}

/* Returns whether a note was not printed before. A part of the data that is opened again repeats its notes. */
static bool is_new_note(const char *note)
{
    static char printed[8192] = "\n";
    char line[1026];
    const size_t used = strlen(printed);
    snprintf(line, sizeof line, "\n%s\n", note);
    if (strstr(printed, line))
        return false;
    snprintf(printed + used, sizeof printed - used, "%s", line + 1);
    return true;
}

void say_notes(const char *notes)
{
    char line[1024];
    for (const char *note = notes; *note; note += strcspn(note, "\n"), note += *note == '\n') {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(note, "\n"), note);
        if (is_new_note(line))
            say("note: %s", as_options(line));
    }
}

void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_line(console.quiet, format, arguments);
    va_end(arguments);
}

void say_always(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_line(console.mute, format, arguments);
    va_end(arguments);
}

static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : WIDTH_UNKNOWN;
}

void say_live(const char *line)
{
    if (!console.live)
        return;
    /* Leaves the last column free: some terminals begin a new line after writing it. */
    char text[LINE_LONGEST];
    snprintf(text, sizeof text, "%.*s", terminal_width() - 1, line);
    fprintf(stderr, "\r\033[K%s", harmless(text));
    fflush(stderr);
    console.line_is_up = true;
}

void say_dim(const char *line)
{
    const bool dims = console.color && !console.quiet;
    fputs(dims ? "\033[2m" : "", stderr);
    say("%s", line);
    fputs(dims ? "\033[0m" : "", stderr);
}

unroll_status complain(unroll_status status, const char *format, ...)
{
    char text[LINE_LONGEST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(console.held, text, sizeof text);
    if (!console.mute && !console.holds)
        print_error("", text);
    return status;
}

const char *last_complaint(void) { return console.held; }

unroll_status complain_library(unroll_status status)
{
    return status == UNROLL_OK ? status : complain(status, "%s", as_options(unroll_last_error()));
}

static bool is_plain(unsigned char c) { return isalnum(c) || c >= 0x80 || strchr("_-./+,:@%=", c); }

const char *as_word(char *text, size_t size, const char *path)
{
    enum { LONGEST = 4, END = 2 }; /* a quote within quotes: '\'' */
    size_t at = 0, plain = 0;
    char here[4096];
    if (*path == '-' && snprintf(here, sizeof here, "./%s", path) < (int)sizeof here)
        path = here;
    while (path[plain] && is_plain((unsigned char)path[plain])) plain++;
    if (path[plain] == '\0') {
        snprintf(text, size, "%s", path);
        return text;
    }
    text[at++] = '\'';
    for (; *path && at + LONGEST + END <= size; path++)
        at += (size_t)sprintf(text + at, *path == '\'' ? "'\\''" : "%c", *path);
    strcpy(text + at, "'");
    return text;
}

/* ---- numbers ---- */

const char *with_commas(char *text, int64_t value)
{
    char digits[NUMBER_TEXT];
    int count = snprintf(digits, sizeof digits, "%" PRId64, value), at = 0;
    for (int i = 0; i < count; i++) {
        text[at++] = digits[i];
        if ((count - 1 - i) % 3 == 0 && i < count - 1 && digits[i] != '-')
            text[at++] = ',';
    }
    text[at] = '\0';
    return text;
}

const char *with_prefix(char *text, double value)
{
    static const char prefix[] = {'\0', 'k', 'M', 'G', 'T'};
    int step = 0;
    for (; value >= 999.5 && step < (int)sizeof prefix - 1; step++) value /= 1000;
    snprintf(text, NUMBER_TEXT, value < 99.95 && step > 0 ? "%.1f%c" : "%.0f%c", value, prefix[step]);
    return text;
}

const char *as_bytes(char *text, double bytes)
{
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB"};
    int step = 0;

    for (; bytes >= 999.5 && step < 4; step++) bytes /= 1000;
    snprintf(text, NUMBER_TEXT, bytes < 9.95 && step > 0 ? "%.1f %s" : "%.0f %s", bytes, unit[step]);
    return text;
}

const char *as_clock(char *text, double seconds)
{
    int64_t whole = seconds > 0 ? (int64_t)(seconds + 0.5) : 0;
    int64_t hours = whole / 3600, minutes = whole / 60 % 60;
    if (hours > 0)
        snprintf(text, NUMBER_TEXT, "%" PRId64 ":%02d:%02d", hours, (int)minutes, (int)(whole % 60));
    else
        snprintf(text, NUMBER_TEXT, "%d:%02d", (int)minutes, (int)(whole % 60));
    return text;
}
