/* Estimates a step on a TPU (tpu.h): the actual training program, compiled for a topology, compared with the
 * published data of the chip. */
#include "extensions/xla/tpu.h"
#include "plan/print/print.h"
#include "extensions/xla/ahead.h"
#include "extensions/xla/translate.h"
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A device is a chip, for v4 and v5p with both cores. bf16 TFLOP/s, GB/s and GiB: cloud.google.com/tpu/docs, pages
 * "TPU v4" and so on. The clock rate is not published there: it is an estimate. */
struct chip {
    const char *name;
    double teraflops, gigabytes_per_second, gibibytes, gigahertz;
};
static const struct chip chips[] = {{"v4", 275, 1228, 32, 1.05},
                                    {"v5e", 197, 819, 16, 1.5},
                                    {"v5p", 459, 2765, 95, 1.75},
                                    {"v6e", 918, 1640, 32, 1.75}};

enum { ADVICE = 6 };

struct step_estimate {
    const struct plan *plan;
    const struct chip *chip;
    const char *topology;
    int ranks;
    struct ahead ahead;
    int donated, in_place; /* arguments that the program donates; those whose memory a result reuses */
    double flops, bytes;   /* of the plan's products, on one device; memory of the program */
    double seconds, use;   /* of the step; fraction of the matrix unit's peak */
    bool fits;
    char advice[ADVICE][240];
    int advices;
};

/* ---- conclusions ------------------------------------------------------------------------- */

static unroll_status find_chip(const char *topology, const struct chip **chip)
{
    size_t size = strcspn(topology, ":");
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (strlen(chips[i].name) == size && !memcmp(chips[i].name, topology, size) && topology[size]) {
            *chip = &chips[i];
            return UNROLL_OK;
        }
    return fail(UNROLL_USAGE,
                "`topology` = '%s'; fix: use a chip and its grid such as v4:2x2x1, v5e:2x2, v5p:2x2x1, v6e:2x2",
                topology);
}

static void count_donated(struct step_estimate *e, const struct translation *t)
{
    for (int i = 0; i < t->argument.count; i++)
        for (int k = 0; k < t->result.count; k++)
            if (t->argument.buffer[i] == t->result.buffer[k]) {
                e->donated++;
                e->in_place += i < COMPILED_ARGUMENTS && e->ahead.compiled.aliased[i];
            }
}

static void price_products(struct step_estimate *e, enum phase last)
{
    for (int phase = PHASE_FORWARD; phase <= (int)last; phase++)
        for (int i = e->plan->phase[phase].first; i < e->plan->phase[phase].end; i++) e->flops += e->plan->op[i].flops;
}

static void conclude(struct step_estimate *e)
{
    const struct ahead *a = &e->ahead;
    e->bytes = (double)(a->code + a->arguments + a->results - a->aliased + a->temporary);
    if (e->bytes < (double)a->peak)
        e->bytes = (double)a->peak;
    e->fits = e->bytes <= e->chip->gibibytes * 0x1p30;
    e->seconds = a->compiled.cycles / (1e9 * e->chip->gigahertz);
    e->use = e->seconds > 0 ? e->flops / (1e12 * e->chip->teraflops * e->seconds) : 0;
}

/* ---- advice ---------------------------------------------------------------------------- */

static void advise(struct step_estimate *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void advise(struct step_estimate *e, const char *format, ...)
{
    va_list arguments;
    if (e->advices == ADVICE)
        return;
    va_start(arguments, format);
    vsnprintf(e->advice[e->advices++], sizeof e->advice[0], format, arguments);
    va_end(arguments);
}

static uint32_t rounded_up(uint32_t n, uint32_t to) { return (n + to - 1) / to * to; }

static void advise_on_widths(struct step_estimate *e)
{
    for (int i = 0; i < e->plan->model->layers; i++) {
        uint32_t hidden = e->plan->model->layer[i].hidden, full = rounded_up(hidden, 128);
        if (hidden == full)
            continue;
        advise(e, "hidden = %u is computed as %u, whose last %.0f%% is padding; fix: use a multiple of 128", hidden,
               full, 100 - 100.0 * hidden / full);
        return;
    }
}

/* Collects advice on memory, rows, widths and precision. */
static void advise_all(struct step_estimate *e)
{
    uint32_t rows = e->plan->rows;
    if (!e->fits)
        advise(e,
               "the program does not fit; fix: use a smaller batch, checkpoints in time, or a cut of batch or hidden "
               "over the chips");
    if (rows < 128)
        advise(
            e,
            "%u rows a device leave the matrix unit waiting for weights, it works on 128 at a time; fix: use a batch "
            "of 128 rows on each device, if the network learns with it",
            rows);
    else if (rows % 128)
        advise(e, "%u rows a device are computed as %u; fix: use a multiple of 128", rows, rounded_up(rows, 128));
    advise_on_widths(e);
    if (e->plan->config.precision == PRECISION_FP32)
        advise(e, "fp32 products take six passes of bf16; fix: use precision bf16, if the network learns with it");
    if (e->in_place < e->donated)
        advise(e, "%d donated arguments are stored twice during a step", e->donated - e->in_place);
}

/* ---- printing -------------------------------------------------------------------------- */

static void print_memory(const struct step_estimate *e, FILE *file)
{
    char arguments[16], results[16], temporary[16], code[16], all[16];
    const struct ahead *a = &e->ahead;
    fprintf(file,
            "memory:   arguments %s, results elsewhere %s, temporary %s, program %s, padding included: %s of "
            "%.0f GiB, %s\n",
            bytes_text((double)a->arguments, arguments), bytes_text((double)(a->results - a->aliased), results),
            bytes_text((double)a->temporary, temporary), bytes_text((double)a->code, code), bytes_text(e->bytes, all),
            e->chip->gibibytes, e->fits ? "fits" : "DOES NOT FIT");
    fprintf(file, "donated:  %d of %d arguments that a step replaces keep their memory\n", e->in_place, e->donated);
}

/* Prints the estimate as text. */
static void print_text(const struct step_estimate *e, FILE *file)
{
    const struct plan *p = e->plan;
    const struct compiled *c = &e->ahead.compiled;
    fprintf(file,
            "TPU %s: compiled ahead of time by %s (interface %d.%d) in %.1f s. No TPU was used: what follows are "
            "estimates of its compiler.\n",
            e->topology, e->ahead.plugin, e->ahead.major, e->ahead.minor, e->ahead.seconds);
    fprintf(file,
            "program:  T = %u, B = %u on %d of %d devices; %d operations with an estimate, %d loops, %.0f turns\n",
            p->config.T, p->config.B, e->ranks, e->ahead.devices, c->priced, c->loops, c->turns);
    print_memory(e, file);
    fprintf(file,
            "estimate: %.4g cycles (at about %.2f GHz %.4g ms), %.0f%% of them in loops; %.4g GFLOP of products, "
            "%.2g%% of the matrix units' %.0f TFLOP/s of bf16\n",
            c->cycles, e->chip->gigahertz, 1e3 * e->seconds, c->cycles > 0 ? 100 * c->loop_cycles / c->cycles : 0,
            1e-9 * e->flops, 100 * e->use, e->chip->teraflops);
    for (int i = 0; i < COMPILED_COSTLIEST && *c->costliest[i].name; i++)
        fprintf(file, "          %5.1f%%  %8.0f cycles x %-6.0f %s\n", 100 * c->costliest[i].cycles / c->cycles,
                c->costliest[i].cycles / c->costliest[i].turns, c->costliest[i].turns, c->costliest[i].name);
    for (int i = 0; i < e->advices; i++) fprintf(file, "advice:   %s\n", e->advice[i]);
}

static json_t *costliest_json(const struct compiled *c)
{
    json_t *list = json_array();
    for (int i = 0; i < COMPILED_COSTLIEST && *c->costliest[i].name; i++)
        json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "name", c->costliest[i].name, "cycles",
                                              c->costliest[i].cycles, "turns", c->costliest[i].turns));
    return list;
}

static json_t *memory_json(const struct step_estimate *e)
{
    const struct ahead *a = &e->ahead;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:b}", "arguments", (json_int_t)a->arguments, "results",
                     (json_int_t)a->results, "aliased", (json_int_t)a->aliased, "temporary", (json_int_t)a->temporary,
                     "program", (json_int_t)a->code, "peak", (json_int_t)a->peak, "bytes", e->bytes, "capacity",
                     e->chip->gibibytes * 0x1p30, "fits", e->fits);
}

/* Prints the estimate as JSON. */
static unroll_status print_json(const struct step_estimate *e, FILE *file)
{
    const struct compiled *c = &e->ahead.compiled;
    char interface[32];
    snprintf(interface, sizeof interface, "%d.%d", e->ahead.major, e->ahead.minor);
    json_t *advice = json_array(),
           *json = json_pack(
               "{s:b, s:s, s:s, s:s, s:f, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}",
               "estimate", 1, "topology", e->topology, "plugin", e->ahead.plugin, "interface", interface,
               "compile_seconds", e->ahead.seconds, "steps", (int)e->plan->config.T, "rows", (int)e->plan->config.B,
               "devices", e->ranks, "loops", c->loops, "donated", e->donated, "in_place", e->in_place, "flops",
               e->flops, "cycles", c->cycles, "loop_cycles", c->loop_cycles, "turns", c->turns, "seconds", e->seconds,
               "matrix_unit_use", e->use, "memory", memory_json(e), "costliest", costliest_json(c));
    for (int i = 0; i < e->advices; i++) json_array_append_new(advice, json_string(e->advice[i]));
    json_object_set_new(json, "advice", advice);
    char *text = json ? json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    json_decref(json);
    if (!text)
        return fail(UNROLL_RESOURCE, "no memory to print the estimate");
    fprintf(file, "%s\n", text);
    free(text);
    return UNROLL_OK;
}

/* ---- the estimate ----------------------------------------------------------------------- */

static unroll_status compile_step(struct step_estimate *e, const struct plan *const *plan, const char *which,
                                  enum phase last)
{
    struct translation t;
    struct mesh_plans mesh = {plan, e->ranks, steps_in_turn("tpu")};
    unroll_status status = translate_phases(mesh, PHASE_FORWARD, last, "step", &t);
    if (status == UNROLL_OK)
        status = compile_ahead(which, e->topology, e->ranks, t.h.text, t.h.size, &e->ahead);
    if (status == UNROLL_OK)
        count_donated(e, &t);
    translation_free(&t);
    return status;
}

unroll_status estimate_step(const struct plan *const *plan, int ranks, const char *which, const char *topology,
                            FILE *file, bool json)
{
    enum phase last = plan[0]->config.mode == MODE_TRAIN ? PHASE_UPDATE : PHASE_FORWARD;
    struct step_estimate e = {.plan = plan[0], .topology = topology, .ranks = ranks};
    TRY(find_chip(topology, &e.chip));
    TRY(compile_step(&e, plan, which, last));
    price_products(&e, last);
    conclude(&e);
    advise_all(&e);
    if (json)
        return print_json(&e, file);
    print_text(&e, file);
    return UNROLL_OK;
}
