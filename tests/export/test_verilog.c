/* Exported hardware in a simulator, bit by bit with unroll_integer_step_raw: every cell, layers, widths, tokens, heads
 * and stores, with random stalls at both ends, resets and weights loaded anew; how many lanes are of use; then what
 * is refused. test_verilog a spread that takes seconds, in Icarus Verilog; test_verilog all [SIM] that with more words
 * through the buses, every cell x 1..3 layers x both widths, 100,000 steps of one, and gates; SIM: icarus, verilator */
#include "check.h"
#include "export/verilog.h"
#include "model/model.h"
#include "unroll_advanced.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64];
static const char *simulator = "icarus";

struct network {
    const char *cell;
    int layers, input, hidden, output, lanes, operand_bits;
    bool tokens, peephole, is_class, buses, skips; /* buses: through them too; skips: what moves by `delta` or less */
    double delta;
    int embed;
    float clip;
    const char *store, *target; /* NULL: generic, of spram ice40 */
};

static bool find(const char *program)
{
    char command[64];
    snprintf(command, sizeof command, "command -v %s >/dev/null", program);
    return system(command) == 0;
}

/* Weights larger than initial ones: gates open and close, sums saturate. */
static unroll_model *model_of(const struct network *n)
{
    unroll_spec spec = unroll_spec_default();
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

/* What moves in the test's vectors, step by step, for the clocks that are counted. */
static bool observe_vectors(const struct verilog *v, struct hardware *h)
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

static bool write_counted(const struct network *n, int steps, struct verilog_report *report)
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
    if (!model)
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

static bool write_network(const struct network *n, int steps, double *clocks)
{
    struct verilog_report report;
    const bool good = write_counted(n, steps, &report);
    *clocks = good ? report.clocks : 0;
    return good;
}

/* what: of the output's Makefile */
static bool passes(const char *what, const char *arguments, char line[256])
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

static void check_network(const struct network *n, int steps, bool by_bus)
{
    static const char *const ways[] = {"", STALLS, "+load +stall=30"};
    char line[256];
    double clocks, counted;
    check_next_case();
    if (!write_network(n, steps, &counted))
        return;
    for (int i = 0; i < (strcmp(n->store, "rom") ? 3 : 2); i++) {
        CHECK(passes(by_bus ? "sim" : "sim-core", ways[i], line), "%s %d x %d, %d -> %d, %d lanes of %d bits, %s: %s",
              n->cell, n->layers, n->hidden, n->input, n->output, n->lanes, n->operand_bits, ways[i], line);
        if (i || sscanf(line, "PASS: %*d steps, %lf", &clocks) != 1)
            continue;
        CHECK(fabs(counted / clocks - 1) < 0.15, "%s %d x %d: counted %.1f clocks a step, simulated %.1f", n->cell,
              n->layers, n->hidden, counted, clocks);
        if (by_bus)
            printf("%s %d x %d, %d -> %d, %d lanes of %d bits: %s, counted %.0f\n", n->cell, n->layers, n->hidden,
                   n->input, n->output, n->lanes, n->operand_bits, line, counted);
    }
}

/* Through each bus: a word of SPI takes hundreds of clocks. */
static void check_buses(const struct network *n, int steps, const char *stalls)
{
    char line[256];
    double counted;
    check_next_case();
    if (n->buses && write_network(n, steps, &counted))
        CHECK(passes("sim", stalls, line), "%s through buses: %s", n->cell, line);
}

static const struct network spread[] = {
    {.cell = "lstm", .layers = 1, .input = 5, .hidden = 12, .output = 3, .lanes = 8, .operand_bits = 8, .store = "rom"},
    {.cell = "gru", .layers = 2, .input = 3, .hidden = 8, .output = 9, .lanes = 7, .operand_bits = 16, .store = "ram"},
    {.cell = "rnn", .layers = 1, .input = 1, .hidden = 9, .output = 1, .lanes = 4, .operand_bits = 8, .store = "rom"},
    {.cell = "mingru",
     .layers = 2,
     .input = 4,
     .hidden = 8,
     .output = 2,
     .lanes = 6,
     .operand_bits = 8,
     .store = "rom"},
    {.cell = "gru-before",
     .layers = 1,
     .input = 3,
     .hidden = 7,
     .output = 2,
     .lanes = 3,
     .operand_bits = 8,
     .buses = true,
     .store = "rom"},
    {.cell = "lstm",
     .layers = 1,
     .input = 2,
     .hidden = 5,
     .output = 4,
     .lanes = 4,
     .operand_bits = 16,
     .peephole = true,
     .clip = 0.7f,
     .is_class = true,
     .store = "rom"},
    {.cell = "gru",
     .layers = 1,
     .input = 11,
     .hidden = 8,
     .output = 11,
     .lanes = 8,
     .operand_bits = 8,
     .tokens = true,
     .store = "rom"},
    {.cell = "lstm",
     .layers = 1,
     .input = 9,
     .hidden = 6,
     .output = 9,
     .lanes = 4,
     .operand_bits = 8,
     .tokens = true,
     .embed = 5,
     .is_class = true,
     .buses = true,
     .store = "spram"},
    {.cell = "rnn", .layers = 1, .input = 1, .hidden = 1, .output = 1, .lanes = 1, .operand_bits = 8, .store = "rom"},
    {.cell = "gru",
     .layers = 2,
     .input = 3,
     .hidden = 12,
     .output = 9,
     .lanes = 6,
     .operand_bits = 8,
     .skips = true,
     .delta = 0.2,
     .store = "ram"},
    {.cell = "gru-before",
     .layers = 1,
     .input = 1,
     .hidden = 7,
     .output = 2,
     .lanes = 3,
     .operand_bits = 16,
     .skips = true,
     .is_class = true,
     .store = "rom"},
};

static void check_all(void)
{
    static const char *const cells[] = {"lstm", "gru", "gru-before", "rnn", "rnn-relu", "mingru"};
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        for (int layers = 1; layers <= 3; layers++)
            for (int bits = 8; bits <= 16; bits += 8)
                check_network(&(struct network){.cell = cells[c],
                                                .layers = layers,
                                                .input = 6,
                                                .hidden = 16,
                                                .output = 5,
                                                .lanes = 8,
                                                .operand_bits = bits,
                                                .store = layers == 2 ? "ram" : "rom"},
                              64, false);
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        for (int tokens = 0; tokens < 2; tokens++)
            check_network(&(struct network){.cell = cells[c],
                                            .layers = 1 + (int)c % 3,
                                            .input = 6,
                                            .hidden = 16,
                                            .output = 6,
                                            .lanes = 8,
                                            .operand_bits = tokens ? 16 : 8,
                                            .tokens = tokens,
                                            .embed = c % 2 ? 4 : 0,
                                            .skips = true,
                                            .delta = 0.05 * (double)c,
                                            .store = "rom"},
                          64, false);
    for (int options = 1; options < 4; options++)
        for (int layers = 1; layers <= 3; layers++)
            check_network(&(struct network){.cell = "lstm",
                                            .layers = layers,
                                            .input = 6,
                                            .hidden = 12,
                                            .output = 5,
                                            .lanes = 8,
                                            .operand_bits = 8,
                                            .peephole = options & 1,
                                            .clip = options & 2 ? 0.5f : 0,
                                            .store = "rom"},
                          64, false);
}

/* Wide ones, as users have them, and one of 100,000 steps where the simulator is fast. */
static void check_large(void)
{
    static const struct network large[] = {{.cell = "lstm",
                                            .layers = 1,
                                            .input = 16,
                                            .hidden = 32,
                                            .output = 8,
                                            .lanes = 16,
                                            .operand_bits = 8,
                                            .store = "rom"},
                                           {.cell = "gru",
                                            .layers = 2,
                                            .input = 6,
                                            .hidden = 32,
                                            .output = 4,
                                            .lanes = 12,
                                            .operand_bits = 8,
                                            .store = "rom"},
                                           {.cell = "gru",
                                            .layers = 1,
                                            .input = 6,
                                            .hidden = 64,
                                            .output = 4,
                                            .lanes = 8,
                                            .operand_bits = 8,
                                            .store = "rom"},
                                           {.cell = "lstm",
                                            .layers = 1,
                                            .input = 64,
                                            .hidden = 128,
                                            .output = 10,
                                            .lanes = 16,
                                            .operand_bits = 16,
                                            .store = "rom"}};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) check_network(&large[i], 20, i == 1);
    if (!strcmp(simulator, "verilator"))
        check_network(large, 100000, false);
    else
        check_skip("100,000 steps of exported hardware, which take Verilator: verilator is not here");
}

/* Gates of an iCE40 give the same bits, and the test can fail: a first result that is another is found. */
static void check_gates(void)
{
    static const struct network small[] = {{.cell = "lstm",
                                            .layers = 1,
                                            .input = 2,
                                            .hidden = 4,
                                            .output = 2,
                                            .lanes = 4,
                                            .operand_bits = 8,
                                            .store = "rom",
                                            .target = "ice40"},
                                           {.cell = "gru",
                                            .layers = 1,
                                            .input = 2,
                                            .hidden = 3,
                                            .output = 2,
                                            .lanes = 3,
                                            .operand_bits = 8,
                                            .is_class = true,
                                            .store = "rom",
                                            .target = "ice40"}};
    char line[256], command[256];
    double clocks;
    if (!find("yosys") || !find("iverilog")) {
        check_skip("gates of exported hardware: yosys and iverilog are not both here");
        return;
    }
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (write_network(&small[i], 8, &clocks))
            CHECK(passes("sim-gates", i ? STALLS : "", line), "%s in gates: %s", small[i].cell, line);
    snprintf(command, sizeof command, "sed -i '1s/.*/00000007/' %s/net_y.hex", folder);
    CHECK(system(command) == 0 && !passes("sim-gates", "", line), "a wrong result passes: %s", line);
}

/* ---- what it takes ------------------------------------------------------------------------ */

/* Of parts, each with its factor: "SB_LUT4 1". */
static double parts_of(const char *parts)
{
    char command[512], line[64] = "";
    snprintf(command, sizeof command,
             "echo '%s' | awk 'NR == FNR {for (i = 1; i < NF; i += 2) of[$i] = $(i + 1); next} NF == 2 && $1 in of "
             "{n += of[$1] * $2} END {print n + 0}' - %s/counts.txt",
             parts, folder);
    FILE *out = popen(command, "r");
    if (out && !fgets(line, sizeof line, out))
        line[0] = '\0';
    if (out)
        pclose(out);
    return atof(line);
}

static void check_near(const struct network *n, const char *what, double estimated, const char *parts, double spare)
{
    const double counted = parts_of(parts), away = fabs(estimated - counted);
    CHECK(away <= 0.15 * counted || away <= spare, "%s %d x %d for %s: %s: about %.0f, counted %.0f", n->cell,
          n->layers, n->hidden, n->target, what, estimated, counted);
}

/* Estimates of LUTs, flip-flops, DSPs and block RAMs within 15 % of what yosys counts, of block RAMs or two of them. */
static void check_estimates(void)
{
    static const struct {
        const char *target, *luts, *flip_flops, *dsps, *blocks;
    } families[] = {{"ice40", "SB_LUT4 1", "SB_DFF 1 SB_DFFE 1 SB_DFFSR 1 SB_DFFSS 1 SB_DFFESR 1 SB_DFFESS 1",
                     "SB_MAC16 1", "SB_RAM40_4K 1"},
                    {"ecp5", "LUT4 1 CCU2C 2 TRELLIS_DPR16X4 4", "TRELLIS_FF 1", "MULT18X18D 1", "DP16KD 1"},
                    {"xilinx", "LUT1 1 LUT2 1 LUT3 1 LUT4 1 LUT5 1 LUT6 1 SRL16E 1 RAM32M 4 RAM64M 4",
                     "FDRE 1 FDSE 1 FDCE 1 FDPE 1", "DSP48E1 1", "RAMB18E1 1 RAMB36E1 2"},
                    {"gowin", NULL, NULL, NULL, NULL}};
    static const struct network shapes[] = {{.cell = "lstm",
                                             .layers = 1,
                                             .input = 5,
                                             .hidden = 12,
                                             .output = 3,
                                             .lanes = 8,
                                             .operand_bits = 8,
                                             .store = "rom"},
                                            {.cell = "gru",
                                             .layers = 1,
                                             .input = 6,
                                             .hidden = 64,
                                             .output = 4,
                                             .lanes = 12,
                                             .operand_bits = 8,
                                             .is_class = true,
                                             .store = "rom"},
                                            {.cell = "rnn",
                                             .layers = 1,
                                             .input = 8,
                                             .hidden = 32,
                                             .output = 5,
                                             .lanes = 8,
                                             .operand_bits = 8,
                                             .store = "rom"},
                                            {.cell = "lstm",
                                             .layers = 2,
                                             .input = 6,
                                             .hidden = 24,
                                             .output = 5,
                                             .lanes = 8,
                                             .operand_bits = 16,
                                             .store = "rom"}};
    char command[128];
    if (!find("yosys")) {
        check_skip("what exported hardware takes, counted by yosys, which is not here");
        return;
    }
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (size_t i = 0; i < (families[f].luts ? sizeof shapes / sizeof *shapes : 1); i++) {
            struct network n = shapes[i];
            struct verilog_report r;
            n.target = families[f].target;
            check_next_case();
            snprintf(command, sizeof command, "make -s -C %s counts WRAPPER= >%s/counts.log 2>&1", folder, folder);
            if (!write_counted(&n, 1, &r) || !CHECK(system(command) == 0, "%s for %s: no counts", n.cell, n.target) ||
                !families[f].luts)
                continue;
            check_near(&n, "LUTs", r.luts, families[f].luts, 0);
            check_near(&n, "flip-flops", r.flip_flops, families[f].flip_flops, 0);
            check_near(&n, "DSPs", r.dsps, families[f].dsps, 0);
            check_near(&n, "block RAMs", r.blocks, families[f].blocks, 2);
        }
}

/* Of the lanes that are chosen 95 % of the products are made that they could make, below 64 units 90 %. One number has
 * too few for minGRU. */
static void check_lanes(void)
{
    static const char *const cells[] = {"lstm", "gru", "gru-before", "rnn", "mingru"};
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        for (int shape = 0; shape < 12; shape++) {
            const struct network n = {.cell = cells[c],
                                      .layers = 1 + shape / 6,
                                      .input = (int[]){1, 8, 32}[shape % 3],
                                      .hidden = shape / 3 % 2 ? 64 : 32,
                                      .output = 4};
            const double goal = n.hidden < 64 ? 0.90 : 0.95;
            unroll_model *model = model_of(&n);
            struct program *p = NULL;
            struct hardware *h;
            int lanes = 0;
            double clocks = 1, busy, latency;
            check_next_case();
            if (!MUST(program_new_integer(model, NULL, 8, &p)) || !MUST(hardware_choose_lanes(p, false, 64, &lanes)) ||
                !MUST(hardware_new(p, lanes, false, &h)))
                return;
            MUST(hardware_clocks(h, &clocks, &busy, &latency));
            const double use = (double)h->macs / (clocks * lanes);
            CHECK(use >= goal || (n.input == 1 && !strcmp(n.cell, "mingru")),
                  "%s %d x %d in %d: %.3f of the products of %d lanes are made", n.cell, n.layers, n.hidden, n.input,
                  use, lanes);
            hardware_free(h);
            program_free(p);
            unroll_model_free(model);
        }
}

/* The handshakes of each bus are proven, and the proof can fail: a bus that takes words while the core is reset. */
static void check_proven(void)
{
    char line[256];
    if (!find("yosys")) {
        check_skip("the handshakes of exported hardware are proven by yosys, which is not here");
        return;
    }
    double clocks;
    if (!write_network(&spread[0], 1, &clocks))
        return;
    CHECK(passes("formal", "", line), "%s", line);
    char command[256];
    snprintf(command, sizeof command, "sed -i 's/s_axis_tvalid && !quiet/s_axis_tvalid/' %s/net_axis.v", folder);
    CHECK(system(command) == 0 && !passes("formal-axis", "", line), "a wrong bus is proven: %s", line);
}

/* ---- what is refused ------------------------------------------------------------------- */

static void check_refused(void)
{
    const struct network n = {.cell = "gru", .layers = 1, .input = 3, .hidden = 4, .output = 2, .lanes = 2};
    unroll_model *model = model_of(&n);
    unroll_export_config config = unroll_export_default();
    config.format = "verilog";
    config.lanes = 2;
    CHECK_REFUSED(unroll_export(model, folder, &config), UNROLL_USAGE, "at least 3 lanes");
    config.lanes = -1;
    CHECK_REFUSED(unroll_export(model, folder, &config), UNROLL_USAGE, "0 to have them chosen");
    config.lanes = 8;
    config.operand_bits = 12;
    CHECK_REFUSED(unroll_export(model, folder, &config), UNROLL_USAGE, "operand_bits = 12; fix: choose one of 8, 16");
    config.operand_bits = 8;
    config.store = "spram";
    CHECK_REFUSED(unroll_export(model, folder, &config), UNROLL_USAGE, "only the target ice40 has SPRAM");
    config.store = "flash";
    CHECK_REFUSED(unroll_export(model, folder, &config), UNROLL_USAGE, "choose one of rom, ram, spram");
    config.store = NULL;
    config.prefix = "a-b";
    CHECK_REFUSED(unroll_export(model, folder, &config), UNROLL_USAGE, "a module needs a word");
    unroll_model_free(model);
}

int main(int count, char *words[])
{
    const bool all = count > 1 && !strcmp(words[1], "all");
    char command[128];
    simulator = count > 2 ? words[2] : "icarus";
    strcpy(folder, "/tmp/test_verilog_XXXXXX");
    if (!CHECK(mkdtemp(folder) != NULL, "no folder for temporary files"))
        return check_finish("test_verilog");
    check_refused();
    check_lanes();
    check_proven();
    if (!find(strcmp(simulator, "icarus") ? "verilator" : "iverilog"))
        check_skip("exported hardware in a simulator, which is not here (iverilog, verilator)");
    else {
        for (size_t i = 0; i < sizeof spread / sizeof *spread; i++) {
            check_network(&spread[i], all ? 24 : 15, false);
            check_buses(&spread[i], all ? 24 : 3, all ? STALLS : "+stall=40 +resets=2 +seed=5");
        }
        if (all) {
            check_all();
            check_large();
            check_gates();
            check_estimates();
        }
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0, "'%s' failed", command);
    return check_finish("test_verilog");
}
