/* All memory is taken at the beginning. */
#include "train/feed.h"

#include "base/memory.h"
#include "losses/loss.h"
#include "model/model.h"

unroll_status feed_new(const unroll_model *model, const struct part *part, struct feed *feed)
{
    const struct loss *loss = loss_at(model->loss.index);
    const bool classes = loss && loss->of_classes;
    struct task_batch *a = &feed->arrays;
    const struct shape shape = *part->shape;
    size_t rows = (size_t)shape.rows, entries = (size_t)shape.steps * rows;
    const size_t columns = (size_t)model_token_columns(model), numbers = (size_t)model_numbers(model);

#define TAKE(member, count, wanted) \
    if (wanted)                     \
        TRY(ALLOCATE(a->member, count, "for batches of %d x %d", shape.steps, shape.rows));
    *feed = (struct feed){.part = part};
    TAKE(tokens, entries * columns, columns > 0)
    TAKE(inputs, entries * numbers, numbers > 0)
    TAKE(classes, entries, classes)
    TAKE(values, entries * (size_t)unroll_model_targets(model), loss && !classes)
    TAKE(lengths, rows, part->lengths)
    TAKE(reset, entries, part->resets)
    feed->batch = (unroll_batch){sizeof(unroll_batch),  a->tokens,        a->inputs, a->classes, a->values,
                                 .lengths = a->lengths, .reset = a->reset};
    return UNROLL_OK;
}

void feed_end(struct feed *feed)
{
    release(feed->arrays.reset);
    release(feed->arrays.lengths);
    release(feed->arrays.values);
    release(feed->arrays.classes);
    release(feed->arrays.inputs);
    release(feed->arrays.tokens);
}

void feed_fill(struct feed *feed, int64_t epoch, int64_t number)
{
    feed->part->fill(feed->part, epoch, number, &feed->arrays);
}
