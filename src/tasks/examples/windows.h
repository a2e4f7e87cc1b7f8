/* The windows of series in a part of a forecast's data, and their batches; shared by forecast and anomaly. */
#pragma once
#include "model/model.h"
#include "tasks/recipe.h"

/* Begins with the part; a task appends its own fields. */
struct windows {
    struct part part;
    struct recipe recipe;
    struct loss_choice loss;
    enum part_of which;
    bool short_ones;
    uint64_t seed;
    size_t origins;         /* in all sequences */
    size_t *before;         /* [sequences + 1] origins in earlier sequences */
    size_t *first;          /* [sequences] the first origin */
    size_t *limit;          /* [sequences] numbers from here on are not used */
    size_t *from;           /* [sequences] the first step of the part */
    struct window *partial; /* [partials] windows with a part of their horizon in a validation, after all others */
    size_t partials;
};

/* Opens the windows of a part; part_free releases them and calls windows_end. *windows stays NULL if there is no such
 * part. short_ones: windows begin after a single patch, even if longer ones exist. bytes: the size of the struct that
 * begins with the windows. */
unroll_status windows_open(const struct task_request *request, enum part_of which, bool short_ones, size_t bytes,
                           struct windows **windows);
void windows_end(struct part *part);

/* Adds windows whose horizon begins before a part or ends after it. They follow the others, without values: neither
 * the loss nor a metric counts them, but a calibration counts their steps in the part, so that each number of a short
 * part is forecast from every distance. */
unroll_status windows_add_partial(struct windows *windows);

/* Finds the window in a row of a batch; false: the row is empty. */
bool windows_at(const struct windows *windows, int64_t epoch, int64_t batch, int row, struct window *window);
/* Counts the windows that are evaluated: origin by origin, with all targets of each origin. */
size_t windows_count(const struct windows *windows);
struct window windows_item(const struct windows *windows, size_t item);

/* Returns "store A", or "" for data with a single series. */
const char *windows_series(const struct windows *windows, size_t sequence);

/* Sets what a task with windows stores in the schema, and the network that it needs. */
unroll_status windows_network(const struct task *task, const struct recipe *recipe, unroll_model_config *spec,
                              unroll_task_defaults *defaults);
