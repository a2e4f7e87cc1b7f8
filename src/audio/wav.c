#include "audio/wav.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

enum { PCM = 1, IEEE_FLOAT = 3, EXTENSIBLE = 0xfffe, FORMAT_BYTES = 40 };

struct wav_parser {
    wav_read *read;
    void *source;
    char *error;
};

__attribute__((format(printf, 2, 3))) static bool refuse(const struct wav_parser *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->error, WAV_ERROR, format, arguments);
    va_end(arguments);
    return false;
}

static bool need_bytes(const struct wav_parser *p, void *to, size_t count)
{
    size_t got;
    if (!p->read(p->source, to, count, &got))
        return false;
    return got == count || refuse(p, "the sound ends in its header; fix: use another copy of the file");
}

static bool skip_bytes(const struct wav_parser *p, uint64_t bytes)
{
    unsigned char dropped[256];
    for (size_t count; bytes > 0; bytes -= count) {
        count = bytes < sizeof dropped ? (size_t)bytes : sizeof dropped;
        if (!need_bytes(p, dropped, count))
            return false;
    }
    return true;
}

static bool check_format(const struct wav_parser *p, const struct wav *wav, unsigned kind, unsigned bits,
                         unsigned channels, uint64_t rate)
{
    const bool integers = kind == PCM && (bits == 8 || bits == 16 || bits == 24 || bits == 32);
    if (!integers && !(wav->is_float && (bits == 32 || bits == 64)))
        return refuse(p, "the sound is of kind %u with %u bits; fix: convert it to 16-bit integers or 32-bit floats",
                      kind, bits);
    if (channels < 1 || channels > WAV_MAX_CHANNELS)
        return refuse(p, "the sound has %u channels; fix: convert it to a wav of 1 to %d channels", channels,
                      WAV_MAX_CHANNELS);
    return (rate >= 1 && rate <= WAV_MAX_RATE) ||
           refuse(p, "the sound has %llu samples a second; fix: convert it to a wav of 1 to %d",
                  (unsigned long long)rate, WAV_MAX_RATE);
}

/* Reads the format chunk: integers of 8 to 32 bits, or floats. */
static bool read_format(const struct wav_parser *p, uint64_t bytes, struct wav *wav)
{
    unsigned char at[FORMAT_BYTES] = {0};
    const size_t known = bytes < sizeof at ? (size_t)bytes : sizeof at;
    if (bytes < 16)
        return refuse(
            p,
            "the format chunk of the sound has %llu bytes, not 16 or more; fix: convert it to a wav of 16-bit integers",
            (unsigned long long)bytes);
    if (!need_bytes(p, at, known) || !skip_bytes(p, bytes - known + bytes % 2))
        return false;
    unsigned kind = (unsigned)get_number(at, 2), channels = (unsigned)get_number(at + 2, 2);
    const unsigned bits = (unsigned)get_number(at + 14, 2);
    const uint64_t rate = get_number(at + 4, 4);
    if (kind == EXTENSIBLE && known >= 26)
        kind = (unsigned)get_number(at + 24, 2);
    wav->is_float = kind == IEEE_FLOAT;
    if (!check_format(p, wav, kind, bits, channels, rate))
        return false;
    wav->channels = (int)channels;
    wav->rate = (int)rate;
    wav->sample_bytes = (int)bits / 8;
    return true;
}

/* Reads the length of the samples. Programs that do not know it yet write 0 or all ones. */
static bool read_length(const struct wav_parser *p, uint64_t bytes, struct wav *wav)
{
    if (wav->sample_bytes == 0)
        return refuse(p,
                      "the samples of the sound come before its format; fix: convert it to a wav of 16-bit integers");
    wav->bytes = bytes != 0 && bytes != 0xffffffff ? (int64_t)bytes : -1;
    return true;
}

bool wav_read_header(wav_read *read, void *source, struct wav *wav, char error[WAV_ERROR])
{
    const struct wav_parser p = {read, source, error};
    unsigned char at[12];
    *error = '\0';
    *wav = (struct wav){0};
    if (!need_bytes(&p, at, 4))
        return false;
    const bool is_riff = memcmp(at, "RIFF", 4) == 0;
    if (is_riff && !need_bytes(&p, at + 4, 8))
        return false;
    if (!is_riff || memcmp(at + 8, "WAVE", 4) != 0)
        return refuse(
            &p, "the input is not a wav file: it does not begin with RIFF .. WAVE; fix: convert it to a wav file");
    for (;;) {
        if (!need_bytes(&p, at, 8))
            return false;
        const uint64_t bytes = get_number(at + 4, 4);
        if (memcmp(at, "data", 4) == 0)
            return read_length(&p, bytes, wav);
        const bool is_format = memcmp(at, "fmt ", 4) == 0; /* chunks begin at even offsets */
        if (!(is_format ? read_format(&p, bytes, wav) : skip_bytes(&p, bytes + bytes % 2)))
            return false;
    }
}

void wav_to_floats(const struct wav *wav, const void *bytes, size_t samples, float *to)
{
    const unsigned char *at = bytes;
    const size_t size = (size_t)wav->sample_bytes;
    for (size_t i = 0; i < samples; i++, at += size) {
        const uint64_t bits = get_number(at, size);
        const uint32_t single = (uint32_t)bits;
        double real;
        switch (wav->is_float ? 8 + size : size) {
        case 1: to[i] = (float)((int)bits - 128) * 0x1p-7f; break;
        case 2: to[i] = (float)(int16_t)bits * 0x1p-15f; break;
        case 3: to[i] = (float)((int32_t)(single << 8) / 256) * 0x1p-23f; break;
        case 4: to[i] = (float)(int32_t)single * 0x1p-31f; break;
        case 8 + 4: memcpy(&to[i], &single, sizeof single); break;
        default: memcpy(&real, &bits, sizeof bits); to[i] = (float)real;
        }
    }
}

void sound_mix(float *samples, size_t frames, int channels, enum sound_channels how)
{
    if (how == CHANNELS_ALL || channels == 1)
        return;
    for (size_t i = 0; i < frames; i++) {
        const float *frame = samples + i * (size_t)channels;
        float sum = frame[0];
        for (int c = 1; c < channels && how == CHANNELS_MIX; c++) sum += frame[c];
        samples[i] = how == CHANNELS_MIX ? sum / (float)channels : sum;
    }
}
