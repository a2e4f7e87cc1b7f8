/* unroll devices: processors, instruction sets, memory and optional libraries that training may use here. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "options.h"
#include "output.h"
#include "unroll_advanced.h"

static int usable_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* What control groups and the shell's limits allow; INFINITY: only the machine's own size limits. */
static double memory_limit(double machine)
{
    double limit = (double)unroll_memory_limit();
    return limit < machine ? limit : INFINITY;
}

static json_t *libraries_as_json(void)
{
    json_t *libraries = json_object();
    const char *name, *file, *purpose, *fix;
    for (int i = 0; (name = unroll_library_name(i, &file, &purpose, &fix)); i++)
        json_object_set_new(libraries, name, json_pack("{ss? ss ss}", "file", file, "for", purpose, "fix", fix));
    return libraries;
}

static unroll_status print_as_json(double memory, double limit)
{
    json_t *isas = json_object();
    const char *name, *about;
    int available;
    for (int i = 0; (name = unroll_isa_name(i, &available)); i++)
        json_object_set_new(isas, name, json_boolean(available));
    json_t *json =
        json_pack("{si so sI so}", "processors", usable_processors(), "isa", isas, "memory_bytes", (json_int_t)memory,
                  "memory_limit_bytes", isinf(limit) ? json_null() : json_integer((json_int_t)limit));
    for (int i = 1; (name = unroll_device_name(i, &available, &about)); i++)
        json_object_set_new(json, name, available ? json_string(about) : json_null());
    json_object_set_new(json, "libraries", libraries_as_json());
    return print_json(json);
}

/* Of a refusal what is the matter, not yet how to mend it. */
static void print_other_devices(void)
{
    const char *name, *about;
    int available;
    for (int i = 1; (name = unroll_device_name(i, &available, &about)); i++)
        printf("%-7s%s%.*s\n", name, available ? "" : "none: ", (int)strcspn(about, ";"), about);
}

static void print_libraries(void)
{
    const char *name, *file, *purpose, *fix;
    puts("libraries");
    for (int i = 0; (name = unroll_library_name(i, &file, &purpose, &fix)); i++)
        printf("       %-15s%s: %s%s%s\n", name, file ? "yes" : "no", purpose,
               file ? ", " : "; fix: ", file ? file : fix);
}

unroll_status cmd_devices(struct settings *settings)
{
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double limit = memory_limit(memory);
    char size[NUMBER_TEXT], bound[NUMBER_TEXT] = "none";
    const char *name;
    int available;
    if (is_on(settings, OPTION_JSON))
        return print_as_json(memory, limit);
    if (!isinf(limit))
        as_bytes(bound, limit);
    printf("cpu    %d of %ld processors may be used\n", usable_processors(), sysconf(_SC_NPROCESSORS_ONLN));
    printf("       memory %s, limit %s\n", as_bytes(size, memory), bound);
    for (int i = 0; (name = unroll_isa_name(i, &available)); i++)
        printf("       %-12s %s\n", name, available ? "yes" : "no");
    print_other_devices();
    print_libraries();
    return UNROLL_OK;
}
