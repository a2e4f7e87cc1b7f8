#include "terminal.h"

#include <errno.h>
#include <stdio.h>
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

static ssize_t write_harmless(void *arg, const char *bytes, size_t count)
{
    char copy[4096];
    (void)arg;
    for (size_t at = 0, part; at < count; at += part) {
        part = count - at < sizeof copy ? count - at : sizeof copy;
        memcpy(copy, bytes + at, part);
        make_harmless(copy, part, &last_byte);
        for (size_t done = 0; done < part;) {
            const ssize_t put = write(STDOUT_FILENO, copy + done, part - done);

            if (put < 0 && errno != EINTR)
                return 0;
            done += put > 0 ? (size_t)put : 0;
        }
    }
    return (ssize_t)count;
}

void terminal_open(bool always)
{
    const bool is_terminal = isatty(STDOUT_FILENO);
    FILE *harmless =
        always || is_terminal ? fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_harmless}) : NULL;
    if (harmless == NULL)
        return;
    setvbuf(harmless, NULL, is_terminal ? _IOLBF : _IOFBF, BUFSIZ);
    stdout = harmless;
}
