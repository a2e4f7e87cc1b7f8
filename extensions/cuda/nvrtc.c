/* NVRTC through its C interface (nvrtc.h). The prototypes are written from NVRTC's documentation, so that building
 * needs no CUDA header. */
#include "extensions/cuda/nvrtc.h"
#include "base/system/library.h"
#include "base/memory.h"
#include <pthread.h>
#include <stdio.h>

typedef struct nvrtc_program_handle *nvrtc_program;

static struct {
    int (*nvrtcVersion)(int *major, int *minor);
    const char *(*nvrtcGetErrorString)(int result);
    int (*nvrtcCreateProgram)(nvrtc_program *, const char *text, const char *name, int headers,
                              const char *const *header_texts, const char *const *header_names);
    int (*nvrtcCompileProgram)(nvrtc_program, int options, const char *const *option);
    int (*nvrtcGetProgramLogSize)(nvrtc_program, size_t *);
    int (*nvrtcGetProgramLog)(nvrtc_program, char *);
    int (*nvrtcGetCUBINSize)(nvrtc_program, size_t *);
    int (*nvrtcGetCUBIN)(nvrtc_program, char *);
    int (*nvrtcDestroyProgram)(nvrtc_program *);
} rtc;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool found;
static int library_version;

#define SYMBOL(name) {#name, &rtc.name, false}

static void load(void)
{
    static const struct symbol symbols[] = {
        SYMBOL(nvrtcVersion),        SYMBOL(nvrtcGetErrorString),    SYMBOL(nvrtcCreateProgram),
        SYMBOL(nvrtcCompileProgram), SYMBOL(nvrtcGetProgramLogSize), SYMBOL(nvrtcGetProgramLog),
        SYMBOL(nvrtcGetCUBINSize),   SYMBOL(nvrtcGetCUBIN),          SYMBOL(nvrtcDestroyProgram)};
    int major = 0, minor = 0;
    found = library_open(LIBRARY_NVRTC, symbols, sizeof symbols / sizeof *symbols, NULL) == UNROLL_OK &&
            rtc.nvrtcVersion(&major, &minor) == 0;
    library_version = 1000 * major + 10 * minor;
}

bool nvrtc_find(int *version)
{
    (void)pthread_once(&once, load);
    *version = library_version;
    return found;
}

static unroll_status check(int result, const char *doing)
{
    return result == 0 ? UNROLL_OK
                       : fail(UNROLL_UNSUPPORTED, "NVRTC failed while %s: %s; fix: UNROLL_CUDA_FIXED=0", doing,
                              rtc.nvrtcGetErrorString(result));
}

/* Puts the beginning of the log into the message. */
static unroll_status refuse(nvrtc_program program, const char *architecture)
{
    enum { SHOWN = 400 };
    size_t size = 0;
    char *log;
    (void)rtc.nvrtcGetProgramLogSize(program, &size);
    TRY(ALLOCATE(log, size + 1, "for the log of a compiler"));
    (void)rtc.nvrtcGetProgramLog(program, log);
    unroll_status status = fail(
        UNROLL_UNSUPPORTED, "NVRTC %d.%d does not compile a kernel for %s; fix: UNROLL_CUDA_FIXED=0; it printed: %.*s",
        library_version / 1000, library_version % 1000 / 10, architecture, SHOWN, log);
    release(log);
    return status;
}

static unroll_status take_image(nvrtc_program program, void **image, size_t *size)
{
    char *to;
    TRY(check(rtc.nvrtcGetCUBINSize(program, size), "reading a kernel's size"));
    TRY(ALLOCATE(to, *size, "for a kernel"));
    unroll_status status = check(rtc.nvrtcGetCUBIN(program, to), "reading a kernel");
    if (status == UNROLL_OK)
        *image = to;
    else
        release(to);
    return status;
}

unroll_status nvrtc_compile(const char *text, const struct nvrtc_header *headers, int count, const char *architecture,
                            void **image, size_t *size)
{
    enum { HEADERS = 64 };
    const char *names[HEADERS], *texts[HEADERS];
    char option[64];
    const char *const options[] = {option, "-std=c++17", "-default-device", "-w"};
    nvrtc_program program;
    int version;
    if (!nvrtc_find(&version) || count > HEADERS)
        return fail(UNROLL_UNSUPPORTED, "there is no NVRTC; fix: pip install nvidia-cuda-nvrtc");
    for (int i = 0; i < count; i++) names[i] = headers[i].name, texts[i] = headers[i].text;
    snprintf(option, sizeof option, "-arch=%s", architecture);
    TRY(check(rtc.nvrtcCreateProgram(&program, text, "unroll.cu", count, texts, names), "opening a program"));
    unroll_status status = rtc.nvrtcCompileProgram(program, 4, options) == 0 ? take_image(program, image, size)
                                                                             : refuse(program, architecture);
    (void)rtc.nvrtcDestroyProgram(&program);
    return status;
}
