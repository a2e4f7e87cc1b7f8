/* Exported C in tests: a folder, compilation with the warnings of embedded projects, and the compiled model as
 * functions. */
#ifndef EXPORT_LOADED_H
#define EXPORT_LOADED_H
#include "check.h"
#include "unroll.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WARNINGS "-std=c99 -Wall -Wextra -Wconversion -Wpedantic -Wdouble-promotion -Werror " \
                 "-ffp-contract=off "

static char folder[64];
static uint64_t seed = 7;

static inline double uniform(void) /* in [-1, 1) */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(seed & ~0x3ffull) * 0x1p-63;
}

__attribute__((format(printf, 1, 2))) static inline int run(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return system(line);
}

/* ---- a compiled export ----------------------------------------------------------------- */

struct exported {
    void *library;
    void (*init)(void *), (*reset)(void *), (*step)(void *, const float *, float *);
    void (*step_token)(void *, int32_t, float *);
    void (*step_tokens)(void *, const int32_t *, float *);
    void (*step_mixed)(void *, const int32_t *, const float *, float *);
    void *state;
};

static inline bool compiles(const char *name, const char *compiler, const char *flags)
{
    if (run("command -v %s >%s/log", compiler, folder))
        return true;
    return CHECK(!run("%s " WARNINGS "%s -c %s/%s.c -o %s/other.o", compiler, flags, folder, name, folder),
                 "%s does not take %s.c", compiler, name);
}

/* Loads the compiled model; an added function returns the size of the struct. */
static inline bool load(const char *name, struct exported *e)
{
    char path[128];
    snprintf(path, sizeof path, "%s/size.c", folder);
    FILE *file = fopen(path, "w");
    fprintf(file,
            "#include \"%s.h\"\nunsigned size_of_state(void);\n"
            "unsigned size_of_state(void) { return sizeof(struct %s); }\n",
            name, name);
    fclose(file);
    if (!CHECK(!run("gcc -O2 -march=native " WARNINGS "-shared -fPIC %s/%s.c %s/size.c -lm -o %s/%s.so", folder, name,
                    folder, folder, name),
               "gcc does not take %s.c", name))
        return false;
    snprintf(path, sizeof path, "%s/%s.so", folder, name);
    *e = (struct exported){.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!CHECK(e->library != NULL, "%s", dlerror()))
        return false;
    unsigned (*size)(void);
    *(void **)&size = dlsym(e->library, "size_of_state");
    snprintf(path, sizeof path, "%s_init", name);
    *(void **)&e->init = dlsym(e->library, path);
    snprintf(path, sizeof path, "%s_reset", name);
    *(void **)&e->reset = dlsym(e->library, path);
    snprintf(path, sizeof path, "%s_step", name);
    *(void **)&e->step = *(void **)&e->step_token = dlsym(e->library, path);
    *(void **)&e->step_tokens = *(void **)&e->step_mixed = *(void **)&e->step;
    e->state = malloc(size());
    memset(e->state, 0xff, size());
    e->init(e->state);
    return true;
}

static inline void unload(struct exported *e)
{
    free(e->state);
    dlclose(e->library);
}

static inline bool same(const float *a, const float *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static inline bool make_folder(void)
{
    strcpy(folder, "/tmp/test_export_XXXXXX");
    return CHECK(mkdtemp(folder) != NULL, "no folder for temporary files");
}

#endif
