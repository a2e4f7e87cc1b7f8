/* The table of schedules. Each is a pure function of the step (and, for plateau, of the validations told),
 * so that a resumed run needs nothing but these. */
#include "train/schedule.h"
#include "unroll_train.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

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

/* Half a cosine from the end of the warm-up to the end (Loshchilov, Hutter: SGDR, 2017, without restarts). */
static double cosine(const struct schedule_moment *moment)
{
    double length = (double)(moment->total - moment->warmup);
    double done = length > 0 ? (double)(moment->step - moment->warmup) / length : 1;

    return cosine_end + (1 - cosine_end) * 0.5 * (1 + cos(pi * fmin(done, 1)));
}

static double step(const struct schedule_moment *moment)
{
    double done = (double)moment->step / (double)moment->total;

    return done < first_drop ? 1 : done < second_drop ? drop : drop * drop;
}

static double plateau(const struct schedule_moment *moment) { return moment->plateau->factor; }

enum { MAX_ADDED = 4, COMPILED = 4 };

static struct schedule schedules[COMPILED + MAX_ADDED + 1] = {
    {.name = "constant", .about = "it stays", .factor = constant},
    {.name = "cosine", .about = "half a cosine, down to 5%", .needs_total = true, .factor = cosine},
    {.name = "step", .about = "a tenth at 60% and at 85%", .needs_total = true, .factor = step},
    {.name = "plateau", .about = "half when validation stands still", .needs_validation = true, .factor = plateau}};
static int count = COMPILED;

const char *unroll_schedule_name(int index, const char **about, int *has_length)
{
    if (index < 0 || index >= count)
        return NULL;
    if (about)
        *about = schedules[index].about;
    if (has_length)
        *has_length = schedules[index].needs_total;
    return schedules[index].name;
}

static const char *name_at(int index) { return unroll_schedule_name(index, NULL, NULL); }

unroll_status schedule_find(const char *name, const struct schedule **schedule)
{
    char known[160];

    for (int i = 0; name && i < count; i++)
        if (strcmp(schedules[i].name, name) == 0) {
            *schedule = &schedules[i];
            return UNROLL_OK;
        }
    return fail(UNROLL_USAGE, "there is no schedule '%.40s'; fix: choose one of %s", name ? name : "",
                list_names(name_at, known, sizeof known));
}

unroll_status schedule_add(const struct schedule *schedule)
{
    if (count == COMPILED + MAX_ADDED)
        return fail(UNROLL_RESOURCE, "no room for the schedule '%s'", schedule->name);
    schedules[count++] = *schedule;
    return UNROLL_OK;
}

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
