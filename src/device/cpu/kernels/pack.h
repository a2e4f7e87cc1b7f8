/* Kernels that pack dense weights in the orders that products read (layouts.h): panels of units, tiles of all gates,
 * panels of columns. Compiled for each V. Factors of bf16x3 splits are in pack_tiles.h. */

#if V_WIDTH > 1
typedef int32_t lane_numbers __attribute__((vector_size(V_WIDTH * sizeof(int32_t))));

/* Returns, in each lane, element place[lane] of the concatenation of a and b. */
CELL_CODE V shuffle(V a, V b, lane_numbers place)
{
#ifdef __clang__ /* __builtin_shuffle of clang accepts only constants */
    V mixed;
#pragma GCC unroll 16
    for (int l = 0; l < V_WIDTH; l++) mixed[l] = place[l] < V_WIDTH ? a[place[l]] : b[place[l] - V_WIDTH];
    return mixed;
#else
    return __builtin_shuffle(a, b, place);
#endif
}

/* Transposes rows to columns: swaps halves of rows, then quarters, .. */
CELL_CODE void transpose(V row[V_WIDTH])
{
#pragma GCC unroll 4
    for (int distance = V_WIDTH / 2; distance > 0; distance /= 2) {
        lane_numbers low, high;
#pragma GCC unroll 16
        for (int l = 0; l < V_WIDTH; l++) {
            low[l] = l & distance ? V_WIDTH + l - distance : l;
            high[l] = l & distance ? V_WIDTH + l : l + distance;
        }
#pragma GCC unroll 16
        for (int i = 0; i < V_WIDTH; i++)
            if (!(i & distance)) {
                const V a = row[i], b = row[i + distance];
                row[i] = shuffle(a, b, low);
                row[i + distance] = shuffle(a, b, high);
            }
    }
}
#else
CELL_CODE void transpose(V row[V_WIDTH]) { (void)row; }
#endif

/* Packs elements of V_WIDTH units from k on in squares. Returns the end of the last whole square. */
static size_t pack_squares(real *to, size_t distance, const real *const from[V_WIDTH], size_t k, size_t end)
{
    for (; k + V_WIDTH <= end; k += V_WIDTH) {
        V row[V_WIDTH];
#pragma GCC unroll 16
        for (size_t l = 0; l < V_WIDTH; l++) row[l] = v_load(from[l] + k);
        transpose(row);
#pragma GCC unroll 16
        for (size_t l = 0; l < V_WIDTH; l++) v_store(to + (k + l) * distance, row[l]);
    }
    return k;
}

/* Packs words of PACKED units, adjacent for each k, with stride `distance`. from NULL: an absent unit. Processes blocks
 * of k that stay in cache while their lines fill. */
enum { PACKED = 16, PACKED_BLOCK = 64 };
_Static_assert(PANEL % PACKED == 0 && CELL_TILE % PACKED == 0, "units are packed PACKED at a time");
_Static_assert(PACKED % V_WIDTH == 0, "PACKED is a multiple of the vector width");

static void pack_numbers(real *to, size_t distance, const real *const from[PACKED], size_t width)
{
    for (size_t k = 0, end; k < width; k = end) {
        end = width - k < PACKED_BLOCK ? width : k + PACKED_BLOCK;
        for (size_t u = 0; u < PACKED; u += V_WIDTH) {
            bool all = true;
            for (size_t l = 0; l < V_WIDTH; l++) all &= from[u + l] != NULL;
            const size_t rest = all ? pack_squares(to + u, distance, from + u, k, end) : k;
            for (size_t l = u; l < u + V_WIDTH; l++)
                for (size_t i = rest; i < end; i++) to[i * distance + l] = from[l] ? from[l][i] : 0;
        }
    }
}

/* Packs words of PACKED units of any type; from NULL: an absent unit. */
static void pack_units(const struct call *call, enum dtype dtype, char *to, size_t distance,
                       const void *const from[PACKED], size_t width)
{
    const size_t bytes = word_bytes(dtype);
    if (dtype != DTYPE_BF16 && dtype != DTYPE_I8) {
        pack_numbers((real *)(void *)to, distance, (const real *const *)from, width);
        return;
    }
    for (size_t u = 0; u < PACKED; u++, to += bytes)
        if (from[u])
            call->isa->pack_lowp(dtype, to, distance, from[u], width);
        else
            for (size_t i = 0; i < words_of(dtype, width); i++) memset(to + i * distance * bytes, 0, bytes);
}

/* Packs dense [(G), U, K] to panels of units (plan.h). */
static void pack_panels(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *from = &call->view[PACK_FROM];
    const size_t units = from->count[from->rank - 2], width = tensor_width(from), in_gate = panels(units);
    const size_t rows = tensor_rows(from), all = rows / units * in_gate;
    const enum dtype dtype = call->view[PACK_TO].dtype;
    const struct range panel = my_share(all, me, team, 1);
    const void *row[PANEL];
    size_t done = 0;
    for (size_t p = panel.first; p < panel.end; p++) {
        size_t gate = p / in_gate, unit = p % in_gate * PANEL;
        size_t n = units - unit < PANEL ? units - unit : PANEL;
        char *to = (char *)call->view[PACK_TO].at + p * panel_bytes(dtype, width);
        for (size_t u = 0; u < PANEL; u++) row[u] = u < n ? tensor_row(from, gate * units + unit + u) : NULL;
        for (size_t u = 0; u < PANEL; u += PACKED)
            pack_units(call, dtype, to + u * word_bytes(dtype), PANEL, row + u, width);
        done += n;
    }
    count_slices(work, call, PACK_FROM, (struct range){0, done}, rows);
    count_slices(work, call, PACK_TO, (struct range){0, done}, rows);
}

/* Does the same to panels of columns. */
static void pack_columns(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *from = &call->view[PACK_FROM];
    const size_t rows = tensor_rows(from), width = tensor_width(from);
    const struct range column = my_share(width, me, team, PANEL);
    real *to = (real *)call->view[PACK_TO].at + column.first * rows;
    for (size_t k = column.first; k < column.end; k += PANEL) {
        size_t n = column.end - k < PANEL ? column.end - k : PANEL;
        for (size_t row = 0; row < rows; row++, to += PANEL) {
            copy_numbers(to, (const real *)tensor_row(from, row) + k, n);
            memset(to + n, 0, (PANEL - n) * sizeof *to);
        }
    }
    count_slices(work, call, PACK_FROM, column, width);
    count_slices(work, call, PACK_TO, column, width);
}

/* Does the same to tiles of units of all gates. */
static void pack_gates(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *from = &call->view[PACK_FROM];
    const size_t gates = from->count[0], units = from->count[1], width = from->count[2], lanes = gates * CELL_TILE;
    const enum dtype dtype = call->view[PACK_TO].dtype;
    const size_t bytes = words_of(dtype, width) * lanes * word_bytes(dtype);
    const struct range tile = my_share((units + CELL_TILE - 1) / CELL_TILE, me, team, 1);
    const void *row[PACKED];
    for (size_t n = tile.first; n < tile.end; n++) {
        char *to = (char *)call->view[PACK_TO].at + n * bytes;
        for (size_t lane = 0; lane < lanes; lane += PACKED, to += PACKED * word_bytes(dtype)) {
            const size_t gate = lane / CELL_TILE, unit = n * CELL_TILE + lane % CELL_TILE;
            for (size_t u = 0; u < PACKED; u++)
                row[u] = unit + u < units ? tensor_row(from, gate * units + unit + u) : NULL;
            pack_units(call, dtype, to, lanes, row, width);
        }
    }
    size_t end = tile.end * CELL_TILE < units ? tile.end * CELL_TILE : units;
    struct range taken = {tile.first * CELL_TILE < end ? tile.first * CELL_TILE : end, end};
    count_slices(work, call, PACK_FROM, taken, units);
    count_slices(work, call, PACK_TO, taken, units);
}

static __attribute__((unused)) unroll_status kernel_pack(const struct call *call, int me, int team, struct work *work)
{
    if (call->view[PACK_TO].layout == LAYOUT_COLUMNS)
        pack_columns(call, me, team, work);
    else if (call->view[PACK_TO].layout == LAYOUT_GATES)
        pack_gates(call, me, team, work);
    else
        pack_panels(call, me, team, work);
    return UNROLL_OK;
}
