/* What the workers of a parameter server share: pieces of the weights, each of which lives on one of them with its
 * optimizer's states. Synchronous in server.c; server_shard.c is how pieces answer as gradients come. */
#ifndef PARALLEL_SERVER_H
#define PARALLEL_SERVER_H
#include "parallel/meeting.h"

/* Whole rows of the matrices of a rank's vector. */
struct piece {
    size_t first, count, row, rows;
};

enum { SERVER_STATES = 8 };

/* To a piece: the mean of so many gradients, up to this step of a worker; none: it is only told how far that is. From a
 * piece: its weights; the step up to which all are in them. */
struct notice {
    int32_t from, gradients;
    int64_t step;
};

/* What a worker knows of a piece and its server, or the server of a worker. */
struct peer {
    float *box;             /* a notice, and a piece behind it: comes from there */
    struct request request; /* of an answer */
    bool asked;             /* gradients went there, and no answer came yet */
    int gradients;          /* that are added in `held` for it */
    int64_t sent, known;    /* the last step that it was told; the one up to which its weights had all */
    bool owed;              /* an answer to the worker: some lag too far behind */
    int64_t clock;          /* of the worker: the last step that it told this piece */
};

struct server {
    struct piece *piece; /* [size] */
    int states;
    float *weights;              /* [count]; this rank's piece is the server's, others are as they were last told */
    float *held;                 /* [count] gradients: what is to be sent, or what is added up */
    float *state[SERVER_STATES]; /* [count] of the own piece */
    double *squares;             /* [rows] */
    float *box, *out;            /* notice and piece: what comes to this one; what goes */
    struct peer *peer;           /* [size] */
    struct meeting meeting;
    struct request request; /* of gradients for this piece */
    bool listens;
    int64_t line;                             /* of arrivals: how often this worker has looked at all that came */
    int64_t updates;                          /* of this piece */
    unroll_hyperparameters rates, next_rates; /* of this worker, whose step decides; not before its first */
    double scale;                             /* of the next gradient; 0: there is nothing in it */
    bool busy;                                /* nothing may come from beside */
};

/* Of the own piece: an update by gradients [count of the piece], whose learning rate counts as `part`. */
unroll_status server_update(struct exchange *, double part, double scale, float *gradients);

/* As it comes. `after` and `settle` as a policy's. */
unroll_status shard_open(struct exchange *);
void shard_close(struct exchange *);
void shard_begin(struct exchange *, int64_t step); /* all stand at this step */
unroll_status shard_after(struct exchange *, int64_t step);
unroll_status shard_settle(struct exchange *);

#endif
