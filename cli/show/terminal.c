#include "cli/show/terminal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void make_harmless(char *bytes, size_t count, unsigned char *before)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        const bool c1 = *before == 0xc2 && byte >= 0x80 && byte < 0xa0; /* U+0080 to U+009F */
        if ((byte < ' ' && byte != '\n' && byte != '\t') || byte == 127 || c1)
            bytes[i] = '?';
        if (c1 && i > 0)
            bytes[i - 1] = '?';
        *before = byte;
    }
}

static unsigned char last_byte;
static int target = STDOUT_FILENO;

static ssize_t write_harmless(void *arg, const char *bytes, size_t count)
{
    char copy[4096];
    (void)arg;
    for (size_t at = 0, part; at < count; at += part) {
        part = count - at < sizeof copy ? count - at : sizeof copy;
        memcpy(copy, bytes + at, part);
        make_harmless(copy, part, &last_byte);
        for (size_t done = 0; done < part;) {
            const ssize_t put = write(target, copy + done, part - done);

            if (put < 0 && errno != EINTR)
                return 0;
            done += put > 0 ? (size_t)put : 0;
        }
    }
    return (ssize_t)count;
}

#ifdef __GLIBC__
static void filter_output(bool is_terminal)
{
    FILE *harmless = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_harmless});
    if (harmless == NULL)
        return;
    setvbuf(harmless, NULL, is_terminal ? _IOLBF : _IOFBF, BUFSIZ);
    stdout = harmless;
}
#else
/* Other C libraries do not let a program replace stdout: it writes to a pipe, and a thread copies what arrives there.
 */
static pthread_t copier;
static int pipe_end;

static void *copy_output(void *arg)
{
    char bytes[4096];
    ssize_t count;
    while ((count = read(pipe_end, bytes, sizeof bytes)) > 0 || (count < 0 && errno == EINTR))
        if (count > 0)
            write_harmless(NULL, bytes, (size_t)count);
    return arg;
}

static void end_output(void)
{
    fflush(stdout);
    close(STDOUT_FILENO);
    pthread_join(copier, NULL);
}

static void filter_output(bool is_terminal)
{
    int ends[2];
    if (pipe(ends) != 0 || (target = dup(STDOUT_FILENO)) < 0)
        return;
    pipe_end = ends[0];
    if (pthread_create(&copier, NULL, copy_output, NULL) != 0)
        return;
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    setvbuf(stdout, NULL, is_terminal ? _IOLBF : _IOFBF, BUFSIZ);
    atexit(end_output);
}
#endif

void terminal_open(bool always)
{
    const bool is_terminal = isatty(STDOUT_FILENO);
    if (always || is_terminal)
        filter_output(is_terminal);
}
