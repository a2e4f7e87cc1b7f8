/* ==== about ====
 * The arithmetic of integer programs. fixed.c compiles this file as the reference. c99_fixed.c prints verbatim those
 * sections that a program needs; each begins with a line like the one above. The code is therefore C99. It assumes that
 * int has 32 bits and that right shifts of negative numbers are arithmetic, as in all compilers for our targets. */
/* ==== narrow ==== */
/* v 2^-shift within 16 bits, rounded half up; shift is -15 .. 31. */
static int32_t narrow(int32_t v, int shift)
{
    if (shift > 0)
        v = ((v >> (shift - 1)) + 1) >> 1;
    else if (v > (32767 >> -shift) || v < -(32768 >> -shift))
        return v > 0 ? 32767 : -32768;
    else
        v *= 1 << -shift;
    return v > 32767 ? 32767 : v < -32768 ? -32768 : v;
}

/* ==== aligned ==== */
/* v 2^shift, rounded half up; shift is -31 .. 15. The result must fit. */
static int32_t aligned(int32_t v, int shift) { return shift >= 0 ? v * (1 << shift) : ((v >> (-shift - 1)) + 1) >> 1; }

/* ==== rescaled ==== */
/* v multiplier 2^-shift, rounded half up. */
static int32_t rescaled(int32_t v, int32_t multiplier, int shift)
{
    return (int32_t)(((int64_t)v * multiplier + ((int64_t)1 << (shift - 1))) >> shift);
}

/* ==== product: rescaled ==== */
static void sum_end(int32_t *y, int32_t sum, int32_t multiplier, const int32_t *bias, int adds, int shift)
{
    const int32_t v = rescaled(sum, multiplier, shift) + (bias ? *bias : 0);
    *y = adds ? *y + v : v;
}

/* y (+)= bias + w x, w [rows * width] of int8, x of int16. The sums are exact, and the exporter ensures that they fit.
 * One multiplication per row converts them to the format of y. Four rows at a time share the loads of x. */
static void product(int32_t *y, const int8_t *w, const int16_t *x, const int32_t *multiplier, const int32_t *bias,
                    int rows, int width, int adds, int shift)
{
    const int whole = rows - rows % 4;
    for (int i = 0; i < whole; i += 4, w += 4 * width) {
        const int8_t *const w1 = w + width, *const w2 = w1 + width, *const w3 = w2 + width;
        int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (int k = 0; k < width; k++) {
            s0 += w[k] * x[k];
            s1 += w1[k] * x[k];
            s2 += w2[k] * x[k];
            s3 += w3[k] * x[k];
        }
        sum_end(&y[i], s0, multiplier[i], bias ? &bias[i] : bias, adds, shift);
        sum_end(&y[i + 1], s1, multiplier[i + 1], bias ? &bias[i + 1] : bias, adds, shift);
        sum_end(&y[i + 2], s2, multiplier[i + 2], bias ? &bias[i + 2] : bias, adds, shift);
        sum_end(&y[i + 3], s3, multiplier[i + 3], bias ? &bias[i + 3] : bias, adds, shift);
    }
    for (int i = whole; i < rows; i++, w += width) {
        int32_t sum = 0;
        for (int k = 0; k < width; k++) sum += w[k] * x[k];
        sum_end(&y[i], sum, multiplier[i], bias ? &bias[i] : bias, adds, shift);
    }
}

/* ==== column: rescaled ==== */
/* y = bias + a column of weights, which is the product with a one-hot token; without a token only the bias. */
static void column(int32_t *y, const int8_t *w, const int32_t *multiplier, const int32_t *bias, int rows, int shift)
{
    for (int i = 0; i < rows; i++) y[i] = (bias ? bias[i] : 0) + (w ? rescaled(w[i], multiplier[i], shift) : 0);
}

/* ==== embed: narrow rescaled ==== */
/* A row of a table; zeros without a token. */
static void embed(int16_t *y, const int8_t *row, int32_t multiplier, int n, int shift)
{
    for (int i = 0; i < n; i++) y[i] = (int16_t)(row ? narrow(rescaled(row[i], multiplier, shift), 0) : 0);
}

/* ==== one_hot ==== */
static void one_hot(int16_t *y, int32_t token, int n, int fraction)
{
    for (int i = 0; i < n; i++) y[i] = (int16_t)(i == token ? 1 << fraction : 0);
}

/* ==== pool_max ==== */
/* y is the maximum of all steps since a reset; largest[n] is 1 after the first one. */
static void pool_max(int16_t *y, const int16_t *x, int16_t *largest, int n)
{
    for (int i = 0; i < n; i++) {
        if (!largest[n] || x[i] > largest[i])
            largest[i] = x[i];
        y[i] = largest[i];
    }
    largest[n] = 1;
}

/* ==== copy_short: narrow ==== */
static void copy_short(int16_t *y, const int16_t *x, int n, int shift)
{
    for (int i = 0; i < n; i++) y[i] = (int16_t)narrow(x[i], shift);
}

/* ==== copy_sums: narrow ==== */
static void copy_sums(int16_t *y, const int32_t *x, int n, int shift)
{
    for (int i = 0; i < n; i++) y[i] = (int16_t)narrow(x[i], shift);
}

/* ==== enter ==== */
/* Converts floats to integers, rounded half away from zero, within 16 bits; NaN becomes 0. */
static void enter(int16_t *y, const float *x, int n, float scale)
{
    for (int i = 0; i < n; i++) {
        const float v = x[i] * scale;
        if (v > -32768.0f && v < 32767.0f)
            y[i] = (int16_t)(v < 0.0f ? v - 0.5f : v + 0.5f);
        else
            y[i] = (int16_t)(v > 0.0f ? 32767 : v < 0.0f ? -32768 : 0);
    }
}

/* ==== leave_short ==== */
static void leave_short(float *y, const int16_t *x, int n, float scale)
{
    for (int i = 0; i < n; i++) y[i] = (float)x[i] * scale;
}

/* ==== leave_sums ==== */
static void leave_sums(float *y, const int32_t *x, int n, float scale)
{
    for (int i = 0; i < n; i++) y[i] = (float)x[i] * scale;
}

/* ==== half_sigmoid: half_sigmoid_table ==== */
/* sigmoid(x) - 1/2 in units of 2^-17, x >= 0 in units of 2^-17 and below 16: a line between 513 points. */
static int32_t half_sigmoid(uint32_t x)
{
    const int32_t low = half_sigmoid_table[x >> 12], high = half_sigmoid_table[(x >> 12) + 1];
    return low + (((high - low) * (int32_t)(x & 4095) + 2048) >> 12);
}

/* ==== sigmoid_of: half_sigmoid ==== */
/* The result is in units of 2^-15 with an error below 1.5 units; x is in units of 2^-fraction, 11 .. 17. */
static int32_t sigmoid_of(int32_t x, int fraction)
{
    const int32_t magnitude = x < 0 ? -x : x;
    const uint32_t bounded = (uint32_t)(magnitude > 32767 ? 32767 : magnitude);
    const int32_t half = (half_sigmoid(bounded << (17 - fraction)) + 2) >> 2;
    return x < 0 ? 16384 - half : half == 16384 ? 32767 : 16384 + half;
}

/* ==== tanh_of: half_sigmoid ==== */
/* tanh x = 2 (sigmoid(2 x) - 1/2) in units of 2^-15 with an error below 1.5 units; fraction is 12 .. 18. */
static int32_t tanh_of(int32_t x, int fraction)
{
    const int32_t magnitude = x < 0 ? -x : x;
    int32_t y = (half_sigmoid((uint32_t)(magnitude > 32767 ? 32767 : magnitude) << (18 - fraction)) + 1) >> 1;
    y = y > 32767 ? 32767 : y;
    return x < 0 ? -y : y;
}

/* ==== exp2_of: exp2_table ==== */
/* 2^x in units of 2^-15, x in [0, 1] in units of 2^-16: a line between 257 points. */
static int32_t exp2_of(int32_t x)
{
    const int32_t i = x > 65535 ? 255 : x >> 8;
    const int32_t low = exp2_table[i], high = exp2_table[i + 1];
    return 32768 + low + (((high - low) * (x - i * 256) + 128) >> 8);
}

/* ==== exp_of: narrow exp2_of ==== */
/* e^x; x is in units of 2^-fraction, the result in units of 2^-out. */
static int32_t exp_of(int32_t x, int fraction, int out)
{
    const int64_t t = ((int64_t)x * 1549082005) >> (fraction + 14); /* x / ln 2 in units of 2^-16 */
    const int64_t whole = t >> 16, shift = 15 - whole - out;
    if (shift < -15)
        return 32767;
    return shift > 31 ? 0 : narrow(exp2_of((int32_t)(t & 65535)), (int)shift);
}

/* ==== log_of: narrow log2_table ==== */
/* ln x, or the smallest number if x <= 0; x is in units of 2^-fraction, the result in units of 2^-out. */
static int32_t log_of(int32_t x, int fraction, int out)
{
    int32_t exponent = 15;
    if (x <= 0)
        return -32768;
    for (; x < 32768; x *= 2) exponent--; /* x 2^-15 is in [1, 2) */
    const int32_t i = (x - 32768) >> 7, low = log2_table[i], high = log2_table[i + 1];
    const int32_t log2 = (exponent - fraction) * 32768 + low + (((high - low) * (x & 127) + 64) >> 7);
    return narrow((int32_t)(((int64_t)log2 * 1488522236 + (1 << 30)) >> 31), 15 - out);
}

/* ==== quotient ==== */
/* a 2^shift / b within 16 bits, rounded half away from zero; 0 / 0 is 0. shift is -40 .. 40. */
static int32_t quotient(int32_t a, int32_t b, int shift)
{
    const uint64_t over = (uint64_t)(a < 0 ? -a : a) << (shift > 0 ? shift : 0);
    const uint64_t under = (uint64_t)(b < 0 ? -b : b) << (shift < 0 ? -shift : 0);
    const uint64_t ratio = under ? (over + under / 2) / under : over ? 32768 : 0;
    const int32_t magnitude = ratio > 32767 ? 32767 : (int32_t)ratio;
    return (a < 0) != (b < 0) ? -magnitude : magnitude;
}

/* ==== root ==== */
/* The root of a 2^shift, rounded to nearest, within 16 bits; 0 if a is negative. shift is -40 .. 46. */
static int32_t root(int32_t a, int shift)
{
    const uint64_t square = a <= 0 ? 0 : shift < 0 ? (uint64_t)a >> -shift : (uint64_t)a << shift;
    uint64_t y = 0;
    for (uint64_t bit = (uint64_t)1 << 31; bit; bit >>= 1)
        if ((y + bit) * (y + bit) <= square)
            y += bit;
    y += square - y * y > y;
    return y > 32767 ? 32767 : (int32_t)y;
}

/* ==== softmax: exp2_of ==== */
/* The result is in units of 2^-15, x in units of 2^-fraction. */
static void softmax(int16_t *y, const int32_t *x, int n, int fraction)
{
    int32_t largest = x[0];
    uint32_t sum = 0;
    for (int i = 1; i < n; i++) largest = x[i] > largest ? x[i] : largest;
    for (int i = 0; i < n; i++) {
        const int64_t t = ((int64_t)(largest - x[i]) * 1549082005) >> (fraction + 14);
        const int64_t halvings = (t >> 16) + 1; /* e^-t = 2^(1 - part) 2^-halvings */
        const int32_t e = exp2_of((int32_t)(65536 - (t & 65535)));
        int32_t power = halvings > 30 ? 0 : (e + (1 << (halvings - 1))) >> halvings;
        power = power > 32767 ? 32767 : power;
        y[i] = (int16_t)power;
        sum += (uint32_t)power;
    }
    for (int i = 0; i < n; i++) {
        const uint32_t part = ((uint32_t)y[i] * 32768u + sum / 2) / sum;
        y[i] = (int16_t)(part > 32767 ? 32767 : part);
    }
}
