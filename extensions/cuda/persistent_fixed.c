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

/* Prints `b.NAME = VALUE;` for each of these members of *of. */
#define MEMBER(name) fprintf(f, "%s" #name " = %u;\n", prefix, (unsigned)of->name)

static void print_product(FILE *f, const struct tiling_product *of, int i)
{
    char prefix[32];
    snprintf(prefix, sizeof prefix, "b.tiling.product[%d].", i);
    MEMBER(rows), MEMBER(fields), MEMBER(tiles), MEMBER(bands), MEMBER(splits), MEMBER(steps), MEMBER(steps_all),
        MEMBER(in_registers), MEMBER(shared_slot), MEMBER(operand_row), MEMBER(sums_row);
}

static void print_tiling(FILE *f, const struct tiling *of)
{
    static const char prefix[] = "b.tiling.";
    fprintf(f, "b.tiling.algorithm = (enum tiling_algorithm)%d;\n", (int)of->algorithm);
    MEMBER(groups), MEMBER(members), MEMBER(cluster), MEMBER(units), MEMBER(chunk_rows), MEMBER(chunks), MEMBER(phases),
        MEMBER(states), MEMBER(ring), MEMBER(warps), MEMBER(shared_slots), MEMBER(at_operand), MEMBER(operand_buffer),
        MEMBER(at_sums), MEMBER(sums_buffer), MEMBER(at_staged), MEMBER(at_states), MEMBER(at_bias), MEMBER(at_lengths),
        MEMBER(at_barriers), MEMBER(at_weights);
    for (int i = 0; i < TILING_PHASES; i++) print_product(f, &of->product[i], i);
}

static void print_pointer(FILE *f, const char *name, bool is)
{
    fprintf(f, is ? "__builtin_assume(b.%s != nullptr);\n" : "b.%s = nullptr;\n", name);
}

static void print_view(FILE *f, const char *name, const struct persistent_view *v)
{
    char at[32];
    fprintf(f, "b.%s.step = %u; b.%s.row = %u; b.%s.field = %u;\n", name, v->step, name, v->row, name, v->field);
    snprintf(at, sizeof at, "%s.at", name);
    print_pointer(f, at, v->at != NULL);
}

static void print_constants(FILE *f, const struct persistent_args *of)
{
    static const char prefix[] = "b.";
    print_tiling(f, &of->tiling);
#define VIEW(name) print_view(f, #name, &of->name)
    VIEW(g), VIEW(h0), VIEW(s0), VIEW(y), VIEW(s), VIEW(intermediate), VIEW(hn), VIEW(sn), VIEW(dy), VIEW(dhn),
        VIEW(dsn), VIEW(dh0), VIEW(ds0), VIEW(dv), VIEW(vector);
#undef VIEW
    print_pointer(f, "bias", of->bias != NULL);
    print_pointer(f, "lengths", of->lengths != NULL);
    print_pointer(f, "reset", of->reset != NULL);
    MEMBER(rows), MEMBER(units), MEMBER(reset_row), MEMBER(direction), MEMBER(trained), MEMBER(add_dh0),
        MEMBER(add_ds0);
    for (int i = 0; i < TILING_PHASES; i++)
        for (int k = 0; k < TILING_FIELDS; k++) fprintf(f, "b.gate[%d][%d] = %u;\n", i, k, of->gate[i][k]);
    if (isfinite(of->clip))
        fprintf(f, "b.clip = (float)%.9g;\n", (double)of->clip);
}
#undef MEMBER

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
        "#define PERSISTENT_ONE\n#define PERSISTENT_WALKS 1\n#define PERSISTENT_OPERAND OPERAND_%s\n#define PERSISTENT_WORD %s\n%s#define PERSISTENT_ONLY_%s 1\n"
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
