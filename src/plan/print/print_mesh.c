/* Prints a whole mesh for people and programs: for each rank its part of the model, its work, its traffic per step,
 * its memory; and the bubble. plan_print prints the operations of one rank. */
#include "plan/print/print.h"
#include "plan/ir/traffic.h"
#include <string.h>

struct rank_summary {
    int at[M_N];
    int first_depth, last_depth; /* 0 embedding, 1..L-1 layers, L head; -1: none */
    uint32_t first_unit, units;  /* of the first layer on this rank; 0: not divided */
    double flops, message_bytes, sum_bytes, meeting_bytes, memory;
    int messages, sums, meetings; /* meetings: steps in which units are exchanged */
};

/* Counts the traffic of a training step; PACK runs only after a load. */
static void count_traffic(const struct plan *p, const struct op *op, struct rank_summary *s)
{
    double bytes = op->phase == PHASE_PACK ? 0 : op_sends(p, op);
    bool sums = op->kind == OP_ALL_REDUCE || op->kind == OP_SUM_BEGIN;
    bool recurs = (op->kind == OP_RNN || op->kind == OP_RNN_BACK) && p->config.mesh[M_HIDDEN] > 1;
    s->sums += sums;
    s->sum_bytes += sums ? bytes : 0;
    s->meetings += recurs && op->group >= 0 ? (int)op->view[RNN_G].count[0] : 0;
    s->meeting_bytes += recurs ? bytes : 0;
    s->messages += !sums && !recurs && bytes > 0;
    s->message_bytes += !sums && !recurs ? bytes : 0;
}

/* Collects one rank's work, traffic, layers, units and memory. */
static struct rank_summary summarize(const struct plan *p)
{
    struct rank_summary s = {.first_depth = -1, .last_depth = -1};
    memcpy(s.at, p->config.at, sizeof s.at);
    for (int i = 0; i < p->ops; i++) {
        const struct op *op = &p->op[i];
        s.flops += op->flops;
        count_traffic(p, op, &s);
        if (op->kind == OP_RNN && !s.units && p->config.mesh[M_HIDDEN] > 1) {
            s.first_unit = p->buffer[op->view[RNN_G].buffer].origin[3];
            s.units = p->buffer[op->view[RNN_G].buffer].size[3];
        }
    }
    for (int depth = 0; depth <= p->model->layers; depth++)
        if (p->stage_of[depth] == p->config.at[M_LAYER]) {
            s.first_depth = s.first_depth < 0 ? depth : s.first_depth;
            s.last_depth = depth;
        }
    for (int i = 0; i < SEG_N; i++) s.memory += (double)p->segment_bytes[i];
    return s;
}

/* Formats layers by their number from 0: "0-1 of 3". */
static const char *name_shard(const struct plan *p, const struct rank_summary *s, char room[64])
{
    int first = s->first_depth ? s->first_depth - 1 : 0;
    if (s->first_depth < 0)
        snprintf(room, 64, "nothing");
    else if (s->last_depth - 1 == first)
        snprintf(room, 64, "%d of %d", first, p->model->layers);
    else
        snprintf(room, 64, "%d-%d of %d", first, s->last_depth - 1, p->model->layers);
    return room;
}

static const char *name_units(const struct rank_summary *s, char room[32])
{
    if (s->units)
        snprintf(room, 32, "%u-%u", s->first_unit, s->first_unit + s->units - 1);
    else
        snprintf(room, 32, "all");
    return room;
}

static double total(struct plan *const *plans, int ranks)
{
    double sum = 0;
    for (int i = 0; i < ranks; i++) sum += summarize(plans[i]).flops;
    return sum;
}

unroll_status plan_print_mesh(FILE *file, struct plan *const *plans, int ranks)
{
    const struct plan_config *c = &plans[0]->config;
    double bubble, all = total(plans, ranks);
    TRY(mesh_bubble(plans, ranks, &bubble));
    fprintf(file,
            "mesh: batch %d x time %d x layer %d x hidden %d = %d ranks; the messages cannot deadlock\nrank  at       "
            "rows       layers      units       work  messages        sums            steps met         memory\n",
            c->mesh[M_BATCH], c->mesh[M_TIME], c->mesh[M_LAYER], c->mesh[M_HIDDEN], ranks);
    for (int i = 0; i < ranks; i++) {
        const struct plan *p = plans[i];
        struct rank_summary s = summarize(p);
        char shard[64], units[32], rows[32], at[32];
        snprintf(rows, sizeof rows, "%u-%u", p->first_row, p->first_row + p->rows - 1);
        snprintf(at, sizeof at, "%d,%d,%d,%d", s.at[M_BATCH], s.at[M_TIME], s.at[M_LAYER], s.at[M_HIDDEN]);
        fprintf(file, "%4d  %-7s  %-9s  %-10s  %-8s  %5.1f%%  %3d, %7.1f kB  %3d, %7.1f kB  %5d, %7.1f kB  %.1f MB\n",
                i, at, rows, name_shard(p, &s, shard), name_units(&s, units), all > 0 ? 100 * s.flops / all : 0,
                s.messages, s.message_bytes / 1e3, s.sums, s.sum_bytes / 1e3, s.meetings, s.meeting_bytes / 1e3,
                s.memory / 1e6);
    }
    fprintf(file, "bubble: ranks wait for each other %.1f%% of the time, if %s and messages take no time\n",
            100 * bubble, c->rate ? "they are as fast as measured" : "all compute equally fast");
    return UNROLL_OK;
}

json_t *plan_mesh_to_json(struct plan *const *plans, int ranks)
{
    double bubble;
    json_t *list = json_array();
    if (mesh_bubble(plans, ranks, &bubble) != UNROLL_OK) {
        json_decref(list);
        return NULL;
    }
    for (int i = 0; i < ranks; i++) {
        struct rank_summary s = summarize(plans[i]);
        json_array_append_new(list, json_pack("{si si si si sI sI si si sf si sf si sf si sf sf}", "batch",
                                              s.at[M_BATCH], "time", s.at[M_TIME], "layer", s.at[M_LAYER], "hidden",
                                              s.at[M_HIDDEN], "first_row", (json_int_t)plans[i]->first_row, "rows",
                                              (json_int_t)plans[i]->rows, "first_depth", s.first_depth, "last_depth",
                                              s.last_depth, "flops", s.flops, "messages", s.messages, "message_bytes",
                                              s.message_bytes, "sums", s.sums, "sum_bytes", s.sum_bytes, "steps_met",
                                              s.meetings, "met_bytes", s.meeting_bytes, "bytes", s.memory));
    }
    return json_pack("{so sf}", "ranks", list, "bubble", bubble);
}
