/* The kinds of operations and the slots of their views: all that a kernel needs of a plan. docs/internals/plan.md
 * describes what each computes. */
#pragma once
#include "nn/pools.h"
#include <stdbool.h>

enum { BUFFER_AXES = 4 };
/* The maximum number of pieces of time, and the steps in which a piece's states must agree before its repair ends. */
enum { PIECES_MAX = 64, PIECE_HELD = 8 };
/* Planes of all states that a piece stores, in addition to those of a step and those that are compared. */
enum { PIECE_STATES = 7 };

/* Statistics of one operation's pieces of time, written by thread 0 of the team. */
struct piece_counts {
    unsigned long long runs, rounds,
        repaired;               /* runs in pieces; totals of all runs: rounds of repairs, repeated steps of time */
    unsigned long long longest; /* repeated steps of the last run */
    int misses;                 /* consecutive runs whose repairs took longer than a piece */
    bool serial;                /* too many misses: it runs in one piece from now on */
    bool final, failed;         /* for ranks along time: the received states are final; a message failed */
};

enum access {
    NONE, /* the view is absent */
    READ,
    WRITE,
    ADD,   /* adds to the existing values */
    UPDATE /* reads, then writes */
};

static inline bool access_reads(enum access a) { return a == READ || a == ADD || a == UPDATE; }
static inline bool access_writes(enum access a) { return a == WRITE || a == ADD || a == UPDATE; }

/* KIND, name, roles of T, B and U, mesh axes along which it communicates internally. plan/ir/kinds.c has the other
 * fields. */
#define OP_KINDS(KIND)                                              \
    KIND(EMBED,       embed,       FREE,    FREE,   ABSENT,  0)     \
    KIND(EMBED_GRAD,  embed_grad,  SUMMED,  SUMMED, ABSENT,  0)     \
    KIND(GEMM,        gemm,        FREE,    FREE,   FREE,    0)     \
    KIND(GEMM_DX,     gemm_dx,     FREE,    FREE,   SUMMED,  0)     \
    KIND(GEMM_DW,     gemm_dw,     SUMMED,  SUMMED, FREE,    0)     \
    KIND(GATHER_COLUMNS,        gather_columns,        FREE,    FREE,   FREE,    0)     \
    KIND(SCATTER_ADD,   scatter_add,   SUMMED,  SUMMED, FREE,    0)     \
    KIND(BIAS_GRAD,    bias_grad,    SUMMED,  SUMMED, FREE,    0)     \
    KIND(RNN,         rnn,         CARRIED, FREE,   CARRIED, 1 << M_HIDDEN | 1 << M_TIME) \
    KIND(RNN_BACK,    rnn_back,    CARRIED, FREE,   CARRIED, 1 << M_HIDDEN | 1 << M_TIME) \
    KIND(DROPOUT,     dropout,     FREE,    FREE,   FREE,    0)     \
    KIND(ACTIVATE,    activate,    FREE,    FREE,   ENTIRE,  0)     \
    KIND(ACTIVATE_BACK, activate_back, FREE, FREE,  ENTIRE,  0)     \
    KIND(POOL,        pool,        ENTIRE,  FREE,   FREE,    0)     \
    KIND(POOL_BACK,   pool_back,   ENTIRE,  FREE,   FREE,    0)     \
    KIND(LOSS,        loss,        SUMMED,  SUMMED, ABSENT,  0)     \
    KIND(SEQUENCE_LOSS, sequence_loss, ENTIRE, SUMMED, ABSENT, 0)   \
    KIND(COPY,        copy,        FREE,    FREE,   FREE,    0)     \
    KIND(FILL,        fill,        FREE,    FREE,   FREE,    0)     \
    KIND(TREE,        tree,        ABSENT,  FREE,   FREE,    0)     \
    KIND(NORM,        norm,        ABSENT,  ABSENT, SUMMED,  0)     \
    KIND(UPDATE,      update,      ABSENT,  ABSENT, FREE,    0)     \
    KIND(PACK,        pack,        ABSENT,  ABSENT, FREE,    0)     \
    KIND(SEND,        send,        FREE,    FREE,   FREE,    0)     \
    KIND(RECV,        recv,        FREE,    FREE,   FREE,    0)     \
    KIND(ALL_REDUCE,  all_reduce,  FREE,    FREE,   FREE,    0)     \
    KIND(ALL_GATHER,  all_gather,  FREE,    FREE,   FREE,    0)     \
    KIND(SUM_BEGIN,   sum_begin,   FREE,    FREE,   FREE,    0)     \
    KIND(SUM_END,     sum_end,     FREE,    FREE,   FREE,    0)

enum op_kind {
#define KIND_ENUM(KIND, name, t, b, u, inside) OP_##KIND,
    OP_KINDS(KIND_ENUM)
#undef KIND_ENUM
        OP_BUILT_IN,
    OP_KIND_MAX = OP_BUILT_IN + 4 /* tests add their own kinds */
};

/* The slots of each kind's views. Unused slots are absent (NONE). */
enum { EMBED_TOKENS, EMBED_TABLE, EMBED_OUT }; /* no table: one-hot rows */
enum { EMBED_GRAD_TOKENS, EMBED_GRAD_DY, EMBED_GRAD_DTABLE };
enum { GEMM_X, GEMM_W, GEMM_BIAS, GEMM_Y, GEMM_LENGTHS }; /* W dense or in panels */
/* gather_columns and scatter_add have the slots of gemm and gemm_dw, but with tokens for x: the indices of one-hot
 * rows. */
enum { GEMM_DX_DY, GEMM_DX_W, GEMM_DX_DX, GEMM_DX_LENGTHS }; /* W dense or in columns */
enum { GEMM_DW_DY, GEMM_DW_X, GEMM_DW_INIT, GEMM_DW_DW, GEMM_DW_LENGTHS, GEMM_DW_RESET };
enum { BIAS_GRAD_DY, BIAS_GRAD_SUM, BIAS_GRAD_TWIN, BIAS_GRAD_LENGTHS }; /* the same sum for two biases */
enum {                                                                   /* shared by rnn and rnn_back */
       RNN_G,      /* [T,B,G,U]    pre-activations -> saved values -> their gradients */
       RNN_W,      /* [G',U,K]     recurrent weights: gates interleaved (rnn), in columns (rnn_back) */
       RNN_BIAS,   /* [G',U]       */
       RNN_VECTOR, /* [V,U]        weights per unit (peepholes) */
       RNN_PROJ,   /* [P,U]        h = P m */
       RNN_H0,
       RNN_S0,           /* [B,K], [S,B,U]   states entering: the output h; the others */
       RNN_Y,            /* [T,B,K]      outputs; zero after the end of a row */
       RNN_S,            /* [T,B,S,U]    the other states after each step */
       RNN_INTERMEDIATE, /* [T,B,L,K]    output of the first phase, operand of the second product */
       RNN_M,            /* [T,B,U]      the output before projection */
       RNN_LENGTHS,      /* [B]   i32    steps of each row */
       RNN_RESET,        /* [T,B] u8     1: the row restarts from zero states at this step */
       RNN_SCRATCH,
       RNN_HN,
       RNN_SN,     /* [B,K], [S,B,U]   states leaving */
       RNN_X,      /* [T,B,I]      these three only for rnn: an x whose product each step computes */
       RNN_W_X,    /* [G'',U,I]    gates interleaved */
       RNN_BIAS_X, /* [G'',U]      */
       RNN_SAVED,  /* [T,B,G,U]    saved values, if RNN_G must keep its sums: for pieces of time, whose steps are
                    * repeated */
       RNN_PIECES, /* [planes,W]   scratch of pieces of time */
       RNN_VIEWS,
       RNN_DY = RNN_VIEWS, /* [T,B,K]      gradient of the outputs */
       RNN_DHN,
       RNN_DSN, /* [B,U], [S,B,U]   of the states leaving */
       RNN_DH0,
       RNN_DS0, /* [B,U], [S,B,U]   of the states entering */
       RNN_DV,  /* [T,B,V,U]    of the vectors, per step */
       RNN_DP,  /* [T,B,P]      complete gradient of h_t, for the projection's weights */
       RNN_DG,  /* [T,B,G,U]    gradients of the sums of all units, for an exact hidden cut */
       RNN_BACK_VIEWS
};
enum { DROPOUT_X, DROPOUT_RUN, DROPOUT_Y, DROPOUT_LENGTHS };
enum { ACTIVATE_X, ACTIVATE_Y };
enum { ACTIVATE_BACK_X, ACTIVATE_BACK_DY, ACTIVATE_BACK_DX }; /* x: the input of the activation */
enum {
    POOL_X,
    POOL_LENGTHS,
    POOL_Y,
    POOL_AT,    /* max only, for backward: the step of each maximum; -1: none */
    POOL_STATE, /* [B,K+1]   in a streaming plan: the result of the steps so far, and their number */
    POOL_NEXT
};
enum { POOL_BACK_DY, POOL_BACK_LENGTHS, POOL_BACK_AT, POOL_BACK_DX };
/* `choice` of a pool; first: `last` of a layer that runs
 * backward in time */
enum {
    LOSS_Z,
    LOSS_TARGET,
    LOSS_LENGTHS,
    LOSS_SUM,
    LOSS_WEIGHT,
    LOSS_CONSTANTS
}; /* constants: levels, or weights of
    * classes */
enum {                                        /* after those of loss; without constants */
       SEQUENCE_SCRATCH = LOSS_CONSTANTS + 1, /* [threads, ..] f64 */
       SEQUENCE_ROWS,                         /* [B, 2] f64  the loss and the weight of each row */
       SEQUENCE_MOVE,
       SEQUENCE_START,
       SEQUENCE_END, /* [N, N], [N], [N]        parameters of crf */
       SEQUENCE_DMOVE,
       SEQUENCE_DSTART,
       SEQUENCE_DEND /* [1, B, N, N], [1, B, N] their gradients by each row, for a backward */
};
enum { COPY_FROM, COPY_TO };
enum { FILL_TO };
enum { TREE_X }; /* shard 0 gets the tree's sum */
enum { NORM_GRAD, NORM_OUT };
enum { UPDATE_W, UPDATE_GRAD, UPDATE_RUN, UPDATE_NORM, UPDATE_WEIGHT, UPDATE_STATE }; /* the first of the states */
enum { PACK_FROM, PACK_TO };
enum { COMM_X }; /* the first view of a bucket in sum_begin and sum_end */
enum { OP_VIEWS = RNN_BACK_VIEWS };

/* A view that is not contiguous is sent in messages of this many bytes, in row order; each is summed separately. */
enum { PIECE_BYTES = 1 << 15 };
