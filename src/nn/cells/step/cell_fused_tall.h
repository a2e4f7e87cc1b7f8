/* Tall tiles of one phase of a fused step: twice the rows of other tiles, two sums per row at a time. A weight from L2
 * or farther is loaded once for twice the rows. Requires whole vectors of units, float weights and evenly spaced rows;
 * other steps use the tiles of cell_fused_phase.h. */

enum {
    PHASE_(of_tile) = PHASE_(vectors) * PHASE_(count), /* sums of a row: [vector][input] */
    PHASE_(tall) =
        FUSED_ROWS > 1 && !FUSED_INT8_ALONE && PHASE_(of_tile) > FUSED_PART &&PHASE_(of_tile) <= 2 * FUSED_PART
};

/* Returns whether sum q of a row has a product with one of these sources. */
CELL_CODE bool PHASE_(sees)(size_t q, const unsigned from)
{
    return CELL_(sources)[PHASE_FIRST + q % PHASE_(count)] & from;
}

/* Returns the first weight of a vector of units. */
CELL_CODE const v_element *PHASE_(tall_weights)(const struct fused_weights *w, const size_t gates, size_t unit,
                                                size_t k)
{
    return (const v_element *)w->at + (unit / CELL_TILE * w->k + k) * gates * CELL_TILE + unit % CELL_TILE;
}

/* Adds the products of k .. k_end. Rows are grouped in fours: three pointers and two strides address all 12 without
 * exhausting the address registers. */
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

/* Computes sums q, q + 1, .. of a tile, in the same order as other tiles, to `made` [row][sum][V_WIDTH], or to `in` if
 * unfinished. */
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

/* Returns whether a strip of units is one tall tile. With more rows, weights are in a near cache after the first tile:
 * shorter tiles are then as fast, and for cells with few inputs faster. */
static bool PHASE_(strip_is_tall)(const struct fused_step *s, const struct fused_tile *t, size_t vectors)
{
    return PHASE_(tall) && s->rows > FUSED_ROWS && s->rows <= FUSED_TALL && !s->row && vectors == PHASE_(vectors) &&
           t->last == V_WIDTH && s->of_h.at && s->of_h.cell == FUSED_REAL &&
           (!s->of_x.at || s->of_x.cell == FUSED_REAL);
}
