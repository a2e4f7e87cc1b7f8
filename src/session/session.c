/* Sessions: a model, its plan and the plan's executable on a device. This file creates and frees them; batch.c takes
 * batches, and session_run.c runs them. It does not depend on kernels or strategies. */
#include "base/system/processor.h"
#include "base/memory.h"
#include "base/system/process.h"
#include "base/sized.h"
#include "base/status.h"
#include "comm/comm.h"
#include "device/measure.h"
#include "model/units.h"
#include "session/session.h"
#include "session/mesh.h"
#include "session/session_state.h"
#include "session/weights.h"
#include <stdio.h>
#include <string.h>

/* ---- creating a session ----------------------------------------------------------------- */

void unroll_session_config_begin(unroll_session_config *config, size_t size)
{
    const unroll_session_config standard = {.size = sizeof(unroll_session_config),
                                            .mode = UNROLL_INFER,
                                            .steps = 1,
                                            .rows = 1,
                                            .optimizer = "adam",
                                            .shards = 1,
                                            .machine = unroll_machine_default()};
    sized_begin(&standard, sizeof standard, config, size);
}

void *session_host(const unroll_session *s, const char *name) { return s->device->host(s->executable, name); }

unroll_status session_clear(unroll_session *s, enum segment segment)
{
    static const char zeros[16384];
    for (int i = 0; i < s->plan->buffers; i++) {
        const struct buffer *b = &s->plan->buffer[i];
        if (b->segment != segment || b->is_set || !b->bytes)
            continue;
        for (uint64_t first = 0; first < b->bytes; first += sizeof zeros) {
            uint64_t rest = b->bytes - first;
            TRY(s->device->write(s->executable, b->name, first, rest < sizeof zeros ? rest : sizeof zeros, zeros));
        }
    }
    return UNROLL_OK;
}

unroll_status session_check(const unroll_session *s)
{
    if (s->process == process_number())
        return UNROLL_OK;
    if (is_one_of_many(s))
        return refuse_forked("a session of one of several ranks");
    if (!s->device->forks)
        return refuse_forked(s->device->name);
    return s->runs ? fail(UNROLL_UNSUPPORTED,
                          "this process was forked while another thread was in a call of this session: its state may "
                          "be inconsistent; fix: free the session and create a new one")
                   : UNROLL_OK;
}

unroll_status session_run(unroll_session *s, enum phase first, enum phase last)
{
    s->runs = true;
    unroll_status status = s->device->run(s->executable, first, last);
    s->runs = false;
    return status;
}

unroll_status session_keep_up(unroll_session *s)
{
    if (s->packed == s->shared->changes)
        return UNROLL_OK;
    TRY(session_run(s, PHASE_PACK, PHASE_PACK));
    s->packed = s->shared->changes;
    return UNROLL_OK;
}

unroll_status session_pack(unroll_session *s)
{
    s->shared->changes++;
    return session_keep_up(s);
}

/* All sessions of a model share one store, so they need the same device and types. */
static unroll_status check_shared(const struct unroll_session *s, const struct shared_weights *w)
{
    const unroll_session *partner = s->config.partner;
    if (session_updates(s) && w->trainer && !partner)
        return fail(UNROLL_UNSUPPORTED,
                    "the model is being trained by another session, and it can have only one optimizer; fix: free that "
                    "session first");
    if (partner && (s->config.mode != UNROLL_TRAIN || partner->config.mode != UNROLL_TRAIN || partner->shared != w))
        return fail(
            UNROLL_USAGE,
            "the session and `partner` must both train the same model; fix: create both with mode = UNROLL_TRAIN and "
            "the same model");
    if (partner && partner->plan->config.optimizer != s->plan->config.optimizer)
        return fail(UNROLL_USAGE, "`partner` trains with a different optimizer; fix: give both the same");
    if (!w->device->forks && w->process != process_number())
        return refuse_forked(w->device->name);
    if (w->device != s->device || w->real != s->plan->config.real)
        return fail(
            UNROLL_UNSUPPORTED,
            "the model already has sessions in %s on %s, which all of its sessions must use; fix: free those first, "
            "or load the model twice",
            dtype_name(w->real), w->device->name);
    if (w->weights != s->plan->config.weights)
        return fail(UNROLL_UNSUPPORTED,
                    "the model already has sessions with weights in %s, which all of its sessions must use; fix: "
                    "free those first, or load the model twice",
                    weights_name(w->weights));
    return UNROLL_OK;
}

/* Joins the model's shared weights, or creates them for the first session. */
static unroll_status join_shared(struct unroll_session *s)
{
    struct shared_weights *w = s->model->runtime.shared;
    if (!w && s->config.partner)
        return fail(
            UNROLL_USAGE,
            "the session and `partner` must both train the same model; fix: create both with mode = UNROLL_TRAIN and "
            "the same model");
    if (w) {
        TRY(check_shared(s, w));
        s->shared = w;
        return UNROLL_OK;
    }
    TRY(ALLOCATE(w, 1, "for a session"));
    *w = (struct shared_weights){
        .device = s->device, .process = s->process, .real = s->plan->config.real, .weights = s->plan->config.weights};
    unroll_status status = s->device->store_new(s->plan, &w->store);
    if (status != UNROLL_OK) {
        release(w);
        return status;
    }
    w->rate = s->rate; /* for all sessions */
    s->rate = NULL;
    s->shared = s->model->runtime.shared = w;
    return UNROLL_OK;
}

static void leave_shared(struct unroll_session *s)
{
    struct shared_weights *w = s->shared;
    s->shared = NULL;
    if (!w || w->sessions > 0)
        return;
    s->device->store_free(w->store);
    release(w->rate);
    release(w);
    s->model->runtime.shared = NULL;
}

/* Creates the executable. The first session copies the weights to the device, and a new training clears the optimizer's
 * states. */
static unroll_status open_executable(struct unroll_session *s, const struct device_options *options)
{
    TRY(join_shared(s));
    bool first = s->shared->sessions == 0, begins = session_updates(s) && !s->config.partner;
    unroll_status status = s->device->executable_new(s->plan, s->shared->store, options, &s->executable);
    if (status == UNROLL_OK && first)
        status = weights_push(s->device, s->executable, s->plan, s->model->values);
    if (status == UNROLL_OK && begins) /* discards the state of an earlier training */
        status = session_clear(s, SEG_OPT);
    if (status == UNROLL_OK && begins)
        status = session_clear(s, SEG_GRAD);
    if (status == UNROLL_OK) {
        if (first)
            s->shared->pulled = ++s->shared->changes; /* packed after all ranks have joined: some gather for that */
        s->shared->sessions++;
        s->shared->trainer = begins ? s : s->shared->trainer;
        return UNROLL_OK;
    }
    if (s->executable)
        s->device->executable_free(s->executable);
    s->executable = NULL;
    leave_shared(s);
    return status;
}

/* Includes the weights' memory if this session allocates it. */
static uint64_t count_needed(const struct unroll_session *s)
{
    const uint64_t *bytes = s->plan->segment_bytes;
    uint64_t weights = bytes[SEG_PARAM] + bytes[SEG_COPY] + bytes[SEG_OPT] + bytes[SEG_GRAD];
    return unroll_session_memory_estimate(s) + (s->model->runtime.shared ? 0 : weights);
}

static unroll_status check_memory(const struct unroll_session *s)
{
    uint64_t limit = s->config.machine.memory ? s->config.machine.memory : unroll_memory_limit(),
             needed = count_needed(s);
    if (needed <= limit)
        return UNROLL_OK;
    return fail(UNROLL_RESOURCE,
                "%d steps of %d rows need %.1f MB and the memory limit is %.1f MB; fix: use fewer steps at once "
                "(`steps`), fewer rows (`rows`), `checkpoint_time` auto, a smaller network, or a higher limit "
                "(`memory`)",
                s->config.steps, s->config.rows, (double)needed / 1e6, (double)limit / 1e6);
}

/* Ranks on the same machine divide its processors. */
int session_threads(const struct unroll_session *s)
{
    int processors = cpu_count() / comm_local_ranks();
    if (s->config.machine.threads || !is_one_of_many(s))
        return s->config.machine.threads;
    return processors > 1 ? processors : 1;
}

/* A device that cuts divides the work itself, and the plan stays whole. */
static unroll_status give_to_device(const struct unroll_session *s, struct plan_config *p, int mesh[M_N])
{
    if (s->staged)
        return UNROLL_OK; /* the plan is this rank's */
    if (is_one_of_many(s) && s->device->cuts)
        return fail(UNROLL_UNSUPPORTED,
                    "%s must be driven by one process, but several were started; fix: start one without mpirun; "
                    "`split` then divides the work among its devices",
                    s->device->name);
    for (int m = 0; m < M_N && s->device->cuts; m++) {
        if (p->exact && p->mesh[m] > 1)
            return fail(UNROLL_UNSUPPORTED,
                        "exact: the order of sums across a cut is not fixed on %s; fix: leave out exact, or the cut",
                        s->device->name);
        mesh[m] = p->mesh[m];
        p->mesh[m] = 1;
        p->at[m] = 0;
    }
    return UNROLL_OK;
}

/* Copies the caller's class weights. */
static unroll_status keep_class_weights(struct unroll_session *s)
{
    const size_t classes = (size_t)unroll_model_outputs(s->model);
    TRY(session_check_loss(s->model, &s->config));
    if (!s->config.class_weights)
        return UNROLL_OK;
    TRY(ALLOCATE(s->class_weights, classes, "for class weights"));
    memcpy(s->class_weights, s->config.class_weights, classes * sizeof *s->class_weights);
    s->config.class_weights = s->class_weights;
    return UNROLL_OK;
}

/* Sets the constants of the loss: levels of quantiles, or class weights. */
static void give_loss_constants(const struct unroll_session *s)
{
    const struct loss_choice *loss = &s->model->loss;
    void *to = session_host(s, "loss_constants");
    if (to)
        floats_to_reals(loss->levels ? loss->level : s->class_weights, s->plan->config.real, to,
                        (size_t)(loss->levels ? loss->levels : unroll_model_outputs(s->model)));
}

/* With several processes, each rank uses its entry of a device list. If the entries are of different kinds, or of one
 * that needs a single process, the host exchanges their data. */
static unroll_status choose_device(struct unroll_session *s, const char *name, const char **which)
{
    struct entries e;
    bool differ = false;
    if (!is_device_list(name) || !is_one_of_many(s))
        return device_choose(name, &s->device, which);
    const int rank = unroll_comm_rank(s->config.machine.comm), entry = rank;
    TRY(entries_read(name, &e));
    TRY(entries_check(&e, unroll_comm_ranks(s->config.machine.comm)));
    for (int i = 1; i < e.count; i++) differ = differ || e.device[i] != e.device[0];
    s->device = e.device[entry_of(&e, entry)];
    s->staged = differ || s->device->cuts;
    const char *said = entry_which(&e, rank);
    if (said)
        snprintf(s->which, sizeof s->which, "%s", said);
    *which = said ? s->which : NULL;
    if (s->staged && s->config.machine.sum && !strcmp(s->config.machine.sum, "native"))
        return fail(
            UNROLL_UNSUPPORTED,
            "sum = native uses MPI's sum, which is not supported for devices of several kinds; fix: set sum = auto");
    return UNROLL_OK;
}

/* Gives the plan the traits and rates of all ranks' devices. */
static unroll_status suit_all_devices(struct unroll_session *s, struct plan_config *p)
{
    if (!s->staged) {
        p->rate = s->model->runtime.rate;
        return UNROLL_OK;
    }
    release(s->traits);
    s->traits = NULL;
    TRY(mesh_traits(&s->config.machine, p->mesh, &s->traits));
    p->traits_of = s->traits;
    p->rate = s->model->runtime.rate     ? s->model->runtime.rate
              : s->model->runtime.shared ? s->model->runtime.shared->rate
                                         : s->rate;
    plan_config_at(p, unroll_comm_rank(s->config.machine.comm));
    return UNROLL_OK;
}

/* Chooses the device, converts the configuration and makes the plan. */
static unroll_status plan_session(struct unroll_session *s, struct plan_config *plan_config,
                                  struct device_options *options)
{
    const char *used = s->model->runtime.shared ? s->model->runtime.shared->device->name : "cpu";
    const char *name = s->config.machine.device ? s->config.machine.device : used;
    TRY(choose_device(s, name, &options->which));
    if (s->config.machine.threads < 0 || s->config.machine.threads > 1024)
        return fail(UNROLL_USAGE, "`threads` = %d is outside 0..1024 (0: one per processor); fix: use 0 to 1024",
                    s->config.machine.threads);
    if (s->config.profile && !s->device->time)
        return fail(UNROLL_UNSUPPORTED, "profile: %s cannot measure single operations; fix: use the device cpu", name);
    TRY(mesh_default_cut(&s->config.machine));
    TRY(session_plan_config(&s->config, s->device->cuts && !s->staged ? 0 : unroll_comm_ranks(s->config.machine.comm),
                            plan_config));
    TRY(give_to_device(s, plan_config, options->mesh));
    TRY(device_precision(s->device, s->config.machine.precision, &plan_config->precision));
    if (s->config.allocator && strcmp(s->device->name, "cpu") != 0)
        return fail(UNROLL_UNSUPPORTED,
                    "`allocator`: the memory of %s is its own; fix: use the device cpu, or no allocator", name);
    options->allocator = s->config.allocator;
    options->threads = session_threads(s);
    session_suit_device(s->device, s->config.machine.isa, options->threads, s->model, plan_config);
    TRY(suit_all_devices(s, plan_config));
    options->staged = s->staged;
    options->isa = s->staged && strcmp(s->device->name, "cpu") != 0 ? NULL : s->config.machine.isa;
    return plan_new(s->model, plan_config, &s->plan);
}

/* On a device list, before the first session of a model: each rank measures its device, and all ranks get all rates. A
 * rank that fails reports its error later, when the ranks agree. */
static unroll_status measure_ranks(struct unroll_session *s)
{
    struct plan_config c = plan_config_default();
    struct device_options options = {.threads = 0};
    struct unroll_comm *comm = s->config.machine.comm;
    if (!is_device_list(s->config.machine.device) || !is_one_of_many(s) || s->model->runtime.shared)
        return UNROLL_OK;
    const int ranks = unroll_comm_ranks(comm), rank = unroll_comm_rank(comm);
    double *rate;
    TRY(ALLOCATE(rate, (size_t)ranks, "for the rates of devices"));
    unroll_status status = plan_session(s, &c, &options);
    if (status == UNROLL_OK)
        status = device_rate(s->device, &options, s->model, &c, &rate[rank]);
    if (status != UNROLL_OK)
        rate[rank] = 0;
    plan_free(s->plan);
    s->plan = NULL;
    status = unroll_comm_sum(comm, rate, ranks);
    bool all = status == UNROLL_OK;
    for (int i = 0; i < ranks; i++) all = all && rate[i] > 0;
    s->rate = all ? rate : NULL;
    if (!all)
        release(rate);
    return status;
}

unroll_status session_memory_estimate(unroll_model *model, const unroll_session_config *config, uint64_t *bytes)
{
    struct unroll_session s = {.model = model, .config = *config, .process = process_number()};
    struct plan_config plan_config = plan_config_default();
    struct device_options options = {.threads = 0};
    TRY(plan_session(&s, &plan_config, &options));
    *bytes = count_needed(&s);
    plan_free(s.plan);
    release(s.traits);
    return UNROLL_OK;
}

/* Does the preparations that need no other rank. */
static unroll_status prepare_session(struct unroll_session *s, struct plan_config *plan_config)
{
    struct device_options options = {.threads = 0};
    TRY(keep_class_weights(s));
    TRY(plan_session(s, plan_config, &options));
    if (is_one_of_many(s) &&
        unroll_comm_rank(s->config.machine.comm) == 0) /* rank 0 checks for all ranks: they agree below */
        TRY(check_mesh_of(s->model, plan_config));
    TRY(check_memory(s));
    options.comm = is_one_of_many(s) ? s->config.machine.comm : NULL, options.profile = s->config.profile != 0;
    TRY(open_executable(s, &options));
    ((int64_t *)session_host(s, "run"))[0] = (int64_t)s->config.seed;
    give_loss_constants(s);
    return UNROLL_OK;
}

static unroll_status open_session(struct unroll_session *s)
{
    struct plan_config plan_config = plan_config_default();
    TRY(measure_ranks(s));
    unroll_status status = prepare_session(s, &plan_config);
    TRY(comm_agree(s->config.machine.comm, status, mesh_fingerprint(s->model, &plan_config),
                   "the model, the batch or the way it is cut is"));
    TRY(mesh_join(s));
    return s->shared->sessions == 1 ? session_keep_up(s) : UNROLL_OK;
}

/* Brings weights that sessions have trained to the model's memory, as freeing a session does. */
static unroll_status pull_trained(unroll_model *model, const unroll_session_config *config)
{
    unroll_session_config small = unroll_session_config_default();
    unroll_session *session;
    small.machine = config->machine;
    small.raw = 1;
    if (!model->runtime.shared)
        return UNROLL_OK;
    TRY(unroll_session_new(model, &small, &session));
    unroll_session_free(session);
    return UNROLL_OK;
}

static unroll_status choose_units(struct unroll_session *s)
{
    const unroll_session_config *c = &s->config;
    if (c->mode == UNROLL_TRAIN || c->mode == UNROLL_MODULE)
        return units_check_raw(s->model, c->raw);
    if (!c->raw && (s->model->schema || c->series))
        TRY(pull_trained(s->model, c));
    TRY(units_take(&s->model, c->raw, c->series, true, &s->own));
    s->config.series = NULL; /* the caller's memory */
    return units_check_dtype(s->model, c->machine.dtype);
}

unroll_status unroll_session_new(unroll_model *model, const unroll_session_config *config, unroll_session **session)
{
    if (!model)
        return fail(UNROLL_USAGE, "a session needs a model; fix: give one");
    struct unroll_session *s;
    unroll_allocator allocator;
    unroll_session_config taken = unroll_session_config_default();
    TRY(sized_take(
        SIZED_WITH(unroll_session_config, "unroll_session_config_default()", MACHINE_OF(unroll_session_config)), config,
        &taken));
    TRY(allocator_take(taken.allocator, &allocator));
    taken.allocator = taken.allocator ? &allocator : NULL;
    TRY(ALLOCATE(s, 1, "for a session"));
    s->model = model;
    s->config = taken;
    s->process = process_number();
    unroll_status status = choose_units(s);
    if (status == UNROLL_OK)
        status = open_session(s);
    if (status != UNROLL_OK) {
        unroll_session_free(s);
        return status;
    }
    s->config.allocator = NULL; /* copied */
    *session = s;
    return UNROLL_OK;
}

/* Passes the pending results of this session to its partner. */
static void leave_trainers(struct unroll_session *s)
{
    if (s->shared->trainer != s)
        return;
    if (!s->config.partner || session_take_over(s->config.partner) != UNROLL_OK)
        s->shared->trainer = s->config.partner;
}

void unroll_session_free(unroll_session *s)
{
    if (!s)
        return;
    if (s->executable) {
        leave_trainers(s);
        s->shared->sessions--;
        if (s->shared->pulled != s->shared->changes && !is_one_of_many(s)) /* cannot wait for other ranks here */
            unroll_session_pull(s);                                        /* keeps the trained weights in the model */
        if (s->device->forks || s->process == process_number()) {          /* otherwise the parent frees it */
            s->device->executable_free(s->executable);
            leave_shared(s);
        }
    }
    plan_free(s->plan);
    release(s->traits);
    release(s->rate);
    release(s->class_weights);
    unroll_model_free(s->own);
    release(s);
}
