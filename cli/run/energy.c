/* Sources of joules (energy.h). Linux's powercap counts microjoules of packages (including all their cores) and of
 * memory, on processors of Intel and AMD: https://docs.kernel.org/power/powercap/powercap.html. Usually only root
 * may read them. */
#include "cli/run/energy.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/show/console.h"
#include "cli/run/crc.h"
#include "cli/show/stopwatch.h"
#include "unroll_advanced.h"

/* ---- given watts --------------------------------------------------------------------------- */

static bool given_open(struct energy *e) { return e->watts > 0; }

static double given_joules(struct energy *e) { return e->watts * (seconds_now() - e->began); }

/* ---- counters of the kernel ---------------------------------------------------------------- */

struct energy_counter {
    char path[512];
    double last, range; /* microjoules: the last value read, and the value at which the counter wraps around */
};

static bool read_line(const char *folder, const char *name, char line[64])
{
    char path[640];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    bool good = file && fgets(line, 64, file);
    if (file)
        fclose(file);
    if (good)
        line[strcspn(line, "\n")] = '\0';
    return good;
}

static bool read_number(const char *folder, const char *name, double *number)
{
    char line[64];
    return read_line(folder, name, line) && number_whole_real(line, 0, 1e30, number) == NUMBER_OK;
}

/* Returns whether a counter is that of a package, which includes its cores, or of memory, which no package includes. */
static bool is_counted(const char *folder)
{
    char name[64];
    return read_line(folder, "name", name) && (strncmp(name, "package", 7) == 0 || strcmp(name, "dram") == 0);
}

/* Opens all readable counters of packages and memory. */
static bool powercap_open(struct energy *e)
{
    const char *root = getenv("UNROLL_POWERCAP") ? getenv("UNROLL_POWERCAP") : "/sys/class/powercap";
    DIR *directory = opendir(root);
    struct dirent *entry;
    while (directory && (entry = readdir(directory)) != NULL) {
        struct energy_counter found = {.last = 0};
        snprintf(found.path, sizeof found.path, "%s/%s", root, entry->d_name);
        if (!strchr(entry->d_name, ':') || !is_counted(found.path) ||
            !read_number(found.path, "energy_uj", &found.last) ||
            !read_number(found.path, "max_energy_range_uj", &found.range))
            continue;
        struct energy_counter *more = realloc(e->counter, (size_t)(e->counters + 1) * sizeof *more);
        if (!more)
            break;
        e->counter = more;
        e->counter[e->counters++] = found;
    }
    if (directory)
        closedir(directory);
    return e->counters > 0;
}

static double powercap_joules(struct energy *e)
{
    double joules = e->joules, now;
    for (int i = 0; i < e->counters; i++) {
        struct energy_counter *c = &e->counter[i];
        if (!read_number(c->path, "energy_uj", &now))
            continue;
        joules += 1e-6 * (now < c->last ? now + c->range - c->last : now - c->last);
        c->last = now;
    }
    return joules;
}

/* ---- the table ----------------------------------------------------------------------------- */

/* In order of preference. open: returns whether the source can count anything. */
static const struct energy_source {
    const char *name;
    bool (*open)(struct energy *);
    double (*joules)(struct energy *);
} sources[] = {{"given", given_open, given_joules}, {"powercap", powercap_open, powercap_joules}};

enum { SOURCES = sizeof sources / sizeof *sources };

/* Keeps only the first rank of each machine counting. All ranks get the source of the first rank that has one. */
static unroll_status share(struct energy *e, const struct ranks *ranks)
{
    static double host[2 * RANKS_MAX];
    const int rank = unroll_comm_rank(ranks->comm), count = unroll_comm_ranks(ranks->comm);
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    memset(host, 0, sizeof host);
    host[rank] = crc32c(name, strlen(name));
    host[count + rank] = e->source ? 1 + (double)(e->source - sources) : 0;
    TRY(complain_library(unroll_comm_sum(ranks->comm, host, 2 * count)));
    for (int i = 0; i < rank; i++)
        if (host[i] == host[rank])
            e->source = NULL;
    for (int i = count; i-- > 0;)
        if (host[count + i] > 0)
            e->name = sources[(int)host[count + i] - 1].name;
    return UNROLL_OK;
}

unroll_status energy_open(struct energy *e, const struct settings *s, const struct ranks *ranks)
{
    *e = (struct energy){.watts = number_of(s, OPTION_WATTS), .began = seconds_now()};
    for (int i = 0; i < SOURCES && !e->source; i++)
        if (sources[i].open(e))
            e->source = &sources[i];
    e->name = e->source ? e->source->name : NULL;
    return ranks->comm ? share(e, ranks) : UNROLL_OK;
}

double energy_joules(struct energy *e)
{
    if (e->source)
        e->joules = e->source->joules(e);
    return e->joules;
}

void energy_close(struct energy *e)
{
    free(e->counter);
    *e = (struct energy){.joules = 0};
}
