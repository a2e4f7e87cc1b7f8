/* Where a buffer of a plan lies: as one array on the host, as the shares that devices have of it, or both. It
 * moves when the side that wants it has the older one. Knows plans and plugins, no program. */
#ifndef DEVICE_XLA_LOCATION_H
#define DEVICE_XLA_LOCATION_H
#include "device/xla/plugin.h"
#include "device/xla/translate.h"

/* A device's share begins here in the host's array. */
struct shard {
    uint32_t first[BUFFER_AXES];
    bool gives; /* the first that has this box: the others have the same */
    bool adds;  /* where shares are summands: its is one of its own */
    bool takes; /* where they are: the host's sum goes here, zeros to the others */
};

struct form {
    struct value type; /* on each device */
    int devices;
    bool partial;        /* before the part "sum" devices hold summands */
    bool hidden;         /* the host has no array of it: memory that segments of time share */
    struct shard *shard; /* [devices] */
};

/* How buffer `index` of the devices' plans lies; host: the same buffer whole, or NULL. */
unroll_status form_new(struct mesh_plans, int index, const struct buffer *host, struct form *);

enum newer { ON_HOST, ON_DEVICE, EVERYWHERE, NOWHERE };

/* Summands that the host has not added yet: what programs left of a sum of losses. */
enum { SUMMANDS = 1024 };
struct summands {
    int count;
    pjrt_buffer *buffer[SUMMANDS];
    float number[SUMMANDS];
    pjrt_event *event[SUMMANDS];
};

struct location {
    const char *name; /* the buffer's, in a plan that outlives the place; of a store: a copy */
    enum dtype dtype;
    enum segment segment;
    int rank;
    uint32_t size[BUFFER_AXES]; /* on the host */
    uint64_t bytes;
    void *host;
    struct form form;     /* what device[] is in; its shares are the place's own */
    pjrt_buffer **device; /* [form.devices] */
    bool partial;         /* now */
    enum newer newer;
    struct summands *summands;
    pjrt_event **arriving; /* [form.devices] */
    char *landing;         /* where shares arrive that are no array of the host's */
};

struct location location_of(const struct buffer *);
void location_leave(struct location *, struct xla_plugin *);
/* Makes the host's array, if there is none yet. */
unroll_status location_at_home(struct location *);

/* On the devices in this form, the newest there is. */
unroll_status location_to_devices(struct location *, struct xla_plugin *, const struct form *);
/* Is there something that the host has not got? */
bool location_is_away(const struct location *);
/* On the host, all of these in one round trip. */
unroll_status locations_to_host(struct location *const *, int count, struct xla_plugin *);
/* made [form.devices] is what it holds from now on; partial: as summands. */
unroll_status location_take(struct location *, struct xla_plugin *, const struct form *, pjrt_buffer *const *made,
                            bool partial);
/* made is to be added to what the host has, when it looks. */
unroll_status location_add(struct location *, struct xla_plugin *, const struct form *, pjrt_buffer *const *made,
                           bool partial);
/* It holds nothing any more. */
void location_forget(struct location *, struct xla_plugin *);

#endif
