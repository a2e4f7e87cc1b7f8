/* `unroll export --to verilog`: a network as a hardware core, with its tables, a self-checking test and a Makefile.
 * This file handles the options and the files of the folder. Tables are built in hardware*.c and printed in
 * verilog_*.c. */
#include "base/extension.h"
#include "extensions/hardware/verilog.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "convert/file_table.h"
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The files of rtl/. */
static const char *const core_text[] = {
#include "unroll_core.inc"
    NULL};
static const char *const memories_text[] = {
#include "unroll_memories.inc"
    NULL};
static const char *const deltas_text[] = {
#include "unroll_deltas.inc"
    NULL};
static const char *const bench_text[] = {
#include "bench.inc"
    NULL};
static const char *const spram_model_text[] = {
#include "spram_model.inc"
    NULL};
static const char *const make_text[] = {
#include "flow.inc"
    NULL};
static const char *const loader_text[] = {
#include "loader.inc"
    NULL};
static const char *const axis_text[] = {
#include "axis.inc"
    NULL};
static const char *const wishbone_text[] = {
#include "wishbone.inc"
    NULL};
static const char *const spi_text[] = {
#include "spi.inc"
    NULL};
static const char *const bench_bus_text[] = {
#include "bench_bus.inc"
    NULL};
static const char *const bench_axis_text[] = {
#include "bench_axis.inc"
    NULL};
static const char *const bench_wishbone_text[] = {
#include "bench_wishbone.inc"
    NULL};
static const char *const bench_spi_text[] = {
#include "bench_spi.inc"
    NULL};
static const char *const icebreaker_text[] = {
#include "icebreaker.inc"
    NULL};
static const char *const upduino_text[] = {
#include "upduino.inc"
    NULL};
static const char *const ulx3s_text[] = {
#include "ulx3s.inc"
    NULL};
static const char *const formal_text[] = {
#include "formal.inc"
    NULL};
static const char *const asic_text[] = {
#include "asic.inc"
    NULL};
static const char *const prove_text[] = {
#include "prove.inc"
    NULL};
static const char *const rom_text[] = {
#include "weights_rom.inc"
    NULL};
static const char *const ram_text[] = {
#include "weights_ram.inc"
    NULL};
static const char *const spram_text[] = {
#include "weights_spram.inc"
    NULL};

/* Kinds of memory for weights. */
static const struct {
    const char *name;
    const char *const *text;
} memories[] = {{"rom", rom_text}, {"ram", ram_text}, {"spram", spram_text}};

static const char *const targets[] = {"generic", "ice40", "ecp5", "gowin", "xilinx"};

/* Files of every export; %s is replaced by the prefix. */
static const struct {
    const char *name;
    const char *const *text;
} texts[] = {{"unroll_core.v", core_text},
             {"unroll_deltas.v", deltas_text},
             {"unroll_memories.v", memories_text},
             {"loader.v", loader_text},
             {"%s_axis.v", axis_text},
             {"%s_wishbone.v", wishbone_text},
             {"%s_spi.v", spi_text},
             {"bench.v", bench_text},
             {"bench_bus.v", bench_bus_text},
             {"bench_axis.v", bench_axis_text},
             {"bench_wishbone.v", bench_wishbone_text},
             {"bench_spi.v", bench_spi_text},
             {"flow.mk", make_text},
             {"formal.v", formal_text},
             {"prove.mk", prove_text},
             {"asic.mk", asic_text},
             {"icebreaker.pcf", icebreaker_text},
             {"upduino.pcf", upduino_text},
             {"ulx3s.lpf", ulx3s_text}};

enum {
    MEMORIES = sizeof memories / sizeof *memories,
    TARGETS = sizeof targets / sizeof *targets,
    VECTOR_STEPS = 64,
    SPRAM_LANES = 8
};

/* ---- options ---------------------------------------------------------------------------- */

static unroll_status check_prefix(const char *prefix)
{
    const size_t length = strspn(prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (!length || length > VERILOG_PREFIX || prefix[length] || isdigit((unsigned char)*prefix))
        return fail(
            UNROLL_USAGE,
            "`prefix` = '%.40s': a module needs a word of letters, digits and _, of at most %d, that does not begin "
            "with a digit; fix: use a prefix such as net",
            prefix, VERILOG_PREFIX);
    return UNROLL_OK;
}

static unroll_status choose(const char *field, const char *given, const char *const *names, int count,
                            const char **chosen)
{
    char known[128] = "";
    *chosen = names[0];
    for (int i = 0; i < count; i++) {
        if (given && !strcmp(given, names[i]))
            *chosen = names[i];
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", names[i]);
    }
    return !given || !strcmp(given, *chosen)
               ? UNROLL_OK
               : fail(UNROLL_USAGE, "%s = '%.40s'; fix: choose one of %s", field, given, known);
}

static unroll_status check_store(const struct verilog *v)
{
    if (strcmp(v->store, "spram"))
        return UNROLL_OK;
    if (strcmp(v->target, "ice40"))
        return fail(UNROLL_USAGE, "only the target ice40 has SPRAM; fix: use `target` ice40, or `store` ram");
    if (v->h->lanes > SPRAM_LANES || v->h->weight_words > 16384)
        return fail(
            UNROLL_UNSUPPORTED,
            "the SPRAM of an iCE40 has room for 16384 words of 8 lanes, the model takes %zu of %d; fix: use `lanes` "
            "8 or fewer, or a smaller network",
            v->h->weight_words, v->h->lanes);
    return UNROLL_OK;
}

/* ---- files ----------------------------------------------------------------------------- */

enum { MAX_FILES = 40 };

struct verilog_folder {
    char path[MAX_FILES][PATH_MAX + 64];
    char *text[MAX_FILES];
    size_t bytes[MAX_FILES];
    FILE *file[MAX_FILES];
    int files;
};

static FILE *add_file(struct verilog_folder *f, const struct verilog *v, const char *name)
{
    snprintf(f->path[f->files], sizeof *f->path, "%s/%s", v->directory, name);
    f->file[f->files] = open_memstream(&f->text[f->files], &f->bytes[f->files]);
    return f->file[f->files++];
}

/* Adds a text; modules that wrap the network are renamed to the prefix. */
static void add_text(struct verilog_folder *f, const struct verilog *v, const char *name, const char *const *lines)
{
    static const char model[] = "unroll_model";
    FILE *file = add_file(f, v, name);
    for (; file && *lines; lines++) {
        const char *from = *lines;
        for (const char *at; (at = strstr(from, model)) != NULL; from = at + strlen(model))
            fprintf(file, "%.*s%s", (int)(at - from), from, v->prefix);
        fprintf(file, "%s\n", from);
    }
}

static void add_printed(struct verilog_folder *f, const struct verilog *v, const char *name,
                        void (*print)(FILE *, const struct verilog *))
{
    FILE *file = add_file(f, v, name);
    if (file)
        print(file, v);
}

/* Prints words of 16 bits in loading order: low lanes first. */
static void print_loaded(FILE *file, const struct verilog *v)
{
    const struct hardware *h = v->h;
    for (size_t i = 0; i < h->weight_words; i++)
        for (int lane = 0; lane < h->lanes; lane += 2) {
            const uint8_t *w = h->weights + i * (size_t)h->lanes + lane;
            fprintf(file, "%02x%02x\n", lane + 1 < h->lanes ? w[1] : 0, w[0]);
        }
}

/* Fills the folder: sources, top module, bench, tables and test vectors. */
static unroll_status fill(struct verilog_folder *f, const struct verilog *v)
{
    char name[64];
    const bool loads = strcmp(v->store, "rom") != 0, spram = !strcmp(v->store, "spram");
    for (int i = 0; i < MEMORIES; i++)
        if (!strcmp(v->store, memories[i].name))
            add_text(f, v, "unroll_weights.v", memories[i].text);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const bool named = texts[i].name[0] == '%';
        snprintf(name, sizeof name, "%s%s", named ? v->prefix : "", texts[i].name + (named ? 2 : 0));
        add_text(f, v, name, texts[i].text);
    }
    if (spram)
        add_text(f, v, "spram_model.v", spram_model_text);
    snprintf(name, sizeof name, "%s.v", v->prefix);
    add_printed(f, v, name, print_verilog_top);
    snprintf(name, sizeof name, "bench_%s.vh", v->prefix);
    add_printed(f, v, name, print_verilog_bench);
    add_printed(f, v, "Makefile", print_verilog_makefile);
    add_printed(f, v, "report.json", print_verilog_report);
    for (int i = 0; verilog_tables[i]; i++) {
        snprintf(name, sizeof name, "%s_%s.hex", v->prefix, verilog_tables[i]);
        FILE *file = verilog_has_table(v, verilog_tables[i]) ? add_file(f, v, name) : NULL;
        if (file)
            print_verilog_table(file, v, verilog_tables[i]);
    }
    snprintf(name, sizeof name, "%s_load.hex", v->prefix);
    if (loads)
        add_printed(f, v, name, print_loaded);
    snprintf(name, sizeof name, "%s_x.hex", v->prefix);
    FILE *x = add_file(f, v, name);
    snprintf(name, sizeof name, "%s_y.hex", v->prefix);
    FILE *y = add_file(f, v, name);
    return x && y ? print_verilog_vectors(x, y, v) : fail(UNROLL_RESOURCE, "no memory for the test's vectors");
}

/* Writes all files or none. */
static unroll_status write_folder(struct verilog_folder *f, const struct verilog *v)
{
    struct whole_file files[MAX_FILES];
    struct piece pieces[MAX_FILES];
    bool failed = false;
    for (int i = 0; i < f->files; i++) {
        failed |= !f->file[i] || ferror(f->file[i]);
        failed |= f->file[i] && fclose(f->file[i]) != 0;
        pieces[i] = (struct piece){f->text[i], f->bytes[i]};
        files[i] = (struct whole_file){f->path[i], &pieces[i], 1};
    }
    if (failed)
        return fail(UNROLL_RESOURCE, "no memory for the exported hardware");
    TRY(make_directories(v->directory));
    return write_files_atomically(files, f->files);
}

unroll_status verilog_write(const struct verilog *v)
{
    struct verilog_folder *f;
    TRY(ALLOCATE(f, 1, "for the files of the hardware"));
    unroll_status status = fill(f, v);
    if (status == UNROLL_OK)
        status = write_folder(f, v);
    else
        for (int i = 0; i < f->files; i++)
            if (f->file[i])
                fclose(f->file[i]);
    for (int i = 0; i < f->files; i++) free(f->text[i]);
    release(f);
    return status;
}

/* ---- the export ------------------------------------------------------------------------- */

/* Chooses the lanes, builds the hardware, and writes its folder and report. */
static unroll_status export_hardware(struct program *p, struct verilog *v, const unroll_export_config *config)
{
    struct hardware *h;
    struct verilog_report report;
    const bool is_class = config->head && !strcmp(config->head, "class"), in_spram = !strcmp(v->store, "spram");
    int lanes = config->lanes, most = verilog_most_lanes(p, v->target);
    if (!lanes)
        TRY(hardware_choose_lanes(p, is_class, in_spram && most > SPRAM_LANES ? SPRAM_LANES : most, &lanes));
    TRY(hardware_new(p, lanes, is_class, &h));
    v->h = h;
    v->report = &report;
    unroll_status status = check_store(v);
    if (status == UNROLL_OK && v->calibration && h->skips)
        status = hardware_observe(h, v->reference, v->calibration);
    if (status == UNROLL_OK)
        status = verilog_count(v, &report);
    if (status == UNROLL_OK)
        status = verilog_write(v);
    if (status == UNROLL_OK)
        tell_verilog_report(v, config);
    hardware_free(h);
    return status;
}

/* Exports a model as Verilog; checks the options and builds the reference that makes the test vectors. */
static unroll_status export_verilog(const unroll_model *model, const char *path, const unroll_export_config *config)
{
    static const char *const store_names[] = {"rom", "ram", "spram"}, *const heads[] = {"linear", "class"};
    struct verilog v = {.prefix = config->prefix && *config->prefix ? config->prefix : "unroll_model",
                        .directory = path,
                        .steps = VECTOR_STEPS};
    const char *head;
    struct calibration_file file;
    struct program *p;
    TRY(check_prefix(v.prefix));
    TRY(choose("target", config->target, targets, TARGETS, &v.target));
    TRY(choose("store", config->store, store_names, MEMORIES, &v.store));
    TRY(choose("head", config->head, heads, 2, &head));
    if (config->operand_bits != 8 && config->operand_bits != 16)
        return fail(UNROLL_USAGE, "operand_bits = %d; fix: choose one of 8, 16", config->operand_bits);
    if (config->lanes < 0 || config->lanes > 64)
        return fail(UNROLL_USAGE, "`lanes` = %d; fix: choose a value from 1 to 64, or 0 to have them chosen",
                    config->lanes);
    if (!(config->delta <= 32767))
        return fail(UNROLL_USAGE, "`delta` = %g; fix: use a difference of numbers, or -1", config->delta);
    TRY(calibration_open(config->calibration, model, &file));
    v.calibration = file.c.steps ? &file.c : NULL;
    unroll_status status = program_new_integer(model, config->calibration ? &file.c : NULL, config->operand_bits, &p);
    if (status == UNROLL_OK)
        status = integer_new(p, &v.reference);
    if (status == UNROLL_OK)
        p->delta = config->delta;
    if (status == UNROLL_OK)
        status = export_hardware(p, &v, config);
    unroll_integer_free(v.reference);
    calibration_close(&file);
    return status;
}

const struct file_format format_verilog = {.name = "verilog",
                                           .about = "a core of hardware: tables, a test, a Makefile",
                                           .export = export_verilog,
                                           .export_takes = TAKES_PREFIX | TAKES_CALIBRATION | TAKES_HARDWARE};

const struct extension_row extension_hardware[] = {{"format", &format_verilog}, {NULL, NULL}};
