/* Every training step in the list of cases compiles ahead of time for each topology, and all donated buffers keep their
 * memory. Nothing is run. With libtpu: make tpu-check.
 * Usage: test_ahead DEVICE cases.txt TOPOLOGY... */
/* test: with=cases/case; args=xla:$B/tests/device/fake_plugin.so tests/cases/cases.txt v5e:2x2; seconds=10 */
#include "cases/case.h"
#include "check.h"
#include "unroll_advanced.h"
#include <jansson.h>
#include <stdio.h>

static void check_case(const struct test_case *c, const char *device, const char *topology)
{
    unroll_plan_config config = unroll_plan_config_default();
    unroll_model *model;
    FILE *file = tmpfile();
    config.steps = c->session.steps, config.rows = c->session.rows, config.stateful = c->session.stateful;
    config.machine.device = device, config.topology = topology;
    if (!CHECK(file && unroll_model_new(&c->spec, 1, &model) == UNROLL_OK, "%s: %s", c->line, unroll_last_error()))
        return;
    if (case_needs_cpu(c))
        CHECK_REFUSED(unroll_plan_print(model, &config, file, 1), UNROLL_UNSUPPORTED, "on the CPU only");
    else if (CHECK(unroll_plan_print(model, &config, file, 1) == UNROLL_OK, "%s for %s: %s", c->line, topology,
                   unroll_last_error())) {
        rewind(file);
        json_t *json = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
        json_int_t donated = json_integer_value(json_object_get(json, "donated"));
        json_int_t in_place = json_integer_value(json_object_get(json, "in_place"));
        CHECK(donated > 0 && in_place == donated, "%s for %s: %d of %d arguments keep their memory", c->line, topology,
              (int)in_place, (int)donated);
        CHECK(json_number_value(json_object_get(json, "cycles")) > 0, "%s for %s: no cycles", c->line, topology);
        json_decref(json);
    }
    unroll_model_free(model);
    fclose(file);
}

int main(int argc, char **argv)
{
    struct test_case *list;
    if (argc < 4) {
        fprintf(stderr, "usage: test_ahead DEVICE cases.txt TOPOLOGY..\n");
        return 2;
    }
    int count = cases_read(argv[2], NULL, &list);
    for (int t = 3; t < argc; t++)
        for (int i = 0; i < count; i++) {
            check_next_case();
            check_case(&list[i], argv[1], argv[t]);
        }
    return check_finish("test_ahead");
}
