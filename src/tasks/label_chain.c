/* See label_chain.h. */
#include "tasks/label_chain.h"

#include "base/memory.h"
#include "model/model.h"
#include "tasks/scores.h"
#include "tasks/task_table.h"

unroll_status label_chain_open(const unroll_model *model, size_t longest, struct label_chain *c)
{
    *c = (struct label_chain){0};
    if (!model_has_chain(model))
        return UNROLL_OK;
    const size_t n = (size_t)unroll_model_outputs(model);
    TRY(ALLOCATE(c->weights, (2 * n + 2) * n, "for the moves between %zu labels", n));
    TRY(ALLOCATE(c->z, longest * n, "for the labels of %zu steps", longest));
    TRY(ALLOCATE(c->scratch, chain_scratch(n, longest), "for the labels of %zu steps", longest));
    TRY(ALLOCATE(c->room, longest * n, "for the labels of %zu steps", longest));
    c->chain = (struct chain){.labels = n, .move = c->weights, .start = c->weights + n * n};
    c->chain.end = c->chain.start + n;
    c->chain.factor = c->weights + (n + 2) * n;
    return UNROLL_OK;
}

void label_chain_end(struct label_chain *c)
{
    release(c->weights);
    release(c->z);
    release(c->scratch);
    release(c->room);
}

unroll_status label_chain_read(struct label_chain *c, unroll_session *session)
{
    static const char *const name[] = {"crf.transitions", "crf.start_transitions", "crf.end_transitions"};
    const size_t n = c->chain.labels, count[] = {n * n, n, n};
    double *to = c->weights;
    float *read;
    if (n == 0)
        return UNROLL_OK;
    TRY(ALLOCATE(read, n * n, "for the moves between %zu labels", n));
    unroll_status status = UNROLL_OK;
    for (int i = 0; i < 3 && status == UNROLL_OK; to += count[i++]) {
        status = unroll_session_read(session, name[i], read, count[i]);
        for (size_t k = 0; k < count[i]; k++) to[k] = (double)read[k];
    }
    release(read);
    if (status == UNROLL_OK)
        chain_begin(&c->chain);
    return status;
}

void label_chain_find(struct label_chain *c, size_t steps, int32_t *label, double *likely)
{
    if (steps == 0)
        return;
    chain_best(&c->chain, c->z, steps, label, c->room, c->scratch);
    if (likely == NULL)
        return;
    chain_slopes(&c->chain, c->z, steps, NULL, NULL, c->scratch);
    for (size_t t = 0; t < steps; t++) likely[t] = c->z[t * c->chain.labels + (size_t)label[t]];
}

/* ---- which moves are allowed ------------------------------------------------------------ */

/* Marks the moves that a sequence makes, with a label before the first and after the last one: label `labels`. */
static unroll_status mark_moves(const struct members *members, size_t i, const struct column *target, bool *seen)
{
    const struct step_range steps = member_steps(members, i);
    const size_t side = (size_t)target->vocabulary_size + 1;
    size_t before = side - 1;
    for (size_t step = steps.from; step < steps.to; step++) {
        const int32_t label = column_id(target, step);
        if (label < 0)
            return fail(
                UNROLL_DATA,
                "'%s': step %zu of sequence %zu has no '%s', and `loss` = 'crf' needs a label for each step; fix: "
                "add it, leave out the sequence, or use `loss` = 'xent'",
                members->data->name, step - steps.from + 1, member_at(members, i) + 1, target->name);
        seen[before * side + (size_t)label] = true;
        before = (size_t)label;
    }
    seen[before * side + side - 1] = true;
    return UNROLL_OK;
}

static void forbid(unroll_model *model, const struct column *target, const bool *seen)
{
    const size_t n = (size_t)target->vocabulary_size, side = n + 1;
    const int layer = model->layers - 1;
    float *move = model_values(model, PARAM_MOVE, layer, 0), *start = model_values(model, PARAM_START, layer, 0),
          *end = model_values(model, PARAM_END, layer, 0);
    for (size_t i = 0; i < side; i++)
        for (size_t k = 0; k < side; k++) {
            float *to = i == n ? start + k : k == n ? end + i : move + i * n + k;
            if ((i < n || k < n) && !seen[i * side + k] &&
                !spans_allow(target->vocabulary, (int)n, i < n ? (int)i : -1, k < n ? (int)k : -1))
                *to = CHAIN_FORBIDDEN;
        }
}

unroll_status label_chain_start(unroll_model *model, const struct members *members, const struct column *target)
{
    const size_t side = (size_t)target->vocabulary_size + 1;
    bool *seen;
    if (!model_has_chain(model))
        return UNROLL_OK;
    TRY(ALLOCATE(seen, side * side, "for the moves between %zu labels", side - 1));
    unroll_status status = UNROLL_OK;
    for (size_t i = 0; i < members->count && status == UNROLL_OK; i++) status = mark_moves(members, i, target, seen);
    if (status == UNROLL_OK && tags_are_spans((const char *const *)target->vocabulary, target->vocabulary_size))
        forbid(model, target, seen);
    release(seen);
    return status;
}

/* ---- what the data break ------------------------------------------------------------ */

/* Finds the first step of a sequence, or its end, whose label the scheme does not allow after the one before. */
static bool breaks(const struct column *target, struct step_range steps, int32_t *before, int32_t *label)
{
    const char *const *labels = (const char *const *)target->vocabulary;
    for (size_t step = steps.from; step <= steps.to; step++) {
        *before = step > steps.from ? column_id(target, step - 1) : -1;
        *label = step < steps.to ? column_id(target, step) : -1;
        const bool unknown = (step > steps.from && *before < 0) || (step < steps.to && *label < 0);
        if (!unknown && !spans_allow(labels, target->vocabulary_size, *before, *label))
            return true;
    }
    return false;
}

static void note_broken(const struct members *members, const struct column *target, enum part_of which)
{
    const char *const *labels = (const char *const *)target->vocabulary;
    size_t broken = 0, example = 0;
    int32_t before, label, first[2] = {-1, -1};
    for (size_t i = members->count; i-- > 0;)
        if (breaks(target, member_steps(members, i), &before, &label)) {
            broken++;
            example = member_at(members, i) + 1;
            first[0] = before, first[1] = label;
        }
    if (broken)
        add_note("%zu of %zu sequences%s break %s, such as sequence %zu: %s after %s", broken, members->count,
                 part_words(which), spans_close(labels, target->vocabulary_size) ? "IOBES" : "BIO", example,
                 first[1] < 0 ? "the end" : labels[first[1]], first[0] < 0 ? "the beginning" : labels[first[0]]);
}

static void mark_labels(const struct members *members, const struct column *target, bool *has)
{
    for (size_t i = 0; i < members->count; i++) {
        const struct step_range steps = member_steps(members, i);
        for (size_t step = steps.from; step < steps.to; step++)
            if (column_id(target, step) >= 0)
                has[column_id(target, step)] = true;
    }
}

static unroll_status note_unlearned(const struct task_request *request, const struct members *members,
                                    const struct column *target, enum part_of which)
{
    const struct column *learned = dataset_named(request->data, target->name);
    const int labels = target->vocabulary_size;
    struct members training;
    bool *has;
    TRY(members_find(request, PART_TRAINING, NULL, &training));
    unroll_status status = ALLOCATE(has, 2 * (size_t)labels, "to look for %d labels", labels);
    if (status == UNROLL_OK) {
        int count = 0, all = 0, first = -1;
        mark_labels(&training, learned, has);
        mark_labels(members, target, has + labels);
        for (int i = labels - 1; i >= 0; i--) {
            all += has[labels + i];
            if (has[labels + i] && !has[i])
                count++, first = i;
        }
        if (count)
            add_note("the training part lacks %d of %d labels%s, such as '%s'", count, all, part_words(which),
                     target->vocabulary[first]);
    }
    release(has);
    members_end(&training);
    return status;
}

unroll_status label_chain_check(const struct task_request *request, const struct members *members,
                                const struct column *target, enum part_of which)
{
    if (!model_has_chain(request->model) || target == NULL || which == PART_PREDICTED)
        return UNROLL_OK;
    if (tags_are_spans((const char *const *)target->vocabulary, target->vocabulary_size))
        note_broken(members, target, which);
    return which == PART_VALIDATION || which == PART_TEST ? note_unlearned(request, members, target, which) : UNROLL_OK;
}
