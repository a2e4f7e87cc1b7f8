/* Reads the file of a cluster: checks the range of every number and every name. For their meanings see cluster.h. */
#include "extensions/cluster/planner/cluster.h"
#include "base/json.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 1 << 20, RANKS_LARGEST = 1 << 20 };

struct cluster_field {
    const char *name;
    size_t offset; /* of a double */
    double min, max;
    double otherwise; /* default; NAN: required */
};

static unroll_status read_fields(json_t *object, const char *where, const struct cluster_field *field, void *into)
{
    for (; field->name; field++) {
        double *to = (double *)((char *)into + field->offset);
        *to = field->otherwise;
        if (!isnan(field->otherwise) && !json_object_get(object, field->name))
            continue;
        TRY(json_field_real(object, where, field->name, to));
        if (!(*to >= field->min && *to <= field->max))
            return fail(UNROLL_DATA, "%s: \"%s\" = %g is outside %g to %g; fix: choose a value in this range", where,
                        field->name, *to, field->min, field->max);
    }
    return UNROLL_OK;
}

static unroll_status read_name(const json_t *object, const char *where, char name[CLUSTER_NAME])
{
    const char *text;
    TRY(json_field_string(object, where, "name", &text));
    if (!*text || strlen(text) >= CLUSTER_NAME)
        return fail(UNROLL_DATA, "%s: \"name\" has 1 to %d bytes; fix: write it as the files in bench/networks are",
                    where, CLUSTER_NAME - 1);
    strcpy(name, text);
    return UNROLL_OK;
}

/* Returns element i of an array, which must be an object. */
static unroll_status item_of(const json_t *array, const char *name, const char *key, size_t i, char where[128],
                             json_t **item)
{
    snprintf(where, 128, "%.80s: \"%s\"[%zu]", name, key, i);
    *item = json_array_get(array, i);
    return json_is_object(*item)
               ? UNROLL_OK
               : fail(UNROLL_DATA, "%s is no object; fix: write it as the files in bench/networks are", where);
}

/* ---- levels ---------------------------------------------------------------------------- */

/* Reads a level of the network. Its ranks must be a multiple of those of the level below; the last level has all. */
static unroll_status read_level(json_t *object, const char *where, bool last, const struct cluster *c,
                                struct cluster_level *level)
{
    static const char *const known[] = {"name", "ranks", "latency", "bandwidth", NULL};
    static const struct cluster_field fields[] = {
        {"latency", offsetof(struct cluster_level, latency), 0, 10, NAN},
        {"bandwidth", offsetof(struct cluster_level, bandwidth), 1, 1e15, NAN},
        {NULL}};
    int64_t ranks = 0;
    TRY(json_fields_known(object, where, known));
    TRY(read_name(object, where, level->name));
    TRY(read_fields(object, where, fields, level));
    if (!last || json_object_get(object, "ranks"))
        TRY(json_field_integer(object, where, "ranks", 1, RANKS_LARGEST, &ranks));
    const int below = c->levels ? c->level[c->levels - 1].ranks : 1;
    level->ranks = last ? 0 : (int)ranks;
    if (!last && (ranks < below || ranks % below))
        return fail(UNROLL_DATA,
                    "%s: \"ranks\" = %d is no multiple of the %d of the level below; fix: use a multiple of it", where,
                    (int)ranks, below);
    return UNROLL_OK;
}

static unroll_status read_levels(const json_t *root, const char *name, struct cluster *c)
{
    json_t *array, *item;
    char where[128];
    TRY(json_field_array(root, name, "levels", &array));
    size_t count = json_array_size(array);
    if (count < 1 || count > CLUSTER_LEVELS)
        return fail(UNROLL_DATA,
                    "%s: \"levels\" has %zu elements, not 1 to %d; fix: write it as the files in bench/networks are",
                    name, count, CLUSTER_LEVELS);
    for (size_t i = 0; i < count; i++, c->levels++) {
        TRY(item_of(array, name, "levels", i, where, &item));
        TRY(read_level(item, where, i + 1 == count, c, &c->level[i]));
    }
    return UNROLL_OK;
}

/* ---- watts ----------------------------------------------------------------------------- */

/* Reads the optional clocks, with decreasing speeds relative to the first. */
static unroll_status read_clocks(const json_t *root, const char *name, struct cluster *c)
{
    static const char *const known[] = {"speed", "watts", NULL};
    static const struct cluster_field fields[] = {{"speed", offsetof(struct cluster_clock, speed), 0.01, 1, NAN},
                                                  {"watts", offsetof(struct cluster_clock, watts), 0, 1e6, NAN},
                                                  {NULL}};
    json_t *array, *item;
    char where[128];
    if (!json_object_get(root, "clocks"))
        return UNROLL_OK;
    TRY(json_field_array(root, name, "clocks", &array));
    size_t count = json_array_size(array);
    if (count < 1 || count > CLUSTER_CLOCKS)
        return fail(UNROLL_DATA,
                    "%s: \"clocks\" has %zu elements, not 1 to %d; fix: write it as the files in bench/networks are",
                    name, count, CLUSTER_CLOCKS);
    for (size_t i = 0; i < count; i++, c->clocks++) {
        TRY(item_of(array, name, "clocks", i, where, &item));
        TRY(json_fields_known(item, where, known));
        TRY(read_fields(item, where, fields, &c->clock[i]));
        if (i == 0 ? c->clock[0].speed != 1 : c->clock[i].speed >= c->clock[i - 1].speed)
            return fail(UNROLL_DATA,
                        "%s: speeds begin with 1 and fall; fix: write it as the files in bench/networks are", where);
    }
    return UNROLL_OK;
}

/* ---- the whole ------------------------------------------------------------------------- */

/* Reads the speed, memory and power of a rank. */
static unroll_status read_rank(const json_t *root, const char *name, struct cluster *c)
{
    static const char *const known[] = {"gflops",
                                        "recurrent_gflops",
                                        "memory_bandwidth",
                                        "operation_latency",
                                        "step_latency",
                                        "message_bandwidth",
                                        "memory",
                                        "waiting_watts",
                                        NULL};
#define FIELD(field) #field, offsetof(struct cluster, field)
    static const struct cluster_field fields[] = {{FIELD(gflops), 1e-3, 1e9, NAN},
                                                  {FIELD(recurrent_gflops), 1e-3, 1e9, NAN},
                                                  {FIELD(memory_bandwidth), 1, 1e15, NAN},
                                                  {FIELD(operation_latency), 0, 1, 0},
                                                  {FIELD(step_latency), 0, 1, 0},
                                                  {FIELD(message_bandwidth), 1, 1e15, INFINITY},
                                                  {FIELD(memory), 1, 1e15, INFINITY},
                                                  {FIELD(waiting_watts), 0, 1e6, 0},
                                                  {NULL}};
    json_t *rank;
    char where[128];
    TRY(json_field_object(root, name, "rank", &rank));
    snprintf(where, sizeof where, "%.80s: \"rank\"", name);
    TRY(json_fields_known(rank, where, known));
    return read_fields(rank, where, fields, c);
}

static unroll_status read_root(json_t *root, const char *name, struct cluster *c)
{
    static const char *const known[] = {"name", "about", "rank", "ranks_per_host", "levels", "clocks", "price", NULL};
    static const struct cluster_field fields[] = {{FIELD(price), 0, 1e6, 0}, {NULL}};
#undef FIELD
    int64_t ranks;
    *c = (struct cluster){.ranks_per_host = 1};
    TRY(json_fields_known(root, name, known));
    TRY(read_name(root, name, c->name));
    TRY(read_fields(root, name, fields, c));
    TRY(read_rank(root, name, c));
    if (json_object_get(root, "ranks_per_host")) {
        TRY(json_field_integer(root, name, "ranks_per_host", 1, RANKS_LARGEST, &ranks));
        c->ranks_per_host = (int)ranks;
    }
    TRY(read_levels(root, name, c));
    return read_clocks(root, name, c);
}

unroll_status cluster_parse(const char *text, size_t size, const char *name, struct cluster *c)
{
    json_t *root;
    TRY(parse_json(text, size, name, &root));
    unroll_status status = read_root(root, name, c);
    json_decref(root);
    return status;
}

unroll_status cluster_read(const char *path, struct cluster *c)
{
    json_t *root;
    TRY(read_json_file(path, FILE_MAX, &root));
    unroll_status status = read_root(root, path, c);
    json_decref(root);
    return status;
}

int cluster_level_between(const struct cluster *c, int a, int b)
{
    int i = 0;
    while (i < c->levels - 1 && a / c->level[i].ranks != b / c->level[i].ranks) i++;
    return i;
}
