/* Exported hardware in a simulator, compared bit by bit with unroll_integer_step_raw: every cell, layers, widths,
 * tokens, heads and stores, with random stalls at both ends, resets and reloaded weights. Also the use of lanes, and
 * refusals. `test_verilog` runs a selection in Icarus Verilog, which takes seconds. `test_verilog all [SIM]` runs it
 * with more words through the buses, every cell x 1..3 layers x both widths, and 100,000 steps of one; SIM: icarus,
 * verilator. Gates and chips are tested in test_gates.c. */
/* test: kinds=plain,long-memory; seconds=40 */
#include "export/hardware_network.h"
#include <math.h>

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

/* Runs through each bus: a word of SPI takes hundreds of clocks. */
static void check_buses(const struct network *n, int steps, const char *stalls)
{
    char line[256];
    double counted;
    check_next_case();
    if (n->buses && write_network(n, steps, &counted))
        CHECK(passes("sim", stalls, line), "%s through buses: %s", n->cell, line);
}

static const struct network spread[] = {
    {NETWORK("lstm", 1, 5, 12, 3, 8, 8), .store = "rom"},
    {NETWORK("gru", 2, 3, 8, 9, 7, 16), .store = "ram"},
    {NETWORK("rnn", 1, 1, 9, 1, 4, 8), .store = "rom"},
    {NETWORK("mingru", 2, 4, 8, 2, 6, 8), .store = "rom"},
    {NETWORK("gru-before", 1, 3, 7, 2, 3, 8), .buses = true, .store = "rom"},
    {NETWORK("lstm", 1, 2, 5, 4, 4, 16), .peephole = true, .clip = 0.7f, .is_class = true, .store = "rom"},
    {NETWORK("gru", 1, 11, 8, 11, 8, 8), .tokens = true, .store = "rom"},
    {NETWORK("lstm", 1, 9, 6, 9, 4, 8), .tokens = true, .embed = 5, .is_class = true, .buses = true, .store = "spram"},
    {NETWORK("rnn", 1, 1, 1, 1, 1, 8), .store = "rom"},
    {NETWORK("gru", 2, 3, 12, 9, 6, 8), .skips = true, .delta = 0.2, .store = "ram"},
    {NETWORK("gru-before", 1, 1, 7, 2, 3, 16), .skips = true, .is_class = true, .store = "rom"},
};

static void check_all(void)
{
    static const char *const cells[] = {"lstm", "gru", "gru-before", "rnn", "rnn-relu", "mingru"};
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        for (int layers = 1; layers <= 3; layers++)
            for (int bits = 8; bits <= 16; bits += 8)
                check_network(&(struct network){NETWORK(cells[c], layers, 6, 16, 5, 8, bits),
                                                .store = layers == 2 ? "ram" : "rom"},
                              64, false);
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        for (int tokens = 0; tokens < 2; tokens++)
            check_network(&(struct network){NETWORK(cells[c], 1 + (int)c % 3, 6, 16, 6, 8, tokens ? 16 : 8),
                                            .tokens = tokens, .embed = tokens && c % 2 ? 4 : 0, .skips = true,
                                            .delta = 0.05 * (double)c, .store = "rom"},
                          64, false);
    for (int options = 1; options < 4; options++)
        for (int layers = 1; layers <= 3; layers++)
            check_network(&(struct network){NETWORK("lstm", layers, 6, 12, 5, 8, 8), .peephole = options & 1,
                                            .clip = options & 2 ? 0.5f : 0, .store = "rom"},
                          64, false);
}

/* Wide networks of realistic size, and one with 100,000 steps if the simulator is fast. */
static void check_large(void)
{
    static const struct network large[] = {{NETWORK("lstm", 1, 16, 32, 8, 16, 8), .store = "rom"},
                                           {NETWORK("gru", 2, 6, 32, 4, 12, 8), .store = "rom"},
                                           {NETWORK("gru", 1, 6, 64, 4, 8, 8), .store = "rom"},
                                           {NETWORK("lstm", 1, 64, 128, 10, 16, 16), .store = "rom"}};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) check_network(&large[i], 20, i == 1);
    if (!strcmp(simulator, "verilator"))
        check_network(large, 100000, false);
    else
        check_skip("100,000 steps of exported hardware, which take Verilator: verilator is not here");
}

/* With the chosen lanes, 95% of the possible products are used, below 64 units 90%. One network has too few products
 * for minGRU. */
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

/* The handshakes of each bus are proven, and the proof can fail: a bus that accepts words during a reset. */
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

/* The Makefile names missing tools, as on a machine that has little besides make. */
static void check_absent(void)
{
    static const struct {
        const char *target, *there, *what, *says; /* there: built already, except for the tool */
    } cases[] = {{"ice40", "", "sim-core SIM=icarus", "needs iverilog, which is not here"},
                 {"ice40", "", "sim-core SIM=verilator", "needs verilator, which is not here"},
                 {"ice40", "", "counts", "needs yosys, which is not here"},
                 {"ice40", "", "formal", "needs yosys, which is not here"},
                 {"ice40", "", "sim-gates", "needs yosys, which is not here"},
                 {"ice40", "synth_net_spi.json", "place", "needs nextpnr-ice40, which is not here"},
                 {"ecp5", "synth_net_spi.json", "place", "needs nextpnr-ecp5, which is not here"},
                 {"ice40", "", "asic", "needs yosys, which is not here"},
                 {"ice40", "asic_net.v asic_activity.txt", "asic", "needs sta, which is not here"},
                 {"xilinx", "", "place", "no free tool here places for xilinx"},
                 {"xilinx", "", "sim-gates", "yosys has no models of all parts of xilinx"}};
    struct network n = spread[8];
    char command[512];
    double clocks;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_next_case();
        n.target = cases[i].target;
        if (!write_network(&n, 1, &clocks))
            return;
        snprintf(
            command, sizeof command,
            "cd %s && mkdir -p bin && for c in sh make cat grep sed awk cp rm tail; do "
            "ln -sf \"$(command -v $c)\" bin; done; touch absent.log %s; env PATH=$PWD/bin make %s >absent.log 2>&1 && "
            "exit 1; grep -qF '%s' absent.log || { cat absent.log; exit 1; }",
            folder, cases[i].there, cases[i].what, cases[i].says);
        CHECK(system(command) == 0, "make %s for %s without tools does not say: %s", cases[i].what, cases[i].target,
              cases[i].says);
    }
}

/* ---- refusals -------------------------------------------------------------------------- */

static void check_refused(void)
{
    const struct network n = {.cell = "gru", .layers = 1, .input = 3, .hidden = 4, .output = 2, .lanes = 2};
    unroll_model *model = model_of(&n);
    unroll_export_config config = unroll_export_config_default();
    config.format = "verilog";
    config.lanes = 2;
    CHECK_REFUSED(unroll_model_export(model, folder, &config), UNROLL_USAGE, "at least 3 lanes");
    config.lanes = -1;
    CHECK_REFUSED(unroll_model_export(model, folder, &config), UNROLL_USAGE, "0 to have them chosen");
    config.lanes = 8;
    config.operand_bits = 12;
    CHECK_REFUSED(unroll_model_export(model, folder, &config), UNROLL_USAGE,
                  "operand_bits = 12; fix: choose one of 8, 16");
    config.operand_bits = 8;
    config.store = "spram";
    CHECK_REFUSED(unroll_model_export(model, folder, &config), UNROLL_USAGE, "only the target ice40 has SPRAM");
    config.store = "flash";
    CHECK_REFUSED(unroll_model_export(model, folder, &config), UNROLL_USAGE, "choose one of rom, ram, spram");
    config.store = NULL;
    config.prefix = "a-b";
    CHECK_REFUSED(unroll_model_export(model, folder, &config), UNROLL_USAGE, "a module needs a word");
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
    check_absent();
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
        }
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0, "'%s' failed", command);
    return check_finish("test_verilog");
}
