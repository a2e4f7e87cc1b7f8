/* The kinds of operations, and where each finds its views: all that a kernel must know of a plan.
 * docs/internals/plan.md says what each computes. */
#ifndef PLAN_OP_H
#define PLAN_OP_H
#include <stdbool.h>

enum { BUFFER_AXES = 4 };
/* Pieces of time, at most; steps in which the states of one must agree before its repair ends. */
enum { PIECES_MAX = 64, PIECE_HELD = 8 };
/* Planes of all states that a piece keeps beside those of a step and those that are compared. */
enum { PIECE_STATES = 7 };

/* What pieces of time of one operation have met so far; thread 0 of the team writes it. */
struct piece_counts {
    unsigned long long runs, rounds,
        repaired;               /* runs in pieces; of them all: rounds of repairs, steps of time that ran again */
    unsigned long long longest; /* of the last run: steps that ran again */
    int misses;                 /* runs in a row whose repairs took longer than a piece */
    bool serial;                /* too many: it runs in one piece from now on */
    bool final, failed;         /* of ranks along time: the states told are final; a message did not come */
};

enum access {
    NONE, /* the view is absent */
    READ,
    WRITE,
    ADD,   /* to what is there */
    UPDATE /* read, then written */
};

static inline bool access_reads(enum access a) { return a == READ || a == ADD || a == UPDATE; }
static inline bool access_writes(enum access a) { return a == WRITE || a == ADD || a == UPDATE; }

/* KIND, name, roles of T, B and U, mesh axes over which it exchanges inside. plan/kinds.c has the rest. */
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
    OP_KIND_MAX = OP_BUILT_IN + 4 /* tests add kinds of their own */
};

/* Where each kind finds its views. Slots that an operation does without are absent (NONE). */
enum { EMBED_TOKENS, EMBED_TABLE, EMBED_OUT }; /* no table: one-hot rows */
enum { EMBED_GRAD_TOKENS, EMBED_GRAD_DY, EMBED_GRAD_DTABLE };
enum { GEMM_X, GEMM_W, GEMM_BIAS, GEMM_Y, GEMM_LENGTHS }; /* W dense or in panels */
/* pick and scatter_add have the slots of gemm and gemm_dw, but tokens for x: the numbers of one-hot rows. */
enum { GEMM_DX_DY, GEMM_DX_W, GEMM_DX_DX, GEMM_DX_LENGTHS }; /* W dense or in columns */
enum { GEMM_DW_DY, GEMM_DW_X, GEMM_DW_INIT, GEMM_DW_DW, GEMM_DW_LENGTHS, GEMM_DW_RESET };
enum { BIAS_GRAD_DY, BIAS_GRAD_SUM, BIAS_GRAD_TWIN, BIAS_GRAD_LENGTHS }; /* the same sum for two biases */
enum {                                                                   /* rnn and rnn_back share these */
       RNN_G,      /* [T,B,G,U]    pre-activations -> saved values -> their gradients */
       RNN_W,      /* [G',U,K]     recurrent weights: gates side by side (rnn), in columns (rnn_back) */
       RNN_BIAS,   /* [G',U]       */
       RNN_VECTOR, /* [V,U]        weights per unit (peepholes) */
       RNN_PROJ,   /* [P,U]        h = P m */
       RNN_H0,
       RNN_S0,           /* [B,K], [S,B,U]   states entering: the output h; the others */
       RNN_Y,            /* [T,B,K]      outputs; zero where a row has ended */
       RNN_S,            /* [T,B,S,U]    the other states after each step */
       RNN_INTERMEDIATE, /* [T,B,L,K]    what the first phase hands to the second product */
       RNN_M,            /* [T,B,U]      the output before projection */
       RNN_LENGTHS,      /* [B]   i32    steps of each row */
       RNN_RESET,        /* [T,B] u8     1: the row starts anew from zero states at this step */
       RNN_SCRATCH,
       RNN_HN,
       RNN_SN,     /* [B,K], [S,B,U]   states leaving */
       RNN_X,      /* [T,B,I]      of rnn alone, these three: an x whose product each step makes itself */
       RNN_W_X,    /* [G'',U,I]    gates side by side */
       RNN_BIAS_X, /* [G'',U]      */
       RNN_SAVED,  /* [T,B,G,U]    saved values, where RNN_G keeps its sums: of pieces of time, whose steps run again */
       RNN_PIECES, /* [planes,W]   scratch of pieces of time */
       RNN_VIEWS,
       RNN_DY = RNN_VIEWS, /* [T,B,K]      gradient of the outputs */
       RNN_DHN,
       RNN_DSN, /* [B,U], [S,B,U]   of the states leaving */
       RNN_DH0,
       RNN_DS0, /* [B,U], [S,B,U]   of the states entering */
       RNN_DV,  /* [T,B,V,U]    of the vectors, step by step */
       RNN_DP,  /* [T,B,P]      whole gradient of h_t, for the projection's weights */
       RNN_DG,  /* [T,B,G,U]    gradients of the sums of all units, of an exact hidden cut */
       RNN_BACK_VIEWS
};
enum { DROPOUT_X, DROPOUT_RUN, DROPOUT_Y, DROPOUT_LENGTHS };
enum { ACTIVATE_X, ACTIVATE_Y };
enum { ACTIVATE_BACK_X, ACTIVATE_BACK_DY, ACTIVATE_BACK_DX }; /* x: what entered the activation */
enum {
    POOL_X,
    POOL_LENGTHS,
    POOL_Y,
    POOL_AT,    /* of max, for the backward: the step that each maximum is of; -1: none */
    POOL_STATE, /* [B,K+1]   of a streaming plan: what is made of the steps so far, and how many */
    POOL_NEXT
};
enum { POOL_BACK_DY, POOL_BACK_LENGTHS, POOL_BACK_AT, POOL_BACK_DX };
enum pool { POOL_LAST, POOL_MEAN, POOL_MAX, POOL_FIRST }; /* `choice` of a pool; first: of backward in time the last */
enum { LOSS_Z, LOSS_TARGET, LOSS_LENGTHS, LOSS_SUM, LOSS_WEIGHT, LOSS_CONSTANTS }; /* levels, or weights of classes */
enum { COPY_FROM, COPY_TO };
enum { FILL_TO };
enum { TREE_X }; /* shard 0 gets the tree's sum */
enum { NORM_GRAD, NORM_OUT };
enum { UPDATE_W, UPDATE_GRAD, UPDATE_RUN, UPDATE_NORM, UPDATE_WEIGHT, UPDATE_STATE }; /* the first of the states */
enum { PACK_FROM, PACK_TO };
enum { COMM_X }; /* of a bucket, sum_begin and sum_end: its first view */
enum { OP_VIEWS = RNN_BACK_VIEWS };

#endif
