/* Measures the accuracy that a classifier loses to integer arithmetic: how many sequences of a test set it
 * classifies correctly after their last step in floats, with 8-bit integer operands (exported hardware) and with
 * 16-bit ones (exported C). The training set calibrates the number formats. Only for models that stream and read
 * numbers. Not a benchmark of time; examples/integers.c covers texts. */
#include "base/memory.h"
#include "model/model.h"
#include "tasks/task.h"
#include "apply/feed.h"
#include "unroll_advanced.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "accuracy: %s\n", unroll_last_error());
    exit(status);
}

/* A sequence within a batch: step t begins at x[t * stride]. */
struct sequence {
    const float *x;
    size_t stride;
    int steps, label;
};

/* A whole data set, scaled and batched as its task feeds it to the network. */
struct set {
    unroll_dataset *data;
    struct part *part;
    struct feed feed;
    size_t width;
};

static void open_set(unroll_model *model, const char *path, struct set *set)
{
    const struct task *task;
    unroll_dataset_config reading = unroll_dataset_config_default();
    reading.model = model;
    check(unroll_dataset_open(path, &reading, &set->data));
    const struct task_request request = {.data = set->data, .model = model, .ranks = 1};
    check(task_find(NULL, model, set->data, &task));
    check(task_check(task, model, set->data, NULL));
    check(task->open(&request, PART_ALL, &set->part));
    if (!set->part->pooled || !model_numbers(model) || model_token_columns(model))
        check(fail(UNROLL_UNSUPPORTED, "the model does not classify sequences of numbers; fix: `--task classify`"));
    check(feed_new(model, set->part, true, 0, &set->feed));
    set->width = (size_t)model_numbers(model);
}

static void close_set(struct set *set)
{
    feed_end(&set->feed);
    part_free(set->part);
    unroll_dataset_free(set->data);
}

static void visit(struct set *set, void (*see)(void *arg, const struct sequence *), void *arg)
{
    for (int64_t n = 0; n < set->part->batches; n++) {
        const struct filled *f = feed_take(&set->feed, 0, n);
        const struct shape shape = set->part->shape[f->shape];
        for (int row = 0; row < shape.rows; row++) {
            const struct sequence s = {.x = f->batch.inputs + (size_t)row * set->width,
                                       .stride = (size_t)shape.rows * set->width,
                                       .steps = f->batch.lengths ? f->batch.lengths[row] : shape.steps,
                                       .label = f->batch.targets[row]};
            if (s.label >= 0)
                see(arg, &s);
        }
    }
}

/* ---- formats --------------------------------------------------------------------------- */

/* inputs [steps, rows, width]; NULL while the frames are counted. Shorter sequences are padded with zeros. */
struct frames {
    float *inputs;
    size_t width;
    int steps, rows, row;
};

static void count(void *arg, const struct sequence *s)
{
    struct frames *f = arg;
    f->rows++;
    f->steps = s->steps > f->steps ? s->steps : f->steps;
}

static void keep(void *arg, const struct sequence *s)
{
    struct frames *f = arg;
    for (int t = 0; t < s->steps; t++)
        memcpy(f->inputs + ((size_t)t * (size_t)f->rows + (size_t)f->row) * f->width, s->x + (size_t)t * s->stride,
               f->width * sizeof *f->inputs);
    f->row++;
}

static void take_frames(unroll_model *model, const char *path, struct frames *f)
{
    struct set set = {0};
    open_set(model, path, &set);
    f->width = set.width;
    visit(&set, count, f);
    check(ALLOCATE(f->inputs, (size_t)f->steps * (size_t)f->rows * f->width, "for a training set"));
    visit(&set, keep, f);
    close_set(&set);
}

/* ---- answers --------------------------------------------------------------------------- */

enum { FLOATS, OF_8, OF_16, WAYS };

struct answers {
    unroll_stream *stream;
    unroll_integer *integer[WAYS];
    float *y;
    int outputs, right[WAYS], all;
};

static void answer(void *arg, const struct sequence *s)
{
    struct answers *a = arg;
    for (int way = 0; way < WAYS; way++) {
        int best = 0;
        if (way == FLOATS)
            check(unroll_stream_reset(a->stream, 0));
        else
            unroll_integer_reset(a->integer[way]);
        for (int t = 0; t < s->steps; t++) {
            const float *x = s->x + (size_t)t * s->stride;
            check(way == FLOATS ? unroll_stream_step(a->stream, NULL, x, a->y)
                                : unroll_integer_step(a->integer[way], NULL, x, a->y));
        }
        for (int i = 1; i < a->outputs; i++) best = a->y[i] > a->y[best] ? i : best;
        a->right[way] += best == s->label;
    }
    a->all++;
}

int main(int words, char *word[])
{
    unroll_model *model;
    struct frames frames = {0};
    struct set test = {0};
    struct answers a = {0};
    unroll_integer_config calibration = unroll_integer_config_default();
    unroll_stream_config config = unroll_stream_config_default();
    calibration.raw = config.raw = 1; /* the parts of a data set are scaled */
    if (words != 4) {
        fprintf(stderr, "usage: accuracy MODEL TRAINING-SET TEST-SET\n");
        return UNROLL_USAGE;
    }
    check(unroll_model_load(word[1], &model));
    take_frames(model, word[2], &frames);
    calibration.inputs = frames.inputs;
    calibration.steps = frames.steps;
    calibration.rows = frames.rows;
    for (int way = OF_8; way < WAYS; way++) {
        calibration.operand_bits = way == OF_8 ? 8 : 16;
        check(unroll_integer_new(model, &calibration, &a.integer[way]));
    }
    const size_t bytes = unroll_stream_bytes(model, &config);
    void *memory = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    check(memory || !bytes ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for a stream"));
    check(unroll_stream_init(memory, bytes, model, &config, &a.stream));
    a.outputs = unroll_model_outputs(model);
    check(ALLOCATE(a.y, (size_t)a.outputs, "for outputs"));
    open_set(model, word[3], &test);
    visit(&test, answer, &a);
    printf("of %d sequences right: floats %d, integers of 8 bits %d, of 16 bits %d\n", a.all, a.right[FLOATS],
           a.right[OF_8], a.right[OF_16]);
    close_set(&test);
    for (int way = OF_8; way < WAYS; way++) unroll_integer_free(a.integer[way]);
    release(a.y);
    release(frames.inputs);
    free(memory);
    unroll_model_free(model);
    return 0;
}
