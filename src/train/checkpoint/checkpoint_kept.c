/* The arrays of a checkpoint: optimizer states, carried states, and vectors of workers. The layout of files is in
 * checkpoint.c. */
#include "train/checkpoint/checkpoint_kept.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "train/checkpoint/checkpoint_file.h"

enum { STATES_OF_A_LAYER = 2 };

void kept_free(struct kept *kept)
{
    release(kept->numbers);
    release(kept->from);
    release(kept->size);
    release(kept->name);
}

static void list_one(struct kept *kept, size_t size, struct kept_from from)
{
    kept->from[kept->count] = from;
    kept->size[kept->count++] = size;
    kept->total += size;
}

/* Lists a buffer. Returns false if the optimizer or cell does not have it. */
__attribute__((format(printf, 3, 4))) static bool list_buffer(struct kept *kept, const unroll_session *session,
                                                              const char *format, ...)
{
    char *name = kept->name[kept->count];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, BUFFER_NAME_SIZE, format, arguments);
    va_end(arguments);
    size_t size = unroll_session_count(session, name);
    if (size == 0)
        return false;
    list_one(kept, size, (struct kept_from){-1, -1, 1, KEPT_ALIKE});
    return true;
}

/* Makes the last buffer one with a copy for each worker. */
static void list_copies(struct kept *kept, int copies)
{
    struct kept_from *from = &kept->from[kept->count - 1];
    kept->total += kept->size[kept->count - 1] * (size_t)(copies - 1);
    kept->size[kept->count - 1] *= (size_t)copies;
    from->copies = copies;
    from->kind = KEPT_APART;
}

/* Lists the vectors of all parameters, on all ranks, because a rank may have a share of some. */
static unroll_status list_exchange(const unroll_trainer *trainer, bool own_alone, struct kept *kept)
{
    const struct exchange *e = trainer->exchange;
    unroll_parameter parameter = {.size = sizeof parameter};
    for (int v = 0; e && v < e->vectors; v++)
        for (int i = 0; i < unroll_model_parameters(trainer->model); i++) {
            const int copies = e->kept[v].kind == KEPT_ALIKE || own_alone ? 1 : e->vector.workers;
            TRY(unroll_model_parameter(trainer->model, i, &parameter));
            snprintf(kept->name[kept->count], BUFFER_NAME_SIZE, "%s.%s", parameter.name, e->kept[v].name);
            list_one(kept, parameter_count(&parameter) * (size_t)copies,
                     (struct kept_from){v, i, copies, e->kept[v].kind});
        }
    return UNROLL_OK;
}

/* Lists all buffers: optimizer states, vectors of the exchange, carried states. */
static unroll_status list_buffers(const unroll_trainer *trainer, int layers, bool own_alone, struct kept *kept)
{
    unroll_parameter parameter = {.size = sizeof parameter};
    int parameters = unroll_model_parameters(trainer->model);
    const struct exchange *e = trainer->exchange;
    for (int i = 0; i < parameters; i++) {
        TRY(unroll_model_parameter(trainer->model, i, &parameter));
        for (int state = 0; list_buffer(kept, trainer->session, "%s.opt%d", parameter.name, state); state++) {
            kept->from[kept->count - 1].parameter = i;
            if (e && e->policy->diverges)
                list_copies(kept, own_alone ? 1 : e->vector.workers);
        }
    }
    TRY(list_exchange(trainer, own_alone, kept));
    for (int layer = 0; layer < layers; layer++) {
        list_buffer(kept, trainer->session, "h0.l%d", layer);
        list_buffer(kept, trainer->session, "s0.l%d", layer);
    }
    return UNROLL_OK;
}

/* Counts the optimizer states of a parameter, which all parameters have. */
static size_t count_states(const unroll_trainer *trainer)
{
    char name[BUFFER_NAME_SIZE];
    unroll_parameter first = {.size = sizeof first, .name = ""};
    size_t count = 0;
    unroll_model_parameter(trainer->model, 0, &first);
    for (;; count++) {
        snprintf(name, sizeof name, "%s.opt%zu", first.name, count);
        if (unroll_session_count(trainer->session, name) == 0)
            return count;
    }
}

unroll_status kept_list(const unroll_trainer *trainer, bool own_alone, struct kept *kept)
{
    const int layers = unroll_model_layers(trainer->model);
    const struct exchange *e = trainer->exchange;
    size_t max = (size_t)unroll_model_parameters(trainer->model) * count_states(trainer) +
                 (size_t)layers * STATES_OF_A_LAYER +
                 (e ? (size_t)(e->vectors * unroll_model_parameters(trainer->model)) : 0);
    *kept = (struct kept){.name = allocate_zeroed(max + 1, sizeof *kept->name), /* one more, for tries */
                          .size = allocate_zeroed(max, sizeof *kept->size),
                          .from = allocate_zeroed(max, sizeof *kept->from)};
    if (kept->name == NULL || kept->size == NULL || kept->from == NULL)
        return fail(UNROLL_RESOURCE, "no memory for a checkpoint");
    return list_buffers(trainer, layers, own_alone, kept);
}

unroll_status kept_new(const unroll_trainer *trainer, bool own_alone, struct kept *kept)
{
    TRY(kept_list(trainer, own_alone, kept));
    TRY(ALLOCATE(kept->numbers, kept->total, "for the %zu numbers of a checkpoint", kept->total));
    return UNROLL_OK;
}

/* Reads one worker's copy on rank 0, which writes the checkpoint. */
static unroll_status read_copy(const unroll_trainer *trainer, const char *name, const struct kept_from *from,
                               int worker, float *to)
{
    const struct exchange *e = trainer->exchange;
    if (from->vector < 0)
        return session_read_worker(trainer->session, name, worker, to);
    return session_gather_share(trainer->session, from->parameter, worker, e->kept[from->vector].numbers, to);
}

unroll_status kept_read(const unroll_trainer *trainer, struct kept *kept)
{
    float *at = kept->numbers;
    for (int i = 0; i < kept->count; at += kept->size[i++]) {
        const struct kept_from *from = &kept->from[i];
        if (from->vector < 0 && from->copies == 1)
            TRY(unroll_session_read(trainer->session, kept->name[i], at, kept->size[i]));
        for (int k = 0; k < from->copies && (from->vector >= 0 || from->copies > 1); k++)
            TRY(read_copy(trainer, kept->name[i], from, k, at + (size_t)k * (kept->size[i] / (size_t)from->copies)));
    }
    return UNROLL_OK;
}

unroll_status kept_write(const unroll_trainer *trainer, const struct kept *kept)
{
    const float *at = kept->numbers;
    const struct exchange *e = trainer->exchange;
    for (int i = 0; i < kept->count; at += kept->size[i++]) {
        const struct kept_from *from = &kept->from[i];
        if (from->vector < 0)
            TRY(unroll_session_write(trainer->session, kept->name[i], at, kept->size[i]));
        else
            session_take_share(trainer->session, from->parameter, at, e->kept[from->vector].numbers);
    }
    return UNROLL_OK;
}
