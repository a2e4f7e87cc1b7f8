/* The list of cases covers every cell, loss, pool and optimizer, and names only existing ones. What the cases compute
 * is tested in test_cases and test_device. Usage: test_listed CASES */
/* test: with=cases/case; args=tests/cases/cases.txt */
#include "cases/case.h"
#include "check.h"
#include "plan/ir/op.h"
#include "listed.h"
#include <stdlib.h>
#include <string.h>

/* True if the text is the name, possibly with levels: "quantile:0.1,0.9". */
static bool is_named(const char *text, const char *name)
{
    const size_t length = strlen(name);
    return text && !strncmp(text, name, length) && (!text[length] || text[length] == ':');
}

/* True if the pool is one of several: "mean+max". */
static bool has_pool(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = text; at && *at; at += strcspn(at, "+"), at += *at == '+')
        if (strcspn(at, "+") == length && !strncmp(at, name, length))
            return true;
    return false;
}

_Static_assert(POOL_FIRST == 3, "a pool more: its name belongs below");
static const char *pool_name(int index)
{
    static const char *const names[] = {[POOL_LAST] = "last", [POOL_MEAN] = "mean", [POOL_MAX] = "max"};
    return index < POOL_FIRST ? names[index] : NULL; /* "first" is never used: "last" covers the reverse direction */
}

static const char *cell_name(int index) { return listed(UNROLL_LIST_CELLS, index); }
static const char *loss_name(int index) { return listed(UNROLL_LIST_LOSSES, index); }

static bool has_cell(const struct test_case *c, const char *name) { return !strcmp(c->spec.cell, name); }
static bool has_loss(const struct test_case *c, const char *name) { return is_named(c->spec.loss, name); }
static bool pools(const struct test_case *c, const char *name) { return has_pool(c->spec.pool, name); }

/* Counts the cases that have it. */
static int count_of(const struct test_case *list, int count, bool (*has)(const struct test_case *, const char *),
                    const char *name)
{
    int found = 0;
    for (int i = 0; i < count; i++) found += has(&list[i], name);
    return found;
}

static int check_names(const struct test_case *list, int count, const char *what, const char *(*name_of)(int),
                       bool (*has)(const struct test_case *, const char *))
{
    int names = 0;
    for (const char *name; (name = name_of(names)); names++)
        CHECK(count_of(list, count, has, name) > 0, "the %s '%s' has no case: add a line to tests/cases/cases.txt",
              what, name);
    return names;
}

int main(int argc, char **argv)
{
    struct test_case *list;
    if (argc != 2) {
        fprintf(stderr, "usage: test_listed CASES\n");
        return 2;
    }
    const int count = cases_read(argv[1], NULL, &list);
    CHECK(check_names(list, count, "cell", cell_name, has_cell) > 8, "few cells");
    CHECK(check_names(list, count, "loss", loss_name, has_loss) > 7, "few losses");
    CHECK(check_names(list, count, "pool", pool_name, pools) == 3, "not three pools");
    /* The tests that run the list on devices take the optimizers in turn. */
    int optimizers = 0;
    while (listed(UNROLL_LIST_OPTIMIZERS, optimizers)) optimizers++;
    CHECK(count >= 2 * optimizers, "%d cases have not each of %d optimizers twice", count, optimizers);
    CHECK(count_of(list, count, has_cell, "no-such") == 0 && count_of(list, count, pools, "mea") == 0 &&
              count_of(list, count, has_loss, "quanti") == 0,
          "an unknown name is found");
    free(list);
    return check_finish("test_listed");
}
