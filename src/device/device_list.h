/* Lists of devices as text: "cpu,opencl". Rank r of a mesh uses entry r, modulo the number of entries. No device is
 * opened here. */
#pragma once
#include "device/device.h"
#include <string.h>

enum { ENTRIES_MAX = 32, ENTRY_TEXT = 256 };

/* The entries of "cpu,xla:/a/plugin.so", each a device. */
struct entries {
    int count;
    char text[ENTRIES_MAX][ENTRY_TEXT];
    const struct device *device[ENTRIES_MAX];
    int which[ENTRIES_MAX]; /* offset of the device's option in text; 0: none */
};

static inline bool is_device_list(const char *name) { return name && strchr(name, ','); }
/* Fails for unknown names and too many entries. */
unroll_status entries_read(const char *list, struct entries *);
/* Fails if there are more entries than ranks, or only one rank. */
unroll_status entries_check(const struct entries *, int ranks);
/* Allocates the traits of each rank's device with this ISA. The caller frees them with release(). */
unroll_status entries_traits(const struct entries *, const char *isa, int ranks, struct device_traits **);
static inline int entry_of(const struct entries *e, int rank) { return rank % e->count; }
static inline const char *entry_which(const struct entries *e, int rank)
{
    const int i = entry_of(e, rank);
    return e->which[i] ? e->text[i] + e->which[i] : NULL;
}
