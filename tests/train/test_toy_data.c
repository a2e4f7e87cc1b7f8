/* A reader of files, a task, a loss and a format of models defined by this test, each one struct and one line of a
 * table. The task is trained with the loss on data from the reader, validated, saved, resumed, and evaluated from the
 * file, and the model is converted with the format, on the CPU and with XLA's stand-in. Usage: test_toy_data PLUGIN */
/* test: args=$B/tests/device/fake_plugin.so */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "check.h"
#include "data/readers/reader_table.h"
#include "convert/file_table.h"
#include "model/model.h"
#include "tasks/task.h"
#include "same_evaluation.h"
#include "temporary.h"
#include "toy_loss.h"

/* ---- a reader: "toy", then a line "X X Y" for each step, an empty one after each sequence ---- */

enum { WIDTH = 2 };

static bool is_toy(const char *path, const char *head, size_t bytes)
{
    (void)path;
    return bytes > 4 && memcmp(head, "toy\n", 4) == 0;
}

static unroll_status read_step(const char *line, double scale, struct builder *builder, const int column[2])
{
    float value[WIDTH + 1];
    double number;
    for (int i = 0; i <= WIDTH; i++, line += *line == ' ') {
        if (number_real(&line, -1e6, 1e6, &number) != NUMBER_OK)
            return fail(UNROLL_DATA, "%s is not %d numbers", builder_place(builder), WIDTH + 1);
        value[i] = (float)(i < WIDTH ? number : number * scale);
    }
    TRY(builder_numbers(builder, column[0], value, 1));
    TRY(builder_numbers(builder, column[1], value + WIDTH, 1));
    return builder_end_row(builder);
}

static unroll_status toy_read(struct input *input, const void *options, struct builder *builder)
{
    double scale = *(const double *)options > 0 ? *(const double *)options : 1;
    const char *line, *member;
    char copy[64];
    size_t length;
    int column[2];
    bool more;
    TRY(builder_columns(builder, ROWS_ARE_STEPS));
    TRY(builder_column(builder, "x", CELL_NUMBERS, false, WIDTH, &column[0]));
    TRY(builder_column(builder, "y", CELL_NUMBERS, false, 1, &column[1]));
    TRY(input_next(input, &member));
    TRY(input_line(input, &line, &length, &more));
    for (;;) {
        TRY(input_line(input, &line, &length, &more));
        if (!more)
            return UNROLL_OK;
        snprintf(copy, sizeof copy, "%.*s", (int)length, line);
        TRY(length ? read_step(copy, scale, builder, column) : builder_end_sequence(builder));
    }
}

static const struct key toy_keys[] = {{.name = "scale", .min = 0.5, .max = 10}, {0}};

static const struct reader toy_reader = {.name = "toy",
                                         .about = "lines of a toy",
                                         .recognizes = is_toy,
                                         .keys = toy_keys,
                                         .options_bytes = sizeof(double),
                                         .read = toy_read};

/* ---- a task: y from x, sequence by sequence; besides the loss, the fraction of near predictions ---- */

struct toy_part {
    struct part part;
    const unroll_dataset *data;
    size_t first, sequences;
    double floor; /* the loss of the mean of y */
    int64_t near, steps;
};

static const float *column(const unroll_dataset *data, const char *name)
{
    return dataset_column(data, COLUMN_NUMBERS, name)->numbers;
}

static const char *toy_item(const unroll_dataset *data)
{
    (void)data;
    return "steps";
}

static bool has_columns(const unroll_dataset *data)
{
    return dataset_column(data, COLUMN_NUMBERS, "x") && dataset_column(data, COLUMN_NUMBERS, "y");
}

static int toy_suits(const unroll_dataset *data, char why[TASK_WHY])
{
    strcpy(why, "numbers in 'x' and 'y'");
    return has_columns(data) ? SUITS_SURELY : 0;
}

static unroll_status toy_network(const unroll_dataset *data, const char *options, unroll_model_config *spec,
                                 unroll_task_defaults *defaults)
{
    (void)data, (void)options, (void)defaults;
    spec->input = WIDTH, spec->output = 1, spec->loss = "quartic";
    return UNROLL_OK;
}

static unroll_status toy_check(const unroll_model *model, const unroll_dataset *data)
{
    if (!has_columns(data) || model->tokens || model->input != WIDTH || unroll_model_outputs(model) != 1)
        return fail(UNROLL_USAGE, "a toy has %d numbers and 1 answer", WIDTH);
    return UNROLL_OK;
}

/* Rows without a sequence have length 0. Each epoch begins with another one. */
static void toy_fill(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct toy_part *toy = (const struct toy_part *)part;
    size_t rows = (size_t)part->shape->rows;
    batch->begins = true;
    batch->items = 0;
    for (size_t row = 0; row < rows; row++) {
        size_t i = (size_t)number * rows + row, s = toy->first + (i + (size_t)epoch) % toy->sequences;
        size_t begin = toy->data->begin[s], length = i < toy->sequences ? toy->data->begin[s + 1] - begin : 0;
        batch->lengths[row] = (int32_t)length;
        batch->items += (int64_t)length;
        for (size_t t = 0; t < length; t++) {
            memcpy(batch->inputs + (t * rows + row) * WIDTH, column(toy->data, "x") + (begin + t) * WIDTH,
                   WIDTH * sizeof(float));
            batch->values[t * rows + row] = column(toy->data, "y")[begin + t];
        }
    }
}

static void find_floor(struct toy_part *toy)
{
    size_t from = toy->data->begin[toy->first], to = toy->data->begin[toy->first + toy->sequences];
    const float *y = column(toy->data, "y");
    double mean = 0;
    for (size_t i = from; i < to; i++) mean += (double)y[i] / (double)(to - from);
    for (size_t i = from; i < to; i++) toy->floor += pow((double)y[i] - mean, 4) / (double)(to - from);
}

static unroll_status toy_part(const struct task_request *request, enum part_of which, struct part **part)
{
    struct toy_part *toy = allocate_zeroed(1, sizeof *toy);
    size_t all = request->data->sequences, kept = all - (size_t)((double)all * request->validation.share);
    toy->data = request->data;
    toy->first = which == PART_VALIDATION ? kept : 0;
    toy->sequences = which == PART_VALIDATION ? all - kept : which == PART_TRAINING ? kept : all;
    toy->part = (struct part){.shape = {{.steps = request->steps ? request->steps : 12,
                                         .rows = which == PART_TRAINING ? request->rows : 3 * request->ranks}},
                              .shapes = 1,
                              .lengths = true,
                              .fill = toy_fill};
    toy->part.items = toy->part.examples = toy->data->begin[toy->first + toy->sequences] - toy->data->begin[toy->first];
    toy->part.batches = (int64_t)(toy->sequences - 1) / toy->part.shape->rows + 1;
    find_floor(toy);
    *part = &toy->part;
    return UNROLL_OK;
}

static void toy_observe(struct part *part, int64_t number, const struct task_batch *batch, const float *z)
{
    struct toy_part *toy = (struct toy_part *)part;
    if (number == 0)
        toy->near = toy->steps = 0;
    for (int row = 0; row < part->shape->rows; row++)
        for (int t = 0; t < batch->lengths[row]; t++, toy->steps++)
            toy->near += fabsf(z[t * part->shape->rows + row] - batch->values[t * part->shape->rows + row]) < 0.25f;
}

static void toy_score(const struct part *part, double loss, bool observed, unroll_evaluation *e)
{
    const struct toy_part *toy = (const struct toy_part *)part;
    *e = (unroll_evaluation){
        .loss = loss,
        .floor = toy->floor,
        .naive = "mean",
        .compared = 1,
        .metrics = 3,
        .metric = {{"quartic", "", " quartic", 4, loss},
                   {"near", "", " near", 3, observed ? (double)toy->near / (double)toy->steps : (double)NAN},
                   {"steps", "", " steps", 0, (double)toy->steps}},
    };
}

static const struct task toy_task = {.name = "toy",
                                     .about = "y from x",
                                     .item = toy_item,
                                     .suits = toy_suits,
                                     .network = toy_network,
                                     .check = toy_check,
                                     .open = toy_part,
                                     .observe = toy_observe,
                                     .score = toy_score};

/* ---- a format of models: a line with the description, then all weights ---- */

static bool is_toy_model(const char *path, const char *head, size_t bytes)
{
    (void)path;
    return bytes > 9 && memcmp(head, "toy model", 9) == 0;
}

static unroll_status toy_export(const unroll_model *model, const char *path, const unroll_export_config *config)
{
    unroll_model_config spec = {.size = sizeof spec};
    char line[80];
    unroll_model_stack(model, &spec);
    snprintf(line, sizeof line, "toy model %s %d %d %d\n", spec.cell, spec.hidden, spec.input, spec.output);
    struct piece pieces[] = {{line, strlen(line)}, {model->values, model->count * sizeof(float)}};
    TRY(write_file_atomically(path, pieces, 2));
    report_export(config, "%zu weights", model->count);
    return UNROLL_OK;
}

static unroll_status toy_import(const char *path, const unroll_import_config *config, unroll_model **model)
{
    unroll_model_config spec = unroll_model_config_default();
    char cell[16] = "";
    void *bytes;
    size_t size;
    (void)config;
    TRY(read_whole_file(path, 1 << 20, &bytes, &size));
    int known = sscanf(bytes, "toy model %15s %d %d %d", cell, &spec.hidden, &spec.input, &spec.output);
    spec.cell = cell;
    unroll_status status = known == 4 ? unroll_model_new(&spec, 0, model) : fail(UNROLL_DATA, "'%s' is no toy", path);
    const char *weights = memchr(bytes, '\n', size);
    if (status == UNROLL_OK)
        memcpy((*model)->values, weights + 1, (*model)->count * sizeof(float));
    release(bytes);
    return status;
}

static const struct file_format toy_format = {
    .name = "toy", .about = "models of a toy", .recognizes = is_toy_model, .import = toy_import, .export = toy_export};

/* ---- tests ---- */

/* y: the mean of the first x so far in the sequence, times the second, which is one of two values. */
static void write_data(const char *path)
{
    FILE *file = fopen(path, "w");
    unsigned state = 1;
    fputs("toy\n", file);
    for (int s = 0; s < 50; s++) {
        double sum = 0;
        int length = 5 + s % 7, sign = s % 2 ? 1 : -1;
        for (int t = 0; t < length; t++) {
            state = state * 1103515245 + 12345;
            double x = (state >> 16 & 1023) / 512.0 - 1;
            fprintf(file, "%.4f %d %.4f\n", x, sign, sign * (sum += x) / (t + 1));
        }
        fputs("\n", file);
    }
    CHECK(fclose(file) == 0, "%s is written", path);
}

static void check_reader(unroll_dataset **data)
{
    unroll_dataset_config config = unroll_dataset_config_default();
    unroll_entry entry = {.size = sizeof entry};
    unroll_dataset *twice = NULL;
    int found = 0;
    for (int i = 0; unroll_list(UNROLL_LIST_READERS, i, &entry); i++)
        found += !strcmp(entry.name, "toy") && !strcmp(entry.about, "lines of a toy");
    CHECK(found == 1, "it is listed %d times", found);
    write_data(inside("data"));
    MUST(unroll_dataset_open(inside("data"), NULL, data));
    CHECK((*data)->sequences == 50 && (*data)->begin[1] == 5 && (*data)->steps == (*data)->begin[50], "%zu steps",
          (*data)->steps);
    config.options = "scale=2";
    if (MUST(unroll_dataset_open(inside("data"), &config, &twice)))
        CHECK(column(twice, "y")[3] == 2 * column(*data, "y")[3], "twice as large");
    CHECK(dataset_hash(*data, 1) != dataset_hash(twice, 1), "other data");
    unroll_dataset_free(twice);
    config.options = "scale=11";
    CHECK_REFUSED(unroll_dataset_open(inside("data"), &config, &twice), UNROLL_USAGE, "a number from 0.5 to 10");
    config.options = "scala=1";
    CHECK_REFUSED(unroll_dataset_open(inside("data"), &config, &twice), UNROLL_USAGE, "its options are scale");
    config.options = NULL, config.reader = "text";
    MUST(unroll_dataset_open(inside("data"), &config, &twice));
    CHECK(unroll_dataset_tokens(twice, 0, 0, NULL) && !unroll_dataset_tokens(*data, 0, 0, NULL),
          "a text if it is asked for");
    CHECK_REFUSED(
        unroll_task_configure("toy", NULL, *data, &(unroll_model_config){.size = sizeof(unroll_model_config)}, NULL) ||
            toy_check(NULL, twice),
        true, "a toy has");
    unroll_dataset_free(twice);
}

static unroll_model *new_model(const unroll_dataset *data)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model = NULL;
    spec.cell = "gru", spec.hidden = 8;
    MUST(unroll_task_configure(NULL, NULL, data, &spec, NULL));
    if (!MUST(unroll_model_new(&spec, 3, &model)))
        abort();
    return model;
}

/* Without interruption and in two trainings: the same weights, and the same from the file. */
static unroll_model *check_training(const unroll_dataset *data, const char *device)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_machine machine = unroll_machine_default();
    unroll_model *m[2] = {new_model(data), new_model(data)}, *loaded = NULL;
    unroll_evaluation before = {.size = sizeof before}, after = {.size = sizeof after}, again = {.size = sizeof again},
                      validated = {.size = sizeof validated}, described = {.size = sizeof described};
    unroll_trainer *trainer = NULL;
    unroll_progress progress = {.size = sizeof progress};
    config.batch = 4, config.bptt = 12, config.rates.learning_rate = 2e-2, config.validation.share = 0.2,
    config.warmup = 2;
    config.machine.device = machine.device = device;
    MUST(unroll_model_evaluate(m[0], data, &machine, &before, NULL));
    for (int turn = 0; turn < 3; turn++) {
        MUST(unroll_trainer_new(m[turn > 0], data, &config, &trainer));
        if (turn == 2)
            MUST(unroll_trainer_load(trainer, inside("ckpt")));
        for (int i = 0; i < (turn ? 35 : 70); i++) MUST(unroll_trainer_step(trainer, &progress));
        MUST(unroll_trainer_validate(trainer, &validated));
        MUST(unroll_trainer_save(trainer, inside("ckpt")));
        MUST(unroll_trainer_metrics(trainer, validated.loss, &described));
        CHECK(described.metric[0].value == validated.loss && isnan(described.metric[1].value),
              "near does not follow from the loss");
        unroll_trainer_free(trainer);
    }
    CHECK(progress.step == 70 && progress.epoch == 7 && !strcmp(progress.item, "steps"), "epoch %g", progress.epoch);
    CHECK(progress.items == 7 * (int64_t)data->begin[40], "%d steps", (int)progress.items);
    CHECK(!memcmp(m[0]->values, m[1]->values, m[0]->count * sizeof(float)), "%s: resumed, it has other weights",
          device);
    MUST(unroll_model_evaluate(m[0], data, &machine, &after, NULL));
    if (MUST(unroll_model_load(inside("ckpt/model.safetensors"), &loaded)))
        MUST(unroll_model_evaluate(loaded, data, &machine, &again, NULL));
    CHECK(loaded && strcmp(loaded->task, "toy") == 0, "the model's file has forgotten the task");
    CHECK(same_evaluation(&after, &again), "%s: %g, loaded %g", device, after.loss, again.loss);
    CHECK(after.loss < 0.5 * after.floor && after.loss < 0.5 * before.loss &&
              after.metric[1].value > before.metric[1].value,
          "%s: from %g to %g, the mean has %g; near %g to %g", device, before.loss, after.loss, after.floor,
          before.metric[1].value, after.metric[1].value);
    CHECK(after.metric[2].value == (double)data->steps &&
              validated.metric[2].value == (double)(data->steps - data->begin[40]),
          "%g steps, %g validated", after.metric[2].value, validated.metric[2].value);
    unroll_model_free(m[1]);
    unroll_model_free(loaded);
    return m[0];
}

/* A checkpoint of one task cannot be loaded by another. */
static void check_identity(const unroll_dataset *data)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    static struct task other;
    unroll_model *model = new_model(data);
    unroll_trainer *trainer = NULL;
    other = toy_task, other.name = "game";
    MUST(task_add(&other));
    config.batch = 4, config.bptt = 12, config.validation.share = 0.2, config.task = "game";
    if (MUST(unroll_trainer_new(model, data, &config, &trainer)))
        CHECK_REFUSED(unroll_trainer_load(trainer, inside("ckpt")), UNROLL_USAGE,
                      "made with task = toy, this training has game");
    unroll_trainer_free(trainer);
    config.task = "lm";
    CHECK_REFUSED(unroll_trainer_new(model, data, &config, &trainer), UNROLL_USAGE, "is not supported by the task lm");
    unroll_model_free(model);
}

static void note(void *arg, const char *line) { snprintf(arg, 32, "%s", line); }

static void check_format(unroll_model *model)
{
    unroll_export_config config = unroll_export_config_default();
    unroll_model *again = NULL;
    char line[32] = "", expected[32];
    snprintf(expected, sizeof expected, "%zu weights", model->count);
    config.format = "toy", config.report = note, config.arg = line;
    MUST(unroll_model_export(model, inside("model"), &config));
    CHECK(!strcmp(line, expected), "reported: '%s'", line);
    config.opset = 9;
    CHECK_REFUSED(unroll_model_export(model, inside("model"), &config), UNROLL_UNSUPPORTED,
                  "does not support an opset");
    unroll_import_config import = unroll_import_config_default();
    if (MUST(unroll_model_import(inside("model"), &import, &again)))
        CHECK(again->count == model->count && !memcmp(again->values, model->values, model->count * sizeof(float)),
              "other weights");
    unroll_model_free(again);
    import.format = "toys";
    CHECK_REFUSED(unroll_model_import(inside("model"), &import, &again), UNROLL_USAGE, "onnx, toy");
}

int main(int count, char *words[])
{
    char device[512], command[64];
    unroll_dataset *data = NULL;
    if (count < 2 || !mkdtemp(folder)) {
        fprintf(stderr, "usage: test_toy_data PLUGIN\n");
        return 2;
    }
    MUST(loss_add(&quartic));
    MUST(reader_add(&toy_reader));
    MUST(task_add(&toy_task));
    MUST(format_add(&toy_format));
    snprintf(device, sizeof device, "xla:%s", words[1]);
    check_reader(&data);
    unroll_model_free(check_training(data, device));
    unroll_model *model = check_training(data, "cpu");
    check_identity(data);
    check_format(model);
    unroll_model_free(model);
    unroll_dataset_free(data);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_finish("toy_data");
}
