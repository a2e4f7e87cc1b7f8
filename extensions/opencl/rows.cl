/* Kernels that compute each element independently: copies, masks, panels, embeddings, dropout, pools, states between
 * steps. Semantics are those of device/cpu's elementwise.h, bias_grad.h and pool.h. Activations, and kernels with a
 * sum over rows, are in other files. */

/* ---- copies ------------------------------------------------------------------------------- */

KERNEL(gpu_copy, copy_args)
{
    const struct part p = part_of(ITEM, a.count[3], RUN);
    ulong row = p.row, from = 0, to = 0;
    if (row >= (ulong)a.count[0] * a.count[1] * a.count[2])
        return;
    for (int axis = 2; axis >= 0; axis--) {
        from += row % a.count[axis] * a.from_stride[axis];
        to += row % a.count[axis] * a.to_stride[axis];
        row /= a.count[axis];
    }
    global uint *target = UINTS(a.to) + to;
    global const uint *source = UINTS(a.from) + from;
    const ulong target_step = a.to_stride[3], source_step = a.from_stride[3];
    if (!a.from)
        for (uint i = p.first; i < p.end; i++) target[i * target_step] = 0;
    else if (a.adds)
        for (uint i = p.first; i < p.end; i++)
            target[i * target_step] = as_uint(as_float(target[i * target_step]) + as_float(source[i * source_step]));
    else
        for (uint i = p.first; i < p.end; i++) target[i * target_step] = source[i * source_step];
}

KERNEL(gpu_clear_ended, clear_ended_args)
{
    const struct part p = part_of(ITEM, a.x.width, RUN);
    if (p.row >= row_count(a.x) || LASTS(a.ends, p.row / a.x.batch, p.row % a.x.batch))
        return;
    for (uint i = p.first; i < p.end; i++) ROW(a.x, p.row)[i] = 0;
}

/* Returns the address of the state that enters step t of row b; 0: zeros. */
static ulong entering_row(global char *m, struct gather_args a, ulong t, ulong b)
{
    bool first = t == 0;
    if (RESETS(a.resets, t, b))
        return 0;
    if (a.direction)
        first = t == a.x.steps - 1 || !LASTS(a.ends, t + 1, b);
    if (first)
        return a.init ? a.init + 4 * b * a.init_row : 0;
    return a.x.at + 4 * ((a.direction ? t + 1 : t - 1) * a.x.t + b * a.x.row);
}

KERNEL(gpu_gather, gather_args)
{
    const struct part p = part_of(ITEM, a.x.width, RUN);
    const ulong t = p.row / a.rows, b = a.first + p.row % a.rows;
    if (t >= a.x.steps)
        return;
    const ulong from = !LASTS(a.ends, t, b) ? 0
                       : a.shift            ? entering_row(m, a, t, b)
                                            : a.x.at + 4 * (t * a.x.t + b * a.x.row);
    global float *to = FLOATS(a.to) + p.row * a.x.width;
    for (uint i = p.first; i < p.end; i++) to[i] = from ? FLOATS(from)[i] : 0;
}

/* An item handles PACK_DEPTH rows of a panel. */
KERNEL(gpu_pack, pack_args)
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
KERNEL(gpu_round, lowp_args)
{
    const struct part p = part_of(ITEM, a.width, RUN);
    if (p.row >= a.rows)
        return;
    global const float *from = FLOATS(a.from) + p.row * a.from_row;
    global float *to = FLOATS(a.to) + p.row * a.to_row;
    for (uint i = p.first; i < p.end; i++) to[i] = bf16_of(from[i]);
}

/* ---- embed, dropout ------------------------------------------------------------------------ */

KERNEL(gpu_embed, embed_args)
{
    const struct part p = part_of(ITEM, a.y.width, RUN);
    if (p.row >= row_count(a.y))
        return;
    const int token = INTS(a.tokens)[p.row / a.y.batch * a.step + p.row % a.y.batch];
    global float *y = ROW(a.y, p.row);
    if (token < 0 || !a.table)
        for (uint i = p.first; i < p.end; i++) y[i] = token >= 0 && i == (uint)token;
    else
        for (uint i = p.first; i < p.end; i++) y[i] = FLOATS(a.table)[token * a.table_row + i];
}

/* An item handles DROPOUT_QUADS counters of four units each. */
KERNEL(gpu_dropout, dropout_args)
{
    const uint begin = a.first_unit / 4, quads = (a.first_unit + a.x.width + 3) / 4 - begin;
    const struct part p = part_of(ITEM, quads, DROPOUT_QUADS);
    if (p.row >= row_count(a.x))
        return;
    const ulong t = p.row / a.x.batch, b = p.row % a.x.batch, seed = (ulong)((global long *)(m + a.run))[0];
    const uint key[2] = {(uint)seed, (uint)(seed >> 32) ^ a.stream};
    const float kept = d_float(d_div(d_of(1.0f), d_sub(d_of(1.0f), d_of(a.probability))));
    const bool lasts = LASTS(a.ends, t, b);
    global const float *x = ROW(a.x, p.row);
    global float *y = ROW(a.y, p.row);
    for (uint quad = begin + p.first; quad < begin + p.end; quad++) {
        const uint counter[4] = {quad, a.first_row + (uint)b, a.ends.origin + (uint)t,
                                 (uint)((global long *)(m + a.run))[1]};
        uint word[4];
        philox(key, counter, word);
        for (uint w = 0; w < 4; w++) {
            const uint unit = 4 * quad + w - a.first_unit; /* wraps if the quad begins before the view */
            if (unit >= a.x.width)
                continue;
            const float number = lasts ? x[unit] * (philox_unit(word[w]) >= a.probability ? kept : 0) : 0;
            y[unit] = a.adds ? y[unit] + number : number;
        }
    }
}

/* ---- pools -------------------------------------------------------------------------------- */

static uint pool_length(global char *m, struct gpu_ends e, ulong b, uint steps)
{
    return e.lengths ? (uint)INTS(e.lengths)[b] : steps;
}

static bool pool_takes(uint pool, uint step, uint length) { return step == (pool == POOL_FIRST ? 0 : length - 1); }

KERNEL(gpu_pool, pool_args)
{
    const struct part p = part_of(ITEM, a.y.width, WIDTH);
    if (p.row >= a.y.batch)
        return;
    const uint length = pool_length(m, a.ends, p.row, a.steps);
    for (uint k = p.first; k < p.end; k++) {
        global float *to = ROW(a.y, p.row) + k;
        float y = a.begins ? 0 : *to;
        int at = a.begins || !a.at ? -1 : INTS(a.at)[p.row * a.at_row + k];
        for (uint t = 0; t < a.x.steps && a.ends.origin + t < length; t++) {
            const uint step = a.ends.origin + t;
            const float x = FLOATS(a.x.at)[t * a.x.t + p.row * a.x.row + k];
            if (a.pool == POOL_MEAN)
                y += x;
            else if (a.pool == POOL_MAX ? step == 0 || (!(x <= y) && y == y) : pool_takes(a.pool, step, length))
                y = x, at = (int)step;
            if (a.pool == POOL_MEAN && step == length - 1)
                y /= (float)length;
        }
        *to = y;
        if (a.at)
            INTS(a.at)[p.row * a.at_row + k] = at;
    }
}

KERNEL(gpu_pool_back, pool_back_args)
{
    const struct part p = part_of(ITEM, a.dx.width, RUN);
    if (p.row >= row_count(a.dx))
        return;
    const ulong b = p.row % a.dx.batch;
    const uint length = pool_length(m, a.ends, b, a.steps), step = a.ends.origin + (uint)(p.row / a.dx.batch);
    global float *dx = ROW(a.dx, p.row);
    global const float *dy = ROW(a.dy, b);
    for (uint k = p.first; k < p.end; k++) {
        const bool taken = a.pool == POOL_MEAN  ? true
                           : a.pool == POOL_MAX ? INTS(a.at)[b * a.at_row + k] == (int)step
                                                : pool_takes(a.pool, step, length);
        float d = taken && step < length ? dy[k] : 0;
        d = a.pool == POOL_MEAN ? d / (length ? (float)length : 1.0f) : d;
        dx[k] = a.adds ? dx[k] + d : d;
    }
}

/* ---- tree --------------------------------------------------------------------------------- */

KERNEL(gpu_tree, tree_args)
{
    const struct part p = part_of(ITEM, (uint)a.count, RUN);
    if (p.row > 0)
        return;
    global float *x = FLOATS(a.x);
    for (uint distance = 1; distance < a.shards; distance *= 2)
        for (uint s = 0; s + distance < a.shards; s += 2 * distance)
            for (uint i = p.first; i < p.end; i++) x[s * a.shard + i] += x[(s + distance) * a.shard + i];
}

/* ---- states ------------------------------------------------------------------------------- */

/* Finds the state and row of an item: the first state is `width` wide, the others `units`. */
static struct part find_state(struct states_args a, ulong item, uint *state)
{
    const ulong first = (ulong)a.rows * ((a.width + RUN - 1) / RUN);
    if (item < first) {
        *state = 0;
        return part_of(item, a.width, RUN);
    }
    struct part p = part_of(item - first, a.units, RUN);
    *state = 1 + (uint)(p.row / a.rows);
    p.row %= a.rows;
    return p;
}

KERNEL(gpu_states_enter, states_args)
{
    uint state;
    const struct part p = find_state(a, ITEM, &state);
    if (state > a.others)
        return;
    const struct gpu_fields from = state ? a.rest : a.first;
    const bool zero = !from.at || FORGETS(a.ends, a.resets, a.forget, p.row);
    for (uint u = p.first; u < p.end; u++)
        *FIELD(a.plane, state, p.row, u) = zero ? 0 : *FIELD(from, state ? state - 1 : 0, p.row, u);
}

KERNEL(gpu_states_leave, states_args)
{
    uint state;
    const struct part p = find_state(a, ITEM, &state);
    const struct gpu_fields to = state ? a.rest : a.first;
    if (state > a.others || !to.at)
        return;
    const bool zero = FORGETS(a.ends, a.resets, a.forget, p.row);
    for (uint u = p.first; u < p.end; u++) {
        const float number = zero ? 0 : *FIELD(a.plane, state, p.row, u);
        global float *at = FIELD(to, state ? state - 1 : 0, p.row, u);
        *at = a.adds[state > 0] ? *at + number : number;
    }
}

KERNEL(gpu_projected, projected_args)
{
    const struct part p = part_of(ITEM, a.width, RUN);
    if (p.row >= a.rows)
        return;
    const bool lasts = LASTS(a.ends, a.t, p.row), forgets = FORGETS(a.ends, a.resets, a.next_t, p.row);
    for (uint u = p.first; u < p.end; u++) {
        const float h = lasts ? *FIELD(a.made, 0, p.row, u) : *FIELD(a.state, 0, p.row, u);
        *FIELD(a.y, 0, p.row, u) = lasts ? h : 0;
        *FIELD(a.next, 0, p.row, u) = forgets ? 0 : h;
    }
}

KERNEL(gpu_receive, receive_args)
{
    const struct part p = part_of(ITEM, a.width, RUN);
    if (p.row >= a.rows)
        return;
    const bool done = a.done >= 0 && LASTS(a.ends, (ulong)a.done, p.row);
    const bool is_reset = done && RESETS(a.resets, (ulong)a.done, p.row);
    const bool lasts = !a.ends_here && LASTS(a.ends, a.t, p.row);
    for (uint u = p.first; u < p.end; u++) {
        global float *whole = FIELD(a.whole, 0, p.row, u);
        float d = !done ? *whole : is_reset ? 0 : *FIELD(a.made, 0, p.row, u);
        if (lasts && a.dy.at)
            d += *FIELD(a.dy, 0, p.row, u);
        *whole = d;
        if (a.dp.at)
            *FIELD(a.dp, 0, p.row, u) = lasts ? d : 0;
    }
}
