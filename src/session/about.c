/* What the library is and has: its version, its ISAs, the plan of a model as text. */
#include "base/memory.h"
#include "base/processor.h"
#include "base/sized.h"
#include "base/status.h"
#include "device/cpu/kernel.h"
#include "device/device_list.h"
#include "optim/optim.h"
#include "plan/print.h"
#include "session/mesh.h"
#include <stdlib.h>
#include <string.h>

#define QUOTE2(x) #x
#define QUOTE(x)  QUOTE2(x)

const char *unroll_version(void)
{
    return QUOTE(UNROLL_VERSION_MAJOR) "." QUOTE(UNROLL_VERSION_MINOR) "." QUOTE(UNROLL_VERSION_PATCH);
}

unroll_status unroll_version_check(int major, int minor)
{
    if (major == UNROLL_VERSION_MAJOR && minor <= UNROLL_VERSION_MINOR)
        return UNROLL_OK;
    return fail(
        UNROLL_UNSUPPORTED,
        "the program was compiled with headers of version %d.%d, and the library is %s; fix: compile it with the "
        "headers of this library, or install version %d.%d",
        major, minor, unroll_version(), major, minor);
}

const char *unroll_isa_name(int index, int *available)
{
    if (index < 0 || index >= ISA_COUNT)
        return NULL;
    *available = cpu_isa_find((enum isa)index, DTYPE_F32) != NULL;
    return isa_name((enum isa)index);
}

const char *unroll_device_name(int index, int *available, const char **about)
{
    static _Thread_local char text[1024];
    const struct device *device = device_at(index);
    if (!device)
        return NULL;
    bool there = device->about(text, sizeof text) == UNROLL_OK;
    if (available)
        *available = there;
    if (about)
        *about = there ? text : unroll_last_error();
    return device->name;
}

void unroll_plan_begin(unroll_plan_config *config, size_t size)
{
    const unroll_plan_config standard = {.size = sizeof(unroll_plan_config),
                                         .mode = UNROLL_TRAIN,
                                         .steps = 64,
                                         .rows = 32,
                                         .optimizer = "adam",
                                         .machine = unroll_machine_default()};
    sized_begin(&standard, sizeof standard, config, size);
}

/* What a plan is printed for. */
struct target {
    const struct device *device;
    const char *which, *topology; /* topology NULL: the plan itself is printed */
    struct device_traits *traits; /* of each rank's device; NULL: all are of one kind */
};

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

/* What the same plan would be without checkpoints; NULL: it has none. */
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

/* One rank's plan; of a mesh, before it, what all ranks do. */
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
                                const struct target *target, FILE *file, int json)
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

/* The device that a plan is made for; with a topology, the one whose compiler estimates for it. */
static unroll_status find_target(const unroll_plan_config *c, struct target *t)
{
    const char *topology = c->topology && *c->topology ? c->topology : NULL;
    const char *name = c->machine.device ? c->machine.device : topology ? "tpu" : "cpu";
    *t = (struct target){.topology = topology};
    TRY(device_choose(name, &t->device, &t->which));
    if (topology && !t->device->estimate)
        return fail(UNROLL_UNSUPPORTED,
                    "the device %s has no compiler that estimates for a topology ('%s'); fix: device tpu",
                    t->device->name, topology);
    if (!topology && t->device->estimate)
        return fail(UNROLL_USAGE,
                    "what a plan takes on '%s' is estimated for a topology; fix: name one, such as v5e:2x2", name);
    return UNROLL_OK;
}

/* A session that would have this plan. */
static unroll_session_config session_of_plan(const unroll_plan_config *c)
{
    unroll_session_config s = unroll_session_default();
    s.mode = c->mode;
    s.steps = c->steps;
    s.rows = c->rows;
    s.stateful = c->stateful;
    s.optimizer = c->optimizer;
    s.machine = c->machine;
    return s;
}

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

static unroll_status print_plan_of(const struct unroll_model *model, const unroll_plan_config *c, FILE *file, int json)
{
    struct plan_config p;
    struct target target = {.device = NULL};
    unroll_status status = config_of(model, c, &target, &p);
    if (status == UNROLL_OK)
        status = print_mesh(model, &p, &target, file, json);
    release(target.traits);
    return status;
}

static unroll_status outline_of(const unroll_spec *spec, struct unroll_model **outline)
{
    unroll_layer layer[MODEL_LAYERS_MAX];
    unroll_network network;
    TRY(network_of_spec(spec, layer, &network));
    return network_outline(&network, NULL, outline);
}

unroll_status unroll_plan_print(const unroll_model *model, const unroll_plan_config *given, FILE *file, int json)
{
    struct unroll_model *outline = NULL;
    unroll_plan_config c = unroll_plan_default();
    TRY(sized_take(SIZED_PLAN, given, &c));
    if (c.machine.comm)
        return fail(UNROLL_USAGE, "a plan is that of rank 0; fix: leave out `comm`");
    if (!model)
        TRY(outline_of(c.spec, &outline));
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

unroll_status session_show_plan(const unroll_plan_config *c, plan_visitor *visit, void *arg)
{
    struct unroll_model *outline;
    TRY(outline_of(c->spec, &outline));
    unroll_status status = show_plan_of(outline, c, visit, arg);
    unroll_model_free(outline);
    return status;
}

static unroll_status show_stages_of(const struct unroll_model *model, const unroll_plan_config *c,
                                    stages_visitor *visit, void *arg)
{
    struct plan *plan[DEPTHS] = {NULL};
    struct plan_config p;
    struct target target;
    TRY(config_of(model, c, &target, &p));
    const int stages = p.mesh[M_LAYER];
    unroll_status status =
        stages <= DEPTHS ? UNROLL_OK : fail(UNROLL_USAGE, "%d stages are too many; fix: fewer stages", stages);
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
        TRY(outline_of(c->spec, &outline));
    unroll_status status = show_stages_of(model ? model : outline, c, visit, arg);
    unroll_model_free(outline);
    return status;
}
