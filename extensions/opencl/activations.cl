/* Activations of dense layers: an item computes a vector of a row, or a whole row of a softmax. Backward starts from
 * the inputs. The functions are printed from their records. */

#define VALUE_OF PASTE(value_, WIDTH)
#define SLOPE_OF PASTE(slope_, WIDTH)

KERNEL(gpu_activate, activate_args)
{
    const struct part p = part_of(ITEM, a.x.width, WIDTH);
    if (p.row >= row_count(a.x))
        return;
    global const float *x = ROW(a.x, p.row);
    global float *y = ROW(a.y, p.row);
    if (p.end - p.first == WIDTH)
        STORE(VALUE_OF(a.function, LOAD(x + p.first)), y + p.first);
    else
        for (uint i = p.first; i < p.end; i++) y[i] = value_1(a.function, x[i]);
}

KERNEL(gpu_activate_back, activate_back_args)
{
    const struct part p = part_of(ITEM, a.x.width, WIDTH);
    if (p.row >= row_count(a.x))
        return;
    global const float *x = ROW(a.x, p.row), *dy = ROW(a.dy, p.row);
    global float *dx = ROW(a.dx, p.row);
    for (uint i = p.first; i < p.end; i++) {
        const float d = dy[i] * slope_1(a.function, value_1(a.function, x[i]));
        dx[i] = a.adds ? dx[i] + d : d;
    }
}

KERNEL(gpu_softmax, activate_args)
{
    if (ITEM < row_count(a.x))
        softmax(ROW(a.x, ITEM), ROW(a.y, ITEM), a.x.width);
}

/* dx = y (dy - sum of y dy); y replaces x. */
KERNEL(gpu_softmax_back, activate_back_args)
{
    if (ITEM >= row_count(a.x))
        return;
    global float *y = ROW(a.x, ITEM), *dx = ROW(a.dx, ITEM);
    global const float *dy = ROW(a.dy, ITEM);
    float dot = 0;
    softmax(y, y, a.x.width);
    for (uint i = 0; i < a.x.width; i++) dot += y[i] * dy[i];
    for (uint i = 0; i < a.x.width; i++) {
        const float d = y[i] * (dy[i] - dot);
        dx[i] = a.adds ? dx[i] + d : d;
    }
}
