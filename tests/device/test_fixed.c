/* test: args=quick; seconds=10 */
/* test: kinds=long-plain; seconds=200 */
/* Kernels compiled for one launch: NVRTC compiles the text of every cell, operand and pass. Skipped without NVRTC;
 * needs no GPU. "quick" compiles one of each pass. */
#include "extensions/cuda/nvrtc.h"
#include "extensions/cuda/persistent.h"
#include "extensions/cuda/persistent_fixed.h"
#include "nn/cells/cell.h"
#include "base/memory.h"
#include "check.h"
#include <stdlib.h>

/* Returns the arguments of a training on an H100; the addresses are never used. */
static struct persistent_args args_of(const struct cell_declaration *cell, enum gpu_operand operand, bool backward,
                                      uint32_t units)
{
    const struct tiling_device device = {.multiprocessors = 132,
                                         .shared_bytes = 227 << 10,
                                         .registers = 65536,
                                         .clusters = {132, 66, 32, 16, 7},
                                         .cooperative = 1};
    struct tiling_problem problem = {
        .steps = 100, .rows = 16, .units = units, .operand = operand, .backward = backward};
    static float here[1];
    const char *why;
    struct persistent_args a = {.rows = 16, .units = units, .steps = 100, .trained = 1, .weights = here, .bias = here};
    const struct persistent_view view = {here, 16 * units, units, units, 0};
    persistent_describe(cell, &problem);
    tiling_choose(&problem, &device, ALGORITHM_PORTABLE, &a.tiling, &why);
    persistent_gates(cell, a.gate);
    a.g = a.y = a.s = view;
    if (backward)
        a.dy = view;
    return a;
}

static void compile(const struct cell_declaration *cell, enum gpu_operand operand, bool backward, uint32_t units)
{
    const struct persistent_args a = args_of(cell, operand, backward, units);
    void *image = NULL;
    size_t size = 0;
    char *text = persistent_fixed_text(&a, cell->name, operand, backward);
    const bool good = CHECK(text != NULL, "a text for %s", cell->name) &&
                      CHECK(persistent_fixed_image(text, 90, &image, &size) == UNROLL_OK, "%s %s %s: %s", cell->name,
                            operand_name(operand), backward ? "backward" : "forward", unroll_last_error());
    CHECK(!good || (size > 1000 && !memcmp(image,
                                           "\x7f"
                                           "ELF",
                                           4)),
          "%s: an image", cell->name);
    release(image);
    free(text);
}

int main(int count, char **words)
{
    int version;
    setenv("UNROLL_CUDA_CACHE", "", 1);
    if (!nvrtc_find(&version)) {
        check_skip("kernels for one launch: there is no NVRTC");
        return check_finish("test_fixed");
    }
    for (int i = 0; cells_scalar[i]; i++)
        for (int o = 0; o < GPU_OPERANDS; o++)
            for (int backward = 0; backward < 2; backward++) {
                const struct cell_declaration *cell = cells_scalar[i]->declaration;
                if (!cell->chooses && (!check_quick(count, words) || (o == OPERAND_BF16 && i == 0)))
                    compile(cell, (enum gpu_operand)o, backward, o % 2 ? 512 : 64);
            }
    return check_finish("test_fixed");
}
