/* The self-checking test of exported hardware: vectors computed by the reference, the settings of the bench, and the
 * Makefile. The bench is rtl/bench.v. */
#include "base/memory.h"
#include "base/philox.h"
#include "extensions/hardware/verilog.h"
#include <stdlib.h>
#include <string.h>

/* ---- vectors --------------------------------------------------------------------------- */

static uint32_t random_word(uint64_t i, uint32_t what)
{
    uint32_t words[4];
    philox((uint32_t[2]){0x76657231, what}, (uint32_t[4]){(uint32_t)i, (uint32_t)(i >> 32), 0, 0}, words);
    return words[0];
}

/* Returns an input of a step; some are far beyond the calibrated range, to test saturation. */
static int16_t input_at(const struct verilog *v, int step, int i, int fraction)
{
    const struct calibration_data *c = v->calibration && v->calibration->frames ? v->calibration : NULL;
    const int width = v->h->x_width;
    if (c && step % 8 != 7)
        return (int16_t)quantize_number(
            (double)c->frames[((size_t)step % c->steps * c->rows) * (size_t)width + (size_t)i], fraction);
    const int32_t noise = (int32_t)random_word((uint64_t)step * (uint64_t)width + (uint64_t)i, 1) >> 16;
    return (int16_t)(step % 31 == 30 ? noise : noise / 4);
}

/* Computes a step. A sequence begins about every 16 steps, the second one early, so that short tests have two. Some
 * tokens are invalid. */
static unroll_status step(const struct verilog *v, int t, int16_t *x, int32_t *token, int32_t *y, bool *is_first)
{
    int fraction, out;
    unroll_integer_fractions(v->reference, &fraction, &out);
    *is_first = t == 0 || t == 2 || random_word((uint64_t)t, 2) % 16 == 0;
    if (*is_first)
        unroll_integer_reset(v->reference);
    *token = (int32_t)(random_word((uint64_t)t, 3) % (uint32_t)(v->h->tokens + 1));
    for (int i = 0; i < v->h->x_width && !v->h->tokens; i++) x[i] = input_at(v, t, i, fraction);
    return unroll_integer_step_raw(v->reference, v->h->tokens ? token : NULL, v->h->tokens ? NULL : x, y);
}

static int32_t class_of(const struct verilog *v, const int32_t *y)
{
    int best = 0;
    for (int i = 1; i < v->h->outputs; i++) best = y[i] > y[best] ? i : best;
    return best;
}

unroll_status print_verilog_vectors(FILE *xs, FILE *ys, const struct verilog *v)
{
    const struct hardware *h = v->h;
    int16_t *x;
    int32_t *y, token;
    TRY(ALLOCATE(x, (size_t)h->x_width, "for inputs"));
    unroll_status status = ALLOCATE(y, (size_t)h->outputs, "for outputs");
    for (int t = 0; t < v->steps && status == UNROLL_OK; t++) {
        bool is_first;
        status = step(v, t, x, &token, y, &is_first);
        if (h->tokens)
            fprintf(xs, "%05x\n", (unsigned)is_first << 16 | (uint16_t)token);
        for (int i = 0; i < h->x_width && !h->tokens; i++)
            fprintf(xs, "%05x\n", (unsigned)is_first << 16 | (uint16_t)x[i]);
        if (h->is_class)
            fprintf(ys, "%08x\n", (unsigned)class_of(v, y));
        for (int i = 0; i < h->outputs && !h->is_class; i++) fprintf(ys, "%08x\n", (unsigned)y[i]);
    }
    release(x);
    release(y);
    return status;
}

/* ---- the bench ------------------------------------------------------------------------- */

void print_verilog_bench(FILE *file, const struct verilog *v)
{
    const struct hardware *h = v->h;
    const bool loads = strcmp(v->store, "rom") != 0;
    fprintf(file,
            "// Parameters of bench.v for %s.\n"
            "`define TOP %s\n`define STEPS %d\n`define X %d\n`define Y %d\n`define LOADED %zu\n`define MUST_LOAD %d\n"
            "`define X_FILE \"%s_x.hex\"\n`define Y_FILE \"%s_y.hex\"\n`define LOAD_FILE \"%s_load.hex\"\n",
            v->prefix, v->prefix, v->steps, h->tokens ? 1 : h->x_width, h->is_class ? 1 : h->outputs,
            loads ? h->weight_words * (((size_t)h->lanes + 1) / 2) : (size_t)1, !strcmp(v->store, "spram"), v->prefix,
            v->prefix, v->prefix);
}

void print_verilog_makefile(FILE *file, const struct verilog *v)
{
    fprintf(file, "# %s: hardware of a recurrent network; flow.mk says what can be done with it.\n", v->prefix);
    fprintf(file, "NAME   = %s\nTARGET = %s\nSTORE  = %s\ninclude flow.mk\n", v->prefix, v->target, v->store);
}
