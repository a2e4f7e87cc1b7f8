/* The table of schedules. Each is a pure function of the step (and, for plateau, of the reported validations), so that
 * a resumed run needs nothing else. */
#include "train/schedule.h"
#include "base/table.h"

#include <math.h>

static const double pi = 3.14159265358979323846;
static const double cosine_end = 0.05; /* of the peak */
static const double first_drop = 0.60, second_drop = 0.85, drop = 0.1;
static const double plateau_cut = 0.5;
enum { PLATEAU_PATIENCE = 2 }; /* validations without a new best */

static double constant(const struct schedule_moment *moment)
{
    (void)moment;
    return 1;
}

/* Half a cosine from the end of the warm-up to the end of the run (Loshchilov, Hutter: SGDR, 2017, without
 * restarts). */
static double cosine(const struct schedule_moment *moment)
{
    double length = (double)(moment->total - moment->warmup);
    double done = length > 0 ? (double)(moment->step - moment->warmup) / length : 1;
    return cosine_end + (1 - cosine_end) * 0.5 * (1 + cos(pi * fmin(done, 1)));
}

static double step_rate(const struct schedule_moment *moment)
{
    double done = (double)moment->step / (double)moment->total;
    return done < first_drop ? 1 : done < second_drop ? drop : drop * drop;
}

static double plateau(const struct schedule_moment *moment) { return moment->plateau->factor; }

#define SCHEDULE(name_, about_, ...) &(const struct schedule){.name = name_, .about = about_, __VA_ARGS__}
static const void *const rows[] = {
    SCHEDULE("constant", "unchanged", .factor = constant),
    SCHEDULE("cosine", "half a cosine down to 0.05 of the peak", .factor = cosine, .needs_total = true),
    SCHEDULE("step", "times 0.1 at 60% and at 85% of the run", .factor = step_rate, .needs_total = true),
    SCHEDULE("plateau", "halved when the validation loss stops improving", .factor = plateau, .needs_validation = true),
};
static struct table schedules = TABLE("schedule", rows);

const struct schedule *schedule_at(int index) { return table_at(&schedules, index); }

unroll_status schedule_find(const char *name, const struct schedule **schedule)
{
    *schedule = table_at(&schedules, table_find(&schedules, name ? name : ""));
    return *schedule ? UNROLL_OK : table_refuse(&schedules, name ? name : "");
}

unroll_status schedule_add(const struct schedule *schedule) { return table_add(&schedules, schedule); }

double schedule_factor(const struct schedule *schedule, const struct schedule_moment *moment)
{
    if (moment->step < moment->warmup)
        return (double)(moment->step + 1) / (double)moment->warmup;
    return schedule->factor(moment);
}

struct plateau plateau_new(void) { return (struct plateau){.best = INFINITY, .factor = 1}; }

void plateau_report(struct plateau *plateau, double validation_loss)
{
    if (validation_loss < plateau->best) {
        plateau->best = validation_loss;
        plateau->waited = 0;
    } else if (++plateau->waited == PLATEAU_PATIENCE) {
        plateau->factor *= plateau_cut;
        plateau->waited = 0;
    }
}
