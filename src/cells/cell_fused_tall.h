/* Tall tiles of one phase of a fused step: twice as many rows as other tiles have, by two of the sums of each at a
 * time. A weight, which comes from the L2 cache or from farther away, is loaded once for twice as many numbers. Of
 * whole vectors of units with weights as floats, and rows at even distances: others have the tiles of
 * cell_fused_phase.h. */

enum {
    PHASE_(of_tile) = PHASE_(vectors) * PHASE_(count), /* sums of a row: [vector][input] */
    PHASE_(tall) = FUSED_ROWS > 1 && PHASE_(of_tile) > FUSED_PART &&PHASE_(of_tile) <= 2 * FUSED_PART
};

/* Has sum q of a row a product with one of these sources? */
CELL_CODE bool PHASE_(sees)(size_t q, const unsigned from)
{
    return CELL_(sources)[PHASE_FIRST + q % PHASE_(count)] & from;
}

/* Where the weights of a vector of units begin. */
CELL_CODE const v_element *PHASE_(tall_weights)(const struct fused_weights *w, const size_t gates, size_t unit,
                                                size_t k)
{
    return (const v_element *)w->at + (unit / CELL_TILE * w->k + k) * gates * CELL_TILE + unit % CELL_TILE;
}

/* The products of some k. Rows in fours: three pointers and two distances then reach all 12 without using up the
 * address registers. */
CELL_CODE void PHASE_(tall_multiply)(V sum[][FUSED_PART], const struct fused_tile *t, const struct fused_operand *a,
                                     const struct fused_weights *w, const size_t gates, size_t k, size_t k_end,
                                     const char *ahead, const bool asks, const unsigned from, const size_t rows,
                                     const size_t q, const size_t sums)
{
    enum { LINE = 64, FOURS = (FUSED_TALL + 3) / 4 };
    const size_t a_row = a->row;
    const v_element *operand[FOURS], *weight[FUSED_PART];
    V column[FUSED_PART];
    size_t apart[PHASE_(vectors)];
#pragma GCC unroll 4
    for (size_t j = 0; j < PHASE_(vectors); j++)
        apart[j] = (size_t)(PHASE_(tall_weights)(w, gates, t->unit + j * V_WIDTH, 0) -
                            PHASE_(tall_weights)(w, gates, t->unit, 0));
#pragma GCC unroll 2
    for (size_t i = 0; i < sums; i++) {
        const size_t input = PHASE_FIRST + (q + i) % PHASE_(count), j = (q + i) / PHASE_(count);
        const size_t gate = from & FROM_X ? input : CELL_(weight_of)[input];
        weight[i] = PHASE_(tall_weights)(w, gates, t->unit + j * V_WIDTH, k) + gate * CELL_TILE;
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < (rows + 3) / 4; i++) {
        operand[i] = (const v_element *)a->at + (t->row + 4 * i) * a_row + k;
        FUSED_HIDE(operand[i]);
    }
    for (; k < k_end; k++, ahead += t->ahead_step) {
        for (size_t i = 0; asks && i < t->ahead_step; i += LINE) {
#pragma GCC unroll 4
            for (size_t j = 0; j < PHASE_(vectors); j++)
                __builtin_prefetch((const v_element *)(ahead + i) + apart[j], 0, 2);
        }
#pragma GCC unroll 2
        for (size_t i = 0; i < sums; i++)
            if (PHASE_(sees)(q + i, from)) {
                column[i] = v_load(weight[i]);
                FUSED_LOAD_ONCE(column[i]);
                weight[i] += gates * CELL_TILE;
            }
#pragma GCC unroll 12
        for (size_t r = 0; r < rows; r++) {
            const V row = v_const(operand[r / 4][r % 4 * a_row]);
#pragma GCC unroll 2
            for (size_t i = 0; i < sums; i++)
                if (PHASE_(sees)(q + i, from))
                    sum[r][i] = v_fma(row, column[i], sum[r][i]);
        }
#pragma GCC unroll 4
        for (size_t i = 0; i < (rows + 3) / 4; i++) operand[i]++;
    }
}

CELL_CODE void PHASE_(tall_bias)(V sum[][FUSED_PART], const struct fused_tile *t, const struct fused_weights *w,
                                 const unsigned from, const size_t rows, const size_t q, const size_t sums)
{
#pragma GCC unroll 2
    for (size_t i = 0; i < sums; i++) {
        const size_t input = PHASE_FIRST + (q + i) % PHASE_(count), j = (q + i) / PHASE_(count);
        if (!PHASE_(sees)(q + i, from))
            continue;
        const size_t gate = from & FROM_X ? input : CELL_(weight_of)[input];
        const V bias = v_load((const v_element *)w->bias + gate * w->bias_gate + t->unit + j * V_WIDTH);
#pragma GCC unroll 12
        for (size_t r = 0; r < rows; r++) sum[r][i] = v_add(sum[r][i], bias);
    }
}

/* Sums q, q + 1, .. of a tile, each as the other tiles have it: to `made` [row][sum][V_WIDTH], or where sums wait. */
CELL_CODE void PHASE_(tall_part)(const struct fused_step *s, const struct fused_tile *t, v_element *made,
                                 const size_t rows, const size_t q, const size_t sums)
{
    V sum[FUSED_TALL][FUSED_PART];
    const char *ahead = t->ahead + (q ? (t->k_end - t->k) * t->ahead_step : 0);
#pragma GCC unroll 2
    for (size_t i = 0; i < sums; i++) {
        const size_t input = (q + i) % PHASE_(count), j = (q + i) / PHASE_(count);
        const v_element *in = cell_address(&s->value.in, PHASE_FIRST + input, t->row, t->unit + j * V_WIDTH);
        if (PHASE_(was)(s, t, input)) {
#pragma GCC unroll 12
            for (size_t r = 0; r < rows; r++, in += s->value.in.row) sum[r][i] = v_load(in);
        } else {
#pragma GCC unroll 12
            for (size_t r = 0; r < rows; r++) sum[r][i] = v_const(0);
        }
    }
    if (t->k == 0) {
        if (s->of_x.bias)
            PHASE_(tall_bias)(sum, t, &s->of_x, FROM_X, rows, q, sums);
        if (s->of_x.at)
            PHASE_(tall_multiply)(sum, t, &s->x, &s->of_x, CELL_(gates_x), 0, s->of_x.k, ahead, false, FROM_X, rows, q,
                                  sums);
        if (s->of_h.bias)
            PHASE_(tall_bias)(sum, t, &s->of_h, RECURRENT, rows, q, sums);
    }
    if (PHASE_(from) & FROM_H)
        PHASE_(tall_multiply)(sum, t, &s->h, &s->of_h, CELL_(gates_h), t->k, t->k_end, ahead, true, FROM_H, rows, q,
                              sums);
    if (PHASE_(from) & FROM_INTERMEDIATE)
        PHASE_(tall_multiply)(sum, t, &s->intermediate, &s->of_h, CELL_(gates_h), t->k, t->k_end, ahead,
                              !(PHASE_(from) & FROM_H), FROM_INTERMEDIATE, rows, q, sums);
#pragma GCC unroll 2
    for (size_t i = 0; i < sums; i++) {
        const size_t input = (q + i) % PHASE_(count), j = (q + i) / PHASE_(count);
        v_element *to = t->ends ? made + (q + i) * V_WIDTH
                                : cell_address(&s->value.in, PHASE_FIRST + input, t->row, t->unit + j * V_WIDTH);
        const size_t row = t->ends ? PHASE_(of_tile) * V_WIDTH : s->value.in.row;
#pragma GCC unroll 12
        for (size_t r = 0; r < rows; r++, to += row) v_store(to, sum[r][i]);
    }
}

CELL_CODE void PHASE_(tall_tile)(const struct fused_step *s, const struct fused_tile *t, const size_t rows)
{
    enum { REST = PHASE_(of_tile) - FUSED_PART };
    v_element made[FUSED_TALL * PHASE_(of_tile) * V_WIDTH];
    PHASE_(tall_part)(s, t, made, rows, 0, FUSED_PART);
    PHASE_(tall_part)(s, t, made, rows, FUSED_PART, REST);
    if (t->ends)
        t->finish(s, t, made, rows, PHASE_(vectors));
}

#define PHASE_TALL(rows)                                                                                \
    static void PHASE_(tall_##rows)(const struct fused_step *s, const struct fused_tile *t)             \
    {                                                                                                   \
        if (PHASE_(tall))                                                                               \
            PHASE_(tall_tile)(s, t, rows);                                                              \
    }
FUSED_TALL_HEIGHTS(PHASE_TALL)
#undef PHASE_TALL

/* Has a strip of units one tall tile? Of more rows weights are read from near more than once: there shorter tiles are
 * as fast, and of cells with few inputs faster. */
static bool PHASE_(strip_is_tall)(const struct fused_step *s, const struct fused_tile *t, size_t vectors)
{
    return PHASE_(tall) && s->rows > FUSED_ROWS && s->rows <= FUSED_TALL && !s->row && vectors == PHASE_(vectors) &&
           t->last == V_WIDTH && s->of_h.at && s->of_h.cell == FUSED_REAL &&
           (!s->of_x.at || s->of_x.cell == FUSED_REAL);
}
