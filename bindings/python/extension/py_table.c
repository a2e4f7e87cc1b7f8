/* Data sets from Python objects: lists, arrays and frames become a table, whose rows are passed to the library as by a
 * reader. _data.py decides which object is which column. */
#include "py_table.h"
#include <stdlib.h>
#include <string.h>

/* ---- a table ---- */

static bool make_room(void *memory, size_t *room, size_t bytes)
{
    void **at = memory;
    if (bytes <= *room)
        return true;
    size_t more = 2 * bytes + 64;
    void *larger = realloc(*at, more);
    if (!larger)
        return PyErr_NoMemory() != NULL;
    *at = larger;
    *room = more;
    return true;
}

struct table_column *column_add(struct table *table, const char *name, unroll_column_kind cell, int of_example,
                                int width)
{
    struct table_column *more = realloc(table->column, (size_t)(table->columns + 1) * sizeof *more);
    char *kept = more ? strdup(name) : NULL;
    table->column = more ? more : table->column;
    if (!kept) {
        PyErr_NoMemory();
        return NULL;
    }
    table->column[table->columns] =
        (struct table_column){.name = kept, .cell = cell, .of_example = of_example, .width = width};
    return &table->column[table->columns++];
}

bool column_text(struct table_column *c, const char *bytes, size_t length)
{
    if (!make_room(&c->text, &c->text_room, (size_t)c->bytes + length) ||
        !make_room(&c->text_ends, &c->entries_room, ((size_t)c->entries + 1) * sizeof *c->text_ends))
        return false;
    if (length)
        memcpy(c->text + c->bytes, bytes, length);
    c->bytes += (int64_t)length;
    c->text_ends[c->entries++] = c->bytes;
    return true;
}

float *column_numbers(struct table_column *c, int64_t entries)
{
    const size_t width = (size_t)c->width;
    if (!make_room(&c->numbers, &c->entries_room, ((size_t)(c->entries + entries) * width + 1) * sizeof *c->numbers))
        return NULL;
    c->entries += entries;
    return c->numbers + (size_t)(c->entries - entries) * width;
}

bool column_end_row(struct table_column *c, int64_t row)
{
    if (!make_room(&c->ends, &c->ends_room, ((size_t)row + 1) * sizeof *c->ends))
        return false;
    c->ends[row] = c->entries;
    return true;
}

void table_free(struct table *table)
{
    for (int i = 0; i < table->columns; i++) {
        struct table_column *c = &table->column[i];
        free(c->name);
        free(c->ends);
        free(c->numbers);
        free(c->text);
        free(c->text_ends);
    }
    free(table->column);
}

/* ---- its rows ---- */

static unroll_status hand_cell(unroll_builder *builder, const struct table_column *c, int column, int64_t row)
{
    const int64_t first = !c->ends ? row : row ? c->ends[row - 1] : 0, end = c->ends ? c->ends[row] : row + 1;
    unroll_status status = UNROLL_OK;
    if (c->cell == UNROLL_COLUMN_NUMBERS)
        return end > first
                   ? unroll_builder_numbers(builder, column, c->numbers + first * c->width, (size_t)(end - first))
                   : UNROLL_OK;
    for (int64_t i = first; i < end && status == UNROLL_OK; i++) {
        const int64_t from = i ? c->text_ends[i - 1] : 0, bytes = c->text_ends[i] - from;
        if (bytes || c->ends)
            status = unroll_builder_text(builder, column, c->text + from, (size_t)bytes);
    }
    return status;
}

static unroll_status hand_rows(void *arg, unroll_builder *builder)
{
    const struct table *table = arg;
    unroll_status status = UNROLL_OK;
    int column;
    for (int i = 0; i < table->columns && status == UNROLL_OK; i++) {
        const struct table_column *c = &table->column[i];
        status = unroll_builder_column(builder, c->name, c->cell, c->of_example, c->width, &column);
    }
    for (int64_t row = 0; row < table->rows && status == UNROLL_OK; row++) {
        for (int i = 0; i < table->columns && status == UNROLL_OK; i++)
            status = hand_cell(builder, &table->column[i], i, row);
        if (status == UNROLL_OK)
            status = unroll_builder_end_row(builder);
    }
    return status;
}

/* ---- what Python gives ---- */

static bool take_string(struct table_column *c, PyObject *text)
{
    Py_ssize_t length = 0;
    if (text == Py_None)
        return column_text(c, "", 0);
    const char *bytes = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &length) : NULL;
    if (!bytes && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "column '%s': expected a str or None", c->name);
    return bytes && column_text(c, bytes, (size_t)length);
}

/* Reads a list of str, or of lists of str. */
static bool take_strings(struct table_column *c, PyObject *list, bool several)
{
    for (Py_ssize_t row = 0; row < PyList_Size(list); row++) {
        PyObject *item = PyList_GetItem(list, row);
        if (!several && !take_string(c, item))
            return false;
        if (several && !PyList_Check(item))
            return PyErr_Format(PyExc_TypeError, "column '%s': expected a list of lists", c->name), false;
        for (Py_ssize_t i = 0; several && i < PyList_Size(item); i++)
            if (!take_string(c, PyList_GetItem(item, i)))
                return false;
        if (several && !column_end_row(c, row))
            return false;
    }
    return true;
}

/* Reads lengths: int32 [rows], or None: one entry per row. */
static bool take_lengths(struct table_column *c, PyObject *lengths, int64_t rows)
{
    const struct wanted wanted = {"lengths", NUMBER_I32, 1, {(Py_ssize_t)rows}, false};
    struct view v = {0};
    bool taken = lengths == Py_None || view_take(lengths, &wanted, &v);
    const int64_t entries = c->entries;
    c->entries = 0;
    for (int64_t row = 0; taken && v.data && row < rows; row++) {
        c->entries += ((const int32_t *)v.data)[row];
        taken = column_end_row(c, row);
    }
    if (taken && (v.data ? c->entries : rows) != entries) {
        PyErr_Format(PyExc_ValueError, "column '%s': there are %lld entries for %lld rows", c->name, (long long)entries,
                     (long long)rows);
        taken = false;
    }
    c->entries = entries;
    view_release(&v);
    return taken;
}

static bool take_numbers(struct table_column *c, PyObject *array, PyObject *lengths, int64_t rows)
{
    const struct wanted wanted = {c->name, NUMBER_F32, 1, {ANY}, false};
    struct view v = {0};
    bool taken = view_take(array, &wanted, &v);
    float *to = taken ? column_numbers(c, v.count / c->width) : NULL;
    if (to)
        memcpy(to, v.data, (size_t)v.count * sizeof *to);
    view_release(&v);
    return to && take_lengths(c, lengths, rows);
}

static const char *const cells[] = {"text", "tokens", "label", "word", "set", "numbers", NULL};

/* Reads a tuple (name, cell, of_example, width, data, lengths). */
static bool take_column(struct table *table, PyObject *tuple)
{
    const char *name, *cell;
    PyObject *data, *lengths;
    int of_example, width, kind = 0;
    if (!PyArg_ParseTuple(tuple, "sspiOO", &name, &cell, &of_example, &width, &data, &lengths))
        return false;
    while (cells[kind] && strcmp(cells[kind], cell)) kind++;
    if (!cells[kind] || width < 1)
        return PyErr_Format(PyExc_ValueError, "column '%s': no cell '%s' of width %d", name, cell, width), false;
    struct table_column *c = column_add(table, name, (unroll_column_kind)kind, of_example, width);
    if (!c || kind == UNROLL_COLUMN_NUMBERS)
        return c && take_numbers(c, data, lengths, table->rows);
    if (!PyList_Check(data) || PyList_Size(data) != table->rows)
        return PyErr_Format(PyExc_ValueError, "column '%s': expected a list of %lld entries", name,
                            (long long)table->rows),
               false;
    return take_strings(c, data, kind == UNROLL_COLUMN_WORD || kind == UNROLL_COLUMN_SET);
}

static bool take_table(struct table *table, PyObject *frame, PyObject *columns, long long rows)
{
    if (frame != Py_None && !table_take_frame(table, frame))
        return false;
    if (frame != Py_None && rows >= 0 && rows != table->rows)
        return PyErr_Format(PyExc_ValueError, "the frame has %lld rows, and there are %lld targets",
                            (long long)table->rows, rows),
               false;
    table->rows = frame != Py_None ? table->rows : rows;
    for (Py_ssize_t i = 0; i < PyList_Size(columns); i++)
        if (!take_column(table, PyList_GetItem(columns, i)))
            return false;
    return true;
}

/* _of_table(frame, columns, rows, rows_are_steps, **fields) creates a data set from rows in memory. */
PyObject *dataset_of_table(PyObject *type, PyObject *args, PyObject *keywords)
{
    struct dataset_keywords kept = {NULL, NULL, NULL};
    struct table table = {NULL, 0, 0};
    unroll_dataset_config config;
    unroll_dataset *dataset = NULL;
    unroll_status status;
    PyObject *frame, *columns, *made = NULL;
    int rows_are_steps;
    long long rows;
    if (PyArg_ParseTuple(args, "OO!Li:_of_table", &frame, &PyList_Type, &columns, &rows, &rows_are_steps) &&
        dataset_config_take(keywords, &kept, &config) && take_table(&table, frame, columns, rows)) {
        Py_BEGIN_ALLOW_THREADS
        status = unroll_dataset_from_rows(hand_rows, &table, rows_are_steps, &config, &dataset);
        Py_END_ALLOW_THREADS
        made = status == UNROLL_OK ? dataset_wrap((PyTypeObject *)type, dataset) : raise_status(status);
    }
    table_free(&table);
    dataset_keywords_end(&kept);
    return made;
}
