/* The devices. A new one is one folder and one word here. */
#include "device/device_list.h"
#include "base/table.h"
#include <stdio.h>
#include <string.h>

#define DEVICES(DEVICE) DEVICE(cpu) DEVICE(cuda) DEVICE(opencl) DEVICE(xla)

#define DEVICE_DECLARE(name) extern const struct device device_##name;
#define DEVICE_ROW(name)     &device_##name,
DEVICES(DEVICE_DECLARE)
extern const struct device device_several; /* lists of these: "cpu,opencl" */

static const void *const rows[] = {DEVICES(DEVICE_ROW)};
static struct table devices = TABLE("device", rows);

const struct device *device_at(int index) { return table_at(&devices, index); }

unroll_status device_add(const struct device *device) { return table_add(&devices, device); }

const struct device *device_find(const char *name, const char **which)
{
    char own[32];
    if (!strcmp(name, "tpu")) /* a short name */
        name = "xla:tpu";
    if (is_device_list(name) || !strcmp(name, device_several.name)) { /* which is no device to choose alone */
        if (which)
            *which = is_device_list(name) ? name : NULL;
        return &device_several;
    }
    size_t length = strcspn(name, ":");
    snprintf(own, sizeof own, "%.*s", (int)length, name);
    if (which)
        *which = name[length] ? name + length + 1 : NULL;
    return table_at(&devices, table_find(&devices, own));
}

unroll_status device_choose(const char *name, const struct device **device, const char **which)
{
    *device = device_find(name, which);
    return *device ? UNROLL_OK : table_refuse(&devices, name);
}

static const char *precision_name(int index)
{
    static const char *const names[] = {
#define PRECISION_NAME(NAME, name) #name,
        PRECISIONS(PRECISION_NAME)
#undef PRECISION_NAME
            "fp64",
        NULL};
    return names[index];
}

unroll_status device_precision(const struct device *device, const char *name, enum precision *precision)
{
    char known[64];
    int i = 0;
    while (name && precision_name(i) && strcmp(name, precision_name(i))) i++;
    if (!precision_name(i))
        return fail(UNROLL_USAGE, "precision = '%s'; fix: choose one of %s", name,
                    list_names(precision_name, known, sizeof known));
    i = i == PRECISION_N ? PRECISION_FP32 : i; /* fp64 is of the plan's numbers: products multiply what there is */
    if (!(device->precisions & 1u << i))
        return fail(UNROLL_UNSUPPORTED,
                    "precision = %s: products on the device %s don't multiply %s; fix: fp32, or a device that does",
                    name, device->name, name);
    *precision = (enum precision)i;
    return UNROLL_OK;
}
