#include "cli/show/evaluation.h"

#include <math.h>
#include <stdio.h>

#include "cli/options/network.h"
#include "cli/show/output.h"

json_t *evaluation_to_json(const unroll_evaluation *found)
{
    json_t *object = json_pack("{so so sI}", "loss", json_finite(found->loss), "floor", json_finite(found->floor),
                               "examples", (json_int_t)found->examples);
    for (int i = 0; i < found->metrics; i++) {
        const unroll_metric *metric = &found->metric[i];
        bool counts = metric->digits == 0 && isfinite(metric->value);
        json_object_set_new(object, metric->name,
                            counts ? json_integer((json_int_t)metric->value) : json_finite(metric->value));
    }
    return object;
}

void evaluation_to_text(const unroll_evaluation *found, char *text, size_t size)
{
    char metric[NUMBER_TEXT];
    size_t at = 0;
    *text = '\0';
    for (int i = 0; i < found->metrics && at < size; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", metric_text(&found->metric[i], metric));
        if (i == 0 && at < size)
            at += (size_t)snprintf(text + at, size - at, " (%s %s)", found->naive,
                                   metric_number(found->floor, found->metric[0].digits, metric));
    }
}
