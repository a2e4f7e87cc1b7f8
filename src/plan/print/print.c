/* Prints the plan as a table of operations, or as one JSON object. */
#include "plan/print/print.h"

static const char *const access_marks[] = {[NONE] = "", [READ] = "", [WRITE] = "=", [ADD] = "+", [UPDATE] = "~"};
static const char *const phase_names[] = {
#define PHASE_NAME(NAME, name) #name,
    PHASES(PHASE_NAME)};

const char *segment_name(enum segment segment)
{
    static const char *const names[] = {
#define SEGMENT_NAME(name) #name,
        SEGMENTS(SEGMENT_NAME)
#undef SEGMENT_NAME
    };
    return names[segment];
}

const char *bytes_text(double bytes, char text[16])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    for (; bytes >= 999.95 && unit < 4; unit++) bytes /= 1000;
    snprintf(text, 16, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

/* Prints "g.l0[3:6,,,]": only ranges that are not whole; always those of a buffer shared by chunks. */
static void print_view(FILE *file, const struct plan *p, const struct view *v)
{
    const struct buffer *b = &p->buffer[v->buffer];
    bool whole = true;
    for (int i = 0; i < b->rank; i++) whole &= v->count[i] == b->size[i] && !b->shared;
    fprintf(file, " %s%s", access_marks[v->access], b->name);
    for (int i = 0; i < b->rank && !whole; i++) {
        fputs(i ? "," : "[", file);
        uint32_t first = v->first[i] + (b->axis[i] == p->chunk_axis ? v->base : 0);
        if (v->count[i] != b->size[i] || (b->axis[i] == p->chunk_axis && b->shared))
            fprintf(file, "%u:%u", first, first + v->count[i]);
    }
    if (!whole)
        fputc(']', file);
}

static void print_waits(FILE *file, const struct op *op)
{
    for (int queue = 0; queue < QUEUES_MAX; queue++)
        if (op->wait[queue] >= 0)
            fprintf(file, " wait %d", op->wait[queue]);
    if (op->peer >= 0)
        fprintf(file, " %s rank %d", op->kind == OP_SEND ? "to" : "from", op->peer);
}

static void print_op(FILE *file, const struct plan *p, int i)
{
    const struct op *op = &p->op[i];
    fprintf(file, "%5d  queue %d  %-14s %9.3f MFLOP %10.1f kB ", i, op->queue, kind_info(op->kind)->name,
            op->flops / 1e6, op->bytes / 1e3);
    for (int k = 0; k < op->views; k++)
        if (op->view[k].buffer >= 0 && p->buffer[op->view[k].buffer].segment != SEG_SCRATCH)
            print_view(file, p, &op->view[k]);
    print_waits(file, op);
    fputc('\n', file);
}

static void print_phase(FILE *file, const struct plan *p, int phase, const char *name)
{
    int first, end;
    double flops = 0;
    phase_range(p, (enum phase)phase, &first, &end);
    for (int i = first; i < end; i++) flops += p->op[i].flops;
    if (first < end)
        fprintf(file, "%s: %d operations, %.3f MFLOP\n", name, end - first, flops / 1e6);
    for (int i = first; i < end; i++) print_op(file, p, i);
}

void plan_print(FILE *file, const struct plan *p)
{
    char pieces[32] = "", text[16];
    if (p->config.pieces > 1)
        snprintf(pieces, sizeof pieces, " pieces = %d,", p->config.pieces);
    fprintf(file, "T = %u, B = %u, chunks%s = %d,%s queues = %d, rank %d of %d; = writes, + adds, ~ updates\n",
            p->config.T, p->config.B, p->chunk_axis == AX_B ? " of rows" : "", p->config.chunks, pieces,
            p->config.queues, plan_rank(p), plan_ranks(p));
    bool overlap = plan_overlaps(p);
    for (int phase = 0; phase < PHASE_N; phase++)
        if (overlap && phase == PHASE_BACKWARD)
            print_phase(file, p, PHASE_BACKWARD_SUM, "backward and sum");
        else if (!overlap || phase != PHASE_SUM)
            print_phase(file, p, phase, phase_names[phase]);
    fputs("memory:", file);
    for (int s = 0; s < SEG_N; s++)
        fprintf(file, "  %s %s", segment_name((enum segment)s), bytes_text((double)p->segment_bytes[s], text));
    fputc('\n', file);
}

/* ---- checkpoints ----------------------------------------------------------------------- */

/* Activations that have all steps although segments share memory, because other traversals, ranks or the host read
 * them. */
static bool is_kept(const struct buffer *b)
{
    return b->segment == SEG_STEP && b->bytes && !b->shared && buffer_dim(b, AX_T) >= 0;
}

void plan_print_saving(FILE *file, const struct plan *p, const struct plan *all)
{
    uint64_t now = p->segment_bytes[SEG_STEP], before = all ? all->segment_bytes[SEG_STEP] : 0, kept = 0;
    char text[16];
    if (!all)
        return;
    fprintf(file, "checkpoints: %d segments; STEP needs %s, ", p->config.chunks, bytes_text((double)now, text));
    fprintf(file, "without checkpoints %s (%.1f%%)\nkept for all steps:", bytes_text((double)before, text),
            before ? 100 * (double)now / (double)before : 0);
    for (int i = 0; i < p->buffers; i++)
        if (is_kept(&p->buffer[i])) {
            fprintf(file, "%s %s", kept ? "," : "", p->buffer[i].name);
            kept += p->buffer[i].bytes;
        }
    fprintf(file, "%s%s\n", kept ? ": " : " nothing", kept ? bytes_text((double)kept, text) : "");
}

/* ---- JSON ------------------------------------------------------------------------------ */

static json_t *op_to_json(const struct plan *p, const struct op *op)
{
    json_t *views = json_array();
    for (int k = 0; k < op->views; k++)
        if (op->view[k].buffer >= 0)
            json_array_append_new(views, json_string(p->buffer[op->view[k].buffer].name));
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:o}", "kind", kind_info(op->kind)->name, "phase",
                     phase_names[op->phase], "queue", op->queue, "chunk", op->chunk, "depth", op->depth, "flops",
                     op->flops, "bytes", op->bytes, "buffers", views);
}

static json_t *saving_to_json(const struct plan *p, const struct plan *all)
{
    json_t *kept = json_array();
    for (int i = 0; i < p->buffers; i++)
        if (is_kept(&p->buffer[i]))
            json_array_append_new(kept, json_string(p->buffer[i].name));
    return json_pack("{s:i, s:I, s:o}", "segments", p->config.chunks, "step_bytes_without",
                     (json_int_t)all->segment_bytes[SEG_STEP], "kept", kept);
}

json_t *plan_to_json(const struct plan *p, const struct plan *all)
{
    json_t *ops = json_array(), *segments = json_object();
    double flops = 0;
    uint64_t total = 0;
    for (int i = 0; i < p->ops; i++) {
        json_array_append_new(ops, op_to_json(p, &p->op[i]));
        flops += p->op[i].flops;
    }
    for (int s = 0; s < SEG_N; s++) {
        json_object_set_new(segments, segment_name((enum segment)s), json_integer((json_int_t)p->segment_bytes[s]));
        total += p->segment_bytes[s];
    }
    return json_pack("{s:o, s:o, s:f, s:I, s:i, s:i, s:i, s:i, s:s, s:o*}", "operations", ops, "segments", segments,
                     "flops", flops, "peak_bytes", (json_int_t)total, "steps", (int)p->config.T, "rows",
                     (int)p->config.B, "queues", p->config.queues, "chunks", p->config.chunks, "chunks_of",
                     p->chunk_axis == AX_B ? "rows" : "steps", "checkpoints", all ? saving_to_json(p, all) : NULL);
}
