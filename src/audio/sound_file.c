#include "audio/sound_file.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "audio/wav.h"
#include "base/memory.h"
#include "base/system/library.h"

struct bytes {
    const unsigned char *from;
    size_t size, at;
};

bool sound_is_named(const char *path)
{
    static const char *const ends[] = {".wav", ".flac", ".ogg", ".opus", ".mp3", ".aiff", ".aif"};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length > strlen(ends[i]) && strcasecmp(path + length - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

bool sound_begins(const char *head, size_t bytes)
{
    static const char *const magic[] = {"fLaC", "OggS", "ID3", "\xff\xfb", "\xff\xf3"};
    if (bytes >= 12 && ((!memcmp(head, "RIFF", 4) && !memcmp(head + 8, "WAVE", 4)) ||
                        (!memcmp(head, "FORM", 4) && !memcmp(head + 8, "AIF", 3))))
        return true;
    for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
        if (bytes >= strlen(magic[i]) && !memcmp(head, magic[i], strlen(magic[i])))
            return true;
    return false;
}

void sound_end(struct sound *sound)
{
    release(sound->samples);
    *sound = (struct sound){0};
}

static unroll_status allocate_samples(struct sound *sound)
{
    size_t count;
    if (__builtin_mul_overflow(sound->frames, (size_t)sound->channels, &count))
        count = SIZE_MAX / sizeof(float);
    return ALLOCATE(sound->samples, count, "for %zu samples", count);
}

/* ---- wav ---- */

static bool read_bytes(void *source, void *to, size_t count, size_t *got)
{
    struct bytes *b = source;
    *got = count < b->size - b->at ? count : b->size - b->at;
    memcpy(to, b->from + b->at, *got);
    b->at += *got;
    return true;
}

static unroll_status read_wav(const char *name, struct bytes b, bool samples, struct sound *sound)
{
    struct wav wav;
    char message[WAV_ERROR];
    if (!wav_read_header(read_bytes, &b, &wav, message))
        return fail(UNROLL_DATA, "'%.200s': %s", name, message);
    const size_t frame = (size_t)wav.channels * (size_t)wav.sample_bytes, left = b.size - b.at;
    const bool known = wav.bytes >= 0;
    const size_t there = known && (uint64_t)wav.bytes < left ? (size_t)wav.bytes : left;
    *sound = (struct sound){.channels = wav.channels,
                            .rate = wav.rate,
                            .frames = there / frame,
                            .is_cut = known && (uint64_t)wav.bytes > left};
    if (!samples)
        return UNROLL_OK;
    TRY(allocate_samples(sound));
    wav_to_floats(&wav, b.from + b.at, sound->frames * (size_t)wav.channels, sound->samples);
    return UNROLL_OK;
}

/* ---- libsndfile, as its version 1.2 declares it ---- */

typedef struct {
    int64_t frames;
    int samplerate, channels, format, sections, seekable;
} SF_INFO;

typedef struct {
    int64_t (*get_filelen)(void *);
    int64_t (*seek)(int64_t, int, void *);
    int64_t (*read)(void *, int64_t, void *);
    int64_t (*write)(const void *, int64_t, void *);
    int64_t (*tell)(void *);
} SF_VIRTUAL_IO;

enum { SFM_READ = 0x10, BLOCK = 1 << 16 };

static struct {
    void *(*open)(SF_VIRTUAL_IO *, int, SF_INFO *, void *);
    int64_t (*read)(void *, float *, int64_t);
    const char *(*error)(void *);
    int (*close)(void *);
} sf;

static int64_t virtual_length(void *source) { return (int64_t)((struct bytes *)source)->size; }
static int64_t virtual_tell(void *source) { return (int64_t)((struct bytes *)source)->at; }
static int64_t virtual_write(const void *from, int64_t count, void *source)
{
    (void)from, (void)count, (void)source;
    return 0;
}

static int64_t virtual_seek(int64_t offset, int whence, void *source)
{
    struct bytes *b = source;
    const int64_t begin = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (int64_t)b->at : (int64_t)b->size;
    if (offset < -begin || offset > (int64_t)b->size - begin)
        return -1;
    b->at = (size_t)(begin + offset);
    return (int64_t)b->at;
}

static int64_t virtual_read(void *to, int64_t count, void *source)
{
    size_t got = 0;
    if (count > 0)
        read_bytes(source, to, (size_t)count, &got);
    return (int64_t)got;
}

/* Reads blocks until the end: the number of frames in the header of a packed file may be wrong. */
static unroll_status read_blocks(void *file, struct sound *sound)
{
    const size_t channels = (size_t)sound->channels;
    size_t room = 0;
    for (;;) {
        if (sound->frames + BLOCK > room) {
            const size_t had = sound->frames * channels, more = (2 * room + BLOCK) * channels;
            if (!enlarge(&sound->samples, had * sizeof(float), more * sizeof(float)))
                return fail(UNROLL_RESOURCE, "no memory for %zu samples", more);
            room = 2 * room + BLOCK;
        }
        const int64_t got = sf.read(file, sound->samples + sound->frames * channels, BLOCK);
        if (got <= 0)
            return UNROLL_OK;
        sound->frames += (size_t)got;
    }
}

static unroll_status read_packed(const char *name, struct bytes b, bool samples, struct sound *sound)
{
    static const struct symbol symbols[] = {{"sf_open_virtual", &sf.open, false},
                                            {"sf_readf_float", &sf.read, false},
                                            {"sf_strerror", &sf.error, false},
                                            {"sf_close", &sf.close, false}};
    SF_VIRTUAL_IO io = {virtual_length, virtual_seek, virtual_read, virtual_write, virtual_tell};
    SF_INFO info = {0};
    TRY(library_open(LIBRARY_SNDFILE, symbols, sizeof symbols / sizeof *symbols, NULL));
    void *file = sf.open(&io, SFM_READ, &info, &b);
    if (file == NULL)
        return fail(UNROLL_DATA, "'%.200s' is not a sound that libsndfile reads: %.80s; fix: convert it to a wav file",
                    name, sf.error(NULL));
    unroll_status status = UNROLL_OK;
    if (info.channels < 1 || info.channels > WAV_MAX_CHANNELS || info.samplerate < 1 || info.samplerate > WAV_MAX_RATE)
        status = fail(UNROLL_DATA, "'%.200s' has %d channels of %d samples a second; fix: convert it to a wav file",
                      name, info.channels, info.samplerate);
    *sound = (struct sound){.channels = info.channels, .rate = info.samplerate};
    if (status == UNROLL_OK)
        status = read_blocks(file, sound);
    sf.close(file);
    sound->is_cut = info.frames > 0 && (int64_t)sound->frames < info.frames;
    if (!samples || status != UNROLL_OK) {
        release(sound->samples);
        sound->samples = NULL;
    }
    return status;
}

unroll_status sound_read(const char *name, const void *bytes, size_t size, bool samples, struct sound *sound)
{
    const struct bytes b = {.from = bytes, .size = size};
    *sound = (struct sound){0};
    if (size == 0)
        return fail(UNROLL_DATA, "'%.200s' is empty; fix: use another copy of the file", name);
    const bool packed = sound_begins(bytes, size) && memcmp(bytes, "RIFF", 4) != 0;
    return packed ? read_packed(name, b, samples, sound) : read_wav(name, b, samples, sound);
}
