/* Sums over the rows of a whole array: an item adds some columns, or a chunk. */

/* Part p has rows p, p + parts, ..; an item handles a part of some columns. */
KERNEL(gpu_sum_parts, struct sum_parts_args)
{
    const struct part p = part_of(ITEM, a.x.width, WIDTH);
    const ulong rows = (ulong)a.x.steps * a.rows;
    float sum[WIDTH];
    if (p.row >= a.parts)
        return;
    for (uint i = 0; i < WIDTH; i++) sum[i] = 0;
    for (ulong r = p.row; r < rows; r += a.parts) {
        const ulong t = r / a.rows, b = a.first + r % a.rows;
        global const float *x = FLOATS(a.x.at) + t * a.x.t + b * a.x.row;
        if (row_lasts(MEMORY a.ends, t, b))
            for (uint i = 0; i < p.end - p.first; i++) sum[i] += x[p.first + i];
    }
    for (uint i = p.first; i < p.end; i++) FLOATS(a.part)[p.row * a.x.width + i] = sum[i - p.first];
}

/* An item handles some columns of the whole table. Steps descending, rows ascending. */
KERNEL(gpu_embed_grad, struct embed_grad_args)
{
    const struct part p = part_of(ITEM, a.dy.width, WIDTH);
    if (p.row > 0)
        return;
    for (ulong t = a.dy.steps; t-- > 0;)
        for (ulong b = a.first; b < a.first + a.rows; b++) {
            const int token = INTS(a.tokens)[t * a.step + b];
            global const float *dy = FLOATS(a.dy.at) + t * a.dy.t + b * a.dy.row;
            if (token < 0)
                continue;
            global float *to = FLOATS(a.table) + token * a.table_row;
            for (uint i = p.first; i < p.end; i++) to[i] += dy[i];
        }
}

/* An item handles a chunk, with 16 independent sums to avoid a chain of dependent additions. */
KERNEL(gpu_norm_parts, struct norm_args)
{
    enum { SUMS = 16 };
    D sum[SUMS];
    if (ITEM >= a.chunks)
        return;
    const struct gpu_chunk chunk = TABLE(gpu_chunk, a.chunk, ITEM);
    const struct norm_tensor x = TABLE(norm_tensor, a.tensor, chunk.tensor);
    const ulong first = (ulong)chunk.number * GPU_CHUNK;
    const ulong count = x.count - first < GPU_CHUNK ? x.count - first : GPU_CHUNK;
    global const float *at = FLOATS(x.x) + first;
    for (uint s = 0; s < SUMS; s++) sum[s] = d_of(0.0f);
    for (ulong i = 0; i < count / SUMS * SUMS; i += SUMS)
        for (uint s = 0; s < SUMS; s++) sum[s] = d_add(sum[s], d_mul(d_of(at[i + s]), d_of(at[i + s])));
    for (ulong i = count / SUMS * SUMS; i < count; i++)
        sum[i % SUMS] = d_add(sum[i % SUMS], d_mul(d_of(at[i]), d_of(at[i])));
    for (uint distance = SUMS / 2; distance > 0; distance /= 2)
        for (uint s = 0; s < distance; s++) sum[s] = d_add(sum[s], sum[s + distance]);
    d_store(a.part, ITEM, sum[0]);
}
