/* Resources and speed of exported hardware, before any synthesis: products, clocks, memories, DSPs, latency and
 * energy, as a table and as report.json. Counts are exact; clock rates and energy are assumptions, and labeled as
 * such. */
#include "extensions/hardware/verilog.h"
#include "convert/file_table.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Families of chips: assumed clock rate, and DSPs of the named chip. */
static const struct chip_family {
    const char *name, *chip;
    double megahertz;
    int dsps;
} targets[] = {{"generic", "none", 100, 64},
               {"ice40", "UP5K", 40, 8},
               {"ecp5", "ECP5-45", 90, 72},
               {"gowin", "GW2A-18", 80, 48},
               {"xilinx", "XC7A35T", 150, 90}};

/* Joules of an 8-bit multiply-add, and of a bit read from a memory of some kilobytes: Horowitz, "Computing's energy
 * problem", ISSCC 2014, 45 nm. Wires, clocks and overhead of FPGAs are not included: an assumption, for comparing
 * networks. */
#define PICOJOULES_OF_PRODUCT  0.23
#define PICOJOULES_OF_READ_BIT 0.15625 /* 10 pJ for 64 bits of 8 KB */

static const struct chip_family *target_of(const char *name)
{
    const struct chip_family *t = targets;
    while (strcmp(t->name, name)) t++;
    return t;
}

/* Counts DSPs: one per lane, the rows' multiplier in parts of 16 bits, one for the units' products if needed, and
 * one for the interpolation of the sigmoid. */
static int dsps_of(const struct hardware *h)
{
    bool multiplies = false, functions = false;
    for (int i = 0; i < h->stages; i++)
        for (int k = 0; k < h->stage[i].words; k++) {
            const struct word *w = &h->stage[i].word[k];
            multiplies |= w->a.from != FROM_ONE && w->b.from != FROM_ONE;
            functions |= w->kind != WORD_SUM;
        }
    return h->lanes + (h->accumulator_bits + 15) / 16 * ((h->multiplier_bits + 15) / 16) + multiplies + functions;
}

int verilog_most_lanes(const struct program *p, const char *target)
{
    enum { FEWEST = 4, MOST = 64 }; /* FEWEST: the sums of a unit, if the DSPs do not suffice */
    const int others = p->operand_bits == 8 ? 4 : 8, most = target_of(target)->dsps - others;
    return most < FEWEST ? FEWEST : most > MOST ? MOST : most;
}

unroll_status verilog_count(const struct verilog *v, struct verilog_report *r)
{
    struct verilog_memory memory[VERILOG_MEMORIES];
    const struct chip_family *t = target_of(v->target);
    const int memories = verilog_memories(v, memory);
    *r = (struct verilog_report){.macs = v->h->macs, .dsps = dsps_of(v->h), .megahertz = t->megahertz};
    TRY(hardware_clocks(v->h, &r->clocks, &r->busy, &r->latency));
    for (int i = 0; i < memories; i++) r->memory_bits += memory[i].words * (uint64_t)memory[i].bits;
    verilog_estimate(v, r);
    const double products = v->h->skips ? r->busy * v->h->lanes : (double)r->macs;
    r->nanojoules = 1e-3 * (products * PICOJOULES_OF_PRODUCT * v->h->program->operand_bits / 8 +
                            r->busy * v->h->lanes * 8 * PICOJOULES_OF_READ_BIT);
    return v->calibration ? integer_cost(v->reference, v->h->program, v->calibration, &r->cost) : UNROLL_OK;
}

/* Returns the report as JSON, or NULL if there is no memory. */
static json_t *report_of(const struct verilog *v)
{
    const struct verilog_report *r = v->report;
    struct verilog_memory memory[VERILOG_MEMORIES];
    const int memories = verilog_memories(v, memory);
    int x, y;
    unroll_integer_fractions(v->reference, &x, &y);
    json_t *list = json_object();
    for (int i = 0; i < memories; i++)
        json_object_set_new(list, memory[i].name,
                            json_pack("{s:I, s:i}", "words", (json_int_t)memory[i].words, "bits", memory[i].bits));
    const struct hardware *h = v->h;
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:f, s:f, s:f, s:f, s:i, s:I, s:i, s:i, s:i, s:o, s:{s:f, s:f, s:f}}",
                  "module", v->prefix, "target", v->target, "store", v->store, "lanes", v->h->lanes, "operand_bits",
                  v->h->program->operand_bits, "macs", (json_int_t)r->macs, "clocks", r->clocks, "lane_use",
                  r->busy / r->clocks, "mac_use", (double)r->macs / (r->clocks * v->h->lanes), "latency_clocks",
                  r->latency, "dsps", r->dsps, "memory_bits", (json_int_t)r->memory_bits, "block_rams", r->blocks,
                  "x_fraction", x, "y_fraction", y, "memories", list, "assumed", "megahertz", r->megahertz,
                  "latency_microseconds", r->latency / r->megahertz, "nanojoules", r->nanojoules);
    if (r->luts > 0) {
        json_object_set_new(o, "luts", json_integer((json_int_t)(r->luts + 0.5)));
        json_object_set_new(o, "flip_flops", json_integer((json_int_t)(r->flip_flops + 0.5)));
    }
    if (h->skips)
        json_object_set_new(o, "delta",
                            json_pack("{s:f, s:f, s:b}", "threshold", h->program->delta, "products_a_step",
                                      r->busy * h->lanes, "counted_from_calibration", h->moved_steps > 0));
    if (r->cost.steps)
        json_object_set_new(o, "cost", integer_cost_as_json(&r->cost));
    return o;
}

void print_verilog_report(FILE *file, const struct verilog *v)
{
    json_t *o = report_of(v);
    json_dumpf(o, file, JSON_INDENT(2));
    fputc('\n', file);
    json_decref(o);
}

void tell_verilog_report(const struct verilog *v, const unroll_export_config *config)
{
    const struct verilog_report *r = v->report;
    if (config->json) {
        json_t *o = report_of(v);
        char *text = json_dumps(o, JSON_COMPACT);
        if (text && config->report)
            config->report(config->arg, text);
        free(text);
        json_decref(o);
        return;
    }
    report_export(config, "step:    %llu multiply-accumulates on %d lanes of %d bits", (unsigned long long)r->macs,
                  v->h->lanes, v->h->program->operand_bits);
    report_export(config, "         about %.0f clocks; lanes busy in %.1f %% of them; %.0f from x to y", r->clocks,
                  100 * r->busy / r->clocks, r->latency);
    if (v->h->skips)
        report_export(config, "         products skip what moves by %g or less: clocks are those of %s",
                      v->h->program->delta,
                      v->h->moved_steps ? "the calibration's steps"
                                        : "steps in which all moves; `calibration` x.npy counts what does");
    report_export(config, "         %.1f us from x to y at %.0f MHz, about %.3g nJ (assumed)",
                  r->latency / r->megahertz, r->megahertz, r->nanojoules);
    report_export(config, "takes:   %d DSPs, %llu bits of memory, about %d block RAMs (%s)", r->dsps,
                  (unsigned long long)r->memory_bits, r->blocks, v->target);
    if (r->luts > 0)
        report_export(config, "         about %.0f LUTs, %.0f flip-flops: the core alone, as yosys counts", r->luts,
                      r->flip_flops);
    char line[256];
    describe_integer_cost(&r->cost, line);
    report_export(config, "%s",
                  r->cost.steps ? line
                                : "formats were chosen from noise; inputs like those to come are better: "
                                  "`calibration` x.npy");
}
