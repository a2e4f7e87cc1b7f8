/* The devices. A new one is one folder and one line here. */
#include "device/device.h"
#include <string.h>

extern const struct device device_cpu, device_cuda, device_xla;

static const struct device *const devices[] = { &device_cpu, &device_cuda, &device_xla };

const struct device *device_at(int index)
{
    return index >= 0 && (size_t)index < sizeof devices / sizeof *devices ? devices[index] : NULL;
}

const struct device *device_find(const char *name, const char **which)
{
    if (!strcmp(name, "tpu"))               /* a short name */
        name = "xla:tpu";
    size_t length = strcspn(name, ":");
    if (which)
        *which = name[length] ? name + length + 1 : NULL;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (strlen(devices[i]->name) == length && !memcmp(devices[i]->name, name, length))
            return devices[i];
    return NULL;
}
