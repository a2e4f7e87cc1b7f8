/* unroll devices: prints the processors, instruction sets, memory and optional libraries that training may use here. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/console.h"
#include "cli/options/options.h"
#include "cli/show/output.h"

static int usable_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Returns the limit of control groups and the shell; INFINITY: only the machine's memory is the limit. */
static double memory_limit(double machine)
{
    double limit = (double)unroll_memory_limit();
    return limit < machine ? limit : INFINITY;
}

static json_t *libraries_as_json(void)
{
    json_t *libraries = json_object();
    unroll_entry l = {.size = sizeof l};
    for (int i = 0; unroll_list(UNROLL_LIST_LIBRARIES, i, &l); i++)
        json_object_set_new(libraries, l.name, json_pack("{ss? ss ss}", "file", l.file, "for", l.about, "fix", l.fix));
    return libraries;
}

static unroll_status print_as_json(double memory, double limit)
{
    json_t *isas = json_object();
    unroll_entry entry = {.size = sizeof entry};
    for (int i = 0; unroll_list(UNROLL_LIST_ISAS, i, &entry); i++)
        json_object_set_new(isas, entry.name, json_boolean(entry.available));
    json_t *json =
        json_pack("{si so sI so}", "processors", usable_processors(), "isa", isas, "memory_bytes", (json_int_t)memory,
                  "memory_limit_bytes", isinf(limit) ? json_null() : json_integer((json_int_t)limit));
    for (int i = 1; unroll_list(UNROLL_LIST_DEVICES, i, &entry); i++)
        json_object_set_new(json, entry.name, entry.available ? json_string(entry.about) : json_null());
    json_object_set_new(json, "libraries", libraries_as_json());
    json_object_set_new(json, "extensions", json_string(extensions_built));
    return print_json(json);
}

/* Prints only the reason of a refusal, not the fix after the semicolon. */
static void print_other_devices(void)
{
    unroll_entry device = {.size = sizeof device};
    for (int i = 1; unroll_list(UNROLL_LIST_DEVICES, i, &device); i++)
        printf("%-7s%s%.*s\n", device.name, device.available ? "" : "none: ", (int)strcspn(device.about, ";"),
               device.about);
}

static void print_libraries(void)
{
    unroll_entry l = {.size = sizeof l};
    puts("libraries");
    for (int i = 0; unroll_list(UNROLL_LIST_LIBRARIES, i, &l); i++)
        printf("       %-15s%s: %s%s%s\n", l.name, l.file ? "yes" : "no", l.about,
               l.file ? ", " : "; fix: ", l.file ? l.file : l.fix);
}

unroll_status cmd_devices(struct settings *settings)
{
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double limit = memory_limit(memory);
    char size[NUMBER_TEXT], bound[NUMBER_TEXT] = "none";
    unroll_entry isa = {.size = sizeof isa};
    if (is_on(settings, OPTION_JSON))
        return print_as_json(memory, limit);
    if (!isinf(limit))
        as_bytes(bound, limit);
    printf("cpu    %d of %ld processors may be used\n", usable_processors(), sysconf(_SC_NPROCESSORS_ONLN));
    printf("       memory %s, limit %s\n", as_bytes(size, memory), bound);
    for (int i = 0; unroll_list(UNROLL_LIST_ISAS, i, &isa); i++)
        printf("       %-12s %s\n", isa.name, isa.available ? "yes" : "no");
    print_other_devices();
    print_libraries();
    printf("extensions %s\n", *extensions_built ? extensions_built : "none");
    return UNROLL_OK;
}
