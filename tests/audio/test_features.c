/* Features, resampling and the Fourier transform: equal to librosa, torchaudio and Kaldi (tests/vectors/audio), to the
 * definition of the transform, and to themselves when a sound arrives in pieces. Also tests the messages for texts. */
/* test: kinds=check-plain,memory; args=tests/vectors/audio/audio.safetensors */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/fft.h"
#include "audio/resample.h"
#include "audio/sound_features.h"
#include "base/memory.h"
#include "check.h"
#include "io/safetensors.h"

static struct safetensors *vectors;

static const float *tensor(const char *name, size_t *count)
{
    const struct tensor_view *view = safetensors_find(vectors, name);
    if (!CHECK(view != NULL, "no %s", name))
        exit(1);
    *count = view->bytes / sizeof(float);
    return view->data;
}

static const float *input_of(int rate, size_t *count)
{
    char name[40];
    snprintf(name, sizeof name, "in.%d", rate);
    return tensor(name, count);
}

static unroll_features *make(const char *text, int rate, int channels)
{
    unroll_features *f = NULL;
    const size_t bytes = unroll_features_bytes(text, rate, channels);
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    MUST(unroll_features_init(memory, bytes, text, rate, channels, &f));
    return f;
}

/* Computes all steps of a sound. */
static float *run(const char *text, int rate, const float *x, size_t samples, size_t *values)
{
    unroll_features *f = make(text, rate, 1);
    const size_t hop = (size_t)unroll_features_hop(f), width = (size_t)unroll_features_width(f), steps = samples / hop;
    float *all = calloc(steps * width + 1, sizeof *all);
    for (size_t t = 0; t < steps; t++) MUST(unroll_features_push(f, x + t * hop, all + t * width));
    *values = steps * width;
    free(f);
    return all;
}

/* ---- against others ---- */

/* Compares energies (of log-mel), or values; `unit`: what an error is relative to, 0: the value itself. */
static void check_features(const char *name, bool of_energy, double unit)
{
    char text[80];
    const char *about = safetensors_metadata(vectors, name);
    size_t expected, samples, values;
    snprintf(text, sizeof text, "%.*s", about ? (int)strcspn(about, ";") : 0, about ? about : "");
    const int rate = about ? atoi(strchr(about, ';') + 1) : 1;
    const float *want = tensor(name, &expected), *x = input_of(rate, &samples);
    float *got = run(text, rate, x, samples, &values);
    double worst = 0;
    for (size_t i = 0; i < values && i < expected; i++) {
        const double value = of_energy ? exp((double)got[i]) : (double)got[i];
        worst = fmax(worst, fabs(value - (double)want[i]) / (unit > 0 ? unit : fabs((double)want[i])));
    }
    CHECK(values == expected && values > 100 && worst < 2e-5, "%s: %zu of %zu values, off by %g", name, values,
          expected, worst);
    free(got);
}

static void test_vectors(void)
{
    check_features("mel.librosa.16k", true, 0);
    check_features("mel.librosa.11k", true, 0);
    check_features("mel.librosa.80", true, 0);
    check_features("mel.torchaudio", true, 0);
    check_features("mel.kaldi", true, 0);
    check_features("mfcc", false, 10);
    check_features("spectrum", false, 10);
    check_features("bands", false, 1);
}

static void test_resampling(void)
{
    static const int rates[][2] = {{16000, 8000}, {48000, 11025}, {8000, 16000}, {11025, 16000}};
    for (size_t i = 0; i < 2 * sizeof rates / sizeof *rates; i++) {
        const int from = rates[i / 2][0], to = rates[i / 2][1];
        struct resampler *r = NULL;
        size_t samples, expected;
        char name[60];
        snprintf(name, sizeof name, "rate.%d.%d.%s", from, to, i % 2 ? "fast" : "best");
        const float *x = input_of(from, &samples), *want = tensor(name, &expected);
        MUST(resampler_new(from, to, i % 2 ? RESAMPLE_FAST : RESAMPLE_BEST, &r));
        float *got = calloc(expected + 1, sizeof *got);
        double worst = 1;
        if (resampler_count(r, samples) == expected) {
            resampler_run(r, x, samples, got);
            worst = 0;
            for (size_t k = 0; k < expected; k++) worst = fmax(worst, fabs((double)got[k] - (double)want[k]));
        }
        CHECK(expected > 100 && worst < 1e-6, "%s: off by %g", name, worst);
        free(got);
        resampler_free(r);
    }
}

static void test_transform(void)
{
    static const int sizes[] = {2, 4, 6, 8, 10, 18, 30, 90, 200, 250, 256, 400, 486, 960};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int n = sizes[i];
        struct fft fft;
        float *memory = calloc(6 * (size_t)n + 4, sizeof *memory), *x = memory + 4 * n, *spectrum = x + n;
        double worst = 0, most = 0;
        for (int k = 0; k < n; k++) x[k] = (float)((k * 7919 + 13) % 101) / 101 - 0.5f;
        fft_init(&fft, n, memory);
        fft_run(&fft, memory, x, memory + 2 * n, spectrum);
        for (int k = 0; k <= n / 2; k++) {
            double re = 0, im = 0;
            for (int t = 0; t < n; t++) {
                const double angle = -2 * 3.14159265358979323846 * (k * t % n) / n;
                re += (double)x[t] * cos(angle), im += (double)x[t] * sin(angle);
            }
            worst = fmax(worst, fmax(fabs(re - (double)spectrum[2 * k]), fabs(im - (double)spectrum[2 * k + 1])));
            most = fmax(most, fabs(re));
        }
        CHECK(fft_can(n) && worst < 1e-6 * (1 + most), "%d: off by %g of %g", n, worst, most);
        free(memory);
    }
    CHECK(!fft_can(7) && !fft_can(14) && !fft_can(15) && !fft_can(0) && fft_size_for(276) == 288, "sizes");
}

/* ---- pieces ---- */

/* Two channels, stacked steps, and a copy in the middle have the bits of the channels alone. */
static void test_pieces(void)
{
    enum { HOP = 80, STACK = 3, STEPS = 3, WIDTH = 13 };
    size_t samples, values;
    const float *x = input_of(8000, &samples);
    float *alone = run("mfcc:13,25ms,10ms", 8000, x, samples, &values), both[2 * HOP * STACK], step[2 * STACK * WIDTH];
    unroll_features *f = make("mfcc:13;25ms;10ms;stack=3", 8000, 2), *copy = make("mfcc:13,25ms,10ms,stack=3", 8000, 2);
    CHECK(unroll_features_hop(f) == HOP * STACK && unroll_features_width(f) == 2 * STACK * WIDTH, "another shape");
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < HOP * STACK; i++) both[2 * i] = x[t * HOP * STACK + i], both[2 * i + 1] = -both[2 * i];
        if (t == 1)
            memcpy(copy, f, unroll_features_bytes("mfcc:13,25ms,10ms,stack=3", 8000, 2));
        MUST(unroll_features_push(t ? copy : f, both, step));
        for (int k = 0; k < STACK; k++)
            CHECK(!memcmp(step + 2 * k * WIDTH, alone + (t * STACK + k) * WIDTH, WIDTH * sizeof *step) &&
                      !memcmp(step + 2 * k * WIDTH, step + (2 * k + 1) * WIDTH, WIDTH * sizeof *step),
                  "step %d, frame %d", t, k);
    }
    both[5] = NAN;
    CHECK(unroll_features_push(f, both, step) == UNROLL_DATA && strstr(unroll_last_error(), "sample 5 is NaN"), "%s",
          unroll_last_error());
    free(alone);
    free(copy);
    free(f);
}

/* After a reset the features are those of a new sound. A hop may be longer than the window. */
static void test_reset(void)
{
    size_t samples;
    const float *x = input_of(8000, &samples);
    float first[8], second[8];
    unroll_features *f = make("log-mel:8,20ms,30ms", 8000, 1);
    CHECK(unroll_features_hop(f) == 240, "hop");
    MUST(unroll_features_push(f, x, first));
    features_reset(f);
    MUST(unroll_features_push(f, x, second));
    CHECK(!memcmp(first, second, sizeof first), "the history remained");
    free(f);
}

/* ---- messages ---- */

static void test_refused(void)
{
    static const struct {
        const char *text;
        int rate;
        const char *message;
    } row[] = {{"mel:40", 16000, "there is no kind 'mel'; fix: use one of log-mel, mfcc"},
               {"log-mel:0", 16000, "has a number that log-mel does not have"},
               {"log-mel:x", 16000, "'x' is not a number"},
               {"log-mel:40,25m", 16000, "'25m' is not a number"},
               {"log-mel:200", 8000, "filters are empty"},
               {"log-mel:40,25ms,10ms,high=9000", 16000, "fix: low below high, and high up to 8000"},
               {"log-mel:40,2s,1s", 16000, "at most one second"},
               {"log-mel:40,25ms,10ms,scale=bark", 16000, "fix: slaney, htk or kaldi"},
               {"log-mel:40,color=1", 16000, "log-mel has no 'color=1'"},
               {"samples:4,low=3", 16000, "samples has no 'low=3'"},
               {"log-mel:40,stack=0", 16000, "stack from 1 to 64"},
               {"mfcc:50", 16000, "has a number that mfcc does not have"},
               {"spectrum:513,256", 16000, "fix: use an even size without a prime factor above 5, such as 540"},
               {"bands:32", 16000, "fix: rate=48000"},
               {"samples", 0, "0 samples a second"},
               {"log-mel:40,25ms,0", 16000, "every 0"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const size_t bytes = unroll_features_bytes(row[i].text, row[i].rate, 1);
        CHECK(bytes == 0 && strstr(unroll_last_error(), row[i].message) && strstr(unroll_last_error(), "fix: "),
              "'%s': %s", row[i].text, bytes ? "accepted" : unroll_last_error());
    }
    char memory[64] __attribute__((aligned(64)));
    unroll_features *f = NULL;
    CHECK(unroll_features_init(memory, sizeof memory, "samples", 16000, 1, &f) == UNROLL_USAGE && f == NULL,
          "too small");
    /* the number of filters that the message suggests is accepted */
    unroll_features_bytes("log-mel:200", 8000, 1);
    char text[40];
    const char *most = strstr(unroll_last_error(), "up to ");
    snprintf(text, sizeof text, "log-mel:%d", most ? atoi(most + 6) : 0);
    CHECK(unroll_features_bytes(text, 8000, 1) > 0, "%s", text);
}

int main(int argc, char **argv)
{
    if (argc != 2 || !MUST(safetensors_open(argv[1], &vectors)))
        return 2;
    test_vectors();
    test_resampling();
    test_transform();
    test_pieces();
    test_reset();
    test_refused();
    safetensors_close(vectors);
    return check_finish("test_features");
}
