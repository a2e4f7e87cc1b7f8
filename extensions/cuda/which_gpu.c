/* Finds the requested GPU (context.h): by its number, or by the name that `nvidia-smi -L` prints: GPU-.. of a whole
 * GPU, MIG-.. of an instance, or an unambiguous prefix of it. Opens nothing. A process can use one instance, which
 * CUDA_VISIBLE_DEVICES must name before the driver starts: if it is not set, the name is stored there. */
#include "base/number.h"
#include "extensions/cuda/context.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_MAX = 1024, UUID_TEXT = 37, PREFIX = 4, NAMES = 160 };

static bool is_instance(const char *which) { return strncmp(which, "MIG-", PREFIX) == 0; }

static bool is_name(const char *which) { return is_instance(which) || strncmp(which, "GPU-", PREFIX) == 0; }

/* Eight hexadecimal digits, four, four, four, twelve. */
static void uuid_as_text(const struct cu_uuid *u, char text[UUID_TEXT])
{
    char *at = text;
    for (int i = 0; i < (int)sizeof u->bytes; i++)
        at += sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u->bytes[i]);
}

static unroll_status visible_uuid(int index, char text[UUID_TEXT])
{
    struct cu_uuid uuid;
    cu_device device;
    TRY(cuda_check(cu.cuDeviceGet(&device, index), "looking for a GPU"));
    TRY(cuda_check(cu.cuDeviceGetUuid(&uuid, device), "asking for the GPU's name"));
    uuid_as_text(&uuid, text);
    return UNROLL_OK;
}

static unroll_status refuse_name(const char *which, int found, const char *names)
{
    if (found > 1)
        return fail(UNROLL_USAGE, "device cuda:%.60s: %d GPUs begin so; fix: more letters of one of%s", which, found,
                    names);
    return fail(
        UNROLL_UNSUPPORTED,
        "there is no '%.60s' among the GPUs that this process may use:%s; fix: `nvidia-smi -L` has their names, and "
        "CUDA_VISIBLE_DEVICES may hide some (of instances, MIG-.., it names the one to see)",
        which, *names ? names : " none");
}

static unroll_status find_name(const char *which, int count, int *index)
{
    char text[UUID_TEXT], names[NAMES] = "";
    int found = 0;
    for (int i = 0; i < count; i++) {
        TRY(visible_uuid(i, text));
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, " %s", text);
        if (strncmp(text, which + PREFIX, strlen(which + PREFIX)) == 0 && ++found)
            *index = i;
    }
    return found == 1 ? UNROLL_OK : refuse_name(which, found, names);
}

static unroll_status find_number(const char *which, int count, int *index)
{
    int64_t number = 0;
    if (which && number_whole_integer(which, 0, GPUS_MAX - 1, &number) != NUMBER_OK)
        return fail(
            UNROLL_USAGE,
            "device cuda:%.40s; fix: after the colon comes the number of a GPU, 0 to %d, or a name that `nvidia-smi "
            "-L` prints: GPU-.., MIG-..",
            which, GPUS_MAX - 1);
    *index = (int)number;
    if (count >= 0 && *index >= count)
        return fail(
            UNROLL_UNSUPPORTED,
            "there is no GPU %d: this machine has %d, counted from 0%s; fix: use a smaller number; CUDA_VISIBLE_DEVICES may hide some",
            *index, count, count ? "" : "; CUDA_VISIBLE_DEVICES may hide some");
    return UNROLL_OK;
}

/* If two threads name two instances, one is rejected: the process uses the first. */
static void show_instance(const char *which)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (cuda_driver_version() == 0)
        (void)setenv("CUDA_VISIBLE_DEVICES", which, 0);
    pthread_mutex_unlock(&lock);
}

unroll_status cuda_find_gpu(const char *which, int *index)
{
    const bool named = which && is_name(which);
    int count;
    if (!named)
        TRY(find_number(which, -1, index));
    else if (is_instance(which))
        show_instance(which);
    TRY(cuda_load());
    TRY(cuda_check(cu.cuDeviceGetCount(&count), "counting GPUs"));
    return named ? find_name(which, count, index) : find_number(which, count, index);
}
