/* Shared by all kernels, in OpenCL C 1.2. Before it come WIDTH, GROUP and similar macros, and the structs of
 * gpu_kernels.h, whose addresses are offsets into the device's only buffer m; 0 is no address. After it comes one of
 * the *.cl files, or kernels printed from records. */
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL(name, type) \
    kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void name(global char *restrict m, struct type a)
#define ITEM       ((ulong)get_global_id(0))
#define FLOATS(at) ((global float *)(m + (at)))
#define INTS(at)   ((global int *)(m + (at)))
#define UINTS(at)  ((global uint *)(m + (at)))
#define BYTES(at)  ((global uchar *)(m + (at)))
#define TABLE(type, at, i) (((global const struct type *)(m + (at)))[i])

/* ---- values ------------------------------------------------------------------------------- */

#define PASTE2(a, b) a##b
#define PASTE(a, b)  PASTE2(a, b)
#if WIDTH == 1
#define VECTOR float
#define LOAD(p)     (*(p))
#define STORE(v, p) (*(p) = (v))
#else
#define VECTOR PASTE(float, WIDTH)
#define LOAD(p)     PASTE(vload, WIDTH)(0, p)
#define STORE(v, p) PASTE(vstore, WIDTH)(v, 0, p)
#endif

/* Rounds to bf16, to nearest even; a NaN stays one. */
static float bf16_of(float x)
{
    const uint bits = as_uint(x), even = bits + 0x7fff + (bits >> 16 & 1);
    return as_float((bits & 0x7fffffff) > 0x7f800000 ? bits : even & 0xffff0000);
}

/* ---- rows --------------------------------------------------------------------------------- */

static bool row_lasts(global const char *m, struct gpu_ends e, ulong t, ulong b)
{
    return !e.lengths || (long)(e.origin + t) < (long)((global const int *)(m + e.lengths))[b];
}

static bool row_resets(global const char *m, struct gpu_resets r, ulong t, ulong b)
{
    return r.at && ((global const uchar *)(m + r.at))[t * r.step + b];
}

static bool row_forgets(global const char *m, struct gpu_ends e, struct gpu_resets r, long t, ulong b)
{
    return t >= 0 && row_resets(m, r, (ulong)t, b) && row_lasts(m, e, (ulong)t, b);
}
#define LASTS(ends, t, b)             row_lasts(m, ends, t, b)
#define RESETS(resets, t, b)          row_resets(m, resets, t, b)
#define FORGETS(ends, resets, t, b)   row_forgets(m, ends, resets, t, b)

static ulong row_count(struct gpu_rows x) { return (ulong)x.steps * x.batch; }

#define ROW(x, r)             (FLOATS((x).at) + (r) / (x).batch * (x).t + (r) % (x).batch * (x).row)
#define FIELD(f, i, r, u) (FLOATS((f).at) + (i) * (f).field + (r) * (f).row + (u))

/* An item handles elements [first, end) of a row: `length` elements, or the rest. */
struct part {
    ulong row;
    uint first, end;
};

static struct part part_of(ulong item, uint width, uint length)
{
    const ulong parts = (width + length - 1) / length;
    const uint first = (uint)(item % parts) * length;
    const struct part p = {item / parts, first, first + length < width ? first + length : width};
    return p;
}
