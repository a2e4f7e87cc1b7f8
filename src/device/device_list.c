/* Lists of devices (device_list.h). */
#include "device/device_list.h"
#include "base/memory.h"
#include "base/status.h"

/* Appends one entry, such as "opencl:1", to the list. */
static unroll_status read_entry(const char *text, size_t length, struct entries *e)
{
    char *own = e->text[e->count];
    if (length == 0)
        return fail(UNROLL_USAGE,
                    "device: a name is missing between two commas or at an end; fix: give a list such as cpu,opencl");
    if (length >= ENTRY_TEXT)
        return fail(UNROLL_USAGE, "device: '%.40s..' is too long; fix: use a shorter path", text);
    if (e->count == ENTRIES_MAX)
        return fail(UNROLL_UNSUPPORTED, "device: more than %d devices; fix: name fewer; ranks use them in turn",
                    ENTRIES_MAX);
    memcpy(own, text, length);
    own[length] = '\0';
    const char *which;
    TRY(device_choose(own, &e->device[e->count], &which));
    e->which[e->count] = which && which >= own && which < own + length ? (int)(which - own) : 0;
    if (which && !e->which[e->count]) { /* "tpu" is a short name */
        snprintf(own, ENTRY_TEXT, "%s:%s", e->device[e->count]->name, which);
        e->which[e->count] = (int)strlen(e->device[e->count]->name) + 1;
    }
    e->count++;
    return UNROLL_OK;
}

unroll_status entries_read(const char *list, struct entries *e)
{
    *e = (struct entries){.count = 0};
    for (const char *at = list;; at++) {
        const size_t length = strcspn(at, ",");
        TRY(read_entry(at, length, e));
        at += length;
        if (!*at)
            return UNROLL_OK;
    }
}

unroll_status entries_check(const struct entries *e, int ranks)
{
    if (ranks == 1)
        return fail(UNROLL_USAGE, "%d devices are named for one rank; fix: set `split` layer=%d, or name one", e->count,
                    e->count);
    if (e->count > ranks)
        return fail(UNROLL_USAGE, "%d devices are named for %d ranks; fix: name at most %d, or cut for %d (`split`)",
                    e->count, ranks, ranks, e->count);
    return UNROLL_OK;
}

unroll_status entries_traits(const struct entries *e, const char *isa, int ranks, struct device_traits **traits)
{
    TRY(ALLOCATE(*traits, (size_t)ranks, "for the devices of %d ranks", ranks));
    for (int r = 0; r < ranks; r++) {
        const struct device *device = e->device[entry_of(e, r)];
        if (device->traits)
            (*traits)[r] = device->traits(isa);
        (*traits)[r].rendezvous = false; /* messages go through the host */
    }
    return UNROLL_OK;
}
