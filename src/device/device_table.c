/* The devices. A new one is one folder and one line here. */
#include "device/device.h"
#include <string.h>

extern const struct device device_cpu;

static const struct device *const devices[] = { &device_cpu };

const struct device *device_at(int index)
{
    return index >= 0 && (size_t)index < sizeof devices / sizeof *devices ? devices[index] : NULL;
}

const struct device *device_find(const char *name)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (!strcmp(devices[i]->name, name))
            return devices[i];
    return NULL;
}
