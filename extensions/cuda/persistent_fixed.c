/* See persistent_fixed.h. The text of a kernel consists of the headers of the built-in kernels, which the Makefile
 * converts to strings, and a function that overwrites arguments with constants. */
#include "extensions/cuda/persistent_fixed.h"
#include "base/hash.h"
#include "base/memory.h"
#include "extensions/cuda/nvrtc.h"
#include "extensions/cuda/persistent.h"
#include "extensions/gpu/program_cache.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the headers ---------------------------------------------------------------------------- */

/* One line each; a line that begins with \001 names the header that follows. */
static const char *const lines[] = {
#include "persistent.inc"
    NULL};

enum { HEADERS = 64 };
static struct nvrtc_header headers[HEADERS];
static int header_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Definitions from headers that NVRTC does not have. */
static const char standard[] =
    "typedef unsigned char uint8_t; typedef unsigned short uint16_t;"
    "typedef int int32_t; typedef unsigned uint32_t; typedef long long int64_t;"
    "typedef unsigned long long uint64_t; typedef unsigned long long uintptr_t;\n"
    "#ifndef NULL\n#define NULL nullptr\n#endif\n#ifndef assert\n#define assert(holds)\n#endif\n"
    "#define NAN __int_as_float(0x7fc00000)\n"
    "#define INFINITY __int_as_float(0x7f800000)\n";

static void add_header(const char *name, const char *text)
{
    if (header_count < HEADERS)
        headers[header_count++] = (struct nvrtc_header){name, text};
}

/* Builds the headers. Their texts stay until the program ends. */
static void join_headers(void)
{
    static const char *const empty[] = {"stddef.h", "stdbool.h", "assert.h"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) add_header(empty[i], "");
    add_header("stdint.h", standard);
    for (const char *const *line = lines; *line;) {
        const char *name = *line + 1;
        char *text = NULL;
        size_t size;
        FILE *file = open_memstream(&text, &size);
        for (line++; file && *line && **line != '\001'; line++) fprintf(file, "%s\n", *line);
        if (!file || fclose(file) != 0)
            return;
        add_header(name, text);
    }
}

/* ---- the text ------------------------------------------------------------------------------- */

static void print_product(FILE *f, const struct tiling_product *p, int i)
{
    const struct {
        const char *name;
        uint32_t value;
    } fields[] = {{"rows", p->rows},
                  {"fields", p->fields},
                  {"tiles", p->tiles},
                  {"bands", p->bands},
                  {"splits", p->splits},
                  {"steps", p->steps},
                  {"steps_all", p->steps_all},
                  {"in_registers", p->in_registers},
                  {"shared_slot", p->shared_slot},
                  {"operand_row", p->operand_row},
                  {"sums_row", p->sums_row}};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        fprintf(f, "b.tiling.product[%d].%s = %u;\n", i, fields[k].name, fields[k].value);
}

static void print_tiling(FILE *f, const struct tiling *t)
{
    const struct {
        const char *name;
        uint32_t value;
    } fields[] = {{"groups", t->groups},
                  {"members", t->members},
                  {"cluster", t->cluster},
                  {"units", t->units},
                  {"chunk_rows", t->chunk_rows},
                  {"chunks", t->chunks},
                  {"phases", t->phases},
                  {"states", t->states},
                  {"ring", t->ring},
                  {"warps", t->warps},
                  {"shared_slots", t->shared_slots},
                  {"at_operand", t->at_operand},
                  {"operand_buffer", t->operand_buffer},
                  {"at_sums", t->at_sums},
                  {"sums_buffer", t->sums_buffer},
                  {"at_staged", t->at_staged},
                  {"at_states", t->at_states},
                  {"at_bias", t->at_bias},
                  {"at_lengths", t->at_lengths},
                  {"at_barriers", t->at_barriers},
                  {"at_weights", t->at_weights}};
    fprintf(f, "b.tiling.algorithm = (enum tiling_algorithm)%d;\n", (int)t->algorithm);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        fprintf(f, "b.tiling.%s = %u;\n", fields[i].name, fields[i].value);
    for (int i = 0; i < TILING_PHASES; i++) print_product(f, &t->product[i], i);
}

static void print_pointer(FILE *f, const char *name, bool is)
{
    fprintf(f, is ? "__builtin_assume(b.%s != nullptr);\n" : "b.%s = nullptr;\n", name);
}

static void print_views(FILE *f, const struct persistent_args *a)
{
    const struct {
        const char *name;
        const struct persistent_view *view;
    } views[] = {{"g", &a->g},     {"h0", &a->h0},   {"s0", &a->s0},
                 {"y", &a->y},     {"s", &a->s},     {"intermediate", &a->intermediate},
                 {"hn", &a->hn},   {"sn", &a->sn},   {"dy", &a->dy},
                 {"dhn", &a->dhn}, {"dsn", &a->dsn}, {"dh0", &a->dh0},
                 {"ds0", &a->ds0}, {"dv", &a->dv},   {"vector", &a->vector}};
    char name[32];
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        const struct persistent_view *v = views[i].view;
        fprintf(f, "b.%s.step = %u; b.%s.row = %u; b.%s.field = %u;\n", views[i].name, v->step, views[i].name, v->row,
                views[i].name, v->field);
        snprintf(name, sizeof name, "%s.at", views[i].name);
        print_pointer(f, name, v->at != NULL);
    }
}

static void print_constants(FILE *f, const struct persistent_args *a)
{
    print_tiling(f, &a->tiling);
    print_views(f, a);
    print_pointer(f, "bias", a->bias != NULL);
    print_pointer(f, "lengths", a->lengths != NULL);
    print_pointer(f, "reset", a->reset != NULL);
    fprintf(f, "b.rows = %u; b.units = %u; b.reset_row = %u;\n", a->rows, a->units, a->reset_row);
    fprintf(f, "b.direction = %u; b.trained = %u; b.add_dh0 = %u; b.add_ds0 = %u;\n", a->direction, a->trained,
            a->add_dh0, a->add_ds0);
    for (int i = 0; i < TILING_PHASES; i++)
        for (int k = 0; k < TILING_FIELDS; k++) fprintf(f, "b.gate[%d][%d] = %u;\n", i, k, a->gate[i][k]);
    if (isfinite(a->clip))
        fprintf(f, "b.clip = (float)%.9g;\n", (double)a->clip);
}

char *persistent_fixed_text(const struct persistent_args *a, const char *cell, enum gpu_operand operand, bool backward)
{
    static const char *const operands[GPU_OPERANDS] = {
        [OPERAND_F32] = "F32", [OPERAND_TF32] = "TF32", [OPERAND_BF16] = "BF16", [OPERAND_F16] = "F16"};
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    fprintf(
        f,
        "#define PERSISTENT_ONE\n#define PERSISTENT_OPERAND OPERAND_%s\n#define PERSISTENT_WORD %s\n%s#define PERSISTENT_ONLY_%s 1\n"
        "#define PERSISTENT_ONLY_%s_ 1\n#define PERSISTENT_FIXED(direction) fix(a)\n"
        "#include \"extensions/cuda/kernels/persistent_args.h\"\n"
        "static __device__ __forceinline__ struct persistent_args fix(const struct persistent_args &a)\n{\n"
        "struct persistent_args b = a;\n",
        operands[operand], operand_name(operand), operand == OPERAND_F32 ? "#define PERSISTENT_EXACT\n" : "", cell,
        backward ? "backward" : "forward");
    print_constants(f, a);
    fprintf(f, "return b;\n}\n#include \"extensions/cuda/kernels/persistent_kernels.cuh\"\n");
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- kernels -------------------------------------------------------------------------------- */

enum wish { NEVER, ALWAYS, WHERE_POSSIBLE };

static unroll_status read_wish(enum wish *wish)
{
    const char *set = getenv("UNROLL_CUDA_FIXED");
    *wish = !set || !*set ? WHERE_POSSIBLE : *set == '0' ? NEVER : ALWAYS;
    if (*wish == WHERE_POSSIBLE || !strcmp(set, "0") || !strcmp(set, "1"))
        return UNROLL_OK;
    return fail(UNROLL_USAGE, "UNROLL_CUDA_FIXED is '%s'; fix: use 0 or 1, or leave it out", set);
}

static const struct program_folder folder = {"UNROLL_CUDA_CACHE", "cuda"};

unroll_status persistent_fixed_image(const char *text, int capability, void **image, size_t *size)
{
    struct program_key key;
    char architecture[16];
    int version;
    if (!nvrtc_find(&version))
        return fail(UNROLL_UNSUPPORTED, "there is no NVRTC; fix: pip install nvidia-cuda-nvrtc");
    (void)pthread_once(&once, join_headers);
    snprintf(architecture, sizeof architecture, "sm_%d%s", capability, capability >= 90 ? "a" : "");
    uint64_t driver = hash_number(HASH_BEGIN, (uint64_t)version);
    for (int i = 0; i < header_count; i++) driver = hash_text(driver, headers[i].text);
    program_key_of(&folder, driver, architecture, text, &key);
    if (program_cache_read(&key, image, size))
        return UNROLL_OK;
    TRY(nvrtc_compile(text, headers, header_count, architecture, image, size));
    program_cache_write(&folder, &key, *image, *size);
    return UNROLL_OK;
}

static unroll_status load_fixed(struct cuda_context *c, const char *text, const char *kernel, const char *name)
{
    void *image = NULL;
    size_t size;
    TRY(persistent_fixed_image(text, c->capability, &image, &size));
    unroll_status status = cuda_add_kernel(c, image, kernel, name);
    release(image);
    return status;
}

unroll_status persistent_fix(struct cuda_context *c, const struct persistent_args *a, const char *cell,
                             enum gpu_operand operand, bool backward, char *name, size_t size)
{
    enum wish wish;
    char fixed[CUDA_KERNEL_NAME];
    TRY(read_wish(&wish));
    if (wish == NEVER)
        return UNROLL_OK;
    char *text = persistent_fixed_text(a, cell, operand, backward);
    if (!text)
        return fail(UNROLL_RESOURCE, "no memory for the text of a kernel");
    const uint64_t hash = hash_text(HASH_BEGIN, text);
    snprintf(fixed, sizeof fixed, "%.*s#%016llx", CUDA_KERNEL_NAME - 20, name, (unsigned long long)hash);
    unroll_status status = cuda_has_kernel(c, fixed) ? UNROLL_OK : load_fixed(c, text, name, fixed);
    free(text);
    if (status == UNROLL_OK)
        snprintf(name, size, "%s", fixed);
    return wish == ALWAYS || status != UNROLL_UNSUPPORTED ? status : UNROLL_OK;
}
