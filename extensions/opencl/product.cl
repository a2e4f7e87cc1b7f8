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
        STORE(sum, c);
        return;
    }
#if WIDTH > 1
    float lane[WIDTH];
    PASTE(vstore, WIDTH)(sum, 0, lane);
    for (uint i = 0; i < WIDTH && column + i < a.columns; i++) c[i] = lane[i];
#endif
}
