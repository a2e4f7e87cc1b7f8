/* Lists of devices as text: "cpu,opencl". Rank r of a mesh has entry r, and after the last the first again. No device
 * is opened here. */
#ifndef DEVICE_DEVICE_LIST_H
#define DEVICE_DEVICE_LIST_H
#include "device/device.h"
#include <string.h>

enum { ENTRIES_MAX = 32, ENTRY_TEXT = 256 };

/* "cpu,xla:/a/plugin.so": what stands between commas, each a device. */
struct entries {
    int count;
    char text[ENTRIES_MAX][ENTRY_TEXT];
    const struct device *device[ENTRIES_MAX];
    int which[ENTRIES_MAX]; /* where in text it stands; 0: nothing is said */
};

static inline bool is_device_list(const char *name) { return name && strchr(name, ','); }
/* Refused: names that there are not, and too many. */
unroll_status entries_read(const char *list, struct entries *);
/* More entries than ranks, and one rank, are refused. */
unroll_status entries_check(const struct entries *, int ranks);
/* As plans see each rank's device, with this ISA; the caller releases them. */
unroll_status entries_traits(const struct entries *, const char *isa, int ranks, struct device_traits **);
static inline int entry_of(const struct entries *e, int rank) { return rank % e->count; }
static inline const char *entry_which(const struct entries *e, int rank)
{
    const int i = entry_of(e, rank);
    return e->which[i] ? e->text[i] + e->which[i] : NULL;
}

#endif
