/* The devices: the processor, which enters like those of extensions, and a few that tests add. */
#include "device/device_list.h"
#include "base/extension.h"
#include "base/table.h"
#include <stdio.h>
#include <string.h>

static struct table devices = {.what = "device"};

/* What runs lists of them, "cpu,opencl". NULL: it is not in this build. */
static const struct device *device_of_lists(void) { return extension_row("list of devices", 0); }

const struct device *device_at(int index) { return table_at(&devices, index); }

unroll_status device_add(const struct device *device) { return table_add(&devices, device); }

const struct device *device_find(const char *name, const char **which)
{
    char own[32];
    const struct device *device, *lists = device_of_lists();
    for (int i = 0; (device = device_at(i)); i++)
        if (device->short_name && !strcmp(name, device->short_name)) {
            if (which)
                *which = device->short_name;
            return device;
        }
    if (is_device_list(name) || (lists && !strcmp(name, lists->name))) { /* not selectable by itself */
        if (which)
            *which = is_device_list(name) ? name : NULL;
        return lists;
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
    if (!*device && is_device_list(name))
        return extension_refuse("list of devices", name);
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
        return fail(UNROLL_USAGE, "`precision` = '%s'; fix: choose one of %s", name,
                    list_names(precision_name, known, sizeof known));
    i = i == PRECISION_N ? PRECISION_FP32 : i; /* fp64 is the type of the plan; products use it automatically */
    if (!(device->precisions & 1u << i))
        return fail(UNROLL_UNSUPPORTED,
                    "`precision` = %s: the device %s cannot multiply %s; fix: use fp32, or another device", name,
                    device->name, name);
    *precision = (enum precision)i;
    return UNROLL_OK;
}
