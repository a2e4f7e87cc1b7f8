/* Which windows of its series a part of a forecast's data has, and their batches: what forecast and anomaly share. */
#ifndef TASKS_WINDOWS_H
#define TASKS_WINDOWS_H
#include "model/model.h"
#include "tasks/recipe.h"

/* Begins with the part; a task puts what it needs behind. */
struct windows {
    struct part part;
    struct recipe recipe;
    struct loss_choice loss;
    enum part_of which;
    bool short_ones;
    uint64_t seed;
    size_t origins; /* of all sequences */
    size_t *before; /* [sequences + 1] origins of the sequences before */
    size_t *first;  /* [sequences] the first origin */
    size_t *limit;  /* [sequences] numbers from here on are not seen */
};

/* short_ones: windows begin where there is one patch before them, though there are longer ones. bytes: of the struct
 * that begins with the windows. *windows stays NULL if there is no such part. part_free is its end; it calls
 * windows_end. */
unroll_status windows_open(const struct task_request *request, enum part_of which, bool short_ones, size_t bytes,
                           struct windows **windows);
void windows_end(struct part *part);

/* The window in a row of a batch; false: the row is empty. */
bool windows_at(const struct windows *windows, int64_t epoch, int64_t batch, int row, struct window *window);
/* How many windows are evaluated, origin by origin, of each origin all targets. */
size_t windows_count(const struct windows *windows);
struct window windows_item(const struct windows *windows, size_t item);

/* "store A", or "" of data that are one series. */
const char *windows_series(const struct windows *windows, size_t sequence);

/* What a task of windows keeps in the schema, and the network that it wants. */
unroll_status windows_network(const struct task *task, const struct recipe *recipe, unroll_spec *spec,
                              unroll_task_defaults *defaults);

#endif
