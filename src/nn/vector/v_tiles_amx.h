/* AMX tiles: registers of 16 rows of 64 bytes; two by two of them hold a block's sums. bf16 weights need only three
 * products (the end of this file). A part of v_tiles.h, which documents the factors and sums. */
#ifndef __AMX_BF16__
#error "v_tiles_amx.h needs -mamx-tile -mamx-bf16 -mavx512bf16"
#endif

/* The registers of a block: sums of two tiles of rows by two of columns, the left factors, the right ones. Macros,
 * because the intrinsics need literal digits. */
#define SUM_00  0
#define SUM_01  1
#define SUM_10  2
#define SUM_11  3
#define LEFT_0  4
#define LEFT_1  5
#define RIGHT_0 6
#define RIGHT_1 7

/* The compiler does not track which memory tiles are loaded from and stored to. */
#define TILES_FENCE()       __asm__ volatile("" ::: "memory")
#define TILES_READ(pointer) __asm__ volatile("" :: "r"(pointer) : "memory")

/* Returns the rows of the first tile of a block of `rows` <= LEFT_ROWS; few rows have no second tile. */
CELL_CODE size_t tiles_first_rows(size_t rows) { return rows <= BF16X3_ROWS ? rows : (rows + 1) / 2; }

/* Configures the tiles for blocks of `rows` rows; the time of products is proportional to them. Clears all tiles. */
CELL_CODE void tiles_begin(size_t rows)
{
    struct {
        uint8_t palette, start, unused[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    const size_t first = tiles_first_rows(rows), second = rows > first ? rows - first : first;
    for (int i = 0; i < 8; i++) {
        bool is_second = i == SUM_10 || i == SUM_11 || i == LEFT_1;
        config.bytes[i] = 64;
        config.rows[i] = (uint8_t)(i >= RIGHT_0 ? BF16X3_K / 2 : is_second ? second : first);
    }
    TILES_READ(&config);
    _tile_loadconfig(&config);
}

CELL_CODE void tiles_end(void) { _tile_release(); }

/* Both products of a right factor in sequence: loading another one takes longer than multiplying few rows. */
#define TILES_MULTIPLY_(second, wide)                                           \
    do {                                                                        \
        _tile_dpbf16ps(SUM_00, LEFT_0, RIGHT_0);                                \
        if (second)                                                             \
            _tile_dpbf16ps(SUM_10, LEFT_1, RIGHT_0);                            \
        if (second && (wide))                                                   \
            _tile_dpbf16ps(SUM_11, LEFT_1, RIGHT_1);                            \
        if (wide)                                                               \
            _tile_dpbf16ps(SUM_01, LEFT_0, RIGHT_1);                            \
    } while (0)
#define TILES_LEFT_(part, second)                                               \
    do {                                                                        \
        _tile_loadd(LEFT_0, left + (part) * plane, LEFT_PART);                  \
        if (second)                                                             \
            _tile_loadd(LEFT_1, left + (part) * plane + after, LEFT_PART);      \
    } while (0)
#define TILES_RIGHT_(part, wide)                                                \
    do {                                                                        \
        _tile_loadd(RIGHT_0, right + RIGHT_AT(part), BF16X3_COLUMNS * 4);  \
        if (wide)                                                               \
            _tile_loadd(RIGHT_1, right_1 + RIGHT_AT(part), BF16X3_COLUMNS * 4);    \
    } while (0)

/* On an Intel Xeon (model 167), after a thousand cycles without a tile store, the next one waits as long again, a third
 * of the time of 256 k. A store every TILES_OPEN steps of k avoids the wait and costs nothing. */
enum { TILES_OPEN = 4 };

CELL_CODE void tiles_keep_open(size_t step)
{
    if (step % TILES_OPEN)
        return;
    _Alignas(64) char nowhere[BF16X3_ROWS * LEFT_PART];
    _tile_stored(LEFT_0, nowhere, LEFT_PART);
}

/* Adds `steps` of k to the sums of a block of rows: `second` adds a second tile of rows, `wide` a second tile of
 * columns. Both are constants in each call, like `meanwhile`. Small products first. */
CELL_CODE void tiles_add(const char *left, size_t rows, const char *right, const char *right_1, size_t steps,
                         tiles_meanwhile *meanwhile, void *of, const bool second, const bool wide)
{
    const size_t plane = rows * LEFT_PART, after = tiles_first_rows(rows) * LEFT_PART;
    TILES_FENCE();
    for (; steps > 0; steps--, left += rows * LEFT_ROW, right += RIGHT_BYTES, right_1 += RIGHT_BYTES) {
        TILES_LEFT_(0, second);
#if TILE_PARTS == 1
        TILES_RIGHT_(0, wide);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 0);
#else
        TILES_RIGHT_(2, wide);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 0);
        TILES_RIGHT_(1, wide);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 1);
        TILES_LEFT_(1, second);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 2);
        TILES_RIGHT_(0, wide);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 3);
        TILES_LEFT_(2, second);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 4);
        TILES_LEFT_(0, second);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 5);
#endif
        tiles_keep_open(steps);
    }
}

CELL_CODE void tiles_clear(const bool second, const bool wide)
{
    _tile_zero(SUM_00);
    if (wide)
        _tile_zero(SUM_01);
    if (second)
        _tile_zero(SUM_10);
    if (second && wide)
        _tile_zero(SUM_11);
}

/* Stores the sums of a block of rows to c[row * c_row + column], the second tile of columns to c_1; all columns of a
 * tile. */
CELL_CODE void tiles_store(float *c, float *c_1, size_t c_row, size_t rows, const bool second, const bool wide)
{
    const size_t bytes = c_row * sizeof *c, after = tiles_first_rows(rows) * c_row;
    _tile_stored(SUM_00, c, bytes);
    if (wide)
        _tile_stored(SUM_01, c_1, bytes);
    if (second)
        _tile_stored(SUM_10, c + after, bytes);
    if (second && wide)
        _tile_stored(SUM_11, c_1 + after, bytes);
    TILES_FENCE();
}

/* Loads the sums from there. */
CELL_CODE void tiles_load(const float *c, const float *c_1, size_t c_row, size_t rows, const bool second,
                          const bool wide)
{
    const size_t bytes = c_row * sizeof *c, after = tiles_first_rows(rows) * c_row;
    TILES_FENCE();
    _tile_loadd(SUM_00, c, bytes);
    if (wide)
        _tile_loadd(SUM_01, c_1, bytes);
    if (second)
        _tile_loadd(SUM_10, c + after, bytes);
    if (second && wide)
        _tile_loadd(SUM_11, c_1 + after, bytes);
}

#if TILE_PARTS == 3
/* ---- bf16 weights ---------------------------------------------------------------------- */

/* bf16 weights need no splitting: the three parts of up to BF16_ROWS rows are the rows of one tile, each with its own
 * sum. They are multiplied by `count` tiles of columns (a constant in each call, at most TILES_SUMS) side by side:
 * lines of pairs, `line` bytes apart. */
struct tiles_bf16 {
    const char *at;
    size_t lines, line;
};

enum { TILES_LINE = 4 * BF16X3_COLUMNS };

#define TILES_ADD_BF16_(sum, right, j)                                          \
    do {                                                                        \
        if (count > (j)) {                                                      \
            _tile_loadd(right, at + (j) * TILES_LINE, w->line);                 \
            _tile_dpbf16ps(sum, LEFT_0, right);                                 \
        }                                                                       \
    } while (0)

/* Left factor: [steps][rows][BF16X3_K]. If the lines end within a step, that step reads the last LINES lines, and the
 * left factor has zeros for those already used. */
CELL_CODE void tiles_add_bf16(const char *left, size_t rows, const struct tiles_bf16 *w, tiles_meanwhile *meanwhile,
                              void *of, const size_t count)
{
    enum { LINES = BF16X3_K / 2 };
    TILES_FENCE();
    for (size_t line = 0; line < w->lines; line += LINES, left += rows * LEFT_PART) {
        const char *at = w->at + (line + LINES <= w->lines ? line : w->lines - LINES) * w->line;
        _tile_loadd(LEFT_0, left, LEFT_PART);
        TILES_ADD_BF16_(SUM_00, RIGHT_0, 0);
        TILES_ADD_BF16_(SUM_01, RIGHT_1, 1);
        meanwhile(of, 0);
        TILES_ADD_BF16_(SUM_10, RIGHT_0, 2);
        TILES_ADD_BF16_(SUM_11, RIGHT_1, 3);
        tiles_keep_open(line / LINES + 1);
    }
}

/* Stores the sums side by side, [rows] of each part. */
CELL_CODE void tiles_store_bf16(float *c, size_t c_row, const size_t count)
{
    const size_t bytes = c_row * sizeof *c;
    _tile_stored(SUM_00, c, bytes);
    if (count > 1)
        _tile_stored(SUM_01, c + BF16X3_COLUMNS, bytes);
    if (count > 2)
        _tile_stored(SUM_10, c + 2 * BF16X3_COLUMNS, bytes);
    if (count > 3)
        _tile_stored(SUM_11, c + 3 * BF16X3_COLUMNS, bytes);
    TILES_FENCE();
}

/* Adds the sums of the three parts, which are `apart` floats apart. */
CELL_CODE V tiles_sum_bf16(const float *third, size_t apart)
{
    return v_add(v_load(third), v_add(v_load(third + apart), v_load(third + 2 * apart)));
}
#endif

/* Measures the peak like peak.h, for products of floats as sums of their parts: the minimum time of their
 * multiplications. */
__attribute__((unused)) /* in files of cells */
static uint64_t
peak_of_tiles(uint64_t rounds, void *sink)
{
    enum { TILES = 4 };
    float c[BF16X3_ROWS * BF16X3_COLUMNS] = {0};
    tiles_begin(LEFT_ROWS);
    for (uint64_t round = 0; round < rounds; round++)
#pragma GCC unroll 6
        for (int i = 0; i < TILES_TIMES; i++) TILES_MULTIPLY_(true, true);
    _tile_stored(SUM_00, c, LEFT_PART);
    tiles_end();
    TILES_FENCE();
    *(float *)sink = c[0];
    return rounds * TILES * BF16X3_ROWS * BF16X3_COLUMNS * BF16X3_K * 2;
}
