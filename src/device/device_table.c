/* The devices. A new one is one folder and one word here. */
#include "device/device.h"
#include <string.h>

#define DEVICES(DEVICE) DEVICE(cpu) DEVICE(cuda) DEVICE(xla)

#define DEVICE_DECLARE(name) extern const struct device device_##name;
#define DEVICE_ROW(name)     &device_##name,
DEVICES(DEVICE_DECLARE)

enum { MAX_ADDED = 2, BUILT_IN = sizeof(const struct device *[]){DEVICES(DEVICE_ROW)} / sizeof(void *) };

static const struct device *devices[BUILT_IN + MAX_ADDED] = {DEVICES(DEVICE_ROW)};
static int count = BUILT_IN;

const struct device *device_at(int index) { return index >= 0 && index < count ? devices[index] : NULL; }

unroll_status device_add(const struct device *device)
{
    if (count == BUILT_IN + MAX_ADDED)
        return fail(UNROLL_RESOURCE, "there are %d devices already", count);
    devices[count++] = device;
    return UNROLL_OK;
}

const struct device *device_find(const char *name, const char **which)
{
    if (!strcmp(name, "tpu")) /* a short name */
        name = "xla:tpu";
    size_t length = strcspn(name, ":");
    if (which)
        *which = name[length] ? name + length + 1 : NULL;
    for (int i = 0; i < count; i++)
        if (strlen(devices[i]->name) == length && !memcmp(devices[i]->name, name, length))
            return devices[i];
    return NULL;
}

static const char *name_of(int index) { return device_at(index) ? device_at(index)->name : NULL; }

unroll_status device_choose(const char *name, const struct device **device, const char **which)
{
    char known[128];
    *device = device_find(name, which);
    return *device ? UNROLL_OK
                   : fail(UNROLL_UNSUPPORTED, "this build has no device '%s'; it has %s", name,
                          list_names(name_of, known, sizeof known));
}

unroll_status device_precision(const struct device *device, const char *name, enum precision *precision)
{
    static const char *const names[] = {
#define PRECISION_NAME(NAME, name) #name,
        PRECISIONS(PRECISION_NAME)
#undef PRECISION_NAME
    };
    if (name && !strcmp(name, "fp64")) /* of the plan's numbers: products multiply what there is */
        name = NULL;
    int i = 0;
    while (i < PRECISION_N && strcmp(name ? name : names[PRECISION_FP32], names[i])) i++;
    if (i == PRECISION_N)
        return fail(UNROLL_USAGE, "precision = '%s'; fix: choose one of fp32, tf32, bf16, fp16, fp64", name);
    if (!(device->precisions & 1u << i))
        return fail(UNROLL_UNSUPPORTED,
                    "precision = %s: products on the device %s don't multiply %s; fix: fp32, or a "
                    "device that does",
                    name, device->name, name);
    *precision = (enum precision)i;
    return UNROLL_OK;
}
