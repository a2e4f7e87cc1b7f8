/* The table of policies, and the parser of --sync. */
#include "extensions/cluster/compress/codes.h"
#include "base/key_value.h"
#include "base/sized.h"
#include "base/status.h"
#include <stdio.h>
#include <string.h>

static const struct policy *const table[] = {&policy_every, &policy_local, &policy_server, &policy_gossip};

const struct policy *policy_at(int index)
{
    return index >= 0 && index < (int)(sizeof table / sizeof *table) ? table[index] : NULL;
}

const char *sync_name(int index, const char **about)
{
    const struct policy *policy = policy_at(index);
    if (policy && about)
        *about = policy->about;
    return policy ? policy->name : NULL;
}

bool policy_is_plans(const struct policy *policy, const char *compress)
{
    return policy == &policy_every && (!compress || !strcmp(compress, "none"));
}

static const char *name_of_sync(int index) { return sync_name(index, NULL); }

static unroll_status find(const char *text, size_t length, const struct policy **found)
{
    char names[128];
    for (int i = 0; (*found = policy_at(i)); i++)
        if (strlen((*found)->name) == length && !memcmp((*found)->name, text, length))
            return UNROLL_OK;
    return fail(UNROLL_USAGE, "there is no sync '%.*s'; fix: choose one of %s", (int)length, text,
                list_names(name_of_sync, names, sizeof names));
}

unroll_status policy_read(const char *text, const struct policy **policy, struct sync_options *options)
{
    char argument[64] = "";
    *options = (struct sync_options){.interval = 1, .rate = 1, .delay = -1};
    text = text ? text : "every";
    size_t name = strcspn(text, ":,"), rest = name;
    TRY(find(text, name, policy));
    if (text[name] == ':') {
        rest += strcspn(text + name, ",");
        snprintf(argument, sizeof argument, "%.*s", (int)(rest - name - 1), text + name + 1);
    }
    if (!(*policy)->read && rest > name)
        return fail(UNROLL_USAGE, "`sync` = '%.60s': %s has no value after a colon; fix: leave the value out", text,
                    (*policy)->name);
    if ((*policy)->read)
        TRY((*policy)->read(argument, options));
    if (!text[rest])
        return UNROLL_OK;
    if (!(*policy)->keys)
        return fail(UNROLL_USAGE, "`sync` = '%.60s': %s has no options; fix: leave them out", text, (*policy)->name);
    return key_values_read(text + rest + 1, "sync", (*policy)->keys, options);
}

/* ---- traffic ------------------------------------------------------------------------------ */

/* Asks a policy for its traffic with a rank's vector. */
unroll_status sync_bytes_of(const struct update_vector *vector, const char *sync, const char *compress,
                            struct sync_cost *cost)
{
    const struct compressor *compressor;
    const struct policy *policy;
    struct sync_options options;
    double level;
    TRY(policy_read(sync, &policy, &options));
    TRY(compressor_read(compress, &compressor, &level));
    *cost =
        (struct sync_cost){.policy = policy, .every = 1, .delay = options.delay, .asynchronous = options.asynchronous};
    if (policy_is_plans(policy, compress) || vector->workers < 2)
        return UNROLL_OK;
    cost->numbers = vector->count;
    cost->bytes = policy->bytes(&options, vector, &cost->every);
    if (compressor)
        cost->bytes = codes_bytes(compressor, level, vector);
    return UNROLL_OK;
}

struct policy_asked {
    const char *sync, *compress;
    struct sync_cost cost;
    unroll_status status;
};

static void count_bytes(const struct update_vector *vector, void *arg)
{
    struct policy_asked *asked = arg;
    asked->status = sync_bytes_of(vector, asked->sync, asked->compress, &asked->cost);
}

unroll_status sync_bytes(const unroll_plan_config *config, const char *sync, const char *compress, double *bytes,
                         double *every)
{
    struct policy_asked asked = {.sync = sync, .compress = compress, .cost.every = 1, .status = UNROLL_OK};
    const struct compressor *compressor;
    const struct policy *policy;
    struct sync_options options;
    double level;
    unroll_plan_config plan = unroll_plan_config_default();
    TRY(sized_take(SIZED_PLAN, config, &plan));
    TRY(policy_read(sync, &policy, &options));
    TRY(compressor_read(compress, &compressor, &level));
    if (!policy_is_plans(policy, compress) && plan.machine.workers > 1)
        TRY(session_show_vector(&plan, count_bytes, &asked));
    *bytes = asked.cost.bytes;
    *every = asked.cost.every;
    return asked.status;
}
