/* Where a buffer of a plan is stored: as one array on the host, as shares on devices, or both. It is copied when a
 * side needs it and has the older version. Uses plans and plugins; independent of programs. */
#ifndef DEVICE_XLA_LOCATION_H
#define DEVICE_XLA_LOCATION_H
#include "extensions/xla/plugin.h"
#include "extensions/xla/translate.h"

/* The origin of a device's share in the host's array. */
struct shard {
    uint32_t first[BUFFER_AXES];
    bool gives; /* first device with this box; others have the same */
    bool adds;  /* if shares are summands: this one is distinct */
    bool takes; /* if shares are summands: it gets the host's sum, others zeros */
};

struct form {
    struct value type; /* type on each device */
    int devices;
    bool partial;        /* before PHASE_SUM, devices have summands */
    bool hidden;         /* the host has no such array: memory shared by segments of time */
    struct shard *shard; /* [devices] */
};

/* Describes the layout of buffer `index` of the devices' plans; host: the same buffer, whole, or NULL. */
unroll_status form_new(struct mesh_plans, int index, const struct buffer *host, struct form *);

enum newer { ON_HOST, ON_DEVICE, EVERYWHERE, NOWHERE };

/* Summands that the host has not added yet: the loss sums of programs. */
enum { SUMMANDS = 1024 };
struct summands {
    int count;
    pjrt_buffer *buffer[SUMMANDS];
    float number[SUMMANDS];
    pjrt_event *event[SUMMANDS];
};

struct location {
    const char *name; /* belongs to the buffer, in a plan that outlives the location; in a store: a copy */
    enum dtype dtype;
    enum segment segment;
    int rank;
    uint32_t size[BUFFER_AXES]; /* on the host */
    uint64_t bytes;
    void *host;
    struct form form;     /* layout of device[]; its shards are owned by the location */
    pjrt_buffer **device; /* [form.devices] */
    bool partial;         /* current state */
    enum newer newer;
    struct summands *summands;
    pjrt_event **arriving; /* [form.devices] */
    char *landing;         /* receives shares that are not a whole array of the host */
};

struct location location_of(const struct buffer *);
void location_leave(struct location *, struct xla_plugin *);
/* Allocates the host's array if necessary. */
unroll_status location_at_home(struct location *);

/* Makes the newest version available on the devices in this layout. */
unroll_status location_to_devices(struct location *, struct xla_plugin *, const struct form *);
/* Returns whether the devices have something newer than the host. */
bool location_is_away(const struct location *);
/* Makes all of these available on the host, in one round trip. */
unroll_status locations_to_host(struct location *const *, int count, struct xla_plugin *);
/* Replaces the contents by made [form.devices]; partial: they are summands. */
unroll_status location_take(struct location *, struct xla_plugin *, const struct form *, pjrt_buffer *const *made,
                            bool partial);
/* Adds `made` to the host's value, when the host reads it. */
unroll_status location_add(struct location *, struct xla_plugin *, const struct form *, pjrt_buffer *const *made,
                           bool partial);
/* Discards the contents. */
void location_forget(struct location *, struct xla_plugin *);

#endif
