/* Copies a rank's share of the parameters between a vector of floats and the device. Only gathering whole parameters
 * sends messages. */
#include "session/session.h"
#include "base/memory.h"
#include "base/status.h"
#include "nn/optim/optim.h"
#include "session/mesh.h"

static const struct buffer *buffer_of(const struct plan *p, const struct share *share, enum share_of of)
{
    static const int views[] = {[SHARE_WEIGHTS] = UPDATE_W, [SHARE_GRADIENTS] = UPDATE_GRAD};
    const int view = of < SHARE_STATE ? views[of] : UPDATE_STATE + (int)(of - SHARE_STATE);
    return &p->buffer[p->op[share->op].view[view].buffer];
}

unroll_status session_update_vector(const unroll_session *s, struct update_vector *vector)
{
    return plan_update_vector(s->plan, vector);
}

unroll_status session_read_shares(unroll_session *s, enum share_of of, float *vector)
{
    struct share share;
    TRY(session_check(s));
    for (int i = 0; plan_share(s->plan, i, &share, NULL); i++) {
        const struct buffer *b = buffer_of(s->plan, &share, of);
        TRY(s->device->read(s->executable, b->name, 0, share.rows * share.columns * sizeof *vector,
                            vector + share.first));
    }
    return UNROLL_OK;
}

unroll_status session_write_shares(unroll_session *s, enum share_of of, const float *vector)
{
    struct share share;
    TRY(session_check(s));
    for (int i = 0; plan_share(s->plan, i, &share, NULL); i++) {
        const struct buffer *b = buffer_of(s->plan, &share, of);
        TRY(s->device->write(s->executable, b->name, 0, share.rows * share.columns * sizeof *vector,
                             vector + share.first));
    }
    return of == SHARE_WEIGHTS ? session_pack(s) : UNROLL_OK;
}

static const struct buffer *weights_of(const unroll_session *s, int parameter, size_t *first)
{
    struct share share;
    for (int i = 0; plan_share(s->plan, i, &share, NULL); i++)
        if (share.parameter == parameter) {
            *first = share.first;
            return buffer_of(s->plan, &share, SHARE_WEIGHTS);
        }
    return NULL;
}

unroll_status session_gather_share(unroll_session *s, int parameter, int worker, const float *vector, float *whole)
{
    size_t first = 0;
    const struct buffer *b = weights_of(s, parameter, &first);
    if (!b) /* this rank has no part of it */
        b = &s->plan->buffer[plan_find_buffer(s->plan, s->model->parameter[parameter].name)];
    return mesh_gather_worker(s, b, worker, 0, vector + first, whole);
}

void session_take_share(const unroll_session *s, int parameter, const float *whole, float *vector)
{
    size_t first;
    const struct buffer *b = weights_of(s, parameter, &first);
    if (b)
        mesh_share(s, b, whole, vector + first);
}

unroll_status session_read_worker(unroll_session *s, const char *name, int worker, float *whole)
{
    return mesh_gather_worker(s, &s->plan->buffer[plan_find_buffer(s->plan, name)], worker, 0, NULL, whole);
}

unroll_status session_read_here(unroll_session *s, const char *name, float *to)
{
    return mesh_read_here(s, &s->plan->buffer[plan_find_buffer(s->plan, name)], to);
}

unroll_status session_gather_to(unroll_session *s, const char *name, int rank, float *whole)
{
    return mesh_gather_worker(s, &s->plan->buffer[plan_find_buffer(s->plan, name)], 0, rank, NULL, whole);
}

bool session_holds(const unroll_session *s, int parameter)
{
    return mesh_holds(s, &s->plan->buffer[plan_find_buffer(s->plan, s->model->parameter[parameter].name)]);
}

bool session_is_split(const unroll_session *s)
{
    const struct plan_config *c = &s->plan->config;
    return is_one_of_many(s) && c->workers == 1 && c->mesh[M_LAYER] * c->mesh[M_HIDDEN] > 1;
}

/* Returns the first stage that holds the parameter; marks: a number for each stage, 0 if it does not hold it. */
static int stage_of(const double *marks, int stages)
{
    int stage = 0;
    while (stage < stages - 1 && !(marks[stage] > 0)) stage++;
    return stage;
}

/* Assigns the parameters of each stage to its ranks and their replicas in turn. */
static void share_out(const struct plan_config *c, const double *marks, int parameters, int *owner)
{
    const int stages = c->mesh[M_LAYER], hidden = c->mesh[M_HIDDEN], members = c->mesh[M_BATCH] * hidden;
    for (int stage = 0; stage < stages; stage++)
        for (int i = 0, turn = 0; i < parameters; i++)
            if (stage_of(marks + i * stages, stages) == stage) {
                owner[i] = (turn / hidden * c->mesh[M_TIME] * stages + stage) * hidden + turn % hidden;
                turn = (turn + 1) % members;
            }
}

unroll_status session_owners(unroll_session *s, int *owner)
{
    const struct plan_config *c = &s->plan->config;
    const int parameters = s->model->parameters, stages = c->mesh[M_LAYER];
    double *marks = allocate_zeroed((size_t)parameters * (size_t)stages, sizeof *marks);
    unroll_status status = marks ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for %d stages", stages);
    TRY(unroll_comm_agree(s->config.machine.comm, status));
    if (c->at[M_BATCH] == 0 && c->at[M_HIDDEN] == 0)
        for (int i = 0; i < parameters; i++) marks[i * stages + c->at[M_LAYER]] = session_holds(s, i);
    status = unroll_comm_sum(s->config.machine.comm, marks, parameters * stages);
    share_out(c, marks, parameters, owner);
    release(marks);
    return status;
}

void session_exchange_gradients(unroll_session *s, between_sum_and_update *between, void *arg)
{
    s->between = between;
    s->between_arg = arg;
}

double session_gradient_scale(const unroll_session *s, const struct turn *turn)
{
    return optimizer_scale(turn->norms, (size_t)s->model->parameters, *turn->sums[1], turn->rates->clip);
}

int session_optimizer_states(const unroll_session *s) { return optimizer_at(s->plan->config.optimizer)->states; }

unroll_status session_update_outside(unroll_session *s, const unroll_hyperparameters *rates, double part,
                                     int64_t update, double scale, float *w, float *g, float *const *state,
                                     size_t count)
{
    const int optimizer = s->plan->config.optimizer;
    double number[OPTIMIZER_NUMBERS_MAX] = {0};
    struct outside_update u = {
        .optimizer = optimizer, .number = number, .scale = scale, .w = w, .g = g, .count = count};
    void *states[OPTIMIZER_STATES_MAX] = {NULL};
    for (int k = 0; k < optimizer_at(optimizer)->states; k++) states[k] = state[k];
    u.state = states;
    if (!s->device->update || s->plan->config.real != DTYPE_F32)
        return fail(UNROLL_UNSUPPORTED,
                    "%s cannot update fp32 weights that it shares with other sessions; fix: use the device cpu",
                    s->device->name);
    optimizer_at(optimizer)->make_numbers(rates->learning_rate * part, (double)update, rates->hyperparameter, number);
    s->device->update(s->executable, &u);
    return UNROLL_OK;
}
