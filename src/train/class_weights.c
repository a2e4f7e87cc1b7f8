/* Counts the classes of one epoch, batch by batch, as they are passed to the network. */
#include "train/class_weights.h"

#include "base/memory.h"
#include "nn/losses/loss.h"
#include "model/model.h"
#include "apply/feed.h"

static void count_batch(const struct part *part, const struct filled *filled, double *count)
{
    const struct shape shape = part->shape[filled->shape];
    const struct task_batch *a = &filled->arrays;
    const int steps = part->pooled ? 1 : shape.steps;
    for (int t = 0; t < steps; t++)
        for (int row = 0; row < shape.rows; row++) {
            const int32_t class = a->classes[(size_t)t * (size_t)shape.rows + (size_t)row];
            if (class >= 0 && (!a->lengths || t < a->lengths[row]))
                count[class]++;
        }
}

static void weigh(const double *count, int classes, float *weight)
{
    double counted = 0, occur = 0;
    for (int i = 0; i < classes; i++) counted += count[i], occur += count[i] > 0;
    for (int i = 0; i < classes; i++) weight[i] = count[i] > 0 ? (float)(counted / (occur * count[i])) : 0;
}

/* See class_weights.h. Fails unless the loss is one of classes. */
unroll_status class_weights_new(const unroll_model *model, const struct part *part, float **weights)
{
    const struct loss *loss = loss_at(model->loss.index);
    const int classes = unroll_model_outputs(model);
    struct feed feed = {0};
    double *count;
    if (!loss || !loss->of_classes || loss->of_sequences)
        return fail(UNROLL_USAGE, "balanced classes need a classification loss, not `loss` = '%s'; fix: leave them out",
                    model->loss.text);
    TRY(ALLOCATE(count, (size_t)classes, "to count %d classes", classes));
    unroll_status status = feed_new(model, part, false, 0, &feed);
    for (int64_t i = 0; i < part->batches && status == UNROLL_OK; i++) count_batch(part, feed_take(&feed, 0, i), count);
    feed_end(&feed);
    if (status == UNROLL_OK)
        status = ALLOCATE(*weights, (size_t)classes, "for the weights of %d classes", classes);
    if (status == UNROLL_OK)
        weigh(count, classes, *weights);
    release(count);
    return status;
}
