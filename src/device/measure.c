/* Measures devices with a small run of the model on zeros (measure.h). The time of arithmetic does not depend on the
 * values. */
#include "device/measure.h"
#include "base/system/clock.h"

enum { MEASURED_STEPS = 16, RUNS_MAX = 50 };
static const double measured_seconds = 0.05;

static double work_of(const struct plan *p, enum phase last)
{
    double flops = 0;
    for (int i = 0; i < p->ops; i++) flops += p->op[i].phase <= last ? p->op[i].flops : 0;
    return flops;
}

static unroll_status run_once(const struct device *device, void *executable, enum phase last)
{
    TRY(device->run(executable, PHASE_FORWARD, PHASE_FORWARD));
    if (last == PHASE_BACKWARD)
        TRY(device->run(executable, PHASE_BACKWARD, PHASE_BACKWARD));
    return device->wait ? device->wait(executable) : UNROLL_OK;
}

/* Returns the shortest run: disturbances only lengthen runs. The first one warms up. */
static unroll_status time_runs(const struct device *device, void *executable, enum phase last, double *shortest)
{
    const double begin = clock_seconds();
    TRY(run_once(device, executable, last));
    if (device->seconds)
        device->seconds(executable);
    *shortest = 0;
    for (int i = 0; i < RUNS_MAX && (i < 3 || clock_seconds() - begin < measured_seconds); i++) {
        const double from = clock_seconds();
        TRY(run_once(device, executable, last));
        const double seconds = device->seconds ? device->seconds(executable) : clock_seconds() - from;
        *shortest = *shortest == 0 || seconds < *shortest ? seconds : *shortest;
    }
    return UNROLL_OK;
}

/* Times runs of the plan and returns its FLOP/s. */
static unroll_status measure_plan(const struct device *device, const struct device_options *options,
                                  const struct plan *plan, double *rate)
{
    const enum phase last = plan->config.mode >= MODE_TRAIN ? PHASE_BACKWARD : PHASE_FORWARD;
    void *store, *executable;
    double seconds = 0;
    TRY(device->store_new(plan, &store));
    unroll_status status = device->executable_new(plan, store, options, &executable);
    if (status == UNROLL_OK) {
        status = time_runs(device, executable, last, &seconds);
        device->executable_free(executable);
    }
    device->store_free(store);
    *rate = seconds > 0 && work_of(plan, last) > 0 ? work_of(plan, last) / seconds : 1;
    return status;
}

unroll_status device_rate(const struct device *device, const struct device_options *options,
                          const struct unroll_model *model, const struct plan_config *config, double *rate)
{
    struct plan_config c = *config;
    struct device_options alone = *options;
    struct plan *plan;
    for (int m = 0; m < M_N; m++) c.mesh[m] = 1, c.at[m] = 0, alone.mesh[m] = 0;
    c.rate = NULL;
    c.traits_of = NULL;
    c.workers = 1;
    c.T = c.T < MEASURED_STEPS ? c.T : MEASURED_STEPS;
    c.chunks = c.pieces = 1;
    c.checkpoint = 0;
    c.exact = c.lengths = c.resets = c.stateful = false;
    alone.comm = NULL;
    alone.profile = false;
    TRY(plan_new(model, &c, &plan));
    unroll_status status = measure_plan(device, &alone, plan, rate);
    plan_free(plan);
    return status;
}
