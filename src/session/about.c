/* Information about the library: version, ISAs, devices, and the plan of a model as text. */
#include "base/memory.h"
#include "base/sized.h"
#include "base/status.h"
#include "device/device_list.h"
#include "plan/print/print.h"
#include "session/mesh.h"
#include <stdlib.h>
#include <string.h>

void unroll_plan_config_begin(unroll_plan_config *config, size_t size)
{
    const unroll_plan_config standard = {.size = sizeof(unroll_plan_config),
                                         .mode = UNROLL_TRAIN,
                                         .steps = 64,
                                         .rows = 32,
                                         .optimizer = "adam",
                                         .machine = unroll_machine_default()};
    sized_begin(&standard, sizeof standard, config, size);
}

/* The target of a printed plan. */
struct target {
    const struct device *device;
    const char *which, *topology; /* topology NULL: prints the plan itself */
    struct device_traits *traits; /* for each rank's device; NULL: all devices are of one kind */
};

/* Prints the plan as one line of JSON, with the mesh and the device's explanation. */
static unroll_status print_json(FILE *file, const struct target *target, const struct plan *plan,
                                const struct plan *all, struct plan *const *mesh, int ranks)
{
    json_t *json = plan_to_json(plan, all);
    if (json && ranks > 1)
        json_object_set_new(json, "mesh", plan_mesh_to_json(mesh, ranks));
    unroll_status status =
        json && target->device->explain ? target->device->explain(plan, target->which, NULL, json) : UNROLL_OK;
    char *text = json && status == UNROLL_OK ? json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    json_decref(json);
    TRY(status);
    if (!text)
        return fail(UNROLL_RESOURCE, "no memory to print the plan");
    int written = fprintf(file, "%s\n", text);
    free(text);
    return written < 0 ? fail(UNROLL_RESOURCE, "the plan could not be written; fix: free memory") : UNROLL_OK;
}

/* Returns the same plan without checkpoints, or NULL if it has none. */
static unroll_status plan_without_checkpoints(const struct unroll_model *model, struct plan_config config,
                                              struct plan **all)
{
    *all = NULL;
    if (!config.checkpoint)
        return UNROLL_OK;
    config.checkpoint = 0;
    return plan_new(model, &config, all);
}

static unroll_status print_lines(FILE *file, const struct target *target, const struct plan *all,
                                 struct plan *const *mesh, int ranks)
{
    if (ranks > 1)
        TRY(plan_print_mesh(file, mesh, ranks));
    plan_print(file, mesh[0]);
    plan_print_saving(file, mesh[0], all);
    return target->device->explain ? target->device->explain(mesh[0], target->which, file, NULL) : UNROLL_OK;
}

/* Prints one rank's plan; for a mesh, after a summary of all ranks. */
static unroll_status print_plans(const struct unroll_model *model, const struct plan_config *config,
                                 const struct target *target, FILE *file, int json, struct plan *const *mesh, int ranks)
{
    struct plan *all;
    TRY(plan_without_checkpoints(model, *config, &all));
    unroll_status status =
        json ? print_json(file, target, mesh[0], all, mesh, ranks) : print_lines(file, target, all, mesh, ranks);
    plan_free(all);
    return status;
}

static unroll_status print_mesh(const struct unroll_model *model, const struct plan_config *config,
                                const struct target *target, FILE *file, bool json)
{
    struct plan *mesh[RANKS_MAX] = {NULL};
    int ranks;
    unroll_status status = mesh_plans(model, *config, mesh, &ranks);
    if (status == UNROLL_OK)
        status = !target->topology ? print_plans(model, config, target, file, json, mesh, ranks)
                                   : target->device->estimate((const struct plan *const *)mesh, ranks, target->which,
                                                              target->topology, file, json);
    mesh_free(mesh);
    return status;
}

/* Returns the device of a plan. For a topology this is a device whose compiler estimates for it. */
static unroll_status find_target(const unroll_plan_config *c, struct target *t)
{
    const char *topology = c->topology && *c->topology ? c->topology : NULL;
    const char *name = c->machine.device ? c->machine.device : topology ? "tpu" : "cpu";
    *t = (struct target){.topology = topology};
    TRY(device_choose(name, &t->device, &t->which));
    if (topology && !t->device->estimate)
        return fail(UNROLL_UNSUPPORTED, "the device %s cannot estimate for a topology ('%s'); fix: use the device tpu",
                    t->device->name, topology);
    if (!topology && t->device->estimate)
        return fail(UNROLL_USAGE, "an estimate for '%s' requires a topology; fix: give one, such as v5e:2x2", name);
    return UNROLL_OK;
}

/* Returns the configuration of a session with this plan. */
static unroll_session_config session_of_plan(const unroll_plan_config *c)
{
    unroll_session_config s = unroll_session_config_default();
    s.mode = c->mode;
    s.steps = c->steps;
    s.rows = c->rows;
    s.stateful = c->stateful;
    s.optimizer = c->optimizer;
    s.machine = c->machine;
    return s;
}

/* Converts a plan configuration to that of the plan of rank 0, and finds its device. */
static unroll_status config_of(const struct unroll_model *model, const unroll_plan_config *c, struct target *target,
                               struct plan_config *p)
{
    unroll_session_config asked = session_of_plan(c);
    TRY(mesh_default_cut(&asked.machine));
    TRY(session_plan_config(&asked, 0, p));
    TRY(find_target(c, target));
    TRY(device_precision(target->device, c->machine.precision, &p->precision));
    if (target->topology)
        p->queues = 1;
    session_suit_device(target->device, c->machine.isa, c->machine.threads, model, p);
    if (!is_device_list(c->machine.device))
        return UNROLL_OK;
    TRY(mesh_traits(&c->machine, p->mesh, &target->traits));
    p->traits_of = target->traits;
    plan_config_at(p, 0);
    return UNROLL_OK;
}

static unroll_status print_plan_of(const struct unroll_model *model, const unroll_plan_config *c, FILE *file, bool json)
{
    struct plan_config p;
    struct target target = {.device = NULL};
    unroll_status status = config_of(model, c, &target, &p);
    if (status == UNROLL_OK)
        status = print_mesh(model, &p, &target, file, json);
    release(target.traits);
    return status;
}

static unroll_status outline_of(const unroll_model_config *spec, struct unroll_model **outline)
{
    unroll_layer layer[MODEL_LAYERS_MAX];
    unroll_network network;
    TRY(network_of_spec(spec, layer, &network));
    return network_outline(&network, NULL, outline);
}

unroll_status unroll_plan_print(const unroll_model *model, const unroll_plan_config *given, FILE *file, bool json)
{
    struct unroll_model *outline = NULL;
    unroll_plan_config c = unroll_plan_config_default();
    TRY(sized_take(SIZED_PLAN, given, &c));
    if (c.machine.comm)
        return fail(UNROLL_USAGE,
                    "a plan is always printed for rank 0 and cannot use a communicator; fix: leave out `comm`");
    if (!model)
        TRY(outline_of(c.model_config, &outline));
    unroll_status status = print_plan_of(model ? model : outline, &c, file, json);
    unroll_model_free(outline);
    return status;
}

static unroll_status show_plan_of(const struct unroll_model *model, const unroll_plan_config *c, plan_visitor *visit,
                                  void *arg)
{
    struct plan_config p;
    struct target target = {.device = NULL};
    struct plan *plan;
    unroll_status status = config_of(model, c, &target, &p);
    if (status == UNROLL_OK)
        status = plan_new(model, &p, &plan);
    release(target.traits);
    TRY(status);
    visit(plan, arg);
    plan_free(plan);
    return UNROLL_OK;
}

struct shown {
    vector_visitor *visit;
    void *arg;
    unroll_status status;
};

static void show_vector_of(const struct plan *plan, void *arg)
{
    struct shown *shown = arg;
    struct update_vector vector;
    shown->status = plan_update_vector(plan, &vector);
    if (shown->status == UNROLL_OK)
        shown->visit(&vector, shown->arg);
    update_vector_free(&vector);
}

unroll_status session_show_plan(const unroll_plan_config *c, plan_visitor *visit, void *arg)
{
    struct unroll_model *outline;
    TRY(outline_of(c->model_config, &outline));
    unroll_status status = show_plan_of(outline, c, visit, arg);
    unroll_model_free(outline);
    return status;
}

unroll_status session_show_vector(const unroll_plan_config *c, vector_visitor *visit, void *arg)
{
    struct shown shown = {visit, arg, UNROLL_OK};
    TRY(session_show_plan(c, show_vector_of, &shown));
    return shown.status;
}

/* Plans each stage of a layer cut and passes all of them to the visitor. */
static unroll_status show_stages_of(const struct unroll_model *model, const unroll_plan_config *c,
                                    stages_visitor *visit, void *arg)
{
    struct plan *plan[DEPTHS] = {NULL};
    struct plan_config p;
    struct target target;
    TRY(config_of(model, c, &target, &p));
    const int stages = p.mesh[M_LAYER];
    unroll_status status =
        stages <= DEPTHS ? UNROLL_OK : fail(UNROLL_USAGE, "%d stages are too many; fix: use fewer stages", stages);
    for (int i = 0; i < stages && status == UNROLL_OK; i++) {
        p.at[M_LAYER] = i;
        status = plan_new(model, &p, &plan[i]);
    }
    if (status == UNROLL_OK)
        status = visit(plan, stages, arg);
    for (int i = 0; i < stages && i < DEPTHS; i++) plan_free(plan[i]);
    return status;
}

unroll_status session_show_stages(const struct unroll_model *model, const unroll_plan_config *c, stages_visitor *visit,
                                  void *arg)
{
    struct unroll_model *outline = NULL;
    if (!model)
        TRY(outline_of(c->model_config, &outline));
    unroll_status status = show_stages_of(model ? model : outline, c, visit, arg);
    unroll_model_free(outline);
    return status;
}
