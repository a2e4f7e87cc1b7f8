/* A bucket: the plans of all devices for batches of at most so many steps and rows, and the programs made of them
 * so far. A session of ragged batches has up to eight, each made when a batch first needs it. */
#ifndef DEVICE_XLA_SHAPE_BUCKETS_H
#define DEVICE_XLA_SHAPE_BUCKETS_H
#include "device/xla/location.h"

/* Parts first to last as a program; executable NULL: there is nothing to do. */
struct program {
    bool made;
    pjrt_executable *executable;
    struct program_buffers argument, result, lost; /* lost: activations that it makes and does not give */
    int owned;                                     /* arguments after those, each device's own, given once */
    pjrt_buffer **given, ***given_rows;            /* [devices][arguments + owned], and the rows */
    pjrt_buffer **given_back, ***given_back_rows;  /* [devices][results] */
};

/* A range of the list as one, of a rank whose messages the host sends. */
struct range_program {
    struct range_program *next;
    enum phase phase;
    int from, end;
    struct program program;
};

struct shape_bucket {
    struct plan **plan; /* [devices] */
    struct mesh_plans mesh;
    struct form *form;                  /* [buffers] */
    struct location **location, *extra; /* [buffers]; extra: of those that the host's plan lacks */
    struct program program[PHASE_N][PHASE_N];
    struct range_program *ranges;
};

/* How many steps and rows levels of buckets there are: each halves the capacity. */
enum { STEP_LEVELS = 4, ROW_LEVELS = 2, SHAPE_BUCKETS = STEP_LEVELS * ROW_LEVELS };

/* The least bucket for so many steps and rows. */
int shape_bucket_for(const struct plan *, const int mesh[M_N], uint32_t steps, uint32_t rows);

/* Lowers the plans of all coordinates of the mesh; place: [buffers of the host's plan]. */
unroll_status shape_bucket_new(const struct plan *host, const int mesh[M_N], int number,
                               struct location *const *location, struct shape_bucket **shape_bucket);
void shape_bucket_free(struct shape_bucket *, struct xla_plugin *);

/* Translated and compiled when it is first asked for. */
unroll_status shape_bucket_program(struct shape_bucket *, struct xla_plugin *, enum phase first, enum phase last,
                                   struct program **program);
unroll_status shape_bucket_range(struct shape_bucket *, struct xla_plugin *, enum phase, int from, int end,
                                 struct program **program);

#endif
