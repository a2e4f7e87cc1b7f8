/* `unroll export --to stablehlo`: the forward program of a model, for other runtimes. Comments at its top name the
 * arguments. Weights are arguments, with PyTorch's names, as in the model's own file. */
#include "base/file.h"
#include "extensions/xla/translate.h"
#include "convert/file_table.h"

static void list_buffers(struct hlo *h, const struct plan *plan, const char *what, const struct program_buffers *list)
{
    for (int i = 0; i < list->count; i++) hlo_print(h, "// %s %d: %s\n", what, i, plan->buffer[list->buffer[i]].name);
}

static unroll_status write_text(const struct translation *t, const char *path)
{
    struct hlo head = {0};
    hlo_print(&head, "// %u steps of %u rows, written by Unroll %s\n", t->plan->config.T, t->plan->config.B,
              unroll_version());
    list_buffers(&head, t->plan, "argument", &t->argument);
    list_buffers(&head, t->plan, "result", &t->result);
    const struct piece pieces[] = {{head.text, head.size}, {t->h.text, t->h.size}};
    unroll_status status = head.failed ? fail(UNROLL_RESOURCE, "no memory for the text of a program")
                                       : write_file_atomically(path, pieces, 2);
    hlo_free(&head);
    return status;
}

/* Writes the forward program for a fixed number of steps and rows as StableHLO text. */
static unroll_status export_stablehlo(const unroll_model *model, const char *path, const unroll_export_config *config)
{
    struct plan_config c = plan_config_default();
    struct plan *plan;
    struct translation t;
    if (config->steps < 1 || config->rows < 1)
        return fail(UNROLL_USAGE, "a program of %d steps of %d rows does nothing; fix: use 1 or more of both",
                    config->steps, config->rows);
    c.mode = MODE_INFER;
    c.T = (uint32_t)config->steps;
    c.B = (uint32_t)config->rows;
    TRY(plan_new(model, &c, &plan));
    unroll_status status = translate(plan, PHASE_FORWARD, "forward", &t);
    if (status == UNROLL_OK)
        status = write_text(&t, path);
    if (status == UNROLL_OK)
        report_export(config, "%d steps of %d rows, %d arguments, %d results, %zu bytes of text", config->steps,
                      config->rows, t.argument.count, t.result.count, t.h.size);
    translation_free(&t);
    plan_free(plan);
    return status;
}

const struct file_format format_stablehlo = {.name = "stablehlo",
                                             .about = "the forward pass as a program for XLA and its like",
                                             .export = export_stablehlo,
                                             .export_takes = TAKES_PROGRAM};
