/* Shared by the workers of a parameter server: each piece of the weights belongs to one of them, with its optimizer
 * states. server.c is synchronous; in server_shard.c pieces respond to gradients as they arrive. */
#ifndef PARALLEL_SERVER_H
#define PARALLEL_SERVER_H
#include "extensions/cluster/policies/meeting.h"

/* Whole rows of the matrices of a rank's vector. */
struct piece {
    size_t first, count, row, rows;
};

enum { SERVER_STATES = 8 };

/* Header of messages. To a piece: number of gradients in the mean, and the last step of the worker in it; 0
 * gradients only report the step. From a piece: its weights, which include all workers up to `step`. */
struct notice {
    int32_t from, gradients;
    int64_t step;
};

/* A worker's view of a piece and its server, and the server's view of a worker. */
struct peer {
    float *box;             /* receive buffer: a notice, followed by a piece */
    struct request request; /* for a reply */
    bool asked;             /* gradients were sent, and the reply is pending */
    int gradients;          /* number of gradients added to `held` for it */
    int64_t sent, known;    /* last step sent to it; step up to which its weights include all workers */
    bool owed;              /* a reply to the worker is delayed, because others lag too far */
    int64_t clock;          /* last step that the worker reported to this piece */
};

struct server {
    struct piece *piece; /* [size] */
    int states;
    float *weights;              /* [count]; this rank's piece is authoritative, the others are as last received */
    float *held;                 /* [count] gradients to be sent, or being added up */
    float *state[SERVER_STATES]; /* [count] of the own piece */
    double *squares;             /* [rows] */
    float *box, *out;            /* notice and piece: received; sent */
    struct peer *peer;           /* [size] */
    struct meeting meeting;
    struct request request; /* of gradients for this piece */
    bool listens;
    int64_t line;    /* of arrivals: number of polls by this worker */
    int64_t updates; /* of this piece */
    unroll_hyperparameters rates,
        next_rates; /* hyperparameters of this worker, whose step counts; unset before its first step */
    double scale;   /* of the next gradient; 0: it is empty */
    bool busy;      /* gradients are not accepted now */
};

/* Updates the rank's own piece by gradients [count of the piece]; `part` is a factor of the learning rate. */
unroll_status server_update(struct exchange *, double part, double scale, float *gradients);

/* Asynchronous mode. shard_after and shard_settle as in struct policy. */
unroll_status shard_open(struct exchange *);
void shard_close(struct exchange *);
void shard_begin(struct exchange *, int64_t step); /* all workers are at this step */
unroll_status shard_after(struct exchange *, int64_t step);
unroll_status shard_settle(struct exchange *);

#endif
