/* The reader of sounds: formats of wav files and of libsndfile, folders of classes, rates and channels, reading again
 * with a schema, the cache, and the notes and messages for unusual and wrong files. The files are made here, or are
 * those of tests/vectors/audio. */
/* test: kinds=check-plain,memory; args=tests/vectors/audio */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audio/sound_file.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/system/library.h"
#include "check.h"
#include "data/data_cache.h"
#include "data/readers/reader_table.h"
#include "temporary.h"

enum { HEADER = 44, MOST = 1 << 17 };

/* A wav of 16-bit integers: a tone of `hertz`, 0: silence, -1: a square wave at the limit. */
struct wav_file {
    int channels, rate, samples, hertz;
};

static size_t wav_bytes(const struct wav_file *w, unsigned char to[MOST])
{
    const size_t bytes = 2 * (size_t)w->samples * (size_t)w->channels;
    memcpy(to, "RIFF....WAVEfmt ....", 20);
    put_number(to + 4, 36 + bytes, 4);
    put_number(to + 16, 16, 4);
    put_number(to + 20, 1, 2);
    put_number(to + 22, (uint64_t)w->channels, 2);
    put_number(to + 24, (uint64_t)w->rate, 4);
    put_number(to + 28, (uint64_t)(2 * w->rate * w->channels), 4);
    put_number(to + 32, (uint64_t)(2 * w->channels), 2);
    put_number(to + 34, 16, 2);
    memcpy(to + 36, "data", 4);
    put_number(to + 40, bytes, 4);
    for (int i = 0; i < w->samples * w->channels; i++) {
        const double t = (double)(i / w->channels) / (w->rate ? w->rate : 1),
                     tone = sin(6.283185307179586 * w->hertz * t);
        const int sample = w->hertz < 0 ? (i % 100 < 50 ? 32767 : -32768) : w->hertz ? (int)lround(9000 * tone) : 0;
        put_number(to + HEADER + 2 * i, (uint64_t)(sample & 0xffff), 2);
    }
    return HEADER + bytes;
}

static void write_wav(const char *path, struct wav_file w)
{
    static unsigned char bytes[MOST];
    struct piece piece = {bytes, wav_bytes(&w, bytes)};
    CHECK(write_file_atomically(path, &piece, 1) == UNROLL_OK, "%s", unroll_last_error());
}

static unroll_dataset *open_data(const char *path, const char *options)
{
    unroll_dataset *data = NULL;
    MUST(dataset_open(path, NULL, options, NULL, &data));
    return data;
}

/* ---- formats ---- */

/* Each format has the samples of the wav with 16 bits, within its own rounding. */
static void check_format(const char *vectors, const char *name, const struct sound *expected, double off, size_t frames)
{
    char path[300];
    struct sound sound = {0};
    struct input *input = NULL;
    const char *member;
    void *bytes = NULL;
    size_t size = 0;
    double worst = 0;
    snprintf(path, sizeof path, "%s/%s", vectors, name);
    if (MUST(input_open(path, &input)) && MUST(input_next(input, &member)))
        MUST(input_whole(input, 1 << 20, &bytes, &size));
    input_close(input);
    MUST(sound_read(name, bytes, size, true, &sound));
    for (size_t i = 0; i < expected->frames && i < sound.frames; i++)
        worst = fmax(worst, fabs((double)sound.samples[i] - (double)expected->samples[i]));
    CHECK(sound.frames >= frames && sound.channels == 1 && sound.rate >= 16000 && !sound.is_cut && worst <= off,
          "%s: %zu frames, rate %d, off by %g", name, sound.frames, sound.rate, worst);
    sound_end(&sound);
    release(bytes);
}

static void test_formats(const char *vectors)
{
    char path[300];
    static const struct {
        const char *name;
        double off;
        size_t frames;
    } row[] = {{"tone-pcm-u8.wav", 1.0 / 128, 200},
               {"tone-pcm-24.wav", 0, 200},
               {"tone-pcm-32.wav", 0, 200},
               {"tone-float.wav", 0, 200},
               {"tone-double.wav", 0, 200},
               {"tone.flac", 0, 800},
               {"tone.aiff", 0, 800},
               {"tone.ogg", 0.2, 800},
               {"tone.mp3", 2, 800},
               {"tone.opus", 2, 800}};
    struct sound wav = {0};
    struct input *input = NULL;
    const char *member;
    void *bytes = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/tone-pcm-16.wav", vectors);
    if (MUST(input_open(path, &input)) && MUST(input_next(input, &member)) &&
        MUST(input_whole(input, 1 << 20, &bytes, &size)) && MUST(sound_read("tone", bytes, size, true, &wav)))
        CHECK(wav.frames == 200 && fabsf(wav.samples[100]) > 1e-3f, "%zu frames", wav.frames);
    input_close(input);
    release(bytes);
    char library[LIBRARY_PATH];
    const bool packed = library_find(LIBRARY_SNDFILE, library);
    if (!packed)
        puts("skipped: flac, ogg, opus, mp3 and aiff, without libsndfile1");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (packed || strstr(row[i].name, ".wav"))
            check_format(vectors, row[i].name, &wav, row[i].off, row[i].frames);
    sound_end(&wav);
}

/* Without the library, the message names its package. */
static void test_no_library(const char *vectors)
{
    char path[300];
    unroll_dataset *data = NULL;
    snprintf(path, sizeof path, "%s/tone.flac", vectors);
    setenv("UNROLL_SNDFILE", "/nowhere/libsndfile.so", 1);
    CHECK(dataset_open(path, NULL, NULL, NULL, &data) != UNROLL_OK && strstr(unroll_last_error(), "UNROLL_SNDFILE"),
          "%s", unroll_last_error());
    unsetenv("UNROLL_SNDFILE");
    char fix[200];
    CHECK(strstr(library_fix(LIBRARY_SNDFILE, fix, sizeof fix), "apt install libsndfile1"), "%s", fix);
}

/* ---- folders ---- */

static void make_folders(void)
{
    mkdir(inside("birds"), 0700);
    mkdir(inside("birds/low"), 0700);
    mkdir(inside("birds/high"), 0700);
    write_wav(inside("birds/low/a.wav"), (struct wav_file){1, 8000, 800, 200});
    write_wav(inside("birds/low/b.wav"), (struct wav_file){1, 8000, 960, 300});
    write_wav(inside("birds/high/c.wav"), (struct wav_file){2, 16000, 1600, 2000});
    write_text(inside("birds/README"), "made here\n");
}

static void test_folders(void)
{
    make_folders();
    unroll_dataset *data = open_data(inside("birds"), NULL), *again = NULL, *one = NULL;
    struct schema *schema = NULL;
    const struct column *x = dataset_named(data, "audio"), *label = dataset_named(data, "label");
    CHECK(!strcmp(data->reader, "audio") && data->sequences == 3 && data->steps == 10 + 10 + 12, "%zu steps",
          data->steps);
    CHECK(x->width == 13 && label->of_sequence && label->vocabulary_size == 2, "columns");
    CHECK(strstr(data->options, "sample-rate=8000") && strstr(data->options, "features=mfcc:13;25ms;10ms"), "%s",
          data->options);
    CHECK(strstr(data->notes, "1 of 3 sounds are converted to 8000") && strstr(data->notes, "left out: 'README'"), "%s",
          data->notes);
    /* reading again has the same rate, and a lone sound the bits of the same sound in the folder */
    MUST(schema_of_dataset(data, &schema));
    schema->targets_optional = true;
    schema_named(schema, "label")->target = true;
    MUST(dataset_open(inside("birds/low/b.wav"), NULL, "keep=file", schema, &one));
    const size_t first = data->begin[2]; /* after high/c.wav and low/a.wav */
    CHECK(one->steps == 12 && !memcmp(one->column->numbers, x->numbers + first * 13, 12 * 13 * sizeof(float)),
          "other bits");
    const struct column *file = dataset_named(one, "file");
    CHECK(file && strstr(file->vocabulary[0], "b.wav"), "no name");
    MUST(dataset_open(inside("birds"), NULL, NULL, schema, &again));
    CHECK(dataset_hash(again, HASH_BEGIN) == dataset_hash(data, HASH_BEGIN), "other data");
    unroll_dataset_free(again);
    unroll_dataset_free(one);
    schema_free(schema);
    unroll_dataset_free(data);
}

static void test_channels(void)
{
    mkdir(inside("pair"), 0700);
    write_wav(inside("pair/a.wav"), (struct wav_file){2, 8000, 800, 500});
    unroll_dataset *all = open_data(inside("pair"), "channels=all,features=samples:80");
    unroll_dataset *first = open_data(inside("pair"), "channels=first,features=samples:80");
    unroll_dataset *mix = open_data(inside("pair"), "features=samples:80");
    CHECK(all->column->width == 160 && first->column->width == 80 && mix->column->width == 80, "widths");
    CHECK(all->steps == 10 && !memcmp(first->column->numbers, mix->column->numbers, 80 * 10 * sizeof(float)),
          "equal ones");
    CHECK(!memcmp(all->column->numbers + 80, first->column->numbers, 80 * sizeof(float)), "the second channel follows");
    unroll_dataset_free(all);
    unroll_dataset_free(first);
    unroll_dataset_free(mix);
}

static void test_cached(void)
{
    unroll_dataset *plain = open_data(inside("birds"), NULL);
    cache_limits(1, 1, 1 << 24);
    for (int i = 0; i < 2; i++) {
        unroll_dataset *data = open_data(inside("birds"), NULL);
        CHECK(data->map && dataset_hash(data, HASH_BEGIN) == dataset_hash(plain, HASH_BEGIN), "not cached");
        unroll_dataset_free(data);
    }
    cache_limits(SIZE_MAX, SIZE_MAX, 1 << 24);
    unroll_dataset_free(plain);
}

/* ---- labels of frames ---- */

/* Returns the labels of the only sound with one letter for each frame: the first of the label, '.' for none. */
static const char *letters(const unroll_dataset *data)
{
    static char text[200];
    const struct column *label = data ? dataset_named(data, "label") : NULL;
    size_t steps = label ? data->steps : 0;
    for (size_t t = 0; t < steps && t < sizeof text - 1; t++) {
        const int32_t id = column_id(label, t);
        text[t] = id < 0 ? '?' : strcmp(label->vocabulary[id], "none") == 0 ? '.' : label->vocabulary[id][0];
    }
    text[steps < sizeof text ? steps : 0] = '\0';
    return text;
}

/* A sound of 30 frames and a file of labels; expected: the letters, or after '!' a part of the message. */
static void check_labels(const char *name, const char *content, size_t size, const char *expected)
{
    char path[300], command[400];
    unroll_dataset *data = NULL;
    struct piece piece = {content, size ? size : strlen(content)};
    mkdir(inside("labels"), 0700);
    write_wav(inside("labels/x.wav"), (struct wav_file){1, 8000, 2400, 500});
    snprintf(path, sizeof path, "%s/%s", inside("labels"), name);
    CHECK(write_file_atomically(path, &piece, 1) == UNROLL_OK, "%s", unroll_last_error());
    const unroll_status status = dataset_open(inside("labels"), NULL, NULL, NULL, &data);
    if (*expected == '!')
        CHECK(status != UNROLL_OK && strstr(unroll_last_error(), expected + 1) && strstr(unroll_last_error(), "fix: "),
              "%s: '%s' instead of '%s'", name, status == UNROLL_OK ? "read" : unroll_last_error(), expected);
    else if (strncmp(expected, "+", 1) == 0)
        CHECK(status == UNROLL_OK && strstr(data->notes, expected + 1), "%s: '%s' instead of '%s'", name,
              status == UNROLL_OK ? data->notes : unroll_last_error(), expected);
    else
        CHECK(status == UNROLL_OK && !strcmp(letters(data), expected), "%s: '%s' instead of '%s'", name,
              status == UNROLL_OK ? letters(data) : unroll_last_error(), expected);
    unroll_dataset_free(data);
    snprintf(command, sizeof command, "rm -rf %s", inside("labels"));
    CHECK(system(command) == 0, "%s", command);
}

/* Frame t has its center at 10 t - 2.5 ms: windows of 25 ms that end at 10 (t + 1) ms. */
static void test_labels(void)
{
    static const char grid[] = "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\nxmin = 0\nxmax = 0.3\n"
                               "tiers? <exists>\nsize = 1\nitem []:\n    item [1]:\n        class = \"IntervalTier\"\n"
                               "        name = \"a \"\"b\"\"\"\n        xmin = 0\n        xmax = 0.3\n"
                               "        intervals: size = 2\n        intervals [1]:\n            xmin = 0\n"
                               "            xmax = 0.1\n            text = \"\"\n        intervals [2]:\n"
                               "            xmin = 0.1\n            xmax = 0.2\n            text = \"hi\"\n";
    static const char brief[] =
        "File type = \"ooTextFile\"\n\"TextGrid\"\n\n0\n0.3\n<exists>\n1\n\"IntervalTier\"\n\"a\"\n0\n"
        "0.3\n1\n0.1\n0.2\n\"hi\"\n";
    char wide[2 * sizeof brief] = "\xff\xfe";
    for (size_t i = 0; i + 1 < sizeof brief; i++) wide[2 + 2 * i] = brief[i];
    const char *h = "...........hhhhhhhhhh.........";
    check_labels("x.txt", "0.1\t0.2\theron\n", 0, h);
    check_labels("x.txt",
                 "\xef\xbb\xbf"
                 "0.1\t0.2\theron\r\n\\\t100\t200\r\n",
                 0, h);
    check_labels("x.csv", "start,end,label\n0.1,0.2,hi\n", 0, h);
    check_labels("x.tsv", "onset\toffset\tevent_label\n0.1\t0.2\theron\n", 0, h);
    check_labels("all.csv", "path,start,end,label\na/x.wav,0.1,0.2,hi\n", 0, h);
    check_labels("x.lab", "1000000 2000000 hi\n", 0, h);
    check_labels("x.lab", "0.1 0.2 hi\n", 0, h);
    check_labels("all.rttm", "SPEAKER x 1 0.1 0.1 <NA> <NA> hi <NA> <NA>\n", 0, h);
    check_labels("x.TextGrid", grid, 0, h);
    check_labels("x.TextGrid", brief, 0, h);
    check_labels("x.TextGrid", wide, 2 * sizeof brief, h);
    check_labels("x.scv", "x,0.0,0.1,0,0.1,0.2,1,0.2,0.3,0\n", 0, "...........ssssssssss.........");
    check_labels("x.beats", "0.1\t1\n", 0, ".........bbb..................");
    check_labels("x.txt", "0.1\t0.15\theron\n0.12\t0.2\theron\n", 0, h);
    check_labels("x.txt", "0.1\t0.2\theron\n0.15\t0.2\tgo\n", 0, "...........hhhhhggggg.........");
    check_labels("x.txt", "0.1\t0.2\theron\n0.15\t0.2\tgo\n", 0, "+5 frames have several labels");
    check_labels("x.txt", "0.1\t9\theron\n", 0, "+1 labels end after the end of their sound");
    check_labels("all.rttm", "SPEAKER x 1 0.1 0.1 <NA> <NA> hi <NA> <NA>\nSPEAKER y 1 0 1 <NA> <NA> hi <NA> <NA>\n", 0,
                 "+1 of 2 labels belong to sounds that the data do not have");
    check_labels("y.txt", "0.1\t0.2\theron\n", 0, "!no sound has labels");
    check_labels("x.txt", "0.2\t0.1\theron\n", 0, "!line 1: the end is before the start");
    check_labels("x.txt", "0.1\t0.2\theron\n-1\t0.1\theron\n", 0, "!line 2: a time is negative");
    check_labels("x.txt", "0,1\t0,2\theron\n", 0, "!has a decimal comma");
    check_labels("x.txt", "0.1\t0.2\theron\n0.3\n", 0, "!line 2: there are no two times");
    check_labels("x.csv", "start,end,label\n0.1,0.2\n", 0, "!a cell is missing");
    check_labels("x.csv", "start,end,label\n0.1,soon,hi\n", 0, "!this is not a time: 'soon'");
    check_labels("all.rttm", "SPEAKER x 1\n", 0, "!a SPEAKER line needs 8 fields");
    check_labels("x.TextGrid", "ooBinaryFile\x08TextGrid", 0, "!is a binary TextGrid");
    check_labels("x.TextGrid", "\"ooTextFile\"\n\"TextGrid\"\n0\n0.3\n<exists>\n1\n", 0,
                 "!the TextGrid is not complete");
}

/* ---- unusual and wrong files ---- */

/* Reads a wav whose header is changed at a place; message: part of the note (after '+') or of the error. */
static void check_wav(struct wav_file w, size_t at, uint64_t value, size_t bytes, size_t kept, const char *message)
{
    static unsigned char file[MOST];
    unroll_dataset *data = NULL;
    size_t size = wav_bytes(&w, file);
    put_number(file + at, value, bytes);
    size = kept ? kept : size;
    const unroll_status status = dataset_parse(file, size, "x.wav", NULL, NULL, NULL, &data);
    if (*message == '+')
        CHECK(status == UNROLL_OK && strstr(data->notes, message + 1), "'%s' instead of '%s'",
              status == UNROLL_OK ? data->notes : unroll_last_error(), message);
    else
        CHECK(status != UNROLL_OK && strstr(unroll_last_error(), message) && strstr(unroll_last_error(), "fix: "),
              "'%s' instead of '%s'", status == UNROLL_OK ? "read" : unroll_last_error(), message);
    unroll_dataset_free(data);
}

static void test_bad_wavs(void)
{
    const struct wav_file tone = {1, 8000, 800, 500};
    check_wav(tone, 22, 0, 2, 0, "the sound has 0 channels");
    check_wav(tone, 24, 0, 4, 0, "the sound has 0 samples a second");
    check_wav(tone, 24, 768001, 4, 0, "the sound has 768001 samples a second");
    check_wav(tone, 20, 2, 2, 0, "the sound is of kind 2 with 16 bits");
    check_wav(tone, 34, 12, 2, 0, "with 12 bits");
    check_wav(tone, 16, 15, 4, 0, "the format chunk of the sound has 15 bytes");
    check_wav(tone, 0, 0x52494646, 4, 0, "not a wav file");
    check_wav(tone, 0, 'R', 1, 30, "the sound ends in its header");
    check_wav(tone, 0, 'R', 1, 44 + 400, "+1 of 1 sounds end before the end that their header declares");
    check_wav(tone, 0, 'R', 1, 44 + 100, "all sounds are shorter than one step");
    check_wav((struct wav_file){1, 8000, 800, 0}, 0, 'R', 1, 0, "+1 of 1 sounds are constant");
    check_wav((struct wav_file){1, 8000, 800, -1}, 0, 'R', 1, 0, "+1 of 1 sounds are clipped");
    unroll_dataset *data = NULL;
    CHECK(dataset_parse("RIFF1", 5, "x.wav", NULL, NULL, NULL, &data) != UNROLL_OK &&
              strstr(unroll_last_error(), "the sound ends in its header"),
          "%s", unroll_last_error());
    CHECK(dataset_parse("good morning to all of you", 26, "x.wav", NULL, NULL, NULL, &data) != UNROLL_OK &&
              strstr(unroll_last_error(), "is not a wav file"),
          "%s", unroll_last_error());
    CHECK(dataset_parse("", 0, "x.wav", NULL, NULL, NULL, &data) != UNROLL_OK &&
              strstr(unroll_last_error(), "is empty"),
          "%s", unroll_last_error());
}

static void test_not_finite(void)
{
    unsigned char file[MOST];
    struct wav_file w = {1, 8000, 800, 500};
    unroll_dataset *data = NULL;
    const size_t size = wav_bytes(&w, file);
    put_number(file + 20, 3, 2);
    put_number(file + 34, 32, 2);
    memset(file + HEADER, 0, size - HEADER);
    put_number(file + HEADER + 4 * 7, 0x7fc00000, 4);
    CHECK(dataset_parse(file, size, "x.wav", NULL, NULL, NULL, &data) != UNROLL_OK &&
              strstr(unroll_last_error(), "sample 7 is NaN"),
          "%s", unroll_last_error());
}

/* A packed sound that is cut off is read as far as it goes, or refused. */
static void test_cut_flac(const char *vectors)
{
    char path[300], library[LIBRARY_PATH];
    struct input *input = NULL;
    const char *member;
    void *bytes = NULL;
    size_t size = 0;
    unroll_dataset *data = NULL;
    if (!library_find(LIBRARY_SNDFILE, library))
        return;
    snprintf(path, sizeof path, "%s/tone.flac", vectors);
    if (MUST(input_open(path, &input)) && MUST(input_next(input, &member)))
        MUST(input_whole(input, 1 << 20, &bytes, &size));
    input_close(input);
    for (size_t kept = 0; kept < size; kept += 97) {
        const unroll_status status = dataset_parse(bytes, kept, "x.flac", NULL, NULL, NULL, &data);
        CHECK(status == UNROLL_OK ? strstr(data->notes, "end before the end") != NULL
                                  : strstr(unroll_last_error(), "fix: ") != NULL,
              "%zu bytes: %s", kept, status == UNROLL_OK ? data->notes : unroll_last_error());
        unroll_dataset_free(data);
        data = NULL;
    }
    release(bytes);
}

int main(int argc, char **argv)
{
    char command[64];
    if (argc != 2 || !mkdtemp(folder))
        return 2;
    setenv("UNROLL_CACHE", inside("cache"), 1);
    test_formats(argv[1]);
    test_no_library(argv[1]);
    test_folders();
    test_channels();
    test_cached();
    test_labels();
    test_bad_wavs();
    test_not_finite();
    test_cut_flac(argv[1]);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_finish("test_sounds");
}
