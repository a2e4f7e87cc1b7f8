/* Compares every cell's kernels on every instruction set of this machine with the scalar ones, for widths with and
 * without a tail and for all layouts. All arrays have the same bits, nothing is written outside the units, nothing is
 * read past the end of an array. Prints a hash of all scalar results, so that machines can be compared. */
/* test: kinds=plain,long-memory; with=cells/toys_* */
#include "isa.h"
#include "worst.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROWS = 2, WIDEST = 70, FIELDS = 12, PER_ARRAY = ROWS * WIDEST * FIELDS };
enum layout { PLANES, SIDE_BY_SIDE, IN_PLACE, LAYOUTS };

/* The arrays of one step: values, then gradients, in the order of struct cell_arrays. */
struct numbers {
    float array[12][PER_ARRAY];
};

static struct fields fields_of(float *array, enum layout layout, size_t width)
{
    return layout == PLANES ? (struct fields){array, ROWS * width, width}
                            : (struct fields){array, width, FIELDS * width};
}

static struct cell_arrays arrays_of(float array[6][PER_ARRAY], enum layout layout, size_t width)
{
    struct cell_arrays a = {0};
    struct fields *view[6] = {&a.in, &a.state, &a.next, &a.saved, &a.intermediate, &a.vector};
    for (int i = 0; i < 6; i++) *view[i] = fields_of(array[i], layout, width);
    a.vector.row = 0;
    return a;
}

/* Runs a kernel on the same random numbers in each call; `n` receives the results. */
static void run(cell_kernel *kernel, struct numbers *n, enum layout layout, size_t width, struct fields copy)
{
    static struct numbers random_numbers;
    static bool is_filled;
    uint64_t seed = 7;
    for (int i = 0; !is_filled && i < 12 * PER_ARRAY; i++)
        random_numbers.array[i / PER_ARRAY][i % PER_ARRAY] = (float)(4 * random_number(&seed));
    is_filled = true;
    *n = random_numbers;

    struct cell_step step = {.rows = ROWS,
                             .width = width,
                             .value = arrays_of(n->array, layout, width),
                             .gradient = arrays_of(n->array + 6, layout, width),
                             .options = SOME_OPTIONS,
                             .copy = copy};
    step.gradient.vector.row = step.gradient.in.row;
    if (layout == IN_PLACE)
        step.value.saved = step.gradient.in = step.value.in;
    kernel(&step);
}

/* FNV-1a over everything that scalar kernels have written. */
static uint64_t hash = 0xcbf29ce484222325u;

static void add_to_hash(const struct numbers *n)
{
    uint32_t bits[12 * PER_ARRAY];
    memcpy(bits, n, sizeof bits);
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) hash = (hash ^ bits[i]) * 0x100000001b3u;
}

/* Counts the results of instruction sets that differ from the scalar ones, over widths and layouts. */
static void check_kernel(cell_kernel *scalar, cell_kernel *const *other, int others, int *differ)
{
    static struct numbers expected, got;
    const struct fields none = {0};
    for (size_t width = 1; width <= WIDEST; width++)
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            run(scalar, &expected, layout, width, none);
            if (width == 37)
                add_to_hash(&expected);
            for (int i = 0; i < others; i++) {
                run(other[i], &got, layout, width, none);
                differ[i] += memcmp(&got, &expected, sizeof got) != 0;
            }
        }
}

static void check_cell(const struct cell_kernels *scalar, const struct isa_table *isa, bool is_toy, int place)
{
    int differ[4] = {0}, others = 0;
    for (int phase = 0; phase < scalar->declaration->phases; phase++) {
        cell_kernel *forward[4], *backward[4];
        for (others = 0; isa[others].name && !isa[others].int8_alone; others++) {
            const struct cell_kernels *const *table = is_toy ? isa[others].toys : isa[others].cells;
            forward[others] = table[place]->forward[phase];
            backward[others] = table[place]->backward[phase];
        }
        check_kernel(scalar->forward[phase], forward, others, differ);
        check_kernel(scalar->backward[phase], backward, others, differ);
    }
    for (int i = 0; i < others; i++) check_worst(isa[i].name, scalar->declaration->name, differ[i], 0);
}

/* ---- copies of the gradients -------------------------------------------------------------- */

enum { APART = WIDEST + 3, UNTOUCHED = 12345 }; /* the copy's fields have gaps between them */

/* Counts values of the copy that are not the phase's gradients, or were changed outside of them. */
static int differing_copies(const struct cell_declaration *c, int phase, const struct fields *in, const float *copy,
                            size_t width)
{
    int differ = 0;
    for (size_t row = 0; row < ROWS; row++)
        for (int i = 0; i < FIELDS; i++)
            for (size_t unit = 0; unit < APART; unit++) {
                bool written = i < c->inputs && c->input[i].phase == phase && unit < width;
                const float untouched = UNTOUCHED;
                const float *from = (const float *)in->at + (size_t)i * in->field + row * in->row + unit;
                differ += memcmp(copy + (row * FIELDS + (size_t)i) * APART + unit, written ? from : &untouched,
                                 sizeof *copy) != 0;
            }
    return differ;
}

/* With a copy, all other results are the same, and the copy has the gradients of the sums in its own layout. */
static void check_copies(const struct cell_kernels *const *table, const char *name)
{
    static struct numbers expected, got;
    for (; *table; table++)
        for (int phase = 0; phase < (*table)->declaration->phases; phase++) {
            cell_kernel *backward = (*table)->backward[phase];
            int copy_differs = 0, differ = 0;
            for (size_t width = 1; width <= WIDEST; width++)
                for (enum layout layout = 0; layout < LAYOUTS; layout++) {
                    float copy[ROWS * FIELDS * APART];
                    for (size_t i = 0; i < sizeof copy / sizeof *copy; i++) copy[i] = UNTOUCHED;
                    run(backward, &expected, layout, width, (struct fields){0});
                    run(backward, &got, layout, width, (struct fields){copy, APART, FIELDS * APART});
                    copy_differs += memcmp(&got, &expected, sizeof got) != 0;
                    const struct fields in = fields_of(got.array[layout == IN_PLACE ? 0 : 6], layout, width);
                    differ += differing_copies((*table)->declaration, phase, &in, copy, width);
                }
            CHECK(copy_differs == 0 && differ == 0,
                  "%s %s, phase %d: %d steps differ with a copy, %d numbers of the copy", name,
                  (*table)->declaration->name, phase, copy_differs, differ);
        }
}

/* ---- the ends of arrays ------------------------------------------------------------------ */

/* Returns the end of a readable page that is followed by an unreadable one. */
static char *last_readable(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0)
        return NULL;
    return pages + page;
}

/* All arrays end at the end of memory: a kernel that reads or writes beyond is killed. */
static void run_at_the_end(const struct cell_kernels *cell, char *const end[12], size_t width)
{
    const struct cell_declaration *c = cell->declaration;
    const int fields[6] = {c->inputs, c->states, c->states, c->saved, c->intermediates, c->vectors};
    struct cell_step step = {.rows = 1, .width = width, .options = SOME_OPTIONS};
    for (int half = 0; half < 2; half++) {
        struct cell_arrays *a = half ? &step.gradient : &step.value;
        struct fields *view[6] = {&a->in, &a->state, &a->next, &a->saved, &a->intermediate, &a->vector};
        for (int i = 0; i < 6; i++)
            *view[i] = (struct fields){.at = end[6 * half + i] - fields[i] * width * sizeof(float), .field = width};
    }
    for (int phase = 0; phase < c->phases; phase++) {
        cell->forward[phase](&step);
        cell->backward[phase](&step);
    }
}

static void check_ends(const struct isa_table *isa)
{
    char *end[12];
    for (int i = 0; i < 12; i++)
        if (!CHECK((end[i] = last_readable()) != NULL, "no memory"))
            return;
    for (; isa->name && !isa->int8_alone; isa++)
        for (int i = 0; isa->cells[i]; i++)
            for (size_t width = 1; width <= WIDEST; width++) run_at_the_end(isa->cells[i], end, width);
    CHECK(true, "reached");
}

int main(void)
{
    struct isa_table isa[MOST_ISAS];
    find_isas(isa);
    if (!isa[0].name)
        check_skip("this processor has no instruction set that the cells have kernels for");
    for (int i = 0; cells_scalar[i]; i++) check_cell(cells_scalar[i], isa, false, i);
    for (int i = 0; toys_scalar[i]; i++) check_cell(toys_scalar[i], isa, true, i);
    check_copies(cells_scalar, "scalar");
    for (int i = 0; isa[i].name && !isa[i].int8_alone; i++) check_copies(isa[i].cells, isa[i].name);
    check_ends(isa);
    printf("bits of the scalar cells: %016llx\n", (unsigned long long)hash);
    return check_finish("check_simd");
}
