/* Explains how a plan would run on a GPU, for `unroll plan`: the form of each recurrence with its tiling, and
 * memory. Uses the planner and the layout of an executable. Without a GPU, the properties of a known one are used. */
#include "base/memory.h"
#include "extensions/cuda/explain.h"
#include "extensions/cuda/product.h"
#include "extensions/cuda/rnn_persistent.h"
#include "extensions/gpu/gpu_executable.h"
#include <jansson.h>
#include <string.h>

/* A recurrence of the plan and how it would run. */
struct choice {
    int op;
    char label[80];
    struct tiling tiling;
    const char *why;                /* reason for the step-by-step form */
    double cycles, portable_cycles; /* of a step, estimated by the planner */
};

struct explanation {
    const struct plan *plan;
    struct cuda_context *context, facts;
    bool is_here; /* a GPU of this machine; else properties of a known one */
    struct gpu_layout layout;
    struct choice *choice;
    int choices;
};

/* ---- choosing ----------------------------------------------------------------------------- */

static unroll_status choose_one(struct explanation *e, struct recorder *w, int index)
{
    const struct op *op = &e->plan->op[index];
    struct choice *c = &e->choice[e->choices++];
    struct gpu_call call;
    call_at(w, op, &call);
    const struct rnn r = rnn_of(w, &call);
    c->op = index;
    op_label(e->plan, op, c->label, sizeof c->label);
    TRY(rnn_persistent_choose(&r, op->kind == OP_RNN_BACK, &c->tiling, &c->why));
    c->cycles = c->tiling.cycles / r.steps;
    c->portable_cycles = c->tiling.portable_cycles / r.steps;
    return UNROLL_OK;
}

static unroll_status choose_all(struct explanation *e)
{
    struct recorder w = {.driver = &gpu_driver_cuda, .gpu = &e->context->gpu, .plan = e->plan};
    TRY(ALLOCATE(e->choice, (size_t)e->plan->ops + 1, "to explain a plan"));
    for (int i = 0; i < SEG_N; i++) w.base[i] = (char *)(uintptr_t)SCRATCH_ALIGNMENT; /* placeholder addresses */
    for (int i = 0; i < e->plan->ops; i++)
        if (e->plan->op[i].kind == OP_RNN || e->plan->op[i].kind == OP_RNN_BACK)
            TRY(choose_one(e, &w, i));
    return UNROLL_OK;
}

/* Makes the context current, because the planner may ask the GPU how many clusters fit. */
static unroll_status choose_with_context(struct explanation *e)
{
    if (!e->is_here)
        return choose_all(e);
    TRY(cuda_enter(e->context));
    unroll_status status = choose_all(e);
    cuda_leave();
    return status;
}

/* ---- lines -------------------------------------------------------------------------------- */

static const char *const algorithm_names[] = {[ALGORITHM_CLUSTER] = "clusters", [ALGORITHM_GRID] = "a grid"};

/* Returns the weight registers of each thread, all phases together: 4 for each slot. */
static unsigned weight_registers(const struct tiling *t)
{
    unsigned slots = 0;
    for (uint32_t i = 0; i < t->phases; i++) slots += t->product[i].in_registers * t->product[i].tiles;
    return 4 * slots;
}

/* Prints a recurrence's algorithm, tiling and cycles on a line. */
static void print_choice(const struct choice *c, FILE *file)
{
    const struct tiling *t = &c->tiling;
    if (t->algorithm == ALGORITHM_PORTABLE) {
        fprintf(file, "%5d  %-24s step by step: %s", c->op, c->label, c->why);
        if (c->portable_cycles > 0)
            fprintf(file, "; %.0f cycles a step", c->portable_cycles);
        fputc('\n', file);
        return;
    }
    if (t->algorithm == ALGORITHM_WALK) {
        fprintf(file,
                "%5d  %-24s a walk: %u blocks, a thread for each row and unit; %.0f cycles a step, step by step %.0f\n",
                c->op, c->label, t->groups, c->cycles, c->portable_cycles);
        return;
    }
    fprintf(file,
            "%5d  %-24s %s: %u x %u blocks, each of %u units and %u x %u rows; weights in %u registers of a thread"
            " and %.1f kB, shared memory %.1f kB; %.0f cycles a step, step by step %.0f\n",
            c->op, c->label, algorithm_names[t->algorithm], t->groups, t->cluster, t->units, t->chunks, t->chunk_rows,
            weight_registers(t), t->warps * t->shared_slots * (double)TILING_SLOT_BYTES / 1e3, t->shared_bytes / 1e3,
            c->cycles, c->portable_cycles);
}

static void print_lines(const struct explanation *e, FILE *file)
{
    const struct cuda_context *c = e->context;
    const struct gpu_layout *l = &e->layout;
    fprintf(file, "recurrences on %s (sm_%d, %d processors, %.0f kB of shared memory for a block), estimated:\n",
            c->name, c->capability, c->processors, c->shared_per_block / 1024.0);
    for (int i = 0; i < e->choices; i++) print_choice(&e->choice[i], file);
    fprintf(file,
            "on the GPU: %.1f MB in one piece, of them %d x %.1f MB for cuBLASLt and %d x %.1f MB scratch; "
            "%.1f MB pinned\n",
            (double)l->total / 1e6, e->plan->config.queues, CUBLASLT_WORKSPACE / 1e6, e->plan->config.queues,
            (double)(l->scratch + l->kept) / 1e6, (double)l->host / 1e6);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static json_t *choice_to_json(const struct choice *c)
{
    static const char *const ways[] = {[ALGORITHM_PORTABLE] = "portable",
                                       [ALGORITHM_CLUSTER] = "cluster",
                                       [ALGORITHM_GRID] = "grid",
                                       [ALGORITHM_WALK] = "walk"};
    const struct tiling *t = &c->tiling;
    json_t *j = json_pack("{s:i, s:s, s:s, s:f, s:f}", "operation", c->op, "name", c->label, "way", ways[t->algorithm],
                          "cycles_a_step", t->algorithm == ALGORITHM_PORTABLE ? c->portable_cycles : c->cycles,
                          "portable_cycles_a_step", c->portable_cycles);
    if (j && t->algorithm == ALGORITHM_PORTABLE)
        json_object_set_new(j, "why", json_string(c->why));
    else if (j)
        json_object_update_new(j, json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "groups", (int)t->groups, "blocks",
                                            (int)t->cluster, "units", (int)t->units, "chunks", (int)t->chunks, "rows",
                                            (int)t->chunk_rows, "weight_registers", (int)weight_registers(t),
                                            "shared_bytes", (int)t->shared_bytes));
    return j;
}

static unroll_status add_json(const struct explanation *e, json_t *json)
{
    const struct gpu_layout *l = &e->layout;
    json_t *all = json_array();
    for (int i = 0; i < e->choices; i++) json_array_append_new(all, choice_to_json(&e->choice[i]));
    json_t *gpu =
        json_pack("{s:s, s:b, s:i, s:i, s:o, s:I, s:I, s:I, s:I}", "gpu", e->context->name, "is_here", e->is_here,
                  "capability", e->context->capability, "processors", e->context->processors, "recurrences", all,
                  "arena_bytes", (json_int_t)l->total, "workspace_bytes",
                  (json_int_t)CUBLASLT_WORKSPACE * e->plan->config.queues, "scratch_bytes",
                  (json_int_t)(l->scratch + l->kept) * e->plan->config.queues, "pinned_bytes", (json_int_t)l->host);
    return json_object_set_new(json, "cuda", gpu) == 0 ? UNROLL_OK
                                                       : fail(UNROLL_RESOURCE, "no memory to explain the plan");
}

/* ---- the explanation ---------------------------------------------------------------------- */

unroll_status cuda_explain(const struct plan *plan, const char *which, FILE *file, json_t *json)
{
    struct explanation e = {.plan = plan};
    unroll_status opened = cuda_context_open(which, &e.context);
    e.is_here = opened == UNROLL_OK;
    if (!e.is_here && which)
        return opened; /* that GPU was requested; the error message is set */
    if (!e.is_here) {
        cuda_context_known(&e.facts);
        e.context = &e.facts;
    }
    gpu_lay_out(&gpu_driver_cuda, plan, &e.layout);
    unroll_status status = choose_with_context(&e);
    if (status == UNROLL_OK && json)
        status = add_json(&e, json);
    else if (status == UNROLL_OK)
        print_lines(&e, file);
    release(e.choice);
    return status;
}
