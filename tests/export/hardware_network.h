/* Exported hardware in tests: writes a network with random weights to a folder, with vectors of the reference, and runs
 * its Makefile. All networks of a program use the same folder, which is cleared before each. test_verilog.c simulates,
 * test_gates.c synthesizes. */
#ifndef HARDWARE_NETWORK_H
#define HARDWARE_NETWORK_H
#include "check.h"
#include "extensions/hardware/verilog.h"
#include "model/model.h"
#include "unroll_advanced.h"
#include <stdlib.h>
#include <unistd.h>

static char folder[64];
static const char *simulator = "icarus";

struct network {
    const char *cell;
    int layers, input, hidden, output, lanes, operand_bits;
    bool tokens, peephole, is_class, buses, skips; /* skips: changes up to `delta` are skipped */
    double delta;
    int embed;
    float clip;
    const char *store, *target; /* NULL: generic; for spram: ice40 */
};

/* Common fields; others by name. */
#define NETWORK(cell_, layers_, input_, hidden_, output_, lanes_, bits_) \
    .cell = cell_, .layers = layers_, .input = input_, .hidden = hidden_, .output = output_, .lanes = lanes_, \
    .operand_bits = bits_

static inline bool find(const char *program)
{
    char command[64];
    snprintf(command, sizeof command, "command -v %s >/dev/null", program);
    return system(command) == 0;
}

/* Uses weights larger than initial ones, so that gates open and close and sums saturate. */
static inline unroll_model *model_of(const struct network *n)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model;
    spec.cell = n->cell;
    spec.layers = n->layers;
    spec.input = n->input;
    spec.hidden = n->hidden;
    spec.output = n->output;
    spec.tokens = n->tokens;
    spec.embed = n->embed;
    spec.peephole = n->peephole;
    spec.clip = n->clip;
    if (!CHECK(unroll_model_new(&spec, 7, &model) == UNROLL_OK, "%s: %s", n->cell, unroll_last_error()))
        return NULL;
    uint32_t noise = 1;
    for (size_t i = 0; i < model->count; i++) {
        noise = noise * 1664525u + 1013904223u;
        model->values[i] = 2 * model->values[i] + (float)((int)(noise >> 8) % 1000 - 500) * 2e-4f;
    }
    return model;
}

/* Observes which values change in the test's vectors, step by step, to count clocks. */
static inline bool observe_vectors(const struct verilog *v, struct hardware *h)
{
    char path[128];
    const size_t vectors = (size_t)h->program->vectors;
    const int width = h->tokens ? 1 : h->x_width;
    int16_t x[64];
    int32_t y[64];
    unsigned word = 0;
    snprintf(path, sizeof path, "%s/net_x.hex", folder);
    FILE *file = fopen(path, "r");
    if (!CHECK(file != NULL, "no %s", path))
        return false;
    h->moved = calloc((size_t)v->steps * vectors, sizeof *h->moved);
    h->moved_steps = v->steps;
    unroll_integer_reset(v->reference);
    for (int t = 0; t < v->steps; t++) {
        for (int i = 0; i < width; i++) {
            CHECK(fscanf(file, "%x", &word) == 1, "%s ends", path);
            x[i] = (int16_t)word;
            if (i == 0 && word >> 16)
                unroll_integer_reset(v->reference);
        }
        const int32_t token = (uint16_t)word;
        MUST(unroll_integer_step_raw(v->reference, h->tokens ? &token : NULL, h->tokens ? NULL : x, y));
        for (size_t k = 0; k < vectors; k++) h->moved[(size_t)t * vectors + k] = integer_moved(v->reference, (int)k);
    }
    fclose(file);
    return true;
}

/* Writes the network as Verilog and counts its cycles; false after a failed check. */
static inline bool write_counted(const struct network *n, int steps, struct verilog_report *report)
{
    struct program *p;
    struct hardware *h;
    struct verilog v = {.prefix = "net",
                        .target = n->target                   ? n->target
                                  : strcmp(n->store, "spram") ? "generic"
                                                              : "ice40",
                        .store = n->store,
                        .directory = folder,
                        .steps = steps};
    unroll_model *model = model_of(n);
    bool good = false;
    char command[256];
    snprintf(command, sizeof command, "cd %s && rm -rf bench-icarus-* bench-verilator-* gates.v synth_*.json asic_*",
             folder);
    if (!model || !CHECK(system(command) == 0, "'%s' failed", command))
        return false;
    if (MUST(program_new_integer(model, NULL, n->operand_bits, &p))) {
        MUST(integer_new(p, &v.reference));
        p->delta = n->skips ? n->delta : -1;
        if (MUST(hardware_new(p, n->lanes, n->is_class, &h))) {
            v.h = h;
            v.report = report;
            good = MUST(verilog_count(&v, report)) && MUST(verilog_write(&v));
            if (good && n->skips)
                good = observe_vectors(&v, h) && MUST(verilog_count(&v, report));
            hardware_free(h);
        }
        unroll_integer_free(v.reference);
    }
    unroll_model_free(model);
    return good;
}

static inline bool write_network(const struct network *n, int steps, double *clocks)
{
    struct verilog_report report;
    const bool good = write_counted(n, steps, &report);
    *clocks = good ? report.clocks : 0;
    return good;
}

/* what: a target of the Makefile */
static inline bool passes(const char *what, const char *arguments, char line[256])
{
    char command[512];
    snprintf(command, sizeof command,
             "out=$(make -s -C %s %s SIM=%s ARGS='%s' 2>&1) && echo \"$out\" | grep -m 1 ^PASS || "
             "echo \"$out\" | grep -m 1 -E 'FAIL|rror|needs'",
             folder, what, simulator, arguments);
    FILE *out = popen(command, "r");
    line[0] = '\0';
    if (out && fgets(line, 256, out))
        line[strcspn(line, "\n")] = '\0';
    if (out)
        pclose(out);
    return strncmp(line, "PASS", 4) == 0;
}

#define STALLS "+stall=128 +resets=3 +seed=5"
#endif
