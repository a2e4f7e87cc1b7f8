#include "device/cpu/executor/operands.h"
#include "plan/mesh.h"
#include "nn/optim/optim.h"
#include "session/weights.h"
#include <math.h>
#include <pthread.h>
#include <string.h>

struct plan_config mesh_config(uint32_t T, int batch, int layer, int hidden, int chunks, enum dtype real)
{
    struct plan_config c = plan_config_default();
    c.real = real;
    c.T = T;
    c.B = 6;
    c.mesh[M_BATCH] = batch;
    c.mesh[M_LAYER] = layer;
    c.mesh[M_HIDDEN] = hidden;
    c.chunks = chunks;
    c.traits.operands = &cpu_operands;
    c.traits.narrow = 8; /* width of the first layer's input in most of these models */
    c.traits.sequence_losses = true;
    c.lengths = true;
    c.bucket = 500; /* bytes: several buckets for such small weights, some with several of them */
    optimizer_find("sgd", &c.optimizer);
    return c;
}

/* ---- inputs by global index ------------------------------------------------------------ */

static uint32_t hash(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t h = a * 2654435761u ^ b * 2246822519u ^ c * 3266489917u;
    h = (h ^ h >> 15) * 2246822519u;
    return h ^ h >> 13;
}

static void fill_integers(struct executable *in, const struct plan *p, const char *name, uint32_t salt, int min, int n)
{
    int index = plan_find_buffer(p, name);
    int32_t *to = index < 0 ? NULL : executable_buffer(in, name);
    const struct buffer *b = &p->buffer[index < 0 ? 0 : index];
    for (uint32_t t = 0; to && t < b->size[0]; t++)
        for (uint32_t row = 0; row < (b->rank > 1 ? b->size[1] : 1); row++)
            *to++ = min + (int)(hash(salt, b->origin[0] + t, b->rank > 1 ? b->origin[1] + row : 0) % (uint32_t)n);
}

/* Row 0 is full, row 1 empty, the others have any length. */
static void fill_lengths(struct executable *in, const struct plan *p)
{
    int index = plan_find_buffer(p, "lengths");
    int32_t *to = index < 0 ? NULL : executable_buffer(in, "lengths");
    for (uint32_t row = 0; to && row < p->buffer[index].size[0]; row++) {
        uint32_t global = p->buffer[index].origin[0] + row;
        to[row] = global == 0 ? (int)p->config.T : global == 1 ? 0 : (int)(hash(9, global, 0) % (p->config.T + 1));
    }
}

static void fill_inputs(struct executable *in, const struct plan *p)
{
    fill_integers(in, p, "tokens", 1, 0, p->model->input);
    fill_integers(in, p, "targets", 2, -1, unroll_model_outputs(p->model) + 1);
    fill_lengths(in, p);
    ((int64_t *)executable_buffer(in, "run"))[0] = 77; /* seed of the dropout masks */
    double *rates = executable_buffer(in, "rates");
    const struct optimizer *o = optimizer_at(p->config.optimizer);
    const unroll_hyperparameters standard = unroll_hyperparameters_default(o->name);
    o->make_numbers(o->learning_rate, 1, standard.hyperparameter, rates + RATE_NUMBERS);
    rates[RATE_CLIP] = 0.2;
    rates[RATE_STEP] = 1;
}

/* ---- running --------------------------------------------------------------------------- */

#define END ((enum phase)(PHASE_N + 1))

struct rank_thread {
    struct executable *executable;
    const enum phase *phases;
    unroll_status status;
    char error[512];
};

static void *run_rank(void *arg)
{
    struct rank_thread *r = arg;
    for (const enum phase *phase = r->phases; *phase != END && r->status == UNROLL_OK; phase++)
        r->status = executable_run(r->executable, *phase);
    if (r->status != UNROLL_OK)
        strncpy(r->error, unroll_last_error(), sizeof r->error - 1);
    return NULL;
}

static unroll_status run_all(struct mesh_run *run, const enum phase *phases)
{
    struct rank_thread rank[RANKS_MAX];
    pthread_t thread[RANKS_MAX];
    for (int i = 0; i < run->ranks; i++) {
        rank[i] = (struct rank_thread){.executable = run->executable[i], .phases = phases};
        if (pthread_create(&thread[i], NULL, run_rank, &rank[i]))
            return fail(UNROLL_RESOURCE, "no thread for rank %d", i);
    }
    unroll_status status = UNROLL_OK;
    for (int i = 0; i < run->ranks; i++) {
        pthread_join(thread[i], NULL);
        if (rank[i].status != UNROLL_OK && status == UNROLL_OK)
            status = fail(rank[i].status, "rank %d: %s", i, rank[i].error);
    }
    return status;
}

/* ---- opening --------------------------------------------------------------------------- */

static unroll_status open_rank(plan_maker *make, const unroll_model *m, const struct plan_config *config,
                               const struct cpu_isa *isa, int threads, struct mesh_run *run, int rank)
{
    TRY(make(m, config, &run->plan[rank]));
    TRY(store_new(run->plan[rank], &run->store[rank]));
    struct executable_config c = {.isa = isa, .threads = threads, .comm = run->comm[rank]};
    TRY(executable_new(run->plan[rank], run->store[rank], &c, &run->executable[rank]));
    TRY(weights_push(device_find("cpu", NULL), run->executable[rank], run->plan[rank], m->values));
    fill_inputs(run->executable[rank], run->plan[rank]);
    return UNROLL_OK;
}

unroll_status mesh_open_with(plan_maker *make, const unroll_model *m, struct plan_config c, const struct cpu_isa *isa,
                             int threads, struct mesh_run *run)
{
    memset(run, 0, sizeof *run);
    run->ranks = c.mesh[M_BATCH] * c.mesh[M_LAYER] * c.mesh[M_HIDDEN];
    unroll_status status = comm_threads_new(run->ranks, 20, run->comm);
    for (int rank = 0; rank < run->ranks && status == UNROLL_OK; rank++) {
        c.at[M_HIDDEN] = rank % c.mesh[M_HIDDEN];
        c.at[M_LAYER] = rank / c.mesh[M_HIDDEN] % c.mesh[M_LAYER];
        c.at[M_BATCH] = rank / c.mesh[M_HIDDEN] / c.mesh[M_LAYER];
        status = open_rank(make, m, &c, isa, threads, run, rank);
    }
    if (status == UNROLL_OK)
        status = check_mesh(run->plan, run->ranks);
    return status == UNROLL_OK ? run_all(run, (const enum phase[]){PHASE_PACK, END}) : status;
}

unroll_status mesh_open(const unroll_model *m, struct plan_config c, const struct cpu_isa *isa, int threads,
                        struct mesh_run *run)
{
    return mesh_open_with(plan_new, m, c, isa, threads, run);
}

void mesh_close(struct mesh_run *run)
{
    for (int i = 0; i < run->ranks; i++) {
        executable_free(run->executable[i]);
        store_free(run->store[i]);
        plan_free(run->plan[i]);
    }
    comm_threads_free(run->comm, run->ranks);
}

unroll_status mesh_gradients(struct mesh_run *run)
{
    static const enum phase apart[] = {PHASE_FORWARD, PHASE_BACKWARD, PHASE_SUM, END};
    static const enum phase together[] = {PHASE_FORWARD, (enum phase)PHASE_BACKWARD_SUM, END};
    return run_all(run, run->apart || !plan_overlaps(run->plan[0]) ? apart : together);
}

unroll_status mesh_update(struct mesh_run *run)
{
    static const enum phase phases[] = {PHASE_UPDATE, END};
    return run_all(run, phases);
}

/* ---- comparing ------------------------------------------------------------------------- */

static double number_at(const void *at, enum dtype dtype, size_t i)
{
    return dtype == DTYPE_F64 ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

/* Compares shard 0 of a gradient, [1, i, j, k] of the rank's share, with the serial one. */
static double compare(const struct buffer *whole, const void *serial, const struct buffer *here, const void *mine,
                      size_t *different)
{
    uint32_t size[3] = {1, 1, 1}, origin[3] = {0, 0, 0}, all[3] = {1, 1, 1};
    double scale = 1e-3, worst = 0;
    for (int i = 1; i < here->rank; i++) {
        size[3 - here->rank + i] = here->size[i];
        origin[3 - here->rank + i] = here->origin[i];
        all[3 - here->rank + i] = whole->size[i];
    }
    for (size_t i = 0; i < (size_t)all[0] * all[1] * all[2]; i++)
        scale = fmax(scale, fabs(number_at(serial, whole->dtype, i)));
    for (uint32_t i = 0; i < size[0]; i++)
        for (uint32_t j = 0; j < size[1]; j++)
            for (uint32_t k = 0; k < size[2]; k++) {
                size_t at = ((size_t)i * size[1] + j) * size[2] + k;
                size_t from = ((size_t)(origin[0] + i) * all[1] + origin[1] + j) * all[2] + origin[2] + k;
                double a = number_at(mine, here->dtype, at), b = number_at(serial, whole->dtype, from);
                *different += memcmp(&a, &b, sizeof a) != 0;
                double error = fabs(a - b) / scale;
                if (!(error <= worst))
                    worst = error;
            }
    return worst;
}

/* Returns the largest difference between gradients of a serial and a mesh run, and counts different bits. */
double mesh_difference(const struct mesh_run *serial, const struct mesh_run *mesh, size_t *different)
{
    const struct plan *one = serial->plan[0];
    double worst = 0;
    *different = 0;
    for (int rank = 0; rank < mesh->ranks; rank++) {
        const struct plan *p = mesh->plan[rank];
        for (int i = 0; i < p->buffers; i++) {
            const struct buffer *master = &p->buffer[i];
            bool lives = master->owners >> p->config.at[M_LAYER] & 1;
            if (master->segment != SEG_PARAM || !lives)
                continue;
            const struct buffer *here = &p->buffer[master->gradient];
            const struct buffer *whole = &one->buffer[plan_find_buffer(one, here->name)];
            double error = compare(whole, executable_buffer(serial->executable[0], here->name), here,
                                   executable_buffer(mesh->executable[rank], here->name), different);
            if (!(error <= worst))
                worst = error;
        }
    }
    return worst;
}
