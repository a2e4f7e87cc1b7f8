/* One phase of a step whose weights are multiplied by tiles: a part of cell_fused_phase.h. */

CELL_CODE V PHASE_(add_bias)(V sum, const struct fused_weights *w, size_t gate, size_t unit, size_t n)
{
    return v_add(sum, v_load_units((const float *)w->bias + gate * w->bias_gate + unit, n));
}

/* Returns the products of input i, row r of the previous block. */
CELL_CODE V PHASE_(made)(const struct fused_step *s, const struct fused_block *b, size_t r, size_t i)
{
    const size_t row = PHASE_(count) * CELL_TILE;
    const float *made = b->made + r * row + i * CELL_TILE;
    (void)s;
#if TILE_PARTS == 3
    if (s->of_h.cell == FUSED_BF16)
        return tiles_sum_bf16(made, b->rows * row);
#endif
    return v_load(made);
}

/* Applies the cell to n units of row r of the previous block. */
CELL_CODE void PHASE_(end_row)(const struct fused_step *s, const struct fused_block *b, size_t r, size_t n)
{
    const struct fused_tile none = {.k = 0};
    const size_t row = fused_row(s, b->row + r);
    V sum[PHASE_(count)];
#pragma GCC unroll 8
    for (size_t i = 0; i < PHASE_(count); i++) {
        const unsigned from = CELL_(sources)[PHASE_FIRST + i];
        sum[i] = v_const(0);
        if (PHASE_(was)(s, &none, i))
            sum[i] = v_load_units(cell_address(&s->value.in, PHASE_FIRST + i, row, b->unit), n);
        if ((from & FROM_X) && s->of_x.bias)
            sum[i] = PHASE_(add_bias)(sum[i], &s->of_x, PHASE_FIRST + i, b->unit, n);
        if ((from & RECURRENT) && s->of_h.bias)
            sum[i] = PHASE_(add_bias)(sum[i], &s->of_h, CELL_(weight_of)[PHASE_FIRST + i], b->unit, n);
        if (((from & FROM_X) && s->of_x.at) || ((from & RECURRENT) && s->of_h.at))
            sum[i] = v_add(sum[i], PHASE_(made)(s, b, r, i));
    }
    PHASE_(finish)(s, row, b->unit, n, sum);
}

/* Finishes up to `rows` more rows of the previous block. */
CELL_CODE void PHASE_(end_rows)(struct fused_pass *p, size_t rows)
{
    const struct fused_step *s = p->step;
    const struct fused_block *b = &p->before;
    const size_t left = s->unit_end - b->unit;
    for (; rows > 0 && p->finished < b->rows; rows--, p->finished++)
        if (left >= CELL_TILE)
            PHASE_(end_row)(s, b, p->finished, CELL_TILE);
        else
            PHASE_(end_row)(s, b, p->finished, left);
}

/* Prefetches the initial sums of this block, which saved values later overwrite. The hardware prefetcher does not
 * predict distant rows. If weights are split meanwhile, also prefetches the destinations of states: a store that waits
 * for memory delays the stores of the splits. */
CELL_CODE void PHASE_(ask_row)(const struct fused_step *s, size_t row, size_t unit)
{
    const struct fused_tile none = {.k = 0};
#pragma GCC unroll 8
    for (size_t i = 0; i < PHASE_(count); i++)
        if (PHASE_(was)(s, &none, i))
            fused_ask_lines(&s->value.in, PHASE_FIRST + i, row, unit);
    if (s->of_h.cell != FUSED_WHOLE)
        return;
#pragma GCC unroll 8
    for (size_t i = 0; i < CELL_(states); i++) {
        const struct fields *kept = i ? &s->others : &s->output;
        fused_ask_lines(&s->value.next, i, row, unit);
        if (kept->at)
            fused_ask_lines(kept, i ? i - 1 : 0, row, unit);
    }
}

CELL_CODE void PHASE_(ask_rows)(struct fused_pass *p, size_t rows)
{
    const struct fused_step *s = p->step;
    for (; rows > 0 && p->asked < p->now.rows; rows--, p->asked++)
        PHASE_(ask_row)(s, fused_row(s, p->now.row + p->asked), p->now.unit);
}

static void PHASE_(interleaved)(struct fused_pass *p)
{
    PHASE_(end_rows)(p, 1);
    PHASE_(ask_rows)(p, 1);
}

CELL_CODE bool PHASE_(is_pair)(size_t i)
{
    return i + 1 < PHASE_(count) && CELL_(sources)[PHASE_FIRST + i] == CELL_(sources)[PHASE_FIRST + i + 1];
}

/* Returns the first input from i on that has recurrent weights. */
CELL_CODE size_t PHASE_(recurring)(size_t i)
{
    size_t first = PHASE_(count);
#pragma GCC unroll 8
    for (size_t j = PHASE_(count); j-- > 0;)
        if (j >= i && (CELL_(sources)[PHASE_FIRST + j] & RECURRENT))
            first = j;
    return first;
}

/* Returns the weights that are read after the inputs before i: of other inputs, or of the next tile of units. */
CELL_CODE struct fused_ahead PHASE_(ahead)(const struct fused_pass *p, size_t i)
{
    const struct fused_step *s = p->step;
    size_t unit = p->now.unit;
    i = PHASE_(recurring)(i);
    if (i == PHASE_(count)) {
        i = PHASE_(recurring)(0);
        unit = s->reverse ? unit - CELL_TILE : unit + CELL_TILE;
    }
    if (!p->is_far || i == PHASE_(count) || unit < s->unit || unit >= s->unit_end)
        return (struct fused_ahead){.times = 0};
    return fused_ahead(s, CELL_(weight_of)[PHASE_FIRST + i], CELL_(weight_of)[PHASE_FIRST + i + PHASE_(is_pair)(i)],
                       unit);
}

/* Computes the products of a block by pairs of inputs. */
CELL_CODE void PHASE_(bf16x3)(struct fused_pass *p)
{
    const struct fused_step *s = p->step;
    for (size_t i = 0; i < PHASE_(count); i += 1 + PHASE_(is_pair)(i)) {
        const size_t at = PHASE_FIRST + i, next = at + PHASE_(is_pair)(i);
        struct fused_pair pair = {.from = CELL_(sources)[at],
                                  .x = at,
                                  .x_1 = next,
                                  .h = CELL_(weight_of)[at],
                                  .h_1 = CELL_(weight_of)[next],
                                  .to = p->now.made + i * CELL_TILE,
                                  .to_row = PHASE_(count) * CELL_TILE};
        p->ahead = PHASE_(ahead)(p, next + 1 - PHASE_FIRST);
        if (fused_steps(s, pair.from) > 0)
            fused_multiply_pair[p->now.rows > BF16X3_ROWS][next > at](p, &pair);
    }
}

/* Returns how many inputs from i on have recurrent weights with the same sources; tiles compute them together. */
CELL_CODE size_t PHASE_(together)(size_t i)
{
    const unsigned from = CELL_(sources)[PHASE_FIRST + i] & RECURRENT;
    size_t n = from != 0;
    while (n > 0 && n < TILES_SUMS && i + n < PHASE_(count) &&
           (CELL_(sources)[PHASE_FIRST + i + n] & RECURRENT) == from)
        n++;
    return n;
}

CELL_CODE void PHASE_(bf16)(struct fused_pass *p)
{
#if TILE_PARTS == 3
    for (size_t i = 0, n; i < PHASE_(count); i += n ? n : 1) {
        n = PHASE_(together)(i);
        if (n > 0)
            fused_bf16_gates[n](p, CELL_(sources)[PHASE_FIRST + i], CELL_(weight_of)[PHASE_FIRST + i],
                                p->now.made + i * CELL_TILE, PHASE_(count) * CELL_TILE);
    }
#else
    (void)p;
#endif
}

/* Returns a lower bound of the calls of `fused_interleaved` in a block. */
CELL_CODE size_t PHASE_(looks)(const struct fused_pass *p)
{
    size_t looks = 0;
    for (size_t i = 0, n; i < PHASE_(count); i += n ? n : 1) {
        const size_t steps = fused_steps(p->step, CELL_(sources)[PHASE_FIRST + i]);
        n = p->is_bf16 ? PHASE_(together)(i) : 1 + (size_t)PHASE_(is_pair)(i);
        looks += p->is_bf16 ? steps : TILES_TIMES * steps;
    }
    return looks;
}

/* Computes the products of a block and, interleaved, finishes the previous block. */
static void PHASE_(block)(struct fused_pass *p)
{
    p->times = PHASE_(looks)(p);
    p->share = p->before.rows > p->now.rows ? p->before.rows : p->now.rows;
    p->finished = p->asked = p->due = 0;
    if (p->is_bf16)
        PHASE_(bf16)(p);
    else
        PHASE_(bf16x3)(p);
    PHASE_(end_rows)(p, LEFT_ROWS);
}

/* Processes all rows of a tile of units. */
static void PHASE_(tile)(struct fused_pass *p, size_t unit)
{
    const struct fused_step *s = p->step;
    const size_t max = p->is_bf16 ? BF16_ROWS : LEFT_ROWS;
    for (size_t row = 0; row < s->rows; row += max) {
        float *made = p->before.made;
        const size_t rows = s->rows - row < max ? s->rows - row : max;
        if (rows != p->now.rows)
            tiles_begin(p->is_bf16 ? 3 * rows : rows);
        p->before = p->now;
        p->now = (struct fused_block){row, rows, unit, made};
        PHASE_(block)(p);
    }
}

static void PHASE_(fused)(const struct fused_step *s)
{
    _Alignas(64) float made[2][LEFT_ROWS * PHASE_(count) * CELL_TILE];
    struct fused_pass pass = {.step = s,
                              .now.made = made[0],
                              .before.made = made[1],
                              .interleaved = PHASE_(interleaved),
                              .is_bf16 = s->of_h.cell == FUSED_BF16,
                              .is_far = fused_is_far(s)};
    const size_t tiles = (s->unit_end - s->unit + CELL_TILE - 1) / CELL_TILE;
    for (size_t i = 0; i < tiles; i++) PHASE_(tile)(&pass, s->unit + (s->reverse ? tiles - 1 - i : i) * CELL_TILE);
    tiles_end();
    pass.before = pass.now;
    pass.finished = 0;
    PHASE_(end_rows)(&pass, LEFT_ROWS);
    v_stream_end();
}
