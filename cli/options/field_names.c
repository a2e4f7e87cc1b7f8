/* Replaces the names of struct fields in the library's messages, written in `backquotes`, by the names of options. */
#include <stdio.h>
#include <string.h>

#include "cli/options/options.h"

/* Fields whose options have different names. Other fields have the same name as their option: `checkpoint_time` is
 * --checkpoint-time. */
static const struct {
    const char *field, *option;
} renamed[] = {{"steps", "bptt"},     {"rows", "batch"},          {"validation", "val"}, {"calibration", "calibrate"},
               {"columns", "column"}, {"operand_bits", "operand"}};

static enum command command;

void field_names_for(enum command which) { command = which; }

/* Returns the option of a field, or NULL if the current command has none. */
static const char *option_of(const char *field, size_t length)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, field);
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(name, renamed[i].field) == 0)
            snprintf(name, sizeof name, "%s", renamed[i].option);
    for (char *c = name; *c; c++) *c = *c == '_' ? '-' : *c;
    enum option_id id = option_find(name);
    bool tells = (int)id < option_count && (option_is_of(&options[id], command) ||
                                            (command == COMMAND_INSPECT && option_is_of(&options[id], COMMAND_TRAIN)));
    return tells || id == OPTION_STREAMING ? options[id].name
                                           : NULL; /* an option of train that messages of other commands refer to */
}

const char *as_options(const char *sentence)
{
    static _Thread_local char text[4096];
    size_t used = 0;
    for (const char *c = sentence; *c && used + 80 < sizeof text;) {
        size_t length = *c == '`' ? strspn(c + 1, "abcdefghijklmnopqrstuvwxyz_0123456789") : 0;
        if (length == 0 || c[length + 1] != '`') {
            text[used++] = *c++;
            continue;
        }
        const char *option = option_of(c + 1, length);
        used += (size_t)(option ? snprintf(text + used, sizeof text - used, "--%s", option)
                                : snprintf(text + used, sizeof text - used, "%.*s", (int)length, c + 1));
        c += length + 2;
        if (option && strncmp(c, " = ", 3) == 0) /* `dropout` = 2: --dropout 2 */
            c += 2;
    }
    text[used] = '\0';
    return text;
}

bool is_of_library(const char *variable)
{
    static const char *const known[] = {
        "MPI",      "NCCL",     "CUBLASLT", "CUDA_DRIVER", "CUDA_ALGORITHM", "CUDA_KERNELS", "XLA_UNROLL",  "CACHE",
        "ADAPTIVE", "DIVISION", "ISA_SEED", "ISA_LIMIT",   "OPENCL",         "OPENCL_CACHE", "OPENCL_FORM", "LAUNCHER",
        "PLACE",    "POWERCAP", "NVTX",     "NVRTC",       "CUDA_CACHE",     "CUDA_FIXED",   "CUDA_TILING"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(variable, known[i]) == 0)
            return true;
    return false;
}

const char *name_now(const char *name)
{
    static const char *const before[][2] = {{"lanes", "queues"},
                                            {"loss-every", "log-interval"},
                                            {"carry-state", "stateful"},
                                            {"deadline", "timeout"},
                                            {"halving", "halving_doubling"},
                                            {"star", "gather_broadcast"},
                                            {"mesh", "ring_2d"},
                                            {"y", "labels"}};
    for (int id = 0; id < option_count; id++) /* a command may have a current option of that name */
        if (command < COMMAND_COUNT && option_is_of(&options[id], command) && strcmp(options[id].name, name) == 0)
            return name;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strcmp(name, before[i][0]) == 0)
            return before[i][1];
    return name;
}
