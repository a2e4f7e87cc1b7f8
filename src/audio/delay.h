/* The lag of a recording, in samples, compared with the sound that it was made from. */
#pragma once
#include <stddef.h>

/* Returns the lag, at most `most` in either direction, at which the differences of neighboring samples of x and y
 * [count] correlate most, with either sign; of lags within 2% of the best, the one nearest to 0. It reads at most
 * 131072 samples, where x is loudest. */
int sound_delay(const float *x, const float *y, size_t count, int most);
