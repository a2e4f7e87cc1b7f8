/* A complex transform of half the size (Stockham's algorithm, which needs no permutation), and the separation of even
 * and odd samples: Cooley and Tukey 1965; Sorensen et al. 1987. */
#include "audio/fft.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

static int largest_radix(int size)
{
    static const int radix[] = {4, 5, 3, 2};
    for (int i = 0; i < 4; i++)
        if (size % radix[i] == 0)
            return radix[i];
    return 0;
}

bool fft_can(int size)
{
    if (size < 2 || size % 2)
        return false;
    for (int radix; (radix = largest_radix(size)); size /= radix);
    return size == 1;
}

int fft_size_for(int samples)
{
    int size = samples < 2 ? 2 : samples;
    while (!fft_can(size)) size++;
    return size;
}

void fft_init(struct fft *fft, int size, float *tables)
{
    *fft = (struct fft){.size = size};
    for (int rest = size / 2, radix; rest > 1; rest /= radix) fft->factor[fft->factors++] = radix = largest_radix(rest);
    for (int i = 0; i < size; i++) { /* exp(-2 pi i n / size) */
        tables[2 * i] = (float)cos(2 * pi * i / size);
        tables[2 * i + 1] = (float)-sin(2 * pi * i / size);
    }
}

struct complex {
    float re, im;
};

static struct complex plus(struct complex a, struct complex b) { return (struct complex){a.re + b.re, a.im + b.im}; }
static struct complex minus(struct complex a, struct complex b) { return (struct complex){a.re - b.re, a.im - b.im}; }
static struct complex scaled(struct complex a, float f) { return (struct complex){a.re * f, a.im * f}; }
static struct complex minus_i(struct complex a) { return (struct complex){a.im, -a.re}; } /* a times -i */
static struct complex times(struct complex a, struct complex w)
{
    return (struct complex){a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
}

static void butterfly_3(struct complex a[])
{
    const struct complex sum = plus(a[1], a[2]), half = plus(a[0], scaled(sum, -0.5f));
    const struct complex turned = minus_i(scaled(minus(a[1], a[2]), 0.86602540378443865f));
    a[0] = plus(a[0], sum);
    a[1] = plus(half, turned);
    a[2] = minus(half, turned);
}

static void butterfly_4(struct complex a[])
{
    const struct complex even = plus(a[0], a[2]), odd = plus(a[1], a[3]);
    const struct complex even_off = minus(a[0], a[2]), odd_off = minus_i(minus(a[1], a[3]));
    a[0] = plus(even, odd);
    a[1] = plus(even_off, odd_off);
    a[2] = minus(even, odd);
    a[3] = minus(even_off, odd_off);
}

static void butterfly_5(struct complex a[])
{
    static const float c1 = 0.30901699437494742f, c2 = -0.80901699437494742f; /* cos 72 and 144 degrees */
    static const float s1 = 0.95105651629515357f, s2 = 0.58778525229247313f;
    const struct complex near = plus(a[1], a[4]), far = plus(a[2], a[3]);
    const struct complex near_off = minus(a[1], a[4]), far_off = minus(a[2], a[3]);
    const struct complex one = plus(a[0], plus(scaled(near, c1), scaled(far, c2)));
    const struct complex two = plus(a[0], plus(scaled(near, c2), scaled(far, c1)));
    const struct complex one_off = minus_i(plus(scaled(near_off, s1), scaled(far_off, s2)));
    const struct complex two_off = minus_i(minus(scaled(near_off, s2), scaled(far_off, s1)));
    a[0] = plus(a[0], plus(near, far));
    a[1] = plus(one, one_off);
    a[2] = plus(two, two_off);
    a[3] = minus(two, two_off);
    a[4] = minus(one, one_off);
}

static void butterfly(struct complex a[], int radix)
{
    if (radix == 4)
        butterfly_4(a);
    else if (radix == 5)
        butterfly_5(a);
    else if (radix == 3)
        butterfly_3(a);
    else {
        const struct complex second = a[1];
        a[1] = minus(a[0], second);
        a[0] = plus(a[0], second);
    }
}

/* One pass: transforms of `radix` values that are `length / radix` blocks apart; a block has `stride` values. */
static void pass(const struct fft *fft, const struct complex *table, int radix, int length, int stride,
                 const struct complex *from, struct complex *to)
{
    const int blocks = length / radix, step = fft->size / length; /* table index of exp(-2 pi i / length) */
    struct complex a[5];
    for (int p = 0; p < blocks; p++)
        for (int q = 0; q < stride; q++) {
            for (int k = 0; k < radix; k++) a[k] = from[q + stride * (p + blocks * k)];
            butterfly(a, radix);
            to[q + stride * radix * p] = a[0];
            for (int k = 1; k < radix; k++) to[q + stride * (radix * p + k)] = times(a[k], table[p * k * step]);
        }
}

/* Separates the transforms of even and odd samples and joins them. */
static void separate(const struct fft *fft, const struct complex *table, const struct complex *z, struct complex *x)
{
    const int half = fft->size / 2;
    for (int k = 0; k <= half; k++) {
        const struct complex a = z[k % half], b = z[(half - k) % half];
        const struct complex even = {0.5f * (a.re + b.re), 0.5f * (a.im - b.im)};
        const struct complex odd = {0.5f * (a.im + b.im), -0.5f * (a.re - b.re)};
        x[k] = plus(even, times(odd, table[k]));
    }
}

void fft_run(const struct fft *fft, const float *tables, const float *x, float *scratch, float *spectrum)
{
    const struct complex *table = (const struct complex *)tables, *from = (const struct complex *)x;
    const int half = fft->size / 2;
    struct complex *buffer[2] = {(struct complex *)scratch, (struct complex *)scratch + half};
    for (int i = 0, length = half, stride = 1; i < fft->factors; i++) {
        struct complex *to = buffer[i % 2];
        pass(fft, table, fft->factor[i], length, stride, from, to);
        length /= fft->factor[i];
        stride *= fft->factor[i];
        from = to;
    }
    separate(fft, table, from, (struct complex *)spectrum);
}
