/* The product with bf16 weights on tiles (nn/vector/v_tiles.h). The weights are stored in the layout of products
 * without tiles (product_low_precision.h). A sum is the same in every block. Included after product_tiles.h and
 * product_low_precision.h. */

/* Computes c for one block of rows, given its left factor, and a panel of columns. */
static void bf16_block(const struct lowp_tile *t, const char *left, size_t rows, size_t columns)
{
    enum { TILES = PANEL / BF16X3_COLUMNS };
    _Alignas(64) float sum[BF16X3_ROWS * PANEL];
    const struct tiles_bf16 right = {t->b, words_of(DTYPE_BF16, t->k), PANEL * 4};
    tiles_clear(false, true);
    tiles_add_bf16(left, 3 * rows, &right, tiles_idle, NULL, TILES);
    tiles_store_bf16(sum, PANEL, TILES);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j * V_WIDTH < columns; j++) {
            const size_t last = columns - j * V_WIDTH < V_WIDTH ? columns - j * V_WIDTH : V_WIDTH;
            const V dot = tiles_sum_bf16(sum + r * PANEL + j * V_WIDTH, rows * PANEL);
            tile_store(t->c + r * t->c_row + j * V_WIDTH, v_add(lowp_start(t, r, j, last), dot), last);
        }
}

/* Multiplies all columns by rows [m, end) of p, in blocks of one height, whose left factors start at `left`. Processes
 * panel by panel, so that one stays in cache while all rows are processed. */
static void bf16_of_height(const struct product *p, const char *left, size_t m, size_t end, size_t height)
{
    const size_t bytes = bf16x3_steps(p->k) * LEFT_ROW;
    tiles_begin(3 * height);
    for (size_t n = 0; n < p->n && m < end; n += PANEL, comm_poll())
        for (size_t row = m; row < end; row += height) {
            const struct lowp_tile t = lowp_tile_at(p, row, n);
            bf16_block(&t, left + (row - m) * bytes, height, p->n - n < PANEL ? p->n - n : PANEL);
        }
    tiles_end();
}

/* Multiplies by tiles if k is large enough, in blocks of rows whose left operand fits the scratch. */
static void product_bf16_of_tiles(const struct product *p)
{
    if (!bf16_by_tiles(p->k)) {
        product_bf16_avx512(p);
        return;
    }
    char *left = PRODUCT_KEEPS(struct split_scratch)->at;
    const size_t steps = bf16x3_steps(p->k), room = SPLIT_SCRATCH / (steps * LEFT_ROW);
    const size_t max = room < BF16_ROWS ? room : room / BF16_ROWS * BF16_ROWS;
    for (size_t m = 0, rows; m < p->m; m += rows) {
        rows = p->m - m < max ? p->m - m : max;
        const size_t whole = rows / BF16_ROWS * BF16_ROWS;
        left_rows(&(struct left_rows){.to = left,
                                      .of_bf16 = true,
                                      .steps = steps,
                                      .at = (const float *)p->a + m * p->a_row,
                                      .row = p->a_row,
                                      .rows = rows,
                                      .k = p->k});
        if (whole > 0)
            bf16_of_height(p, left, m, m + whole, BF16_ROWS);
        if (whole < rows)
            bf16_of_height(p, left + whole * steps * LEFT_ROW, m + whole, m + rows, rows - whole);
    }
}
