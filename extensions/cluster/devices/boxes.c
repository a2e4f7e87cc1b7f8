/* Boxes: the parts of arrays that ranks hold, and the whole arrays (several.h). */
#include "base/memory.h"
#include "extensions/cluster/devices/several.h"
#include <string.h>

/* ---- mapping ---------------------------------------------------------------------------- */

static bool is_used(const struct plan *p, int buffer)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views; k++)
            if (p->op[i].view[k].buffer == buffer)
                return true;
    return false;
}

static void note_writes(struct several *s, const struct member *m, int buffer)
{
    const struct plan *p = m->plan;
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views; k++)
            if (p->op[i].view[k].buffer == m->twin[buffer] && access_writes(p->op[i].view[k].access))
                s->written[buffer] |= 1u << p->op[i].phase;
}

unroll_status boxes_find(struct several *s)
{
    memset(s->written, 0, (size_t)s->plan->buffers * sizeof *s->written);
    for (int r = 0; r < s->store->ranks; r++) {
        struct member *m = &s->member[r];
        TRY(ALLOCATE(m->twin, (size_t)s->plan->buffers + 1, "for the boxes of a rank"));
        for (int i = 0; i < s->plan->buffers; i++) {
            const int twin = plan_find_buffer(m->plan, s->plan->buffer[i].name);
            m->twin[i] = twin >= 0 && m->plan->buffer[twin].bytes && is_used(m->plan, twin) ? twin : -1;
            if (m->twin[i] >= 0 && s->host[i])
                note_writes(s, m, i);
        }
    }
    return UNROLL_OK;
}

/* ---- boxes ----------------------------------------------------------------------------- */

/* A loss sum covers only the rows, and the stage, of a rank, although no backward pass marked it as partial. */
static bool sums_losses(const struct buffer *b)
{
    return b->segment == SEG_VALUES && (!strcmp(b->name, "loss_sum") || !strcmp(b->name, "weight_sum"));
}

bool boxes_are_summands(const struct several *s, int buffer)
{
    if (sums_losses(&s->plan->buffer[buffer]))
        return true;
    for (int r = 0; r < s->store->ranks; r++) {
        const struct member *m = &s->member[r];
        if (m->twin[buffer] >= 0 && m->plan->buffer[m->twin[buffer]].state[M_BATCH] == PARTIAL)
            return true;
    }
    return false;
}

bool boxes_are_whole(const struct several *s, int buffer)
{
    const struct buffer *whole = &s->plan->buffer[buffer];
    for (int r = 0; r < s->store->ranks; r++) {
        const struct member *m = &s->member[r];
        if (m->twin[buffer] >= 0 && m->plan->buffer[m->twin[buffer]].bytes != whole->bytes)
            return false;
    }
    return true;
}

enum box_copy { TO_WHOLE, ADD_TO_WHOLE, TO_BOX };

static void move_run(char *whole, char *box, size_t bytes, enum dtype dtype, enum box_copy direction)
{
    if (direction == ADD_TO_WHOLE && dtype == DTYPE_F64)
        for (size_t i = 0; i < bytes / sizeof(double); i++) ((double *)(void *)whole)[i] += ((double *)(void *)box)[i];
    else if (direction == ADD_TO_WHOLE)
        for (size_t i = 0; i < bytes / sizeof(float); i++) ((float *)(void *)whole)[i] += ((float *)(void *)box)[i];
    else
        memcpy(direction == TO_BOX ? box : whole, direction == TO_BOX ? whole : box, bytes);
}

/* Copies row by row along the last axis. */
static void move_box(const struct buffer *whole, const struct buffer *box, char *of_whole, char *of_box,
                     enum box_copy direction)
{
    const size_t size = dtype_size(whole->dtype), last = (size_t)whole->rank - 1, bytes = box->size[last] * size;
    uint32_t at[BUFFER_AXES] = {0};
    for (size_t rows = box->bytes / bytes; rows-- > 0; of_box += bytes) {
        size_t place = 0;
        for (size_t i = 0; i <= last; i++) place = place * whole->size[i] + box->origin[i] + (i < last ? at[i] : 0);
        move_run(of_whole + place * size, of_box, bytes, whole->dtype, direction);
        for (size_t i = last; i-- > 0 && ++at[i] == box->size[i];) at[i] = 0;
    }
}

/* Rejects buffers that are no arrays, for example memory shared by segments of time. */
static unroll_status check_array(const struct buffer *whole, const struct buffer *box)
{
    if (!whole->shared && !box->shared && whole->rank == box->rank && whole->dtype == box->dtype && !whole->layout &&
        !box->layout)
        return UNROLL_OK;
    return fail(
        UNROLL_UNSUPPORTED,
        "'%s' lies differently on each of several devices, and is no array; fix: report it with the devices and the options",
        whole->name);
}

/* If several ranks hold the same values, only the first provides them. Layers of a rank are excluded by the buffers
 * that it uses. */
static bool gives(const struct member *m, const struct buffer *box, bool adds)
{
    for (int axis = 0; axis < M_N && !adds; axis++)
        if (axis != M_LAYER && box->state[axis] != SPLIT && m->plan->config.at[axis] != 0)
            return false;
    return true;
}

static unroll_status gather_box(struct several *s, int buffer, struct member *m, char *whole, bool adds)
{
    const struct buffer *box = &m->plan->buffer[m->twin[buffer]];
    char *own;
    TRY(check_array(&s->plan->buffer[buffer], box));
    TRY(ALLOCATE(own, box->bytes, "to put '%s' together", box->name));
    unroll_status status = m->device->read(m->executable, box->name, 0, box->bytes, own);
    if (status == UNROLL_OK)
        move_box(&s->plan->buffer[buffer], box, whole, own, adds ? ADD_TO_WHOLE : TO_WHOLE);
    release(own);
    return status;
}

unroll_status boxes_gather(struct several *s, int buffer, void *whole)
{
    const bool adds = !s->summed && boxes_are_summands(s, buffer);
    bool found = false;
    memset(whole, 0, s->plan->buffer[buffer].bytes);
    for (int r = 0; r < s->store->ranks; r++) {
        struct member *m = &s->member[r];
        if (m->twin[buffer] < 0 || !gives(m, &m->plan->buffer[m->twin[buffer]], adds))
            continue;
        TRY(gather_box(s, buffer, m, whole, adds));
        found = true;
    }
    return found ? UNROLL_OK
                 : fail(UNROLL_USAGE, "no device has the buffer '%s'; fix: report it with the devices and the options",
                        s->plan->buffer[buffer].name);
}

static unroll_status scatter_box(struct several *s, int buffer, struct member *m, char *whole, bool nothing)
{
    const struct buffer *box = &m->plan->buffer[m->twin[buffer]];
    char *own;
    TRY(check_array(&s->plan->buffer[buffer], box));
    TRY(ALLOCATE(own, box->bytes, "to divide '%s'", box->name));
    if (!nothing)
        move_box(&s->plan->buffer[buffer], box, whole, own, TO_BOX);
    unroll_status status = m->device->write(m->executable, box->name, 0, box->bytes, own);
    release(own);
    return status;
}

unroll_status boxes_scatter(struct several *s, int buffer, const void *whole, bool as_summands)
{
    const bool adds = as_summands && boxes_are_summands(s, buffer);
    bool given = false;
    for (int r = 0; r < s->store->ranks; r++) {
        struct member *m = &s->member[r];
        if (m->twin[buffer] < 0)
            continue;
        TRY(scatter_box(s, buffer, m, (char *)whole, adds && given)); /* only read */
        given = true;
    }
    return UNROLL_OK;
}
