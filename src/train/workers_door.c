/* The doors to the extension for exchanges between updates and for planning on clusters, with their public
 * functions. */
#include "train/workers_door.h"
#include "base/extension.h"
#include "base/sized.h"
#include <string.h>

static const struct exchange_row *exchanges(void) { return extension_row("exchange", 0); }

/* Without policies a worker is a part of the batch, and each update adds gradients. */
static const char every[] = "every";

const char *exchange_sync_name(int index, const char **about)
{
    if (exchanges())
        return exchanges()->sync_name(index, about);
    if (index == 0 && about)
        *about = "gradients are added in each update, as with a split of the batch";
    return index == 0 ? every : NULL;
}

const char *exchange_compressor_name(int index, const char **about)
{
    return exchanges() ? exchanges()->compressor_name(index, about) : NULL;
}

static unroll_status read_asked(const char *sync, const char *compress, struct exchange_asked *asked)
{
    if (exchanges())
        return exchanges()->read(sync, compress, asked);
    *asked = (struct exchange_asked){every, "none", true};
    if (sync && strcmp(sync, every) != 0)
        return extension_refuse("sync", sync);
    return compress && strcmp(compress, "none") != 0 ? extension_refuse("compress", compress) : UNROLL_OK;
}

unroll_status exchange_read(const unroll_trainer_config *config, struct exchange_asked *asked)
{
    return read_asked(config->sync, config->compress, asked);
}

unroll_status unroll_plan_sync_bytes(const unroll_plan_config *config, const char *sync, const char *compress,
                                     double *bytes, double *each)
{
    struct exchange_asked asked;
    *bytes = 0;
    *each = 1;
    TRY(read_asked(sync, compress, &asked));
    return exchanges() ? exchanges()->bytes(config, sync, compress, bytes, each) : UNROLL_OK;
}

unroll_status exchange_new(unroll_session *session, const unroll_trainer_config *config, struct exchange **exchange)
{
    return exchanges()->open(session, config, exchange);
}

void exchange_join(struct exchange *e, unroll_session *session) { exchanges()->join(e, session); }

void exchange_free(struct exchange *e)
{
    if (e)
        exchanges()->close(e);
}

unroll_status exchange_after(struct exchange *e, int64_t step)
{
    return e && e->policy->after ? e->policy->after(e, step) : UNROLL_OK;
}

bool exchange_met(const struct exchange *e, int64_t step) { return !e || !e->policy->met || e->policy->met(e, step); }

unroll_status exchange_enter_mean(struct exchange *e, bool states)
{
    return e ? exchanges()->enter_mean(e, states) : UNROLL_OK;
}

unroll_status exchange_leave_mean(struct exchange *e) { return e ? exchanges()->leave_mean(e) : UNROLL_OK; }

unroll_status exchange_resume(struct exchange *e, int64_t step, const int64_t integer[POLICY_INTEGERS])
{
    return e ? exchanges()->resume(e, step, integer) : UNROLL_OK;
}

const char *const exchange_names[] = {"worker", "anchor", "velocity", "change", "start", "residual", NULL};

/* ---- the planner -------------------------------------------------------------------------- */

void unroll_planner_config_begin(unroll_planner_config *config, size_t size)
{
    const unroll_planner_config standard = {.size = sizeof(unroll_planner_config), .hosts = 1, .goal = "time"};
    sized_begin(&standard, sizeof standard, config, size);
}

unroll_status unroll_planner_choose(const unroll_model *model, const unroll_planner_config *config,
                                    unroll_choice *choice, int count, int *found, char *why, size_t size)
{
    const struct planner_row *planner = extension_row("planner", 0);
    *found = 0;
    return planner ? planner->choose(model, config, choice, count, found, why, size) : extension_refuse("planner", "");
}
