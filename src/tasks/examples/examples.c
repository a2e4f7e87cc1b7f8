/* Divides sequences into parts and batches. A fraction is drawn at equal distances from the sequences, which are sorted
 * by class and shuffled within each, so every class contributes its fraction within one. Lengths are divided into
 * shapes where this reduces padding most, as long as it saves a good part of it. */
#include "tasks/examples/examples.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/memory.h"
#include "data/shuffle.h"

enum { DRAW_STREAM = 0x64726177, BATCH_STREAM = 0x62617463, ITEM_STREAM = 0x6974656d }; /* "draw", "batc", "item" */

/* ---- which sequences ---- */

/* Sizes of the parts. Parts given as counts are taken from the end of the file, except from a file sorted by class,
 * whose end has one class only: there they are drawn as fractions are. */
struct part_sizes {
    size_t all, drawn_from, validation, test; /* drawn_from: the first ones of all */
    bool draws_validation, draws_test;
};

/* Returns the class of a sequence; missing (-1) counts as a class. */
static size_t class_of(const unroll_dataset *data, const struct column *classes, size_t sequence)
{
    return classes ? (size_t)(category_of(data, classes, sequence) + 1) : 0;
}

/* Sorts the sequences 0 .. count-1 into order [count]: first those that are alone in their class, *alone of them, then
 * class by class, shuffled within each. */
static unroll_status order_by_class(const struct task_request *request, const struct column *classes, size_t count,
                                    uint32_t *order, size_t *alone)
{
    const unroll_dataset *data = request->data;
    const size_t kinds = classes ? (size_t)classes->vocabulary_size + 1 : 1;
    size_t *at, next, next_alone = 0;
    TRY(ALLOCATE(at, kinds, "to count %zu classes", kinds));
    for (size_t i = 0; i < count; i++) at[class_of(data, classes, i)]++;
    *alone = 0;
    for (size_t k = 0; k < kinds; k++) *alone += at[k] == 1;
    next = *alone;
    for (size_t k = 0; k < kinds; k++) {
        const size_t of_kind = at[k];
        at[k] = of_kind == 1 ? next_alone++ : next;
        next += of_kind == 1 ? 0 : of_kind;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t sequence = (size_t)shuffle_at(request->seed, DRAW_STREAM, 0, count, i);
        order[at[class_of(data, classes, sequence)]++] = (uint32_t)sequence;
    }
    release(at);
    return UNROLL_OK;
}

/* True if i is one of k of n items at equal distances. */
static bool is_drawn(size_t i, size_t k, size_t n) { return (i + 1) * k / n > i * k / n; }

/* Lists the sequences of a part in file order. into: [members->count]. */
static unroll_status draw_members(const struct task_request *request, enum part_of which, const struct column *classes,
                                  const struct part_sizes *division, uint32_t *into)
{
    const size_t n = division->drawn_from;
    const size_t test = division->draws_test ? division->test : 0;
    const size_t held = test + (division->draws_validation ? division->validation : 0);
    uint32_t *order;
    uint8_t *part;
    size_t alone, taken = 0;
    TRY(ALLOCATE(order, n, "to divide %zu sequences", n));
    unroll_status status = ALLOCATE(part, n, "to divide %zu sequences", n);
    if (status == UNROLL_OK)
        status = order_by_class(request, classes, n, order, &alone);
    if (status == UNROLL_OK && held > n - alone)
        status = fail(UNROLL_DATA,
                      "%zu of %zu sequences can't be held out: %zu are the only one of their class, which is trained "
                      "on; fix: use a smaller `validation`, or more data",
                      held, n, alone);
    for (size_t i = 0, drawn = 0; status == UNROLL_OK && i < n - alone; i++)
        if (is_drawn(i, held, n - alone)) {
            part[order[alone + i]] = is_drawn(drawn, test, held) ? PART_TEST : PART_VALIDATION;
            drawn++;
        }
    for (size_t i = 0; status == UNROLL_OK && i < n; i++)
        if (part[i] == which)
            into[taken++] = (uint32_t)i;
    release(part);
    release(order);
    return status;
}

/* Returns the number of items to draw: a count, or for a fraction at least one. */
static size_t share_of(const unroll_held_out *part, size_t count)
{
    const size_t wanted = (size_t)(part->share * (double)count + 0.5);
    return part->count > 0 ? (size_t)part->count : part->share > 0 && wanted == 0 ? 1 : wanted;
}

/* True for two or more classes, each in one run of sequences, such as folders of classes. */
static unroll_status find_sorted(const unroll_dataset *data, const struct column *classes, bool *sorted)
{
    size_t runs = 0, kinds = 0;
    uint8_t *seen;
    *sorted = false;
    if (classes == NULL)
        return UNROLL_OK;
    TRY(ALLOCATE(seen, (size_t)classes->vocabulary_size + 1, "for %d classes", classes->vocabulary_size));
    for (size_t s = 0, last = 0; s < data->sequences; s++) {
        const size_t class = class_of(data, classes, s);
        runs += s == 0 || class != last;
        kinds += !seen[class];
        seen[class] = 1;
        last = class;
    }
    release(seen);
    *sorted = kinds > 1 && runs == kinds;
    return UNROLL_OK;
}

/* Computes the sizes of the parts from counts and fractions. */
static unroll_status divide(const struct task_request *request, const struct column *classes,
                            struct part_sizes *division)
{
    const unroll_held_out *validation = &request->validation, *test = &request->test;
    const size_t all = request->data->sequences;
    bool sorted;
    TRY(find_sorted(request->data, classes, &sorted));
    const size_t last = test->data || sorted ? 0 : (size_t)test->count,
                 before = validation->data || sorted ? 0 : (size_t)validation->count;
    *division = (struct part_sizes){.all = all,
                                    .validation = before,
                                    .test = last,
                                    .draws_validation = !validation->data && !before && is_held_out(validation),
                                    .draws_test = !test->data && !last && is_held_out(test)};
    if (all > UINT32_MAX)
        return fail(UNROLL_UNSUPPORTED, "%zu sequences are more than %" PRIu32 "; fix: divide the data", all,
                    UINT32_MAX);
    if (last >= all || before >= all - last)
        return fail(UNROLL_DATA,
                    "the data have %zu sequences, and %zu are held out: none is left to train on; fix: use a smaller "
                    "`validation` or `test`",
                    all, last + before);
    division->drawn_from = all - last - before;
    if (division->draws_validation)
        division->validation = share_of(validation, division->drawn_from);
    if (division->draws_test)
        division->test = share_of(test, division->drawn_from);
    if ((division->draws_validation ? division->validation : 0) + (division->draws_test ? division->test : 0) >=
        division->drawn_from)
        return fail(
            UNROLL_DATA,
            "none of %zu sequences is left to train on after the held-out ones; fix: use a smaller `validation` or "
            "`test`, or more data",
            division->drawn_from);
    return UNROLL_OK;
}

/* Sets first and count of a part that is a range, or only count of one that must be drawn. Returns whether it is a
 * range. */
static bool is_range(const struct part_sizes *division, enum part_of which, struct members *members)
{
    const size_t n = division->drawn_from;
    switch (which) {
    case PART_VALIDATION:
        members->first = n;
        members->count = division->validation;
        return !division->draws_validation;
    case PART_TEST:
        members->first = n + (division->draws_validation ? 0 : division->validation);
        members->count = division->test;
        return !division->draws_test;
    default:
        members->count =
            n - (division->draws_validation ? division->validation : 0) - (division->draws_test ? division->test : 0);
        return members->count == n;
    }
}

unroll_status members_find(const struct task_request *request, enum part_of which, const struct column *classes,
                           struct members *members)
{
    const unroll_dataset *other = part_data(request, which);
    struct part_sizes division;
    if (classes && classes->type != COLUMN_CATEGORY)
        classes = NULL;
    *members = (struct members){.data = other ? other : request->data};
    members->count = members->data->sequences;
    if (other)
        return UNROLL_OK;
    TRY(divide(request, classes, &division));
    if (is_range(&division, which, members))
        return UNROLL_OK;
    TRY(ALLOCATE(members->sequence, members->count, "for %zu sequences", members->count));
    unroll_status status = draw_members(request, which, classes, &division, members->sequence);
    if (status != UNROLL_OK)
        members_end(members);
    return status;
}

static size_t held_of(const unroll_held_out *part, size_t length, size_t least)
{
    if (part->data || (part->count == 0 && !(part->share > 0)))
        return 0;
    const size_t share = (size_t)ceil(part->share * (double)length);
    const size_t steps = part->count > 0 ? (size_t)part->count : share > least ? share : least;
    return steps < length ? steps : length;
}

void held_steps(const unroll_held_out *validation, const unroll_held_out *test, size_t length, size_t least,
                size_t held[2])
{
    held[1] = held_of(test, length, least);
    held[0] = held_of(validation, length - held[1], least);
}

/* Both parts must hold out whole groups, or neither. */
static unroll_status check_groups(const struct task_request *request)
{
    const unroll_held_out *held[2] = {&request->validation, &request->test};
    for (int i = 0; i < 2; i++)
        if (held[!i]->groups && !held[i]->groups && !held[i]->data && is_held_out(held[i]))
            return fail(
                UNROLL_USAGE,
                "`%s` holds out whole groups and `%s` the last steps of each; fix: use groups for both, such as "
                "groups:0.2",
                i ? "validation" : "test", i ? "test" : "validation");
    return UNROLL_OK;
}

unroll_status members_of_series(const struct task_request *request, enum part_of which, struct members *members)
{
    if (request->validation.groups || request->test.groups) {
        TRY(check_groups(request));
        return members_find(request, which, NULL, members);
    }
    const unroll_held_out *held[2] = {&request->validation, &request->test};
    const unroll_dataset *other = part_data(request, which);
    size_t steps = 0;
    *members = (struct members){.data = other ? other : request->data, .is_cut = !other, .which = which};
    members->count = members->data->sequences;
    if (other)
        return UNROLL_OK;
    for (int i = 0; i < 2; i++) members->held[i] = *held[i];
    if (which != PART_TRAINING && !is_held_out(held[which == PART_TEST])) {
        members->count = 0;
        return UNROLL_OK;
    }
    for (size_t i = 0; i < members->count; i++) steps += member_steps(members, i).to - member_steps(members, i).from;
    if (steps == 0)
        return fail(UNROLL_DATA, "the series have no step %s; fix: use a %s `validation` or `test`, or longer series",
                    which == PART_TRAINING ? "left to train on" : "to hold out",
                    which == PART_TRAINING ? "smaller" : "larger");
    return UNROLL_OK;
}

struct step_range member_steps(const struct members *members, size_t i)
{
    const size_t s = member_at(members, i), begin = members->data->begin[s], end = members->data->begin[s + 1];
    size_t held[2];
    if (!members->is_cut)
        return (struct step_range){begin, end};
    held_steps(&members->held[0], &members->held[1], end - begin, 1, held);
    const size_t validation = end - held[0] - held[1], test = end - held[1];
    return members->which == PART_TRAINING     ? (struct step_range){begin, validation}
           : members->which == PART_VALIDATION ? (struct step_range){validation, test}
                                               : (struct step_range){test, end};
}

/* See examples.h. Names the series if there are only a few. */
void members_describe(const struct members *members, char text[PART_HELD])
{
    const unroll_dataset *data = members->data;
    const size_t all = data->sequences;
    size_t steps = 0, at = 0, named = 0;
    *text = '\0';
    for (size_t i = 0; i < members->count; i++) steps += member_steps(members, i).to - member_steps(members, i).from;
    if (members->is_cut && all == 1)
        snprintf(text, PART_HELD, "the last %zu of %zu steps", steps, data->steps);
    else if (members->is_cut)
        snprintf(text, PART_HELD, "the last steps of each of %zu series, %zu of %zu", all, steps, data->steps);
    else if (members->count < all)
        at = (size_t)snprintf(text, PART_HELD, "%zu of %zu %s", members->count, all,
                              data->group >= 0 ? "series" : "sequences");
    for (; at && data->group >= 0 && named < members->count; named++) {
        const char *name = dataset_group(data, member_at(members, named));
        if (name == NULL || at + strlen(name) + sizeof ", .., " >= PART_HELD / 2)
            break;
        at += (size_t)snprintf(text + at, PART_HELD - at, "%s%s", named ? ", " : ": ", name);
    }
    if (named > 0 && named < members->count)
        snprintf(text + at, PART_HELD - at, ", ..");
}

void members_end(struct members *members)
{
    release(members->sequence);
    members->sequence = NULL;
}

size_t span_of(const size_t *begin, size_t count, size_t at)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (begin[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- shapes ---- */

enum { CUTS_MAX = 32 }; /* candidate positions that divide the count into equal parts */

/* Returns the steps including padding if sorted lengths are cut at place[0] < .. < place[cuts - 1]. */
static double padded(const int32_t *sorted, size_t count, const size_t *place, int cuts)
{
    double steps = 0;
    for (int i = 0; i <= cuts; i++) {
        const size_t from = i > 0 ? place[i - 1] : 0, to = i < cuts ? place[i] : count;
        steps += (double)(to - from) * sorted[to - 1];
    }
    return steps;
}

/* Adds cuts where they help most, while each saves a fifth, up to `most`; each part keeps at least `least` items.
 * Returns the number of cuts. */
static int cut_lengths(const int32_t *sorted, size_t count, size_t least, int most, size_t place[PART_SHAPES_MAX])
{
    int cuts = 0;
    double before = padded(sorted, count, place, 0);
    while (cuts < most) {
        size_t best[PART_SHAPES_MAX] = {0};
        double found = before;
        for (size_t part = 1; part < CUTS_MAX; part++) {
            size_t tried[PART_SHAPES_MAX], at = count * part / CUTS_MAX;
            while (at < count && at > 0 && sorted[at] == sorted[at - 1]) at++; /* keeps equal lengths together */
            int k = 0;
            bool wide = true;
            for (; k < cuts && place[k] <= at; k++) tried[k] = place[k];
            tried[k] = at;
            for (; k < cuts; k++) tried[k + 1] = place[k];
            for (int i = 0; i <= cuts + 1; i++) {
                const size_t from = i > 0 ? tried[i - 1] : 0, to = i < cuts + 1 ? tried[i] : count;
                wide = wide && to >= from + least;
            }
            if (wide && padded(sorted, count, tried, cuts + 1) < found) {
                found = padded(sorted, count, tried, cuts + 1);
                memcpy(best, tried, sizeof best);
            }
        }
        if (!(found < 0.8 * before))
            return cuts;
        memcpy(place, best, sizeof best);
        before = found;
        cuts++;
    }
    return cuts;
}

/* Returns the position of the first of a few items, fewer than `least`, that are far longer than all others and would
 * pad their batches; 0: none. */
static size_t first_outlier(const int32_t *sorted, size_t count, size_t least)
{
    enum { FAR = 8, FEW = 8 }; /* FAR: factor of the length; FEW: at most one in FEW items */
    const size_t few = count / FEW < least ? count / FEW : least, from = count - few;
    for (size_t i = from; i < count; i++)
        if (sorted[i] / FAR >= sorted[i - 1])
            return i;
    return 0;
}

/* Returns the rows of a batch with this number of steps. For evaluation, a batch of usual size. */
static int rows_of(const struct task_request *request, enum part_of which, int steps, size_t count)
{
    enum { EVALUATED_ROWS = 64, EVALUATED_STEPS = 1 << 16 };
    const int64_t ranks = request->ranks > 0 ? request->ranks : 1;
    int64_t rows = request->tokens ? request->tokens / steps : request->rows;
    if (which != PART_TRAINING) {
        rows = EVALUATED_STEPS / steps < EVALUATED_ROWS ? EVALUATED_STEPS / steps : EVALUATED_ROWS;
        rows = (int64_t)count < rows ? (int64_t)count : rows;
    }
    if (request->tokens && (int64_t)count < rows)
        rows = (int64_t)count; /* one batch has all of them */
    rows = rows < 1 ? 1 : rows;
    if (which != PART_TRAINING || request->tokens)
        rows = (rows + ranks - 1) / ranks * ranks;
    return (int)rows;
}

/* ---- batches ---- */

static int cut_at(const struct task_request *request, int length)
{
    return request->steps > 0 && length > request->steps ? request->steps : length;
}

/* Lists the items 0 .. count-1, shape by shape. An item's length determines its shape. */
static unroll_status list_items(const struct task_request *request, const int32_t *lengths, struct batches *b,
                                const struct part *part)
{
    size_t at[PART_SHAPES_MAX];
    TRY(ALLOCATE(b->item, b->count, "for the order of %zu items", b->count));
    for (int s = 0; s < part->shapes; s++) at[s] = b->of[s].first;
    for (size_t i = 0; i < b->count; i++) {
        int s = 0;
        while (cut_at(request, lengths[i]) > part->shape[s].steps) s++;
        b->item[at[s]++] = (uint32_t)i;
    }
    return UNROLL_OK;
}

/* Divides the lengths into shapes; in training, outliers get the last one. */
static unroll_status cut_shapes(const struct task_request *request, enum part_of which, const int32_t *lengths,
                                struct batches *b, struct part *part)
{
    size_t place[PART_SHAPES_MAX] = {0};
    int32_t *sorted;
    TRY(ALLOCATE(sorted, b->count, "for the lengths of %zu items", b->count));
    for (size_t i = 0; i < b->count; i++) sorted[i] = cut_at(request, lengths[i]);
    qsort(sorted, b->count, sizeof *sorted, compare_ints);
    const size_t least = 4 * (size_t)(request->rows > 0 ? request->rows : 1);
    const size_t outlier = which == PART_TRAINING ? first_outlier(sorted, b->count, least) : 0;
    int cuts = 0;
    if (which == PART_TRAINING)
        cuts = cut_lengths(sorted, outlier ? outlier : b->count, least, PART_SHAPES_MAX - 1 - (outlier > 0), place);
    if (outlier)
        place[cuts++] = outlier;
    b->far = outlier ? b->count - outlier : 0;
    for (int s = 0; s <= cuts; s++) {
        const size_t from = s > 0 ? place[s - 1] : 0, to = s < cuts ? place[s] : b->count;
        b->of[s].first = from;
        b->of[s].count = to - from;
        part->shape[s].steps = sorted[to - 1];
    }
    part->shapes = cuts + 1;
    part->lengths = sorted[0] != sorted[b->count - 1];
    release(sorted);
    return cuts ? list_items(request, lengths, b, part) : UNROLL_OK;
}

unroll_status batches_plan(const struct task_request *request, enum part_of which, const int32_t *lengths, int steps,
                           size_t count, struct batches *b, struct part *part)
{
    *b = (struct batches){.count = count, .seed = request->seed, .shuffled = which == PART_TRAINING};
    if (count == 0)
        return fail(UNROLL_DATA, "there are no examples; fix: give data that have some");
    if (count > UINT32_MAX)
        return fail(UNROLL_DATA, "%zu examples are too many; fix: divide the data", count);
    part->shapes = 1;
    part->shape->steps = cut_at(request, steps);
    b->of->count = count;
    if (lengths)
        TRY(cut_shapes(request, which, lengths, b, part));
    part->batches = 0;
    for (int s = 0; s < part->shapes; s++) {
        part->shape[s].rows = rows_of(request, which, part->shape[s].steps, b->of[s].count);
        if (b->far && s == part->shapes - 1)
            part->shape[s].rows = request->ranks > 0 ? request->ranks : 1;
        const size_t rows = (size_t)part->shape[s].rows;
        b->of[s].batch = part->batches;
        part->batches += (int64_t)((b->of[s].count + rows - 1) / rows);
        part->lengths |= b->of[s].count % rows != 0;
    }
    return UNROLL_OK;
}

/* Divides a shape's items among ranks. The sampler numbers them 0 .. of[s].count - 1. */
static unroll_status divide_shape(unroll_sampler_config sampler, const int32_t *lengths, const int32_t *classes, int s,
                                  struct batches *b)
{
    const size_t first = b->of[s].first, count = b->of[s].count;
    const int kept = count < 16 * (size_t)sampler.rows ? 16 : 2; /* epochs that are prepared in advance */
    int32_t *numbers;
    TRY(ALLOCATE(numbers, 2 * count, "to divide %zu sequences", count));
    for (size_t i = 0; i < count; i++) {
        const size_t item = b->item ? b->item[first + i] : first + i;
        numbers[i] = lengths ? lengths[item] : 1;
        numbers[count + i] = classes ? classes[item] : 0;
    }
    sampler.count = (int64_t)count;
    sampler.lengths = numbers;
    sampler.classes = numbers + count;
    sampler.seed += (uint64_t)s << 32;
    unroll_status status = division_new(&sampler, kept, &b->division[s]);
    release(numbers);
    return status;
}

static unroll_status divide_shapes(unroll_sampler_config sampler, const int32_t *lengths, const int32_t *classes,
                                   struct batches *b, struct part *part)
{
    part->batches = 0;
    part->lengths = true;
    for (int s = 0; s < part->shapes; s++) {
        sampler.rows = part->shape[s].rows;
        TRY(divide_shape(sampler, lengths, classes, s, b));
        b->of[s].batch = part->batches;
        part->batches += division_batches(b->division[s]);
    }
    return UNROLL_OK;
}

static unroll_status check_parts(const char *column, const int32_t *parts, size_t count, int shares)
{
    for (int share = 0; share < shares; share++) {
        size_t i = 0;
        while (i < count && parts[i] != share) i++;
        if (i == count)
            return fail(
                UNROLL_DATA,
                "column '%s' has fewer values than %d ranks (or shards of `exact`), so one would read nothing; fix: "
                "use fewer, or `divide_by` length or stratified",
                column, shares);
    }
    return UNROLL_OK;
}

/* Assigns each item [count] to a part, the same in all shapes. */
static unroll_status divide_classes(unroll_sampler_config sampler, const int32_t *classes, size_t count,
                                    int32_t **parts)
{
    const char *column = sampler.how;
    struct sampler_division *all;
    sampler.how = "column";
    sampler.count = (int64_t)count;
    sampler.classes = classes;
    TRY(division_new(&sampler, 0, &all));
    unroll_status status = ALLOCATE(*parts, count, "for the parts of %zu sequences", count);
    for (size_t i = 0; status == UNROLL_OK && i < count; i++) (*parts)[i] = division_part(all, (int64_t)i);
    division_free(all);
    return status == UNROLL_OK ? check_parts(column, *parts, count, sampler.replicas) : status;
}

bool is_divided(const char *how) { return how && *how && strcmp(how, "even") != 0; }

unroll_status batches_divide(const struct task_request *request, const int32_t *lengths, const int32_t *classes,
                             struct batches *b, struct part *part)
{
    const char *how = request->divide_by;
    unroll_sampler_config sampler = unroll_sampler_config_default();
    if (!b->shuffled || !is_divided(how))
        return UNROLL_OK;
    const bool of_column = strcmp(how, "length") != 0 && strcmp(how, "stratified") != 0;
    int32_t *parts = NULL;
    sampler.how = how;
    sampler.replicas = request->shares > 0 ? request->shares : 1;
    sampler.rows = sampler.replicas;
    sampler.seed = request->seed;
    unroll_status status = of_column ? divide_classes(sampler, classes, b->count, &parts) : UNROLL_OK;
    sampler.how = of_column ? "part" : how;
    if (status == UNROLL_OK)
        status = divide_shapes(sampler, lengths, of_column ? parts : classes, b, part);
    release(parts);
    return status;
}

void batches_end(struct batches *batches)
{
    for (int s = 0; s < PART_SHAPES_MAX; s++) {
        division_free(batches->division[s]);
        batches->division[s] = NULL;
    }
    release(batches->item);
    batches->item = NULL;
}

struct batch_place batches_place(const struct batches *b, const struct part *part, int64_t epoch, int64_t number)
{
    int shape = part->shapes - 1;
    if (b->shuffled)
        number = (int64_t)shuffle_at(b->seed, BATCH_STREAM, (uint64_t)epoch, (uint64_t)part->batches, (uint64_t)number);
    while (b->of[shape].batch > number) --shape;
    return (struct batch_place){shape, part->shape[shape].steps, part->shape[shape].rows, epoch,
                                number - b->of[shape].batch};
}

int64_t batches_item(const struct batches *b, const struct batch_place *at, int row)
{
    const size_t first = b->of[at->shape].first, count = b->of[at->shape].count;
    size_t place = (size_t)at->batch * (size_t)at->rows + (size_t)row;
    if (b->division[at->shape]) {
        const int64_t of_shape = division_at(b->division[at->shape], at->epoch, at->batch, row);
        if (of_shape < 0)
            return -1;
        place = (size_t)of_shape;
    } else if (place >= count) {
        return -1;
    } else if (b->shuffled)
        place = (size_t)shuffle_at(b->seed, ITEM_STREAM + (uint32_t)at->shape, (uint64_t)at->epoch, count, place);
    return b->item ? (int64_t)b->item[first + place] : (int64_t)(first + place);
}
