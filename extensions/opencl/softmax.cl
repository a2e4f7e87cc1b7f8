/* The sums of a softmax: 16 partial sums by column modulo 16 and a tree, as on the CPU. */

static float largest_of(global const float *z, uint n)
{
    float max = z[0];
    for (uint i = 0; i < n; i++) max = z[i] > max ? z[i] : max;
    return max;
}

/* y = e^(x - max); returns the sum. x may be y. */
static float exponentials(global const float *x, global float *y, uint n, float max)
{
    float16 sum = (float16)(0.0f);
    uint i = 0;
    for (; i + 16 <= n; i += 16) {
        const float16 e = exp_of_16(vload16(0, x + i) - (float16)(max));
        vstore16(e, 0, y + i);
        sum += e;
    }
    if (i < n) {
        float lane[16];
        for (uint l = 0; l < 16; l++) {
            lane[l] = i + l < n ? exp_of_1(x[i + l] - max) : 0;
            if (i + l < n)
                y[i + l] = lane[l];
        }
        sum += vload16(0, lane);
    }
    const float8 by8 = sum.lo + sum.hi;
    const float4 by4 = by8.lo + by8.hi;
    const float2 by2 = by4.lo + by4.hi;
    return by2.lo + by2.hi;
}
#define SHARE(e, sum) ((e) * (1.0f / (sum)))
