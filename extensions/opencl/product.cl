/* Begin and end of the sums of a product: c = a b (+ c) (+ bias). The kernels themselves are printed
 * (opencl_print.c), with the sums of an item as separate variables, because not all compilers keep arrays in
 * registers. */

/* Returns the initial sums, c and the bias: zeros after the last column. */
static VECTOR sum_begin(global char *m, struct panels_args a, ulong row, uint column)
{
    float lane[WIDTH];
    for (uint i = 0; i < WIDTH; i++) {
        const bool is = column + i < a.columns;
        lane[i] = is && a.adds ? FLOATS(a.c)[row * a.c_row + column + i] : 0;
        if (is && a.bias)
            lane[i] = a.adds ? lane[i] + FLOATS(a.bias)[column + i] : FLOATS(a.bias)[column + i];
    }
#if WIDTH == 1
    return lane[0];
#else
    return PASTE(vload, WIDTH)(0, lane);
#endif
}

static void sum_end(global char *m, struct panels_args a, ulong row, uint column, VECTOR sum)
{
    global float *c = FLOATS(a.c) + row * a.c_row + column;
    if (column + WIDTH <= a.columns) {
        STORE_PART(sum, c);
        return;
    }
#if WIDTH > 1
    float lane[WIDTH];
    PASTE(vstore, WIDTH)(sum, 0, lane);
    for (uint i = 0; i < WIDTH && column + i < a.columns; i++) c[i] = lane[i];
#endif
}

/* ---- operands ----------------------------------------------------------------------------- */

/* Rounds to bf16, to nearest even; a NaN stays one. */
static float bf16_of(float x)
{
    const uint bits = as_uint(x), even = bits + 0x7fff + (bits >> 16 & 1);
    return as_float((bits & 0x7fffffff) > 0x7f800000 ? bits : even & 0xffff0000);
}

/* An item handles PACK_DEPTH rows of a panel. */
KERNEL(gpu_pack, struct pack_args)
{
    const struct part p = part_of(ITEM, a.depth, PACK_DEPTH);
    const uint first = (uint)p.row * GPU_PANEL;
    if (first >= a.columns)
        return;
    global float *to = FLOATS(a.to) + ((ulong)first * a.depth);
    global const float *b = FLOATS(a.b);
    const ulong next = a.by_columns ? a.b_row : 1, down = a.by_columns ? 1 : a.b_row;
    for (uint n = 0; n < GPU_PANEL; n++)
        for (uint k = p.first; k < p.end; k++) {
            const float x = first + n < a.columns ? b[(first + n) * next + k * down] : 0;
            to[(ulong)k * GPU_PANEL + n] = a.rounds ? bf16_of(x) : x;
        }
}

/* Rounds a factor of products to bf16, stored as floats. */
KERNEL(gpu_round, struct lowp_args)
{
    const struct part p = part_of(ITEM, a.width, RUN);
    if (p.row >= a.rows)
        return;
    global const float *from = FLOATS(a.from) + p.row * a.from_row;
    global float *to = FLOATS(a.to) + p.row * a.to_row;
    for (uint i = p.first; i < p.end; i++) to[i] = bf16_of(from[i]);
}
