/* The share of a rank in the parameters, between a vector of floats and the device. No message but those that put a
 * whole parameter together. */
#include "session/shares.h"
#include "session/mesh.h"

bool plan_share(const struct plan *p, int index, struct share *share, size_t *all)
{
    size_t first = 0;
    for (int i = 0; i < p->ops; i++) {
        if (p->op[i].kind != OP_UPDATE)
            continue;
        const struct buffer *b = &p->buffer[p->op[i].view[UPDATE_W].buffer];
        size_t count = 1, columns = b->size[b->rank - 1];
        for (int k = 0; k < b->rank; k++) count *= b->size[k];
        *share = (struct share){b, &p->buffer[p->op[i].view[UPDATE_GRAD].buffer], first, count / columns, columns};
        first += count;
        if (index-- == 0)
            return true;
    }
    if (all)
        *all = first;
    return false;
}

const struct plan *session_plan(const unroll_session *s) { return s->plan; }

unroll_status session_read_shares(unroll_session *s, enum share_of of, float *vector)
{
    struct share share;
    TRY(session_check(s));
    for (int i = 0; plan_share(s->plan, i, &share, NULL); i++) {
        const struct buffer *b = of == SHARE_WEIGHTS ? share.weights : share.gradient;
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
        const struct buffer *b = of == SHARE_WEIGHTS ? share.weights : share.gradient;
        TRY(s->device->write(s->executable, b->name, 0, share.rows * share.columns * sizeof *vector,
                             vector + share.first));
    }
    return of == SHARE_WEIGHTS ? session_pack(s) : UNROLL_OK;
}

static const struct buffer *weights_of(const unroll_session *s, int parameter, size_t *first)
{
    struct share share;
    for (int i = 0; plan_share(s->plan, i, &share, NULL); i++)
        if (share.weights->parameter == parameter) {
            *first = share.first;
            return share.weights;
        }
    return NULL;
}

unroll_status session_gather_share(unroll_session *s, int parameter, int worker, const float *vector, float *whole)
{
    size_t first = 0;
    const struct buffer *b = weights_of(s, parameter, &first);
    if (!b) /* this rank has none of it */
        b = &s->plan->buffer[plan_find_buffer(s->plan, s->model->parameter[parameter].name)];
    return mesh_gather_worker(s, b, worker, vector + first, whole);
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
    return mesh_gather_worker(s, &s->plan->buffer[plan_find_buffer(s->plan, name)], worker, NULL, whole);
}

void session_exchange_gradients(unroll_session *s, between_sum_and_update *between, void *arg)
{
    s->between = between;
    s->between_arg = arg;
}
