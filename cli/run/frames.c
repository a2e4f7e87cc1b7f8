/* Reads frames from a file as they arrive: raw floats, lines of numbers, the samples of a sound, or a NumPy array. */
#include "cli/run/frames.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/npy_header.h"
#include "base/number.h"
#include "base/try.h"

enum { LONGEST_NUMBER = 64 }; /* bytes of a number in a line, including separators */

__attribute__((format(printf, 2, 3))) static unroll_status refuse(struct frames *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->error, sizeof f->error, format, arguments);
    va_end(arguments);
    return UNROLL_DATA;
}

/* Reads `count` bytes; fewer only at the end of the file or after a signal. */
static unroll_status read_bytes(struct frames *f, void *to, size_t count, size_t *got)
{
    errno = 0;
    *got = fread(to, 1, count, f->file);
    if (*got < count && ferror(f->file) && errno != EINTR)
        return refuse(f, "cannot read the frames: %s; fix: give the input again", strerror(errno));
    return UNROLL_OK;
}

static unroll_status check_frame(struct frames *f, const float *frame)
{
    for (int i = 0; i < f->width; i++)
        if (!isfinite(frame[i]))
            return refuse(f, "frame %lld: number %d is %s; fix: use finite numbers", (long long)f->frame, i + 1,
                          isnan(frame[i]) ? "NaN" : "infinite");
    return UNROLL_OK;
}

/* ---- lines of numbers ---- */

static const char byte_order_mark[] = "\xef\xbb\xbf"; /* at the beginning of files from spreadsheets */

/* Checks that a line is text; `next` is the byte after it. Removes a carriage return at its end. */
static unroll_status check_line(struct frames *f, int next)
{
    char *end = f->text + strcspn(f->text, "\r");
    if (f->line == 1 && strncmp(f->text, byte_order_mark, 3) == 0)
        memset(f->text, ' ', 3);
    if (f->line == 1 && strncmp(f->text, "RIFF", 4) == 0)
        return refuse(f, "the input is a sound, not lines of numbers; fix: use --format wav");
    if (next == '\0')
        return refuse(
            f, "line %lld holds a zero byte, so it is not text; fix: convert it to UTF-8, or --format f32 or npy",
            (long long)f->line);
    if (next != '\n' && next != EOF)
        return refuse(f, "line %lld is longer than %zu bytes; fix: write one frame per line", (long long)f->line,
                      f->text_size - 1);
    if (*end && end[1])
        return refuse(f,
                      "line %lld has text after a carriage return; fix: end lines with \\n, for example with "
                      "\"tr '\\r' '\\n'\"",
                      (long long)f->line);
    *end = '\0';
    return UNROLL_OK;
}

/* Reads a line without its end. */
static unroll_status read_line(struct frames *f, bool *more)
{
    size_t length = 0;
    int next;
    errno = 0;
    while ((next = getc(f->file)) != EOF && next != '\n' && next != '\0' && length + 1 < f->text_size)
        f->text[length++] = (char)next;
    f->text[length] = '\0';
    if (next == EOF && ferror(f->file) && errno != EINTR)
        return refuse(f, "cannot read the frames: %s; fix: give the input again", strerror(errno));
    *more = next != EOF || (length > 0 && !ferror(f->file));
    f->line++;
    return *more ? check_line(f, next) : UNROLL_OK;
}

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t"); }

static size_t length_of_field(const char *at) { return strcspn(at, ", \t"); }

/* Reads one number and its separator: a comma, blanks or the end of the line. */
static unroll_status read_number(struct frames *f, const char **at, int index, float *number)
{
    const char *begin = skip_blanks(*at);
    double found;
    *at = begin;
    if (*begin == '\0')
        return refuse(f, "line %lld has %d numbers; fix: give %d in a line, with commas or spaces between them",
                      (long long)f->line, index, f->width);
    size_t length = length_of_field(begin);
    if (number_real(at, -FLT_MAX, FLT_MAX, &found) != NUMBER_OK || *at != begin + length)
        return refuse(f, "line %lld, number %d: '%.*s' is not a finite number; fix: write finite numbers",
                      (long long)f->line, index + 1, length > 40 ? 40 : (int)length, begin);
    *number = (float)found;
    *at = skip_blanks(*at);
    bool is_last = index + 1 == f->width;
    if (is_last && **at != '\0')
        return refuse(f, "line %lld holds more than %d number%s; fix: write one frame per line", (long long)f->line,
                      f->width, f->width > 1 ? "s" : "");
    *at += **at == ',';
    return UNROLL_OK;
}

/* Returns whether the line has the names of columns: no field is a number or looks like one. */
static bool is_header(const char *line)
{
    for (const char *at = skip_blanks(line); *at; at = skip_blanks(at)) {
        size_t length = length_of_field(at);
        bool is_nan = (length == 3 && !strncasecmp(at, "nan", 3)) || (length == 3 && !strncasecmp(at, "inf", 3));
        if (length == 0 || strchr("+-.0123456789", *at) || is_nan)
            return false;
        at += length;
        at += *at == ',';
    }
    return true;
}

/* Finds the next line with numbers. */
static unroll_status find_line(struct frames *f, const char **line, bool *more)
{
    for (;;) {
        TRY(read_line(f, more));
        *line = skip_blanks(f->text);
        if (!*more)
            return UNROLL_OK;
        if (**line == '\0' || **line == '#')
            continue;
        if (f->frame > 0 || *f->header || !is_header(*line))
            return UNROLL_OK;
        snprintf(f->header, sizeof f->header, "%s", *line);
    }
}

static unroll_status next_line(struct frames *f, float *frame, bool *more)
{
    const char *at;
    TRY(find_line(f, &at, more));
    if (!*more && f->frame == 0 && *f->header)
        return refuse(f, "the input holds no numbers, only the words '%.40s'; fix: give %d in a line", f->header,
                      f->width);
    for (int i = 0; *more && i < f->width; i++) TRY(read_number(f, &at, i, &frame[i]));
    return UNROLL_OK;
}

/* ---- bytes ---- */

/* Reads `count` bytes of a frame; *more is false if none are left. */
static unroll_status read_frame(struct frames *f, void *to, size_t count, bool *more)
{
    size_t got;
    TRY(read_bytes(f, to, count, &got));
    *more = got == count;
    const bool is_rest = f->drops_rest && f->left < 0;
    if (got == count || got == 0 || is_rest || ferror(f->file))
        return UNROLL_OK;
    return refuse(f, "the input ends in frame %lld, after %zu of %zu bytes; fix: use whole frames",
                  (long long)f->frame + 1, got, count);
}

static unroll_status next_raw(struct frames *f, float *frame, bool *more)
{
    return read_frame(f, frame, (size_t)f->width * sizeof *frame, more);
}

static const char *name_of(const struct frames *f) { return f->format == FRAMES_NPY ? "array" : "sound"; }

/* Reads a frame of wav samples or of a row of an array, as floats. */
static unroll_status next_samples(struct frames *f, float *frame, bool *more)
{
    size_t count = (size_t)f->width * (size_t)f->wav.sample_bytes;
    *more = f->left != 0;
    if (!*more)
        return UNROLL_OK;
    if (f->drops_rest && f->left > 0 && f->left < (int64_t)count) {
        *more = false;
        return UNROLL_OK;
    }
    if (f->in_a_row && f->left > 0 && f->left < (int64_t)count) { /* the last frame is padded with silence */
        memset(f->text, f->wav.sample_bytes == 1 ? 128 : 0, count);
        count = (size_t)f->left;
    }
    TRY(read_frame(f, f->text, count, more));
    if (!*more && f->left > 0 && !ferror(f->file))
        return refuse(
            f, "the %s ends %lld bytes before the end that its header declares; fix: use another copy of the file",
            name_of(f), (long long)f->left);
    f->left -= f->left > 0 ? (int64_t)count : 0;
    if (*more)
        wav_to_floats(&f->wav, f->text, (size_t)f->width, frame);
    return UNROLL_OK;
}

/* ---- the header of a wav ---- */

static unroll_status need_bytes(struct frames *f, void *to, size_t count, const char *what)
{
    size_t got;
    TRY(read_bytes(f, to, count, &got));
    return got < count ? refuse(f, "the %s ends in its %s; fix: use another copy of the file", name_of(f), what)
                       : UNROLL_OK;
}

static bool read_source(void *source, void *to, size_t count, size_t *got)
{
    return read_bytes(source, to, count, got) == UNROLL_OK;
}

/* Checks that the samples are frames of the model: in one channel or `width` channels. */
static unroll_status check_channels(struct frames *f)
{
    if (f->wav.channels != f->width && f->wav.channels != 1)
        return refuse(f,
                      "the sound has %d channels, the model takes %d numbers a frame; fix: one channel, of which "
                      "%d samples in a row are a frame",
                      f->wav.channels, f->width, f->width);
    f->in_a_row = f->wav.channels != f->width;
    return UNROLL_OK;
}

/* Reads the header, up to the first sample. */
static unroll_status read_wav_header(struct frames *f)
{
    char error[WAV_ERROR];
    if (!wav_read_header(read_source, f, &f->wav, error))
        return *error ? refuse(f, "%s", error) : UNROLL_DATA;
    if (f->drops_rest)
        f->width *= f->wav.channels;
    else
        TRY(check_channels(f));
    const int whole = f->in_a_row ? f->wav.sample_bytes : f->wav.sample_bytes * f->width;
    if (!f->drops_rest && f->wav.bytes % whole > 0)
        return refuse(
            f,
            "the sound's %lld bytes of samples are not a multiple of %d; fix: convert it to a wav of 16-bit integers",
            (long long)f->wav.bytes, whole);
    f->left = f->wav.bytes;
    return UNROLL_OK;
}

/* ---- the header of a .npy ---- */

static bool read_exactly(void *source, void *to, size_t count)
{
    return need_bytes(source, to, count, "header") == UNROLL_OK;
}

/* Reads the header and checks the layout: frames are the rows of a [T, width] array of floats, or for width 1 the
 * elements of a [T] array. */
static unroll_status read_array_header(struct frames *f)
{
    struct npy_header h;
    const char *message;
    if (!npy_read_header(read_exactly, f, &h, &message))
        return *message ? refuse(f, "the array %s", message) : UNROLL_DATA;
    int64_t steps = (int64_t)h.shape[0], width = f->width;
    if (strcmp(h.type, "<f4") != 0)
        return refuse(f, "the array does not hold 32-bit floats; fix: x.astype('float32')");
    if (h.fortran && h.rank > 1)
        return refuse(f, "the array is in Fortran's order; fix: np.ascontiguousarray(x)");
    if (h.rank < 1 || h.rank > 2 || (h.rank == 2 ? h.shape[1] : 1) != (uint64_t)width)
        return refuse(f, "the array has %d axes, the last of %llu; the model takes (steps, %d); fix: use that shape",
                      h.rank, (unsigned long long)(h.rank ? h.shape[h.rank - 1] : 0), f->width);
    if (steps > INT64_MAX / 4 / width)
        return refuse(f, "the array has %lld steps, too many; fix: use a shorter array", (long long)steps);
    f->wav = (struct wav){.sample_bytes = 4, .is_float = true};
    f->left = steps * width * 4;
    return UNROLL_OK;
}

/* ---- all formats ---- */

static unroll_status allocate_text(struct frames *f)
{
    f->text_size = (size_t)f->width * LONGEST_NUMBER + LONGEST_NUMBER;
    f->text = malloc(f->text_size);
    if (f->text)
        return UNROLL_OK;
    refuse(f, "no memory for a frame");
    return UNROLL_RESOURCE;
}

unroll_status frames_open_sound(struct frames *f, FILE *file, int hop)
{
    *f = (struct frames){.file = file, .format = FRAMES_WAV, .width = hop, .drops_rest = true};
    TRY(read_wav_header(f));
    return allocate_text(f);
}

unroll_status frames_open(struct frames *f, FILE *file, enum frame_format format, int width)
{
    *f = (struct frames){.file = file, .format = format, .width = width};
    TRY(allocate_text(f));
    return format == FRAMES_WAV ? read_wav_header(f) : format == FRAMES_NPY ? read_array_header(f) : UNROLL_OK;
}

void frames_close(struct frames *f)
{
    free(f->text);
    f->text = NULL;
}

unroll_status frames_next(struct frames *f, float *frame, bool *more)
{
    static unroll_status (*const next[])(struct frames *, float *, bool *) = {
        [FRAMES_CSV] = next_line,
        [FRAMES_F32] = next_raw,
        [FRAMES_WAV] = next_samples,
        [FRAMES_NPY] = next_samples,
    };

    *more = true;
    TRY(next[f->format](f, frame, more));
    if (!*more)
        return UNROLL_OK;
    f->frame++;
    return check_frame(f, frame);
}
