/* Kernels that add up: columns over rows, rows by symbol, losses, norms; and the single thread before all updates.
 * The order of every sum depends only on shapes, so every run has the same bits. */

/* ---- columns ------------------------------------------------------------------------------ */

/* Part p has rows p, p + parts, ..; an item handles a part of some columns. */
KERNEL(gpu_sum_parts, sum_parts_args)
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
        if (LASTS(a.ends, t, b))
            for (uint i = 0; i < p.end - p.first; i++) sum[i] += x[p.first + i];
    }
    for (uint i = p.first; i < p.end; i++) FLOATS(a.part)[p.row * a.x.width + i] = sum[i - p.first];
}

KERNEL(gpu_sum, sum_args)
{
    const struct part p = part_of(ITEM, a.width, WIDTH);
    if (p.row > 0)
        return;
    for (uint i = p.first; i < p.end; i++) {
        float sum = 0;
        for (uint part = 0; part < a.parts; part++) sum += FLOATS(a.part)[(ulong)part * a.width + i];
        FLOATS(a.sum)[i] += sum;
        if (a.twin)
            FLOATS(a.twin)[i] += sum;
    }
}

/* An item handles some columns of the whole table. Steps descending, rows ascending. */
KERNEL(gpu_embed_grad, embed_grad_args)
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

/* ---- losses, norms ------------------------------------------------------------------------- */

KERNEL(gpu_loss_total, loss_total_args)
{
    D sum = d_of(0.0f), weight = d_of(0.0f);
    if (ITEM > 0)
        return;
    for (ulong r = 0; r < a.rows; r++) {
        sum = d_add(sum, d_load(a.loss, r));
        weight = d_add(weight, d_load(a.loss, a.rows + r));
    }
    d_store(a.sum, 0, d_add(d_load(a.sum, 0), sum));
    d_store(a.weight, 0, d_add(d_load(a.weight, 0), weight));
}

/* An item handles a chunk, with 16 independent sums to avoid a chain of dependent additions. */
KERNEL(gpu_norm_parts, norm_args)
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

/* An item handles a tensor. */
KERNEL(gpu_norm, norm_args)
{
    D sum = d_of(0.0f);
    if (ITEM >= a.tensors)
        return;
    const struct norm_tensor x = TABLE(norm_tensor, a.tensor, ITEM);
    for (uint p = 0; p < x.chunks; p++) sum = d_add(sum, d_load(a.part, x.first_chunk + p));
    d_store(x.out, 0, d_add(d_load(x.out, 0), sum));
}

/* ---- before updates ------------------------------------------------------------------------ */

/* Computes the factor of gradient sums: 1 / weight, less if the total norm exceeds the clip, and 0 if nothing was
 * counted or a gradient is not finite. */
KERNEL(gpu_update_begin, update_begin_args)
{
    if (ITEM > 0)
        return;
    const D weight = d_load(a.weight, 0), clip = d_load(a.rates, RATE_CLIP);
    D sum = d_of(0.0f), scale = d_of(0.0f);
    for (uint i = 0; i < a.norm_count; i++) sum = d_add(sum, d_load(a.norms, i));
    if (isfinite(d_float(sum)) && isfinite(d_float(weight)) && d_float(weight) != 0) {
        const D length = d_div(d_sqrt(sum), weight);
        const bool clips = d_float(clip) > 0 && d_float(d_sub(length, clip)) > 0;
        scale = clips ? d_div(d_div(clip, length), weight) : d_div(d_of(1.0f), weight);
    }
    for (int i = 0; i < OPTIMIZER_NUMBERS_MAX; i++)
        FLOATS(a.shared)[i] = d_float(d_load(a.rates, RATE_NUMBERS + i));
    *FLOATS(a.scale) = d_float(scale);
}

KERNEL(gpu_step, step_args)
{
    if (ITEM > 0)
        return;
    if (a.begins) {
        d_store(a.kept, 0, d_load(a.loss, 0));
        d_store(a.kept, 1, d_load(a.weight, 0));
        d_store(a.loss, 0, d_of(0.0f));
        d_store(a.weight, 0, d_of(0.0f));
    } else {
        d_store(a.loss, 0, d_add(d_load(a.loss, 0), d_load(a.kept, 0)));
        d_store(a.weight, 0, d_add(d_load(a.weight, 0), d_load(a.kept, 1)));
    }
}
