/* The Fourier transform of real numbers in float, by radices 2, 3, 4 and 5. The order of all operations is fixed, so
 * every machine computes the same bits. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { FFT_FACTORS = 24 };

/* A transform of `size` real numbers, in the caller's memory. */
struct fft {
    int size; /* even, without a prime factor above 5 */
    int factors, factor[FFT_FACTORS];
};

bool fft_can(int size);        /* true for an even size from 2 on without a prime factor above 5 */
int fft_size_for(int samples); /* the smallest such size that is not below `samples` */

/* Floats of the tables, [2 size]; of the scratch memory, [2 size]; of the spectrum, [size + 2]. */
void fft_init(struct fft *fft, int size, float *tables);
/* Computes X[k] = sum of x[n] exp(-2 pi i n k / size), k = 0 .. size / 2, as pairs of a real and an imaginary part. */
void fft_run(const struct fft *fft, const float *tables, const float *x, float *scratch, float *spectrum);
