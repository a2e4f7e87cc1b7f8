/* pack for copies of weights that are right factors (layout_is_right): this thread's tiles of columns. Included after
 * pack.h and product_tiles.h. */

/* Splits the rows of W into bf16 and packs them in tiles; threads divide the tiles. */
static void pack_bf16x3(const struct call *call, int me, int team, bool whole, struct work *work)
{
    const struct tensor *from = &call->view[PACK_FROM];
    const size_t units = from->count[from->rank - 2], width = tensor_width(from), in_gate = bf16x3_tiles(units);
    const size_t rows = tensor_rows(from), bytes = bf16x3_steps(width) * right_bytes(TILE_PARTS, whole);
    const struct range tile = my_share(rows / units * in_gate, me, team, 1);
    size_t done = 0;
    for (size_t t = tile.first; t < tile.end; t++) {
        const size_t unit = t % in_gate * BF16X3_COLUMNS;
        const size_t n = units - unit < BF16X3_COLUMNS ? units - unit : BF16X3_COLUMNS;
        right_of_rows((char *)call->view[PACK_TO].at + t * bytes, tensor_row(from, t / in_gate * units + unit), width,
                      n, width, whole);
        done += n;
    }
    count_slices(work, call, PACK_FROM, (struct range){0, done}, rows);
    count_slices(work, call, PACK_TO, (struct range){0, done}, rows);
}

static void pack_bf16x3_back(const struct call *call, int me, int team, bool whole, struct work *work)
{
    const struct tensor *from = &call->view[PACK_FROM];
    const size_t units = from->count[from->rank - 2], width = tensor_width(from), gates = tensor_rows(from) / units;
    const size_t gate_bytes = bf16x3_steps(units) * right_bytes(TILE_PARTS, whole);
    const struct range column = my_share(width, me, team, BF16X3_COLUMNS);
    for (size_t c = column.first; c < column.end; c += BF16X3_COLUMNS) {
        const size_t n = column.end - c < BF16X3_COLUMNS ? column.end - c : BF16X3_COLUMNS;
        for (size_t g = 0; g < gates; g++)
            right_of_columns((char *)call->view[PACK_TO].at + (c / BF16X3_COLUMNS * gates + g) * gate_bytes,
                             (const float *)tensor_row(from, g * units) + c, width, n, units, whole);
    }
    count_slices(work, call, PACK_FROM, column, width);
    count_slices(work, call, PACK_TO, column, width);
}

static unroll_status kernel_pack_with_bf16x3(const struct call *call, int me, int team, struct work *work)
{
    const enum layout layout = call->view[PACK_TO].layout;
    if (layout_is_right_back(layout))
        pack_bf16x3_back(call, me, team, layout_is_whole(layout), work);
    else if (layout_is_right(layout))
        pack_bf16x3(call, me, team, layout_is_whole(layout), work);
    else
        return cpu_avx512.kernel[OP_PACK](call, me, team, work);
    return UNROLL_OK;
}
