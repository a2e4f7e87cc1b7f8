/* Estimated time of a step on a TPU that is not present. Tests the reader of compiled programs with what libtpu 0.0.52
 * made of two small ones (tests/fuzz/seeds/compiled, without unused fields), and the estimate with a plugin that checks
 * each call (fake_plugin.c). With libtpu itself: make tpu-check. Usage: test_estimate fake_plugin.so, from the top
 * folder */
/* test: kinds=plain,long-memory; args=$B/tests/device/fake_plugin.so */
#include "base/memory.h"
#include "check.h"
#include "extensions/xla/compiled.h"
#include "unroll_advanced.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char device_name[512];

/* ---- the reader ------------------------------------------------------------------------ */

static size_t read_seed(const char *name, unsigned char *bytes, size_t room)
{
    char path[100];
    snprintf(path, sizeof path, "tests/fuzz/seeds/compiled/%s", name);
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(bytes, 1, room, file) : 0;
    if (file)
        fclose(file);
    CHECK(size > 0, "%s can be read", path);
    return size;
}

static void test_reader(void)
{
    static unsigned char bytes[1 << 16];
    struct compiled c;
    size_t size = read_seed("forward_loop", bytes, sizeof bytes);
    CHECK(read_compiled(bytes, size, "hlo_with_config", &c) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(c.cycles == 76120 && c.loop_cycles == 65805, "%g cycles, %g in loops", c.cycles, c.loop_cycles);
    CHECK(c.loops == 1 && c.turns == 5 && c.priced == 15, "%d loops, %g turns, %d", c.loops, c.turns, c.priced);
    CHECK(c.aliases == 2 && !strcmp(c.costliest[0].name, "convolution_add_fusion.4") &&
              c.costliest[0].cycles == 10380 && c.costliest[0].turns == 5,
          "%d, %s", c.aliases, c.costliest[0].name);
    for (size_t cut = 0; cut < size; cut += 7) {
        uint64_t live = memory_live();
        CHECK(read_compiled(bytes, cut, "hlo_with_config", &c) == UNROLL_DATA, "%zu bytes are no program", cut);
        CHECK(memory_live() == live, "nothing is left");
    }
    size = read_seed("update", bytes, sizeof bytes);
    CHECK(read_compiled(bytes, size, "hlo_with_config", &c) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(c.cycles == 31394 && c.loops == 0 && c.aliases == 24, "%g cycles, %d aliases", c.cycles, c.aliases);
    CHECK(read_compiled(bytes, size, "text", &c) == UNROLL_UNSUPPORTED && strstr(unroll_last_error(), "'text'"), "%s",
          unroll_last_error());
}

/* ---- the estimate ---------------------------------------------------------------------- */

static unroll_status estimate(const char *topology, const char *precision, char *text, size_t room, int json)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_plan_config config = unroll_plan_config_default();
    unroll_model *model;
    FILE *file = tmpfile();
    spec.hidden = 100, spec.input = 3, spec.output = 4, spec.loss = "mse";
    config.steps = 6, config.rows = 8, config.machine.device = device_name, config.topology = topology;
    config.machine.precision = precision;
    if (unroll_model_new(&spec, 1, &model) != UNROLL_OK || !file)
        return UNROLL_FAILURE;
    unroll_status status = unroll_plan_print(model, &config, file, json);
    rewind(file);
    text[fread(text, 1, room - 1, file)] = 0;
    fclose(file);
    unroll_model_free(model);
    return status;
}

static double number(const json_t *json, const char *key) { return json_number_value(json_object_get(json, key)); }

static int good_estimate(void)
{
    static char text[1 << 15];
    CHECK(estimate("v5e:2x2", NULL, text, sizeof text, 1) == UNROLL_OK, "%s", unroll_last_error());
    json_t *json = json_loads(text, 0, NULL), *memory = json_object_get(json, "memory");
    CHECK(json_is_true(json_object_get(json, "estimate")), "an estimate is called one: %s", text);
    CHECK(number(json, "cycles") == 1000 && number(json, "seconds") == 1000 / 1.5e9, "%s", text);
    CHECK(number(json, "donated") == 6 * 3 && number(json, "in_place") == number(json, "donated"),
          "six weights and their states of adam are donated: %s", text);
    CHECK(number(memory, "bytes") == 1000 + 20000 + 1000 + 300000 && json_is_true(json_object_get(memory, "fits")),
          "%s", text);
    CHECK(number(json, "flops") > 0 && number(json, "matrix_unit_use") > 0, "%s", text);
    json_decref(json);
    CHECK(estimate("v5e:2x2", NULL, text, sizeof text, 0) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(strstr(text, "estimates of its compiler") && strstr(text, "hidden = 100 is computed as 128") &&
              strstr(text, "precision bf16") && strstr(text, "8 rows a device"),
          "%s", text);
    return check_finish("a good estimate");
}

static int large_estimate(void)
{
    static char text[1 << 15];
    setenv("FAKE_PLUGIN", "large", 1);
    CHECK(estimate("v5e:2x2", NULL, text, sizeof text, 0) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(strstr(text, "DOES NOT FIT") && strstr(text, "does not fit; fix: use a smaller batch"), "%s", text);
    return check_finish("a large program");
}

static int copying_estimate(void)
{
    static char text[1 << 15];
    setenv("FAKE_PLUGIN", "copies", 1);
    CHECK(estimate("v5e:2x2", NULL, text, sizeof text, 0) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(strstr(text, "donated:  0 of ") && strstr(text, "are stored twice"), "%s", text);
    return check_finish("a copying compiler");
}

static int refused_estimates(void)
{
    static char text[1 << 15];
    CHECK(estimate("v5e:9x9", NULL, text, sizeof text, 0) == UNROLL_RESOURCE &&
              strstr(unroll_last_error(), "no such grid"),
          "%s", unroll_last_error());
    CHECK(estimate("v9:2x2", NULL, text, sizeof text, 0) == UNROLL_USAGE && strstr(unroll_last_error(), "v6e:2x2"),
          "%s", unroll_last_error());
    CHECK(estimate("v5e", NULL, text, sizeof text, 0) == UNROLL_USAGE, "%s", unroll_last_error());
    CHECK(estimate("", NULL, text, sizeof text, 0) == UNROLL_USAGE && strstr(unroll_last_error(), "give one"), "%s",
          unroll_last_error());
    CHECK(estimate("v5e:2x2", "fp16", text, sizeof text, 0) == UNROLL_UNSUPPORTED, "%s", unroll_last_error());
    setenv("FAKE_PLUGIN", "prose", 1);
    CHECK(estimate("v5e:2x2", NULL, text, sizeof text, 0) == UNROLL_UNSUPPORTED &&
              strstr(unroll_last_error(), "'prose'"),
          "%s", unroll_last_error());
    snprintf(device_name, sizeof device_name, "cpu");
    CHECK(estimate("v5e:2x2", NULL, text, sizeof text, 0) == UNROLL_UNSUPPORTED &&
              strstr(unroll_last_error(), "cannot estimate for a topology"),
          "%s", unroll_last_error());
    return check_finish("refused estimates");
}

/* Runs in a process of its own: a plugin is loaded only once, and a misuse ends the process. */
static void in_child(int (*run)(void), const char *name)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        checks_passed = checks_failed = checks_skipped = 0;
        status = run();
        fflush(stdout);
        _exit(status);
    }
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: the child ended with %d", name, status);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: test_estimate fake_plugin.so\n");
        return 2;
    }
    snprintf(device_name, sizeof device_name, "xla:%s", argv[1]);
    unsetenv("FAKE_PLUGIN");
    test_reader();
    in_child(good_estimate, "good");
    in_child(large_estimate, "large");
    in_child(copying_estimate, "copying");
    in_child(refused_estimates, "refused");
    return check_finish("test_estimate");
}
