/* Sums of losses and norms. In memory they are the host's doubles. A device without doubles computes with pairs of
 * floats, the second less than half a unit in the last place of the first: 48 bits, in the range of floats. Exact
 * products and sums of floats follow Dekker, "A floating-point technique for extending the available precision",
 * Numerische Mathematik 18, 1971. */
#if HAS_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double D;
#define d_of(x)       ((double)(x))
#define d_float(a)    ((float)(a))
#define d_add(a, b)   ((a) + (b))
#define d_sub(a, b)   ((a) - (b))
#define d_mul(a, b)   ((a) * (b))
#define d_div(a, b)   ((a) / (b))
#define d_negative(a) (-(a))
#define d_sqrt(a)     sqrt(a)
#define d_log(a)      log(a)
#define d_expm1(a)    expm1(a)
#define d_finite(a)   isfinite(a)
#define d_load(at, i)     (((global double *)(m + (at)))[i])
#define d_store(at, i, v) (((global double *)(m + (at)))[i] = (v))
#else
typedef struct {
    float high, low;
} D;

static D d_pair(float high, float low)
{
    const float sum = high + low;
    const D d = {sum, isfinite(sum) ? low - (sum - high) : 0};
    return d;
}

static D d_of(float x) { return d_pair(x, 0); }
static float d_float(D a) { return a.high; }

static D d_add(D a, D b)
{
    const float sum = a.high + b.high, part = sum - a.high;
    const float lost = (a.high - (sum - part)) + (b.high - part);
    return isfinite(sum) ? d_pair(sum, lost + (a.low + b.low)) : d_of(sum);
}

static D d_negative(D a)
{
    const D d = {-a.high, -a.low};
    return d;
}

static D d_sub(D a, D b) { return d_add(a, d_negative(b)); }

static D d_mul(D a, D b)
{
    const float product = a.high * b.high;
    const float lost = fma(a.high, b.high, -product);
    return isfinite(product) ? d_pair(product, lost + fma(a.high, b.low, a.low * b.high)) : d_of(product);
}

static D d_div(D a, D b)
{
    const float first = a.high / b.high;
    if (!isfinite(first) || first == 0)
        return d_of(first);
    const D rest = d_sub(a, d_mul(b, d_of(first)));
    return d_pair(first, rest.high / b.high);
}

static D d_sqrt(D a)
{
    const float root = sqrt(a.high);
    if (!(root > 0) || !isfinite(root))
        return d_of(root);
    return d_pair(root, d_sub(a, d_mul(d_of(root), d_of(root))).high / (2 * root));
}

static D d_log(D a) { return d_of(log(a.high)); }
static D d_expm1(D a) { return d_of(expm1(a.high)); }
static bool d_finite(D a) { return isfinite(a.high); }

/* Converts the bits of a double: 24 of them, then 29. Values outside the range of floats become 0 or infinite. */
static D d_of_bits(ulong bits)
{
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    const ulong digits = (bits & 0xfffffffffffffUL) | 0x10000000000000UL;
    const float sign = bits >> 63 ? -1.0f : 1.0f;
    if (exponent < -126)
        return d_of(0);
    if (exponent > 127)
        return d_of(exponent == 1024 && bits << 12 ? NAN : sign * INFINITY);
    return d_pair(sign * ldexp((float)(digits >> 29), exponent - 23),
                  sign * ldexp((float)(digits & 0x1fffffffUL), exponent - 52));
}

static ulong d_bits(D a)
{
    const ulong sign = (ulong)(as_uint(a.high) >> 31) << 63;
    const int exponent = (int)(as_uint(a.high) >> 23 & 0xff) - 127;
    if (exponent == -127)
        return sign;
    if (exponent == 128)
        return isnan(a.high) ? 0x7ff8000000000000UL : sign | 0x7ff0000000000000UL;
    const float low = sign ? -a.low : a.low;
    long digits = (long)(as_uint(a.high) & 0x7fffff | 0x800000) << 29;
    digits += (long)rint(ldexp(low, 52 - exponent));
    const bool less = digits < 0x10000000000000L;
    return sign | (ulong)(exponent - less + 1023) << 52 | ((ulong)(less ? digits << 1 : digits) & 0xfffffffffffffUL);
}
#define d_load(at, i)     d_of_bits(((global ulong *)(m + (at)))[i])
#define d_store(at, i, v) (((global ulong *)(m + (at)))[i] = d_bits(v))
#endif
