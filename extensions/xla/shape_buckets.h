/* A bucket: the plans of all devices for batches up to a number of steps and rows, and the programs compiled from
 * them so far. A session with ragged batches has up to eight, each created when a batch first needs it. */
#ifndef DEVICE_XLA_SHAPE_BUCKETS_H
#define DEVICE_XLA_SHAPE_BUCKETS_H
#include "extensions/xla/location.h"

/* A program of phases first to last; executable NULL: nothing to do. */
struct program {
    bool made;
    pjrt_executable *executable;
    struct program_buffers argument, result, lost; /* lost: activations that it computes and does not return */
    int owned;                                     /* arguments after those, separate for each device, uploaded once */
    pjrt_buffer **given, ***given_rows;            /* [devices][arguments + owned], and its rows */
    pjrt_buffer **given_back, ***given_back_rows;  /* [devices][results] */
};

/* A program of a range of the list, in a rank whose messages the host sends. */
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
    struct location **location, *extra; /* [buffers]; extra: of those missing in the host's plan */
    struct program program[PHASE_N][PHASE_N];
    struct range_program *ranges;
};

/* Numbers of bucket levels for steps and rows: each level halves the capacity. */
enum { STEP_LEVELS = 4, ROW_LEVELS = 2, SHAPE_BUCKETS = STEP_LEVELS * ROW_LEVELS };

/* Returns the smallest bucket for these steps and rows. */
int shape_bucket_for(const struct plan *, const int mesh[M_N], uint32_t steps, uint32_t rows);

/* Lowers the plans of all coordinates of the mesh; location: [buffers of the host's plan]. */
unroll_status shape_bucket_new(const struct plan *host, const int mesh[M_N], int number,
                               struct location *const *location, struct shape_bucket **shape_bucket);
void shape_bucket_free(struct shape_bucket *, struct xla_plugin *);

/* Return a program, translated and compiled at first use. */
unroll_status shape_bucket_program(struct shape_bucket *, struct xla_plugin *, enum phase first, enum phase last,
                                   struct program **program);
unroll_status shape_bucket_range(struct shape_bucket *, struct xla_plugin *, enum phase, int from, int end,
                                 struct program **program);

#endif
