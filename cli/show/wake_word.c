#include "cli/show/wake_word.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

void wake_word_find(const unroll_model *model, struct wake_word *word)
{
    const char *text = unroll_model_schema(model);
    json_t *schema = text ? json_loads(text, 0, NULL) : NULL;
    const json_t *task = json_object_get(schema, "task"), *wake = json_object_get(task, "wake");
    const char *name = json_string_value(json_object_get(wake, "name"));
    *word = (struct wake_word){.second = json_number_value(json_object_get(wake, "second")),
                               .threshold = json_number_value(json_object_get(task, "threshold")),
                               .last = -INT32_MAX};
    if (name && word->second > 0)
        snprintf(word->name, sizeof word->name, "%s", name);
    json_decref(schema);
}

bool wake_word_step(struct wake_word *word, const float probability[2])
{
    const bool is_above = log((double)probability[1]) - log((double)probability[0]) > word->threshold;
    const bool heard = is_above && (double)(word->step - word->last) > word->second;
    word->step++;
    if (is_above)
        word->last = word->step - 1;
    if (heard)
        printf("%.2f,%s,%.4f\n", (double)word->step / word->second, word->name, (double)probability[1]);
    return heard;
}
