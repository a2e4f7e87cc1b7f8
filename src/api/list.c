/* unroll_list: the entries of all tables, for users. */
#include <string.h>

#include "base/key_value.h"
#include "base/system/library.h"
#include "base/system/processor.h"
#include "base/sized.h"
#include "comm/comm.h"
#include "data/readers/reader_table.h"
#include "device/cpu/kernels/kernel.h"
#include "device/device.h"
#include "convert/file_table.h"
#include "nn/losses/loss.h"
#include "model/model.h"
#include "nn/optim/optim.h"
#include "tasks/task.h"
#include "train/schedule.h"
#include "train/workers_door.h"

/* Defines a function that returns the entry of the row with that index of a table, without a name after the last. */
#define LISTED(list, type, at, ...)                                               \
    static unroll_entry list(int index)                                           \
    {                                                                             \
        const type *row = at(index);                                              \
        return row ? (unroll_entry){.available = true, __VA_ARGS__} : (unroll_entry){0}; \
    }
#define ABOUT  .name = row->name, .about = row->about

LISTED(cells, struct cell_declaration, cell_at, .name = row->called)
LISTED(losses, struct loss, loss_at, ABOUT, .of_classes = row->of_classes)
LISTED(optimizers, struct optimizer, optimizer_at, .name = row->name)
LISTED(schedules, struct schedule, schedule_at, ABOUT, .has_length = row->needs_total)
LISTED(tasks, struct task, task_at, ABOUT)
LISTED(readers, struct reader, reader_at, ABOUT)
LISTED(formats, struct file_format, format_at, ABOUT, .can_import = row->import != NULL,
       .can_export = row->export != NULL)

static unroll_entry sums(int index)
{
    return (unroll_entry){.name = algorithm_name(index), .about = algorithm_about(index), .available = true};
}

static unroll_entry syncs(int index)
{
    unroll_entry entry = {.available = true};
    entry.name = exchange_sync_name(index, &entry.about);
    return entry;
}

static unroll_entry compressors(int index)
{
    unroll_entry entry = {.available = true};
    entry.name = exchange_compressor_name(index, &entry.about);
    return entry;
}

static unroll_entry isas(int index)
{
    if (index < 0 || index >= ISA_COUNT)
        return (unroll_entry){0};
    return (unroll_entry){.name = isa_name((enum isa)index),
                          .available = cpu_isa_find((enum isa)index, DTYPE_F32) != NULL};
}

static unroll_entry devices(int index)
{
    static _Thread_local char text[1024];
    const struct device *device = device_at(index);
    if (!device)
        return (unroll_entry){0};
    const bool available = device->about(text, sizeof text) == UNROLL_OK;
    return (unroll_entry){
        .name = device->name, .about = available ? text : unroll_last_error(), .available = available};
}

static unroll_entry libraries(int index)
{
    static _Thread_local char path[LIBRARY_PATH], fix[256];
    unroll_entry entry = {0};
    entry.name = library_name(index, &entry.about);
    if (!entry.name)
        return entry;
    entry.available = library_find((enum library)index, path);
    entry.file = entry.available ? path : NULL;
    entry.fix = library_fix((enum library)index, fix, sizeof fix);
    return entry;
}

bool unroll_list(unroll_list_kind kind, int index, unroll_entry *given)
{
    static unroll_entry (*const list[])(int index) = {
        [UNROLL_LIST_CELLS] = cells,         [UNROLL_LIST_LOSSES] = losses,   [UNROLL_LIST_OPTIMIZERS] = optimizers,
        [UNROLL_LIST_SCHEDULES] = schedules, [UNROLL_LIST_TASKS] = tasks,     [UNROLL_LIST_READERS] = readers,
        [UNROLL_LIST_FORMATS] = formats,     [UNROLL_LIST_DEVICES] = devices, [UNROLL_LIST_ISAS] = isas,
        [UNROLL_LIST_SUMS] = sums,           [UNROLL_LIST_SYNCS] = syncs,     [UNROLL_LIST_COMPRESSORS] = compressors,
        [UNROLL_LIST_LIBRARIES] = libraries,
    };
    if (sized_check(SIZED_RESULT(unroll_entry), given) != UNROLL_OK)
        return false;
    if (kind < 0 || (size_t)kind >= sizeof list / sizeof *list) {
        (void)fail(UNROLL_USAGE, "there is no list of kind %d; fix: UNROLL_LIST_CELLS .. UNROLL_LIST_LIBRARIES",
                   (int)kind);
        return false;
    }
    const unroll_entry entry = list[kind](index);
    if (entry.name)
        sized_give(&entry, sizeof entry, given);
    return entry.name != NULL;
}

bool unroll_list_option(unroll_list_kind kind, const char *name, int index, unroll_option *given)
{
    if (sized_check(SIZED_RESULT(unroll_option), given) != UNROLL_OK)
        return false;
    const struct key *key = kind == UNROLL_LIST_TASKS     ? task_option(name, index)
                            : kind == UNROLL_LIST_READERS ? reader_option(name, index)
                                                          : NULL;
    const struct hyperparameter *h = kind == UNROLL_LIST_OPTIMIZERS ? optimizer_hyperparameter(name, index) : NULL;
    unroll_option option = {0};
    if (key)
        option = (unroll_option){.name = key->name,
                                 .about = key->about,
                                 .choices = key->choices,
                                 .is_text = key->text > 0,
                                 .min = key->min,
                                 .max = key->max};
    else if (h)
        option =
            (unroll_option){.name = h->name, .about = h->about, .standard = h->standard, .min = h->min, .max = h->max};
    if (option.name)
        sized_give(&option, sizeof option, given);
    return option.name != NULL;
}
