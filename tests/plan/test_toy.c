/* Extensions from outside: a cell and a kind of operation defined by the test are lowered to plans, cut, run and
 * differentiated like built-in ones, so no code in between depends on their names. The kernels of cells alone are
 * tested in tests/cells. */
/* test: kinds=plain,long-memory; with=cells/toys_*,plan/mesh */
#include "check.h"
#include "base/memory.h"
#include "cells/toys.h"
#include "nn/optim/optim.h"
#include "plan/passes/adjoint.h"
#include "plan/mesh.h"
#include <math.h>
#include <string.h>

/* ---- the toys -------------------------------------------------------------------------- */

static unroll_model_config spec_of(float dropout)
{
    unroll_model_config s = unroll_model_config_default();
    s.layers = 2;
    s.hidden = s.embed = 6;
    s.tokens = s.tied = 1;
    s.input = s.output = 7;
    s.loss = "xent";
    s.dropout = dropout;
    s.clip = 0.5f;
    return s;
}

static unroll_model *build(unroll_model_config s, const char *cell, const struct cell_kernels *const *table)
{
    unroll_model *m = NULL;
    s.cell = cell;
    const struct cell_declaration *declaration = cell_find(table, cell)->declaration;
    CHECK(model_build(&s, declaration, 1, &m) == UNROLL_OK, "%s", unroll_last_error());
    return m;
}

/* Returns the kernels of an ISA with the toy cells instead of the library's, or false if the machine does not support
 * it. */
static bool toy_isa(enum isa isa, enum dtype real, struct cpu_isa *out)
{
    static const struct cell_kernels *const *const tables[ISA_COUNT] = {
        [ISA_SCALAR] = toys_scalar,
#if defined(__x86_64__)
        [ISA_AVX2] = toys_avx2,          [ISA_AVX512] = toys_avx512,
        [ISA_AVX512_VNNI] = toys_avx512, [ISA_AMX] = toys_avx512,
#elif defined(__aarch64__)
        [ISA_NEON] = toys_neon,
#endif
    };
    const struct cpu_isa *found = cpu_isa_find(isa, real);
    if (!found)
        return false;
    *out = *found;
    out->cells = real == DTYPE_F64 ? toys_f64 : tables[isa];
    return true;
}

/* ---- gradients against finite differences ---------------------------------------------- */

static double loss_of(struct mesh_run *run)
{
    double *loss = executable_buffer(run->executable[0], "loss_sum");
    *loss = 0;
    CHECK(executable_run(run->executable[0], PHASE_PACK) == UNROLL_OK &&
              executable_run(run->executable[0], PHASE_FORWARD) == UNROLL_OK,
          "%s", unroll_last_error());
    return *loss;
}

/* Four points: the error is of order h^4. h is so small that hardly any sum crosses the corner of a clip. */
static double slope_of(struct mesh_run *run, double *weight)
{
    static const struct {
        int at;
        double factor;
    } points[] = {{1, 8}, {-1, -8}, {2, -1}, {-2, 1}};
    const double h = 0x1p-17, kept = *weight;
    double slope = 0;
    for (int i = 0; i < 4; i++) {
        *weight = kept + points[i].at * h;
        slope += points[i].factor * loss_of(run) / (12 * h);
    }
    *weight = kept;
    return slope;
}

/* Checks a serial run in double whose gradients have been computed. */
static void check_slopes(struct mesh_run *run, const char *what)
{
    const struct plan *p = run->plan[0];
    for (int i = 0; i < p->buffers; i++) {
        const struct buffer *b = &p->buffer[i];
        if (b->segment != SEG_PARAM)
            continue;
        double *weight = executable_buffer(run->executable[0], b->name), worst = 0;
        const double *gradient = executable_buffer(run->executable[0], p->buffer[b->gradient].name);
        for (size_t k = 0; k < b->bytes / sizeof *weight; k++) {
            double slope = slope_of(run, &weight[k]), error = fabs(slope - gradient[k]) / (1 + fabs(slope));
            worst = error <= worst ? worst : error; /* keeps NaN */
        }
        CHECK(worst <= 1e-7, "%s: the gradient of %s is off by %.2e", what, b->name, worst);
    }
}

/* ---- runs and cuts --------------------------------------------------------------------- */

static bool make_gradients(plan_maker *make, const unroll_model *m, struct plan_config c, const struct cpu_isa *isa,
                           int threads, struct mesh_run *run)
{
    unroll_status status = mesh_open_with(make, m, c, isa, threads, run);
    if (status == UNROLL_OK)
        status = mesh_gradients(run);
    return CHECK(status == UNROLL_OK, "%s on %s, %d chunks: %s", m->layer[0].cell->name, isa->name, c.chunks,
                 unroll_last_error());
}

static void check_against(const struct mesh_run *serial, plan_maker *make, const unroll_model *m, struct plan_config c,
                          const struct cpu_isa *isa, int threads, bool same_bits)
{
    struct mesh_run run;
    char what[128];
    size_t different = 0;
    snprintf(what, sizeof what, "%s %dx%dx%d, %d chunks, %d queues, %s, %d threads", m->layer[0].cell->name,
             c.mesh[M_BATCH], c.mesh[M_LAYER], c.mesh[M_HIDDEN], c.chunks, c.queues, isa->name, threads);
    if (make_gradients(make, m, c, isa, threads, &run)) {
        double worst = mesh_difference(serial, &run, &different);
        CHECK(worst <= 1e-12, "%s: gradients are off by %.2e", what, worst);
        CHECK(!same_bits || !different, "%s: %zu numbers have other bits", what, different);
    }
    mesh_close(&run);
}

/* All combinations of cuts by 2, whole and in chunks, on one queue and on two, in double. */
static void check_cuts(const struct mesh_run *serial, plan_maker *make, const unroll_model *m,
                       const struct cpu_isa *isa)
{
    for (int way = 0; way < 16; way++) {
        int batch = 1 + (way & 1), layer = 1 + (way >> 1 & 1), hidden = 1 + (way >> 2 & 1);
        struct plan_config c = mesh_config(6, batch, layer, hidden, way >> 3 ? 3 : 1, DTYPE_F64);
        c.queues = way >> 3 ? 2 : 1;
        check_against(serial, make, m, c, isa, c.queues, batch == 1 && hidden == 1);
    }
}

/* Every ISA gives the bits of the scalar one. */
static void check_isas(plan_maker *make, const unroll_model *m, void (*change)(struct cpu_isa *))
{
    struct mesh_run serial;
    struct cpu_isa isa;
    struct plan_config c = mesh_config(6, 1, 1, 1, 1, DTYPE_F32);
    toy_isa(ISA_SCALAR, DTYPE_F32, &isa);
    change(&isa);
    if (make_gradients(make, m, c, &isa, 1, &serial))
        for (int i = 0; i < ISA_COUNT; i++)
            if (toy_isa((enum isa)i, DTYPE_F32, &isa)) {
                change(&isa);
                c.chunks = i % 2 ? 1 : 3;
                check_against(&serial, make, m, c, &isa, 1 + i % 3, true);
            }
    mesh_close(&serial);
}

static void check_in_double(plan_maker *make, const unroll_model *m, void (*change)(struct cpu_isa *))
{
    struct mesh_run serial;
    struct cpu_isa isa;
    toy_isa(ISA_SCALAR, DTYPE_F64, &isa);
    change(&isa);
    if (make_gradients(make, m, mesh_config(6, 1, 1, 1, 1, DTYPE_F64), &isa, 1, &serial)) {
        check_cuts(&serial, make, m, &isa);
        check_slopes(&serial, m->layer[0].cell->name);
    }
    mesh_close(&serial);
}

/* ---- an external cell ------------------------------------------------------------------ */

static void keep_kernels(struct cpu_isa *isa) { (void)isa; }

static void check_cell(const char *name, int bidirectional)
{
    unroll_model_config s = spec_of(0.25f);
    s.bidirectional = bidirectional;
    s.tied = !bidirectional;
    unroll_model *m = build(s, name, toys_scalar);
    check_in_double(plan_new, m, keep_kernels);
    check_isas(plan_new, m, keep_kernels);
    unroll_model_free(m);
}

/* The library's kernels do not have it and refuse it. */
static void check_unknown_cell(void)
{
    unroll_model *m = build(spec_of(0), "toy", toys_scalar);
    struct mesh_run run;
    const struct cpu_isa *isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32);
    unroll_status status = mesh_open(m, mesh_config(6, 1, 1, 1, 1, DTYPE_F32), isa, 1, &run);
    CHECK(status == UNROLL_UNSUPPORTED && strstr(unroll_last_error(), "no cell 'toy'"), "%d %s", (int)status,
          unroll_last_error());
    mesh_close(&run);
    unroll_model_free(m);
}

/* ---- an external kind of operation: y = 2 x --------------------------------------------- */

static enum op_kind op_scale;
enum { SCALE_X, SCALE_Y };

static double flops_scale(const struct plan *p, const struct op *op)
{
    return (double)view_elements(p, &op->view[SCALE_Y]);
}

static unroll_status adjoint_scale(struct plan *p, int index)
{
    const struct op forward = p->op[index];
    struct op op = backward_op(&forward, op_scale);
    op.view[SCALE_X] = gradient_read(p, &forward.view[SCALE_Y]);
    TRY(gradient_write(p, &forward.view[SCALE_X], &op.view[SCALE_Y]));
    return plan_push(p, &op);
}

static double number_at(const struct tensor *x, size_t at)
{
    return x->dtype == DTYPE_F64 ? ((const double *)x->at)[at] : (double)((const float *)x->at)[at];
}

/* The team divides the rows of each step. Doubling is exact. */
static unroll_status kernel_scale(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *x = &call->view[SCALE_X], *y = &call->view[SCALE_Y];
    bool adds = call->view[SCALE_Y].access == ADD;
    uint32_t first, count;
    shard_range(y->count[1], team, me, 1, &first, &count);
    for (size_t t = 0; t < y->count[0]; t++)
        for (size_t b = first; b < first + count; b++)
            for (size_t i = 0; i < y->count[2]; i++) {
                size_t to = t * y->stride[0] + b * y->stride[1] + i;
                double made = 2 * number_at(x, t * x->stride[0] + b * x->stride[1] + i);
                made += adds ? number_at(y, to) : 0;
                if (y->dtype == DTYPE_F64)
                    ((double *)y->at)[to] = made;
                else
                    ((float *)y->at)[to] = (float)made;
            }
    double elements = (double)y->count[0] * count * y->count[2];
    work->flops += elements;
    work->bytes += elements * (adds ? 3 : 2) * (double)dtype_size(y->dtype);
    return UNROLL_OK;
}

static void add_scale(struct cpu_isa *isa)
{
    isa->cells = cpu_isa_find(isa->isa, isa->real)->cells;
    isa->kernel[op_scale] = kernel_scale;
}

/* Replaces the operation that reads the tensor to be scaled. */
static unroll_status push_scale(struct plan *p, struct op *reader)
{
    struct view read = reader->view[GEMM_X];
    const struct buffer *y = &p->buffer[read.buffer];
    int scaled = plan_add_buffer(p, "scaled", y->dtype, SEG_STEP, y->rank, y->axis, y->size);
    struct op op = op_new(op_scale, PHASE_FORWARD, reader->depth);
    if (scaled < 0)
        return UNROLL_RESOURCE;
    p->buffer[scaled].wants_gradient = true;
    op.view[SCALE_X] = read;
    op.view[SCALE_Y] = view_of(p, scaled, WRITE);
    reader->view[GEMM_X] = view_of(p, scaled, READ);
    return plan_push(p, &op);
}

/* Inserts it between the last layer and the head, which is the last product: it reads the doubled outputs. */
static unroll_status insert_scale(struct plan *p)
{
    int count, head;
    struct op *list = plan_take_list(p, &count);
    unroll_status status = UNROLL_OK;
    for (head = count - 1; list[head].kind != OP_GEMM;) head--;
    for (int i = 0; i < count && status == UNROLL_OK; i++) {
        if (i == head)
            status = push_scale(p, &list[i]);
        if (status == UNROLL_OK)
            status = plan_push(p, &list[i]);
    }
    release(list);
    return status;
}

static unroll_status run_passes(struct plan *p)
{
    TRY(pass_lower(p));
    TRY(insert_scale(p));
    TRY(pass_partition(p));
    TRY(pass_cut_axis(p, AX_B, M_BATCH));
    TRY(pass_cut_axis(p, AX_U, M_HIDDEN));
    TRY(pass_cut_axis(p, AX_T, M_TIME));
    TRY(pass_chunk(p));
    TRY(pass_cut_layer(p));
    TRY(pass_adjoint(p));
    TRY(pass_fuse_input(p));
    TRY(pass_reduce_gradients(p));
    TRY(pass_order(p));
    TRY(pass_allocate(p));
    return pass_check(p);
}

static unroll_status plan_with_scale(const unroll_model *m, const struct plan_config *c, struct plan **plan)
{
    struct plan *p = *plan = allocate_zeroed(1, sizeof *p);
    if (!p)
        return fail(UNROLL_RESOURCE, "no memory for a plan");
    p->model = m;
    p->config = *c;
    p->block_steps = (c->T + CHUNKS_MAX - 1) / CHUNKS_MAX;
    return run_passes(p);
}

/* It is in both parts, with its price, and the executor counts the same work. */
static void check_price(const unroll_model *m)
{
    struct mesh_run run;
    struct cpu_isa isa = *cpu_isa_find(ISA_SCALAR, DTYPE_F64);
    int found = 0;
    add_scale(&isa);
    if (make_gradients(plan_with_scale, m, mesh_config(6, 1, 1, 1, 3, DTYPE_F64), &isa, 1, &run))
        for (int i = 0; i < run.plan[0]->ops; i++) {
            const struct op *op = &run.plan[0]->op[i];
            if (op->kind != op_scale)
                continue;
            CHECK(executable_run_op(run.executable[0], i) == UNROLL_OK, "%s", unroll_last_error());
            struct work work = executable_work(run.executable[0]);
            CHECK(op->flops == work.flops && op->bytes == work.bytes, "%g flops, %g bytes; the plan: %g, %g",
                  work.flops, work.bytes, op->flops, op->bytes);
            found += op->phase == PHASE_FORWARD ? 1 : 100;
        }
    CHECK(found == 303, "3 chunks of it forward and 3 backward, not %d and %d", found % 100, found / 100);
    mesh_close(&run);
}

/* The library's kernels do not have it and refuse it. */
static void check_unknown_kind(const unroll_model *m)
{
    struct mesh_run run;
    const struct cpu_isa *isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32);
    unroll_status status = mesh_open_with(plan_with_scale, m, mesh_config(6, 1, 1, 1, 1, DTYPE_F32), isa, 1, &run);
    CHECK(status == UNROLL_UNSUPPORTED && strstr(unroll_last_error(), "do not support 'scale'"), "%d %s", (int)status,
          unroll_last_error());
    mesh_close(&run);
}

static void check_kind(void)
{
    const struct op_kind_info info = {
        .name = "scale", .role = {FREE, FREE, FREE}, .adjoint = adjoint_scale, .flops = flops_scale};
    CHECK(kind_add(&info, &op_scale) == UNROLL_OK, "%s", unroll_last_error());
    unroll_model *m = build(spec_of(0.25f), "lstm", cells_scalar);
    check_unknown_kind(m);
    check_price(m);
    check_in_double(plan_with_scale, m, add_scale);
    check_isas(plan_with_scale, m, add_scale);
    unroll_model_free(m);
}

int main(void)
{
    check_cell("toy", 0);
    check_cell("toy", 1);
    check_cell("toy_operations", 0);
    check_unknown_cell();
    check_kind();
    return check_finish("toy");
}
