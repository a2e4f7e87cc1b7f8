/* Converts floats to low precision: rows of weights to bf16 and int8, rows of operands to int8. Included after a V
 * header of floats; the bits are the same for every V. The products are in product_low_precision.h.
 *
 * int8: x is about q * scale with scale = (largest |x| of the row) / 127 and q = x * (1 / scale), rounded to nearest
 * even, in -127 .. 127. A row of zeros, or of values below 127 * FLT_MIN, has scale zero. A row with a NaN or an
 * infinity has scale NaN, which makes all its sums NaN. */
#include "nn/vector/v_low_precision.h"
#include "base/dtype.h"
#include <float.h>
#include <string.h>

/* ---- rows of int8 ---------------------------------------------------------------------- */

/* Adding it to |x| < 2^22 rounds x to the nearest integer (ties to even), which is then in the low bits. */
#define INT8_ROUND 0x1.8p23f

/* The stored value for x = 0: operands are unsigned, weights are signed (see v_low_precision.h). */
enum { INT8_WEIGHT_ZERO = 0, INT8_OPERAND_ZERO = 128 };

/* Without signs, floats are ordered like their bits, with infinity and NaNs above all finite values. */
static float int8_scale(const float *x, size_t n)
{
    const uint32_t infinity = 0x7f800000;
    VC max = vc_const(0);
    for (size_t i = 0; i < n; i += V_WIDTH) {
        V a = n - i < V_WIDTH ? v_load_some(x + i, n - i) : v_load(x + i);
        max = vc_max(vc_bits(v_abs(a)), max);
    }
    const uint32_t bits = vc_largest(max);
    float largest;
    memcpy(&largest, &bits, sizeof largest);
    if (bits >= infinity)
        return NAN;
    return largest / 127 >= FLT_MIN ? largest / 127 : 0;
}

/* Stores the V_WIDTH bytes of x / scale. */
CELL_CODE void int8_bytes_of(V x, V inverse, V round, uint8_t *to)
{
    vc_store_bytes(to, vc_bits(v_add(v_mul(x, inverse), round)));
}

static void int8_bytes(const float *x, size_t n, float scale, int zero, uint8_t *to)
{
    V inverse = v_const(scale > 0 ? 1 / scale : 0), round = v_const(INT8_ROUND + (float)zero);
    size_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) int8_bytes_of(v_load(x + i), inverse, round, to + i);
    if (i < n) {
        uint8_t last[V_WIDTH];
        int8_bytes_of(v_load_some(x + i, n - i), inverse, round, last);
        memcpy(to + i, last, n - i);
    }
}

/* Converts a row of the other operand: words of bytes, and the scale in one more word. */
static void quantize(const void *from, size_t k, void *words)
{
    uint8_t *to = words;
    const size_t bytes = (k + 3) / 4 * 4;
    const float scale = int8_scale(from, k);
    int8_bytes(from, k, scale, INT8_OPERAND_ZERO, to);
    for (size_t i = k; i < bytes; i++) to[i] = INT8_OPERAND_ZERO;
    memcpy(to + bytes, &scale, sizeof scale);
}

/* ---- weights --------------------------------------------------------------------------- */

/* Converts a unit's row of weights to its words (plan.h), which are `row` words apart. */
static void pack_bf16(uint32_t *word, size_t row, const float *weights, size_t k)
{
    for (size_t i = 0; i < k; i += 2, word += row) {
        uint32_t first = f32_to_bf16(weights[i]), second = i + 1 < k ? f32_to_bf16(weights[i + 1]) : 0;
        *word = first | second << 16;
    }
}

/* After the bytes come the scale, and INT8_OPERAND_ZERO times their sum: the contribution of the operand's zero to a
 * product. */
static void pack_int8(uint32_t *word, size_t row, const float *weights, size_t k)
{
    enum { BLOCK = 64 };
    const float scale = int8_scale(weights, k);
    int32_t sum = 0;
    for (size_t i = 0; i < k; i += BLOCK) {
        uint8_t byte[BLOCK] = {0};
        size_t n = k - i < BLOCK ? k - i : BLOCK;
        int8_bytes(weights + i, n, scale, INT8_WEIGHT_ZERO, byte);
        for (size_t j = 0; j < n; j++) sum += (int8_t)byte[j];
        for (size_t j = 0; j < n; j += 4, word += row) memcpy(word, byte + j, sizeof *word);
    }
    sum *= INT8_OPERAND_ZERO;
    memcpy(word, &scale, sizeof scale);
    memcpy(word + row, &sum, sizeof sum);
}

static void pack_lowp(enum dtype dtype, void *word, size_t row, const float *weights, size_t k)
{
    if (dtype == DTYPE_BF16)
        pack_bf16(word, row, weights, k);
    else
        pack_int8(word, row, weights, k);
}

#define LOWP \
    .product_bf16 = product_bf16, .product_int8 = product_int8, .quantize = quantize, .pack_lowp = pack_lowp
