/* What the SVG and the terminal output both need from the details of a run. */
#include "cli/show/answers.h"

static json_int_t support_of(const json_t *details, size_t class)
{
    return json_integer_value(json_object_get(json_array_get(json_object_get(details, "classes"), class), "support"));
}

/* Returns how many classes are more frequent, or equally frequent and earlier. */
static size_t rank_of(const json_t *details, size_t class, size_t classes)
{
    size_t rank = 0;
    for (size_t i = 0; i < classes; i++)
        rank += support_of(details, i) > support_of(details, class) ||
                (support_of(details, i) == support_of(details, class) && i < class);
    return rank;
}

int answers_labels(const json_t *details, int chosen[LABELS_MAX])
{
    size_t classes = json_array_size(json_object_get(details, "confusion"));
    int count = 0;
    for (size_t i = 0; i < classes && count < LABELS_MAX; i++)
        if (rank_of(details, i, classes) < LABELS_MAX)
            chosen[count++] = (int)i;
    return count;
}

json_int_t answers_cell(const json_t *details, int truth, int answer)
{
    const json_t *row = json_array_get(json_object_get(details, "confusion"), (size_t)truth);
    return json_integer_value(json_array_get(row, (size_t)answer));
}

const char *answers_text(const json_t *list, size_t index)
{
    const char *text = json_string_value(json_array_get(list, index));
    return text ? text : "?";
}
