/* `unroll export --to c99`: writes a streaming model as one .c and one .h file, in floats or integers. This file checks
 * the request and assembles the two files; the code in c99_*.c prints them. */
#include "convert/c99/c99.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "convert/c99/estimate.h"
#include "stream/program/integers.h"
#include "convert/file_table.h"
#include "unroll_advanced.h"
#include <ctype.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is asked for ----------------------------------------------------------------- */

enum { MAX_WEIGHTS = 1 << 24, LONGEST_PREFIX = 32 };

/* Keywords of C and of C++, which may include the header. */
static const char keywords[] =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await co_return co_yield "
    "compl concept const const_cast consteval constexpr constinit continue decltype default delete do double "
    "dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local "
    "throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile while "
    "xor xor_eq INFINITY NAN NULL linux unix ";

/* True for keywords, macros, and names reserved for types and compilers. */
static bool is_taken(const char *prefix)
{
    char word[LONGEST_PREFIX + 3];
    size_t length = strlen(prefix);
    snprintf(word, sizeof word, " %s ", prefix);
    return strstr(keywords, word) || (length > 2 && !strcmp(prefix + length - 2, "_t")) ||
           (*prefix == '_' && (prefix[1] == '_' || isupper((unsigned char)prefix[1])));
}

static unroll_status check_prefix(const char *prefix)
{
    size_t length = strspn(prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (!length || length > LONGEST_PREFIX || prefix[length] || isdigit((unsigned char)*prefix))
        return fail(UNROLL_USAGE,
                    "`prefix` = '%.40s': it must be a C identifier of letters, digits and _, with at most %d "
                    "characters, that does not begin with a digit; fix: use a prefix such as net",
                    prefix, LONGEST_PREFIX);
    if (is_taken(prefix))
        return fail(UNROLL_USAGE,
                    "`prefix` = '%s' is a reserved word of C or C++ and cannot name a struct; fix: use another prefix, "
                    "such as %s_model",
                    prefix, prefix + strspn(prefix, "_"));
    return UNROLL_OK;
}

static unroll_status check_config(const struct unroll_model *model, const unroll_export_config *c, bool *is_integer)
{
    const char *dtype = c->dtype ? c->dtype : "fp32";
    *is_integer = !strcmp(dtype, "int8");
    if (!*is_integer && strcmp(dtype, "fp32"))
        return fail(UNROLL_USAGE, "C cannot be exported with `dtype` = '%.40s'; fix: choose one of fp32, int8", dtype);
    if (c->calibration && !*is_integer)
        return fail(UNROLL_USAGE, "a calibration requires integer weights; fix: use `dtype` int8");
    if (model->count > MAX_WEIGHTS)
        return fail(
            UNROLL_UNSUPPORTED,
            "the model has %zu weights; C for small processors is limited to %d; fix: use a smaller network, or "
            "another format (`to` onnx)",
            model->count, MAX_WEIGHTS);
    return UNROLL_OK;
}

/* The program to export. Integer programs are owned by their reference. */
struct exported {
    struct program *program;
    struct unroll_integer *reference;
    struct integer_cost cost; /* steps 0: not calibrated */
};

static unroll_status make_integers(const struct unroll_model *model, const struct calibration_data *c,
                                   struct exported *e)
{
    TRY(program_new_integer(model, c, OPERAND_BITS, &e->program));
    TRY(integer_new(e->program, &e->reference));
    return c ? integer_cost(e->reference, e->program, c, &e->cost) : UNROLL_OK;
}

static unroll_status make_program(const struct unroll_model *model, const unroll_export_config *config, bool is_integer,
                                  struct exported *e)
{
    struct calibration_file file;
    if (!is_integer)
        return program_new(model, false, &e->program);
    TRY(calibration_open(config->calibration, model, &file));
    unroll_status status = make_integers(model, config->calibration ? &file.c : NULL, e);
    calibration_close(&file);
    return status;
}

static void free_exported(struct exported *e)
{
    if (e->reference)
        unroll_integer_free(e->reference);
    else
        program_free(e->program);
}

/* ---- the source ------------------------------------------------------------------------ */

static void print_init(const struct printer *p)
{
    const struct program *program = p->program;
    fprintf(p->file, "void %s_init(struct %s *s)\n{\n    memset(s, 0, sizeof *s);\n}\n\n", p->prefix, p->prefix);
    fprintf(p->file, "void %s_reset(struct %s *s)\n{\n", p->prefix, p->prefix);
    bool any = false;
    for (int i = 0; i < program->vectors; i++)
        if (program->vector[i].place == PLACE_STATE) {
            fprintf(p->file, "    memset(s->%s, 0, sizeof s->%s);\n", program->vector[i].name, program->vector[i].name);
            any = true;
        }
    fprintf(p->file, "%s}\n\n", any ? "" : "    (void)s;\n");
}

static void print_source(const struct printer *p)
{
    fprintf(p->file,
            "/* %s.c: see %s.h. Weights are constants, in flash; nothing is allocated, nothing is global "
            "that changes. */\n"
            "#include \"%s.h\"\n%s#include <stddef.h>\n#include <string.h>\n\n",
            p->prefix, p->prefix, p->prefix, p->program->is_integer ? "" : "#include <math.h>\n");
    print_symbols(p);
    print_weights(p);
    if (p->program->is_integer)
        print_fixed_functions(p);
    else
        print_float_functions(p);
    print_init(p);
    print_step_function(p);
}

/* ---- the files ------------------------------------------------------------------------- */

struct c_text {
    char *at;
    size_t bytes;
};

static unroll_status print_to(struct printer *p, void (*print)(const struct printer *), struct c_text *text)
{
    p->file = open_memstream(&text->at, &text->bytes);
    if (!p->file)
        return fail(UNROLL_RESOURCE, "no memory for the exported C");
    print(p);
    bool failed = ferror(p->file);
    failed |= fclose(p->file) != 0;
    return failed ? fail(UNROLL_RESOURCE, "no memory for the exported C") : UNROLL_OK;
}

/* Writes both files or neither: a source next to an older header would not compile. */
static unroll_status write_both(const char *directory, const char *prefix, const struct c_text *header,
                                const struct c_text *source)
{
    const struct piece header_piece = {header->at, header->bytes}, source_piece = {source->at, source->bytes};
    char header_path[PATH_MAX + LONGEST_PREFIX + 4], source_path[sizeof header_path];
    TRY(make_directories(directory));
    snprintf(header_path, sizeof header_path, "%s/%s.h", directory, prefix);
    snprintf(source_path, sizeof source_path, "%s/%s.c", directory, prefix);
    return write_files_atomically(
        (struct whole_file[]){{source_path, &source_piece, 1}, {header_path, &header_piece, 1}}, 2);
}

/* ---- the report ------------------------------------------------------------------------ */

/* Reports the size and cost of the exported program as one line of JSON. */
static void report_json(const struct exported *exported, const unroll_export_config *config, const char *prefix)
{
    const struct program *p = exported->program;
    const struct estimate e = program_estimate(p);
    json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "prefix", prefix, "dtype",
                          p->is_integer ? "int8" : "fp32", "weight_bytes", (json_int_t)e.weights, "table_bytes",
                          (json_int_t)e.tables, "code_bytes", (json_int_t)e.code, "state_bytes", (json_int_t)e.state,
                          "work_bytes", (json_int_t)e.work, "multiply_accumulates", (json_int_t)e.products, "pointwise",
                          (json_int_t)e.operations, "functions", (json_int_t)e.functions, "sums", (json_int_t)e.rows,
                          "conversions", (json_int_t)e.conversions);
    json_t *cycles = json_object();
    for (int core = 0; core < CORES; core++)
        json_object_set_new(cycles, core_names[core], json_integer((json_int_t)e.cycles[core]));
    json_object_set_new(o, "cycles", cycles);
    if (exported->cost.steps)
        json_object_set_new(o, "cost", integer_cost_as_json(&exported->cost));
    char *text = json_dumps(o, JSON_COMPACT);
    if (text && config->report)
        config->report(config->arg, text);
    free(text);
    json_decref(o);
}

/* Reports the size and cost of the exported program as text, or as JSON if configured. */
static void report(const struct exported *exported, const unroll_export_config *config, const char *prefix)
{
    const struct program *p = exported->program;
    const struct estimate e = program_estimate(p);
    if (config->json) {
        report_json(exported, config, prefix);
        return;
    }
    report_export(config, "flash: %llu bytes of weights, %llu of tables, about %llu of code",
                  (unsigned long long)e.weights, (unsigned long long)e.tables, (unsigned long long)e.code);
    report_export(config, "RAM:   %llu bytes of states, %llu of scratch", (unsigned long long)e.state,
                  (unsigned long long)e.work);
    report_export(config,
                  "step:  %llu multiply-accumulates, %llu pointwise operations, %llu sigmoids and similar functions",
                  (unsigned long long)e.products, (unsigned long long)e.operations, (unsigned long long)e.functions);
    for (int core = 0; core < CORES; core++)
        report_export(config, "       about %.3g cycles on a %s", e.cycles[core], core_names[core]);
    if (!p->is_integer)
        return;
    char line[256];
    describe_integer_cost(&exported->cost, line);
    report_export(config, "%s",
                  exported->cost.steps
                      ? line
                      : "number formats were chosen from noise; typical inputs give better ones: `calibration` x.npy");
}

/* ---- the whole ------------------------------------------------------------------------- */

static unroll_status print_both(const struct program *program, const char *prefix, const char *directory)
{
    struct printer p = {.program = program, .prefix = prefix};
    struct c_text header = {0}, source = {0};
    for (size_t i = 0; prefix[i]; i++) p.upper[i] = (char)toupper((unsigned char)prefix[i]);
    p.room = allocate_zeroed(1, sizeof *p.room);
    unroll_status status =
        p.room ? print_to(&p, print_header, &header) : fail(UNROLL_RESOURCE, "no memory to print the exported C");
    if (status == UNROLL_OK)
        status = print_to(&p, print_source, &source);
    if (status == UNROLL_OK)
        status = write_both(directory, prefix, &header, &source);
    release(p.room);
    free(header.at);
    free(source.at);
    return status;
}

static unroll_status export_c99(const unroll_model *model, const char *path, const unroll_export_config *config)
{
    const char *prefix = config->prefix && *config->prefix ? config->prefix : "unroll_model";
    struct exported e = {0};
    bool is_integer;
    TRY(check_prefix(prefix));
    TRY(check_config(model, config, &is_integer));
    unroll_status status = make_program(model, config, is_integer, &e);
    if (status == UNROLL_OK)
        status = print_both(e.program, prefix, path);
    if (status == UNROLL_OK)
        report(&e, config, prefix);
    free_exported(&e);
    return status;
}

const struct file_format format_c99 = {.name = "c99",
                                       .about = "C for small processors: one .c and one .h, fp32 or int8",
                                       .export = export_c99,
                                       .export_takes = TAKES_PREFIX | TAKES_DTYPE | TAKES_CALIBRATION};
