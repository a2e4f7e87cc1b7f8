/* Tests readers and the builder with small tables. Each case has a file and the expected columns with their first
 * entries, or the message that refuses it. */
/* test: kinds=plain,memory */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "io/archive.h"
#include "data/builder/table_cell.h"
#include "packed.h"
#include "data/readers/reader_table.h"

enum { ENTRIES = 4, TEXT = 4096 };

static void add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *text, const char *format, ...)
{
    va_list arguments;
    size_t at = strlen(text);
    va_start(arguments, format);
    vsnprintf(text + at, TEXT - at, format, arguments);
    va_end(arguments);
}

static void add_entry(char *text, const struct column *c, size_t entry)
{
    char time[TIME_TEXT];
    if (c->ids) {
        int32_t id = column_id(c, entry);
        add(text, " %s", id < 0 ? "?" : c->vocabulary[id]);
    } else if (c->times)
        add(text, " %s", isnan(c->times[entry]) ? "?" : time_text(c->times[entry], &c->style, time));
    else if (c->type == COLUMN_SET)
        for (int v = 0; v < c->width; v++)
            add(text, "%s%s", v ? "" : " ",
                c->numbers[entry * (size_t)c->width + (size_t)v] > 0 ? c->vocabulary[v] : ".");
    else
        for (int v = 0; v < c->width; v++) {
            float number = c->numbers[entry * (size_t)c->width + (size_t)v];
            add(text, isnan(number) ? "%s?" : "%s%g", v ? "," : " ", (double)number);
        }
}

/* "steps 1: x numbers 1 2 3; y category a b" */
static void describe(const unroll_dataset *d, char *text)
{
    *text = 0;
    add(text, "%s %zu:", d->rows_are_steps ? "steps" : "examples", d->sequences);
    for (int i = 0; i < d->columns; i++) {
        const struct column *c = &d->column[i];
        size_t entries = column_entries(d, c);
        add(text, "%s %s %s%s", i ? ";" : "", c->name, column_type_names[c->type],
            c->of_sequence || d->rows_are_steps ? "" : "*");
        for (size_t e = 0; e < entries && e < ENTRIES; e++) add_entry(text, c, e);
    }
    for (char *line = d->notes; *line; line = strchr(line, '\n') + 1)
        add(text, "| %.*s", (int)strcspn(line, "\n"), line);
}

struct row {
    const char *name, *bytes, *options, *expected; /* a part of the message if it is refused */
};

static void check_row(const struct row *row)
{
    char text[TEXT];
    unroll_dataset *data = NULL;
    uint64_t live = memory_live();
    if (dataset_parse(row->bytes, strlen(row->bytes), row->name, NULL, row->options, NULL, &data) == UNROLL_OK)
        describe(data, text);
    else
        snprintf(text, sizeof text, "%s", unroll_last_error());
    bool right = data ? strcmp(text, row->expected) == 0 : strstr(text, row->expected) != NULL && strstr(text, "fix:");
    CHECK(right, "%s %.40s: '%s' instead of '%s'", row->name, row->bytes, text, row->expected);
    unroll_dataset_free(data);
    CHECK(memory_live() == live, "%s: memory is left", row->name);
}

/* ---- csv ---- */

static const struct row csv[] = {
    {"a.csv", "x,y\n1,2\n3,4\n5,6\n", NULL, "steps 1: x numbers 1 3 5; y numbers 2 4 6"},
    {"a.csv", "1,2\n3,4\n", NULL, "steps 1: c1 numbers 1 3; c2 numbers 2 4"},
    {"a.csv", "x;y\r\n1,5;2\r\n3;4\r\n", NULL,
     "steps 1: x numbers 1.5 3; y numbers 2 4| numbers are read with a decimal comma, as '1,5' in 'x'; `decimal` "
     "point reads "
     "them otherwise"},
    {"a.csv", "x;y\n1;2\n3;4\n", NULL, "steps 1: x numbers 1 3; y numbers 2 4"},
    {"a.tsv", "x\ty\n1\t\n\t4\n", NULL, "steps 1: x numbers 1 ?; y numbers ? 4"},
    {"a.csv", "x|y\n1|2\n3|4\n", NULL, "steps 1: x numbers 1 3; y numbers 2 4"},
    {"a.csv", "\xef\xbb\xbfx,y\n1,2\n", NULL, "steps 1: x numbers 1; y numbers 2"},
    {"a.csv", "x,y\n1,2", NULL, "steps 1: x numbers 1; y numbers 2"},
    {"a.csv", "x,y\n\n1,2\n\n\n3,4\n\n", NULL, "steps 1: x numbers 1 3; y numbers 2 4"},
    {"a.csv", ",x\n0,5\n1,6\n2,7\n", NULL,
     "steps 1: x numbers 5 6 7| the column 'index' is left out: its numbers only identify the rows; `columns` "
     "index=text or "
     "another type keeps it"},
    {"a.csv", "text,label\n\"good, \"\"very\"\" good\",pos\n\"bad\nline\",neg\n", NULL,
     "examples 2: text tokens* g o o d; label category pos neg"},
    {"a.csv", "x,y\n1,2\n3\n", NULL, "'a.csv', row 2 has 1 cells where the table has 2"},
    {"a.csv", "x,y\n1,2\n3,4,5\n", NULL, "'a.csv', row 2 has 3 cells where the table has 2"},
    {"a.csv", "x,y\n1,\"2\n3,4\n", NULL, "the row that begins in line 2 has a quote that is not closed"},
    {"a.csv", "x,x\n1,2\n", "header=yes", "two columns 'x'"},
    {"a.csv", "x,x,y\n1,2,3\n2,3,4\n", NULL, "two columns 'x'"},
    {"a.csv", "x,y\n", NULL, "has no rows"},
    {"a.csv", "", NULL, "has no rows"},
    {"a.csv", "x,y\n1,2\n2,3\n3,a\n4,5\n", NULL,
     "'a.csv', row 3, column 'y': 'a' is not a number, unlike 3 other cells"},
    {"a.csv", "x,y\n1,2\n2,3\n3,a\n4,5\n", "columns=y=category", "steps 1: x numbers 1 2 3 4; y category 2 3 a 5"},
    {"a.csv", "x,y\n1,a\n2,b\n", "columns=y=number", "row 1, column 'y': 'a' is not a number"},
    {"a.csv", "x,y\n1,a\n2,b\n", "columns=y=float", "can't be 'float'; fix: use number, category"},
    {"a.csv", "x,y\n1,a\n2,b\n", "columns=y", "'y' has no type"},
    {"a.csv", "x,y\n1,2\n2,3\n", "columns=z=number",
     "has no column 'z', which `columns` names; fix: its columns are x, y"},
    {"a.csv", "x,y\n1,2\n2,3\n", "group=z", "no column 'z', which `group` names"},
    {"a.csv", "x,y\n1,2\n2,3\n", "columns=x=ignore;y=ignore", "no column that can be used"},
    {"a.csv", "x,y\n1,2\n2,3\n", "columns=x=ignore", "steps 1: y numbers 2 3"},
    {"a.csv", "x,y\nNA,2\n?,NaN\nnull,\n", NULL,
     "steps 1: y numbers 2 ? ?| the column 'x' is left out: it is empty; `columns` x=text or another type keeps it"},
    {"a.csv", "x,y\n5,2\n5,3\n", NULL, "steps 1: x numbers 5 5; y numbers 2 3| the column 'x' is the same in all rows"},
    {"a.csv", "x,label\n5,0\n6,1\n6,0\n", "layout=steps", "steps 1: x numbers 5 6 6; label category 0 1 0"},
    {"a.csv", "x,label\n5,0\n6,1\n6,0\n", NULL,
     "steps 1: x numbers 5 6 6; label category 0 1 0| the rows are read as the steps of one series; `layout` examples "
     "reads "
     "each row as an example, with 'label' as its label"},
    {"a.csv", "x,label\n5,0\n6,1\n6,0\n", "layout=examples", "examples 3: x numbers* 5 6 6; label category 0 1 0"},
    {"a.csv", "x,SessionId\n5,10\n6,10\n6,11\n", NULL,
     "steps 1: x numbers 5 6 6; SessionId category 10 10 11| the numbers of 'SessionId' look like codes: they are read "
     "as "
     "categories; `columns` SessionId=number makes them numbers"},
    {"a.csv", "x,label\n5,10\n6,9\n6,10\n", "columns=label=number", "steps 1: x numbers 5 6 6; label numbers 10 9 10"},
    {"a.csv", "city,x\nRome,1\nParis,2\nRome,3\nRome,4\n", NULL,
     "steps 1: city category Rome Paris Rome Rome; x numbers 1 2 3 4"},
    {"a.csv", "text,labels\nabc,a|b\nd,b\ne,\n", NULL,
     "examples 3: text tokens* a b c d; labels set ab .b ..| 'labels' is missing in 1 of 3 rows; none of the labels "
     "is written |"},
    {"a.csv", "text,toxic\nabc,1\nd,0\ne,0\n", NULL,
     "examples 3: text tokens* a b c d; toxic category 1 0 0| 'toxic' is 0 or 1 for each text: it is read as a label; "
     "`columns` toxic=number makes it a number"},
    {"a.csv", "v1,v2,,\nham,a b c,,\nspam,d e f,,\nham,g h i,,\n", NULL,
     "examples 3: v1 category ham spam ham; v2 tokens* a   b  | the column 'c3' is left out: it is empty; `columns` "
     "c3=text "
     "or another type keeps it| the column 'c4' is left out: it is empty; `columns` c4=text or another type keeps it"},
    {"a.csv", "# x y\n# unit: m\na,b\n1,2\n", NULL, "steps 1: a numbers 1; b numbers 2"},
    {"a.csv", "# a,b\n1,2\n", NULL, "steps 1: a numbers 1; b numbers 2"},
    {"a.csv", "sep=;\na;b\n1;2\n", NULL, "steps 1: a numbers 1; b numbers 2"},
    {"a.csv", ",0,1\n0,1.5,2\n1,2.5,3\n", NULL,
     "steps 1: 0 numbers 1.5 2.5; 1 numbers 2 3| the column 'index' is left out: its numbers only identify the rows; "
     "`columns` "
     "index=text or another type keeps it"},
    {"a.csv", "0,1\n1.5,2.5\n2.5,3\n", NULL, "steps 1: 0 numbers 1.5 2.5; 1 numbers 2.5 3"},
    {"a.csv", "land,1990,1991\nrome,1.5,2\nparis,2.5,3\nrome,1,1\nparis,2,2\n", NULL,
     "steps 1: land category rome paris rome paris; 1990 numbers 1.5 2.5 1 2; 1991 numbers 2 3 1 2"},
    {"a.csv", "text,kind\nthis is kind,kind\nthis is not,unkind\nit is kind,kind\n", NULL,
     "examples 3: text tokens* t h i s; kind category kind unkind kind"},
    {"a.csv", "1,2\n2,4\n3,7\n", NULL, "steps 1: c1 numbers 1 2 3; c2 numbers 2 4 7"},
    {"a.tsv", "label\ttext\na\t\"he said \"\"x y\"\" z\"\nb\tno more words\n", NULL,
     "examples 2: label category a b; text tokens* h e   s"},
    {"a.txt", "1.5  2  3\n2.5  7  1\n3 8 2\n", NULL,
     "steps 1: c1 numbers 1.5 2.5 3; c2 numbers 2 7 8; c3 numbers 3 1 2"},
    {"a.csv", "text,labels\na,x\nb,y\n", "columns=labels=set", "examples 2: text tokens* a b; labels set x. .y"},
    {"a.csv", "text,label\nthe cat,a\nthe dog,b\n", "tokens=words",
     "examples 2: text tokens* the  cat the  dog; label category a b"},
    {"a.csv", "text,label\nthe cat,a\nthe dog,b\n", "tokens=blanks,vocab=2",
     "examples 2: text tokens* the <unk> the <unk>; label category a b"},
    {"a.csv", "text,label\nab,a\n,b\n", NULL, "examples 2: text tokens* a b; label category a b"},
    {"a.csv", "name,title,x\nab,a long title,1\ncd,another one,2\n", NULL,
     "examples 2: title tokens* a   l o; x numbers 1 2| the column 'name' is left out: each row is one sequence, read "
     "from "
     "'title'; `columns` name=text or another type keeps it"},
    {"a.csv", "text,y\ncaf\xe9 \x80,1\nd,2\n", NULL,
     "examples 2: text tokens* c a f \xc3\xa9; y numbers 1 2| 'a.csv' is not UTF-8: it is read as Windows code page "
     "1252, of "
     "which ISO 8859-1 is a part"},
    {"a.csv", "text,y\ncaf\xe9 \x81,1\nd,2\n", NULL, "row 1, column 'text' is not UTF-8"},
    {"a.csv", "text;y\na,b;1\nc,d;2\n", NULL, "examples 2: text tokens* a , b c; y numbers 1 2"},
    {"a.csv", "a,b\na,d\na,d\na,d\n", "header=no",
     "steps 1: c1 category a a a a; c2 category b d d d| the column 'c1' is the same in all rows"},
    {"noname", "1,2,3\n4,5,6\n", NULL, "steps 1: c1 numbers 1 4; c2 numbers 2 5; c3 numbers 3 6"},
    {"standard input", "word,sort\nab,p\nba,q\nab,p\nbb,q\n", NULL,
     "steps 1: word category ab ba ab bb; sort category p q p q| the first row ('word', 'sort', ..) is read as the "
     "names "
     "of the columns; `header` no reads it as data"},
    {"noname", "Well, yes\nNo, why\n", NULL, "examples 1: text tokens* W e l l"},
    {"a.csv", "x,y\n1,2\n1e39,3\n", NULL, "'a.csv', row 2, column 'x': 1e+39 is too large for a float"},
    {"a.jsonl", "{\"x\": [1, 2]}\n{\"x\": [1e39]}\n", NULL,
     "'a.jsonl', row 2, column 'x': inf is too large for a float"},
    {"a.csv", "1e400,2\n3,4\n", NULL, "'1e400' is not a number"},
    {"a.csv", "x\n0.1\n1e-3\n-2.5E2\n123456789012345678901234567890\n", NULL,
     "steps 1: x numbers 0.1 0.001 -250 1.23457e+29"},
};

/* ---- nothing to learn, or too little left ---- */

static const struct row content[] = {
    {"a.csv", "x,y\n100000001,1\n100000002,2\n100000003,3\n", NULL,
     "steps 1: x numbers 1e+08 1e+08 1e+08; y numbers 1 2 3| the values of 'x', about 100000000, are rounded to steps "
     "of "
     "8, a large part of their range; subtract 100000000 from all of them"},
    {"a.csv", "x,y\n1000001,1\n1001002,2\n1002003,3\n", NULL,
     "steps 1: x numbers 1e+06 1.001e+06 1.002e+06; y numbers 1 2 3"},
    {"a.jsonl", "{\"x\": [[null], [null]], \"y\": 1}\n", NULL, "has no number in 'x': all are missing"},
    {"a.jsonl", "{\"x\": [[null], [null]], \"z\": [1, 2]}\n", NULL,
     "examples 1: x numbers* ? ?; z numbers* 1 2| the column 'x' has no number: all are missing"},
    {"a.jsonl", "{\"x\": [16777217, 16777219]}\n", NULL,
     "examples 1: x numbers* 1.67772e+07 1.67772e+07| the values of 'x', about 16777216, are rounded to steps of 2, "
     "a large part of their range; subtract 16777216 from all of them"},
    {"a.txt", "aaaa", NULL, "is a text of a single symbol, 'a'"},
};

/* ---- times, groups, order ---- */

static const struct row series[] = {
    {"a.csv", "date,x\n2020-02-28,1\n2020-02-29,2\n2020-03-01T12:30:00Z,3\n", NULL,
     "steps 1: date time 2020-02-28 00:00:00Z 2020-02-29 00:00:00Z 2020-03-01 12:30:00Z; x numbers 1 2 3| the times of "
     "'date' have different offsets from UTC: they are sorted and printed in UTC"},
    {"a.csv", "date,x\n2020-01-03,3\n2020-01-01,1\n2020-01-02,2\n", NULL,
     "steps 1: date time 2020-01-01 2020-01-02 2020-01-03; x numbers 1 2 3| the rows were sorted by 'date'"},
    {"a.csv", "date,x\n2020-01-03,3\n2020-01-01,1\n2020-01-03,2\n", NULL,
     "rows 1 and 3 have the same time, 2020-01-03, in 'date'"},
    {"a.csv", "date,shop,x\n2020-01-01,a,1\n2020-01-01,b,2\n2020-01-02,a,3\n2020-01-02,b,4\n", NULL,
     "with `group` shop"},
    {"a.csv", "date,shop,x\n2020-01-02,b,1\n2020-01-01,a,2\n2020-01-01,b,3\n2020-01-02,a,4\n", "group=shop",
     "steps 2: date time 2020-01-01 2020-01-02 2020-01-01 2020-01-02; shop category b b a a; x numbers 3 1 2 4| the "
     "rows "
     "were sorted by 'date'"},
    {"a.csv", "shop,x\nb,1\na,2\n,3\n", "group=shop", "row 3 has no group in 'shop'"},
    {"a.csv", "t,x\n3,1\n1,2\n2,3\n", "time=t", "steps 1: t time 1 2 3; x numbers 2 3 1| the rows were sorted by 't'"},
    {"a.csv", "time,x\n1467331200,1\n1467334800,2\n", NULL,
     "steps 1: time time 2016-07-01 2016-07-01 01:00:00; x numbers 1 2| the column 'time' is read as seconds since "
     "1970; "
     "`columns` time=number makes it an ordinary number"},
    {"a.csv", "time,x\n1467331200000,1\n1467334800000,2\n", NULL,
     "steps 1: time time 2016-07-01 2016-07-01 01:00:00; x numbers 1 2| the column 'time' is read as milliseconds "
     "since "
     "1970; `columns` time=number makes it an ordinary number"},
    {"a.csv", "date,x\n2020-01-01,1\n2020-01-02,2\n2020-13-01,3\n", NULL,
     "row 3, column 'date': '2020-13-01' is not a time"},
    {"a.csv", "date,x\n2020-02-30,1\n", "time=date", "'2020-02-30' is not a time"},
    {"a.csv", "date,x\n01/02/2020,1\n02/02/2020,2\n", NULL,
     "'a.csv', column 'date': dates such as '01/02/2020' may have the day or the month first; fix: use `dates` dmy or"},
    {"a.csv", "Datum;Kurs\n31.01.2024;1.5\n01.02.2024;1.75\n", NULL,
     "steps 1: Datum time 2024-01-31 2024-02-01; Kurs numbers 1.5 1.75| dates of 'Datum' are read as day, month, year"},
    {"a.csv", "Datum;Kurs\n31.01.2024;1,5\n01.02.2024;1,75\n", NULL,
     "steps 1: Datum time 2024-01-31 2024-02-01; Kurs numbers 1.5 1.75| numbers are read with a decimal comma, as "
     "'1,5' in "
     "'Kurs'; `decimal` point reads them otherwise| dates of 'Datum' are read as day, month, year"},
    {"a.csv", "town,price\na,\"1,234\"\nb,$2.50\nb,30 %\n", NULL, "row 1, column 'price': '1,234' is not a number"},
    {"a.csv", "x,list\n1,\"1,2,3\"\n2,\"3,4,5\"\n", NULL, "examples 2: x numbers 1 2; list tokens* 1 , 2 ,"},
    {"a.csv", "date,x\n2020-01-01,1\n,2\n", "time=date", "row 2 has no time in 'date'"},
};

#define DMY "| dates of 'd' are read as day, month, year"
#define MDY "| dates of 'd' are read as month, day, year"

static const struct row times[] = {
    {"a.csv", "d,x\n\"Oct 27, 2023\",1\n\"Oct 26, 2023\",2\n", NULL,
     "steps 1: d time 2023-10-26 2023-10-27; x numbers 2 1| the rows were sorted by 'd'"},
    {"a.csv", "d,x\n27-Oct-2023,1\n28-October-2023,2\n", NULL, "steps 1: d time 2023-10-27 2023-10-28; x numbers 1 2"},
    {"a.csv", "d,x\nJan 2023,1\nFebruary 2023,2\n", NULL, "steps 1: d time 2023-01-01 2023-02-01; x numbers 1 2"},
    {"a.csv", "d,x\n\"Mon, 1 Jan 2024 1:05 PM\",1\n\"Tue, 2 Jan 2024 12:00 AM\",2\n", NULL,
     "steps 1: d time 2024-01-01 13:05:00 2024-01-02; x numbers 1 2"},
    {"a.csv", "d,x\n10/27/2023,1\n10/28/2023,2\n", NULL, "steps 1: d time 2023-10-27 2023-10-28; x numbers 1 2" MDY},
    {"a.csv", "d,x\n1/2/2023,1\n13/2/2023,2\n", NULL, "steps 1: d time 2023-02-01 2023-02-13; x numbers 1 2" DMY},
    {"a.csv", "d,x\n1/2/23,1\n2/2/23,2\n", "dates=mdy", "steps 1: d time 2023-01-02 2023-02-02; x numbers 1 2"},
    {"a.csv", "d,x\n13/1/2023,1\n1/13/2023,2\n3/1/2023,2\n4/1/2023,2\n", "time=d",
     "have the day first in some rows and the month in others"},
    {"a.csv", "d,x\n2000Q1,1\n2000Q2,2\n", NULL, "steps 1: d time 2000Q1 2000Q2; x numbers 1 2"},
    {"a.csv", "d,x\n2000-Q1,1\nQ2 2000,2\n", NULL, "steps 1: d time 2000Q1 2000Q2; x numbers 1 2"},
    {"a.csv", "d,x\n2024-01-01T00:00:00.000,1\n2024-01-01T00:00:00.100,2\n", NULL,
     "steps 1: d time 2024-01-01 00:00:00.000 2024-01-01 00:00:00.100; x numbers 1 2"},
    {"a.csv", "d,x\n2024-01-01T00:00:00+02:00,1\n2024-01-01T01:00:00+02:00,2\n", NULL,
     "steps 1: d time 2024-01-01 00:00:00+02:00 2024-01-01 01:00:00+02:00; x numbers 1 2"},
    {"a.csv", "d,x\n2024-01-01T00:00:00Z,1\n2024-01-01T01:00:00Z,2\n", NULL,
     "steps 1: d time 2024-01-01 00:00:00Z 2024-01-01 01:00:00Z; x numbers 1 2"},
    {"a.csv", "d,x\n2024-03-31T01:00:00+01:00,1\n2024-03-31T03:00:00+02:00,2\n", NULL,
     "steps 1: d time 2024-03-31 00:00:00Z 2024-03-31 01:00:00Z; x numbers 1 2| the times of 'd' have different "
     "offsets "
     "from UTC: they are sorted and printed in UTC"},
    {"a.csv", "timestamp,x\n1700000000.0,1\n1700000000.5,2\n1700000001.0,3\n", NULL,
     "steps 1: timestamp time 2023-11-14 22:13:20.0 2023-11-14 22:13:20.5 2023-11-14 22:13:21.0; x numbers 1 2 3| the "
     "column "
     "'timestamp' is read as seconds since 1970; `columns` timestamp=number makes it an ordinary number"},
    {"a.csv", "ds,x\n1700000000000001,1\n1700000060000002,2\n", NULL,
     "steps 1: ds time 2023-11-14 22:13:20.000001 2023-11-14 22:14:20.000002; x numbers 1 2| the column 'ds' is read "
     "as "
     "microseconds since 1970; `columns` ds=number makes it an ordinary number"},
    {"a.csv", "ds,x\n1700000000000000000,1\n1700000060000000000,2\n", NULL,
     "steps 1: ds time 2023-11-14 22:13:20 2023-11-14 22:14:20; x numbers 1 2| the column 'ds' is read as nanoseconds "
     "since "
     "1970; `columns` ds=number makes it an ordinary number"},
    {"a.csv", "Date,x\n20210131,1\n20210228,2\n", NULL,
     "steps 1: Date time 2021-01-31 2021-02-28; x numbers 1 2| the column 'Date' is read as dates without signs "
     "between the "
     "digits; `columns` Date=number makes it an ordinary number"},
    {"a.csv", "Year,x\n1900,1\n1901,2\n1902,4\n", NULL,
     "steps 1: Year time 1900 1901 1902; x numbers 1 2 4| the column 'Year' is read as years; `columns` Year=number "
     "makes it "
     "an ordinary number"},
    {"a.csv", "time,x\n1949.000,1\n1949.083,2\n1949.167,4\n", NULL,
     "steps 1: time time 1949.000 1949.083 1949.167; x numbers 1 2 4| the column 'time' is read as the numbers of "
     "steps; "
     "`columns` time=number makes it an ordinary number"},
    {"a.csv", "unique_id,ds,y\na,1,5\na,2,6\nb,1,7\nb,2,8\n", "group=unique_id",
     "steps 2: unique_id category a a b b; ds time 1 2 1 2; y numbers 5 6 7 8| the column 'ds' is read as the numbers "
     "of "
     "steps; `columns` ds=number makes it an ordinary number"},
    {"a.csv", "year,x\n2001,1\n2000,2\n2001,4\n", NULL, "steps 1: year numbers 2001 2000 2001; x numbers 1 2 4"},
    {"a.csv", "n,x\n0,5\n1,5.5\n2,6\n3,7\n4,1\n5,2\n6,3\n7,5\n", NULL,
     "steps 1: x numbers 5 5.5 6 7| the column 'n' is left out: it only counts the rows; `columns` n=text or another "
     "type "
     "keeps it"},
    {"a.csv", "Unnamed: 0,x\n7,5\n9,6\n12,7\n", NULL,
     "steps 1: x numbers 5 6 7| the column 'Unnamed: 0' is left out: its numbers only identify the rows; `columns` "
     "Unnamed: "
     "0=text or another type keeps it"},
};

#define FILLED(what, behind) \
    "| " what " steps are missing, the first after " behind ": they are added with missing values; `gaps` keep joins the rows on " \
    "both sides"

#define WIDE_NUMBERS "1,2,3,4,5,6,7,8,9,10,11"
#define IS_WIDE(name) \
    "| each row is read as a series, with its name in '" name "' and the model's name 'value'; `layout` steps or examples " \
    "reads rows otherwise"

static const struct row wide[] = {
    {"a.csv", "V1,V2,V3,V4,V5,V6,V7,V8,V9,V10,V11,V12,V13\nH1," WIDE_NUMBERS ",5\nH2,7," WIDE_NUMBERS "\n", NULL,
     "steps 2: V1 category H1 H1 H1 H1; value numbers 1 2 3 4" IS_WIDE("V1")},
    {"a.csv", "a,9,7," WIDE_NUMBERS "\nb,3," WIDE_NUMBERS ",\n", NULL,
     "steps 2: series category a a a a; value numbers 9 7 1 2" IS_WIDE("series")},
    {"a.csv", "name,x,y\na,1,2\nb,3,\n", "layout=wide",
     "steps 2: name category a a b; value numbers 1 2 3" IS_WIDE("name")},
};

static const struct row gaps[] = {
    {"a.csv", "d,x\n2024-01-01 00:00,1\n2024-01-01 01:00,2\n2024-01-01 03:00,4\n2024-01-01 04:00,5\n", NULL,
     "steps 1: d time 2024-01-01 2024-01-01 01:00:00 2024-01-01 02:00:00 2024-01-01 03:00:00; x numbers 1 2 ? 4" FILLED(
         "1 of 5", "2024-01-01 01:00:00")},
    {"a.csv", "d,x\n2024-01-01 00:00,1\n2024-01-01 01:00,2\n2024-01-01 03:00,4\n2024-01-01 04:00,5\n", "gaps=keep",
     "steps 1: d time 2024-01-01 2024-01-01 01:00:00 2024-01-01 03:00:00 2024-01-01 04:00:00; x numbers 1 2 4 5"},
    {"a.csv", "d,x\n2024-01-31,1\n2024-03-31,2\n2024-05-31,4\n2024-07-31,4\n2025-01-31,7\n", NULL,
     "steps 1: d time 2024-01-31 2024-03-31 2024-05-31 2024-07-31; x numbers 1 2 4 4" FILLED("2 of 7", "2024-07-31")},
    {"a.csv", "d,g,x\n1,a,1\n2,a,2\n4,a,3\n7,b,1\n8,b,2\n9,b,3\n", "group=g,time=d",
     "steps 2: d time 1 2 3 4; g category a a a a; x numbers 1 2 ? 3" FILLED("1 of 7", "2")},
    {"a.csv", "d,x\n2024-01-04,1\n2024-01-05,2\n2024-01-08,3\n2024-01-09,4\n2024-01-10,5\n", NULL,
     "steps 1: d time 2024-01-04 2024-01-05 2024-01-08 2024-01-09; x numbers 1 2 3 4"},
    {"a.csv", "d,x,k\n2024-01-01,1,a\n2024-01-02,2,b\n2024-01-04,3,a\n2024-01-05,4,b\n", NULL,
     "steps 1: d time 2024-01-01 2024-01-02 2024-01-04 2024-01-05; x numbers 1 2 3 4; k category a b a b"},
};

/* ---- notations of numbers, words for missing values ---- */

#define COMMA(cell) "| numbers are read with a decimal comma, as '" cell "' in 'x'; `decimal` point reads them otherwise"

static const struct row written[] = {
    {"a.csv", "x;y\n12 352,9;1\n-3,5;2\n874;3\n", NULL,
     "steps 1: x numbers 12352.9 -3.5 874; y numbers 1 2 3" COMMA("12 352,9")},
    {"a.csv", "x;y\n1.234,50;1.000\n2,5;2\n", NULL,
     "steps 1: x numbers 1234.5 2.5; y numbers 1000 2" COMMA(
         "1.234,50") "| '1.000' in 'y' is read as 1000; `decimal` point "
                     "reads it otherwise"},
    {"a.csv", "x;y\n1,5;2.5\n2,5;3.5\n", NULL,
     "numbers with a decimal comma, '1,5' in 'x', and with a point, '2.5' in 'y'"},
    {"a.csv", "x,y\n\"1,234\",1\n12,2\n", NULL,
     "steps 1: x numbers 1234 12; y numbers 1 2| '1,234' in 'x' is read as 1234; `decimal` comma reads it otherwise"},
    {"a.csv", "x,y\n\"1,234\",1\n12,2\n", "decimal=comma", "steps 1: x numbers 1.234 12; y numbers 1 2"},
    {"a.csv", "x,y\n12'352.9,1\n1'000,2\n", NULL, "steps 1: x numbers 12352.9 1000; y numbers 1 2"},
    {"a.csv",
     "x,y\n12\xe2\x80\xaf"
     "352.9,1\n1\xc2\xa0"
     "000,2\n",
     NULL, "steps 1: x numbers 12352.9 1000; y numbers 1 2"},
    {"a.csv",
     "x,y\n(62.1),1\n\xe2\x88\x92"
     "5,2\n7-,3\n",
     NULL, "steps 1: x numbers -62.1 -5 -7; y numbers 1 2 3"},
    {"a.csv", "x,y\n12.3 kg,1\n14 kg,2\n", NULL,
     "steps 1: x numbers 12.3 14; y numbers 1 2| the column 'x' is read as numbers without their unit: '12.3 kg' is "
     "12.3; "
     "`columns` x=text keeps it"},
    {"a.csv", "x,y\n$7,1\n-$1.50,2\n", NULL,
     "steps 1: x numbers 7 -1.5; y numbers 1 2| the column 'x' is read as numbers without their unit: '$7' is 7; "
     "`columns` "
     "x=text keeps it"},
    {"a.csv", "x,y\n12 kg,1\n300 g,2\n", NULL, "their units are 'kg' and 'g'"},
    {"a.csv", "x,y\n30%,1\n0.3,2\n", NULL, "their units are '%' and 'none'"},
    {"a.csv", "x,y\n12A,1\n13B,2\n12A,1\n13B,2\n", NULL, "steps 1: x category 12A 13B 12A 13B; y numbers 1 2 1 2"},
    {"a.csv", "text,label\na b c,NA\nd e f,EU\ng h i,NA\nj k l,\n", NULL,
     "examples 4: text tokens* a   b  ; label category NA EU NA ?| 'NA' is read as an ordinary value of 'label', in 2 "
     "rows; "
     "`missing` 'NA' reads it as missing| 'label' is missing in 1 of 4 rows"},
    {"a.csv", "text,label\na b c,NA\nd e f,EU\ng h i,AS\n", "missing=NA;AS",
     "examples 3: text tokens* a   b  ; label category ? EU ?| 'label' is missing in 2 of 3 rows"},
    {"a.csv", "x,y\n1,-999\n2,5\n", "missing=-999", "steps 1: x numbers 1 2; y numbers ? 5"},
    {"a.csv", "x,y\nNA,none\n2,5\n", NULL, "steps 1: x numbers ? 2; y numbers ? 5"},
};

/* ---- jsonl ---- */

static const struct row jsonl[] = {
    {"a.jsonl", "{\"x\": 1, \"y\": \"a\"}\n{\"y\": \"b\", \"x\": null}\n{\"y\": \"a\"}\n", NULL,
     "steps 1: x numbers 1 ? ?; y category a b a"},
    {"a", "{\"x\": 1, \"label\": \"a\"}\n{\"x\": 2.5, \"label\": \"b\", \"z\": 7}\n", NULL,
     "steps 1: x numbers 1 2.5; label category a b; z numbers ? 7| the rows are read as the steps of one series; "
     "`layout` "
     "examples reads each row as an example, with 'label' as its label"},
    {"a.json", " [\n {\"x\": 1, \"y\": \"a]\"},\n{\"y\": \"b\"} , {\"y\": \"a]\"} ]\n", NULL,
     "steps 1: x numbers 1 ? ?; y category a] b a]"},
    {"a.json", "[{\"x\": 1}, {\"x\": 2}", NULL, "the file is truncated"},
    {"a.json", "[{\"x\": 1}, {\"x\": ", NULL, "'a.json', element 2 is not a JSON object"},
    {"a.json", "[{\"x\": 1} {\"x\": 2}]", NULL, "separate the objects by commas"},
    {"a.json", "[{\"x\": 1}, 2]", NULL, "element 2 is not a JSON object"},
    {"a.json", "[{\"x\": 1}]\n{\"x\": 2}\n", NULL, "has text after its array"},
    {"a.json", "[{\"x\": NaN}]", NULL, "write null for a number that is missing"},
    {"a.jsonl", "{\"x\": [1, 2], \"y\": 3}\n{\"x\": [4], \"y\": 5}\n", NULL,
     "examples 2: x numbers* 1 2 4; y numbers 3 5"},
    {"a.jsonl", "{\"x\": [[1, 2], [3, null]], \"y\": true}\n\n{\"x\": [], \"y\": false}\n", NULL,
     "examples 2: x numbers* 1,2 3,?; y category true false"},
    {"a.jsonl", "{\"words\": [\"a\", \"b\"], \"tags\": [\"N\", \"V\"]}\n{\"words\": [\"a\"], \"tags\": [\"N\"]}\n",
     NULL, "examples 2: words category* a b a; tags category* N V N"},
    {"a.jsonl", "{\"words\": [\"a\", \"b\"], \"tags\": [\"N\"]}\n", NULL,
     "row 1 has 2 steps in 'words' and 1 in 'tags'"},
    {"a.jsonl", "{\"x\": [1], \"labels\": [\"a\", \"b\"]}\n{\"x\": [2], \"labels\": [\"b\"]}\n{\"x\": [2]}\n", NULL,
     "examples 3: x numbers* 1 2 2; labels set ab .b ..| 'labels' is missing in 1 of 3 rows; none of the labels is "
     "written |"},
    {"a.jsonl", "{\"x\": [1], \"labels\": []}\n{\"x\": [2], \"labels\": [\"b\"]}\n", NULL,
     "examples 2: x numbers* 1 2; labels set . b"},
    {"a.jsonl", "{\"x\": 1}\n{\"x\": NaN}\n", NULL, "fix: write null for a number that is missing"},
    {"a.jsonl", "{\"x\": [1], \"t\": [\"a\", \"b\"]}\n", "columns=t=set", "examples 1: x numbers* 1; t set ab"},
    {"a.jsonl", "{\"x\": [1, 2]}\n{\"x\": [3], \"w\": [\"u\"], \"z\": 7}\n", NULL,
     "examples 2: x numbers* 1 2 3; w category* ? ? u; z numbers ? 7"},
    {"a.jsonl", "{\"x\": {\"y\": 1}}\n", NULL, "'a.jsonl', row 1: 'x' is an object"},
    {"a.jsonl", "{\"x\": 1}\n{\"x\": {\"y\": 1}}\n", NULL, "'a.jsonl', row 2: 'x' is an object"},
    {"a.jsonl", "{\"x\": [{\"y\": 1}]}\n", NULL, "'x' is an object"},
    {"a.jsonl", "{\"x\": 1}\n{\"x\": [1]}\n", NULL, "'x' is an array in some rows"},
    {"a.jsonl", "{\"x\": [1, \"a\"]}\n", NULL, "'x' has an entry that is not a number"},
    {"a.jsonl", "{\"x\": [\"a\", 1]}\n", NULL, "'x' has strings and others"},
    {"a.jsonl", "{\"x\": [[1, 2], [3]]}\n", NULL, "'x' has steps of different widths"},
    {"a.jsonl", "{\"x\": [true]}\n", NULL, "neither numbers nor strings"},
    {"a.jsonl", "{\"x\": 1}\n[1]\n", NULL, "'a.jsonl', line 2 is not a JSON object: it is another value"},
    {"a.jsonl", "{\"x\": 1}\n{\"x\": \n", NULL, "line 2 is not a JSON object"},
    {"a.jsonl", "{\"x\": 1, \"x\": 2}\n", NULL, "duplicate"},
    {"a.jsonl", "{\"x\": 1}\n{\"x\": 2}\n{\"x\": \"a\"}\n", NULL, "row 3, column 'x': 'a' is not a number"},
};

#define ATTRIBUTES "% a\n@RELATION r\n@attribute 'a b' REAL\n@Attribute c {x,'y z',NA}\n\n@data\n"

static const struct row arff[] = {
    {"a", ATTRIBUTES "1, x\n%\n ?,'y z'\n3,\"\\\"\"\n-4e1, ? \n5,'?'\n6,NA\n", NULL,
     "examples 6: a b numbers* 1 ? 3 -40; c category x y z \" ?| '?' is read as an ordinary value of 'c', in 1 rows; "
     "`missing` '?' reads it as missing| 'NA' is read as an ordinary value of 'c', in 1 rows; `missing` 'NA' reads it "
     "as "
     "missing| 'c' is missing in 1 of 6 rows"},
    {"a", ATTRIBUTES "1,x\n2,x\n", "layout=steps",
     "steps 1: a b numbers 1 2; c category x x| the column 'c' is the same in all rows"},
    {"a", "@relation r\n@attribute t date yyyy-MM-dd\n@attribute n integer\n@data\n2024-01-02,1\n2024-01-01,2\n", NULL,
     "steps 1: t time 2024-01-01 2024-01-02; n numbers 2 1| the rows were sorted by 't'"},
    {"a", "@relation r\n@attribute s string\n@attribute g {0,1}\n@data\n'a b c',0\n\"d, e f\",1\n", NULL,
     "examples 2: s tokens* a   b  ; g category 0 1"},
    {"a", ATTRIBUTES "{0 1}\n", NULL, "line 7: sparse rows are not supported"},
    {"a", ATTRIBUTES "1,x,{2}\n", NULL, "weights of rows are not supported"},
    {"a", ATTRIBUTES "1,x,2\n", NULL, "'a', line 7 does not have 2 cells between commas"},
    {"a", ATTRIBUTES "1\n", NULL, "'a', line 7 does not have 2 cells between commas"},
    {"a", ATTRIBUTES "1,'x\n", NULL, "a quote is not closed"},
    {"a", ATTRIBUTES "u,x\n1,x\n2,x\n", NULL, "'u' is not a number"},
    {"a", "@relation r\n@attribute a relational\n", NULL, "neither numeric, string, date nor a list"},
    {"a", "@relation r\n@attribute a real\n", NULL, "has no line @data"},
    {"a", "@relation r\n@data\n1\n", NULL, "there is no @attribute before @data"},
    {"a", "@relation r\nattribute a real\n", NULL, "the line is neither @relation, @attribute nor @data"},
};

static const struct row sets[] = {
    {"a.txt", "60 64\n-\n60 9\n\n9\n\n\n", "tokens=sets", "examples 2: sets set* .6064 ... 960. 9.."},
    {"a.txt", "a b\nc", "tokens=sets", "examples 1: sets set* ab. ..c"},
    {"a.txt", "a\n b  b\n", "tokens=blanks", "examples 1: text tokens* a \n b b"},
};

/* ---- packed files ---- */

static void check_packed(const char *name, const unsigned char *bytes, size_t size, const char *expected)
{
    char text[TEXT];
    unroll_dataset *data = NULL;
    uint64_t live = memory_live();
    if (dataset_parse(bytes, size, name, NULL, NULL, NULL, &data) == UNROLL_OK)
        describe(data, text);
    else
        snprintf(text, sizeof text, "%s", unroll_last_error());
    bool right = data ? strcmp(text, expected) == 0 : strstr(text, expected) != NULL && strstr(text, "fix:");
    CHECK(right, "%s: '%s' instead of '%s'", name, text, expected);
    unroll_dataset_free(data);
    CHECK(memory_live() == live, "%s: memory is left", name);
}

/* Two members, one after the other, as `cat` and bgzip write them. at: index of a damaged byte; -1: none. */
static void check_members(const unsigned char *one, size_t size, int at, const char *expected)
{
    unsigned char bytes[2 * 512];
    memcpy(bytes, one, size);
    memcpy(bytes + size, one, size);
    if (at >= 0)
        bytes[at] ^= 1;
    check_packed("m.csv.gz", bytes, 2 * size, expected);
}

static void test_packed(void)
{
    static const unsigned char *const gz = packed_gz, *const tgz = packed_tgz;
    enum { SUM = 8 }; /* from the end: the CRC */
    unsigned char copy[1024];
    static const char table[] = "steps 1: x numbers 1 3; y numbers 2 4", cut[] = "is damaged or cut short";
    check_packed("t.csv.gz", packed_gz, sizeof packed_gz, table);
    check_packed("t.csv.xz", packed_xz, sizeof packed_xz, table);
    check_packed("t.csv.zst", packed_zst, sizeof packed_zst, table);
    check_packed("t.csv.bz2", packed_bz2, sizeof packed_bz2, table);
    check_packed("a.csv", packed_tgz, sizeof packed_tgz, "steps 1: x numbers 1 3 5; y numbers 2 4 6");
    check_packed("t.csv", packed_zip, sizeof packed_zip, table);
    check_members(gz, sizeof packed_gz, -1, "'x' is not a number, unlike 4 other cells of it");
    check_members(gz, sizeof packed_gz, (int)sizeof packed_gz - SUM, cut);
    check_members(gz, sizeof packed_gz, 2 * (int)sizeof packed_gz - SUM, cut);
    check_members(gz, sizeof packed_gz, (int)sizeof packed_gz, "other bytes follow the packed data");
    memcpy(copy, tgz, sizeof packed_tgz);
    copy[sizeof packed_tgz - SUM] ^= 1;
    check_packed("a.csv", copy, sizeof packed_tgz, cut);
    check_packed("t.csv.gz", packed_gz, sizeof packed_gz - 12, cut);
    check_packed("t.csv.xz", packed_xz, sizeof packed_xz - 40, cut);
    check_packed("t.csv.bz2", packed_bz2, sizeof packed_bz2 - 12, cut);
    check_packed("a.csv", packed_tgz, sizeof packed_tgz - 30, cut);
    check_packed("t.csv", packed_zip, 30, cut);
    check_packed("a.csv", packed_nested, sizeof packed_nested, "'a.csv: in.csv.gz' is an archive in an archive");
    check_packed("a.csv", packed_twice, sizeof packed_twice, "is an archive in an archive");
    check_packed("a.csv", packed_empty_tar, sizeof packed_empty_tar, "contains no files");
    check_packed("a.csv", packed_encrypted, sizeof packed_encrypted, "is encrypted; fix: unpack it first");
    check_packed("a.csv", packed_bomb, sizeof packed_bomb, "a decompression bomb");
}

/* ---- by a schema ---- */

static void check_again(const char *first, const char *options, const char *second, bool targets_optional,
                        const char *expected)
{
    char text[TEXT];
    unroll_dataset *data = NULL, *again = NULL;
    struct schema *schema = NULL, *parsed = NULL;
    if (!MUST(dataset_parse(first, strlen(first), "a.csv", NULL, options, NULL, &data)))
        return;
    MUST(schema_of_dataset(data, &schema));
    if (schema_named(schema, "label"))
        schema_named(schema, "label")->target = true;
    json_t *json = schema_to_json(schema);
    MUST(schema_from_json(json, "a schema", &parsed));
    parsed->targets_optional = targets_optional;
    if (dataset_parse(second, strlen(second), "b.csv", NULL, NULL, parsed, &again) == UNROLL_OK)
        describe(again, text);
    else
        snprintf(text, sizeof text, "%s", unroll_last_error());
    CHECK(again ? strcmp(text, expected) == 0 : strstr(text, expected) != NULL, "'%s' instead of '%s'", text, expected);
    json_decref(json);
    schema_free(parsed);
    schema_free(schema);
    unroll_dataset_free(again);
    unroll_dataset_free(data);
}

static void test_schemas(void)
{
    static const char first[] = "city,x,label\nRome,1,p\nParis,2,q\nRome,3,p\n";
    check_again(first, NULL, "label,x,city\nq,7,Paris\n", false,
                "steps 1: city category Paris; x numbers 7; label category q");
    check_again(first, NULL, "city,x,label\nOslo,7,q\nOslo,,q\n", false,
                "steps 1: city category ? ?; x numbers 7 ?; label category q q| 2 values of 'city' are unknown to the "
                "model and count as missing: the first is 'Oslo' in row 1");
    check_again(first, NULL, "city,x,label\nRome,7,r\n", false,
                "row 1, column 'label': 'r' is not in the model's vocabulary");
    check_again(first, NULL, "city,x,label\nRome,seven,p\n", false, "row 1, column 'x': 'seven' is not a number");
    check_again(first, NULL, "city,x\nRome,7\n", false, "has no column 'label', which the model was trained with");
    check_again(first, NULL, "city,x\nRome,7\n", true, "steps 1: city category Rome; x numbers 7");
    check_again(first, NULL, "x,other\n7,1\n", true, "has no column 'city'");
    check_again("text,label\nabc,p\nab,q\n", NULL, "text,label\ncad,p\n", false,
                "examples 1: text tokens* c a <unk>; label category p");
    check_again("g,x\na,1\nb,2\n", "group=g", "g,x\nc,1\nb,2\nc,3\n", false,
                "steps 2: g category c c b; x numbers 1 3 2");
    check_again("1,2\n3,4\n", NULL, "5,6\n", false, "steps 1: c1 numbers 5; c2 numbers 6");
    check_again("1,2\n3,4\n", NULL, "5\n6\n", false, "has no column 'c2'");
}

static void check_no_memory(const char *name, const char *bytes, const char *options)
{
    uint64_t live = memory_live();
    unroll_dataset *data = NULL;
    for (int n = 0;; n++) {
        memory_fail_after(n);
        unroll_status status = dataset_parse(bytes, strlen(bytes), name, NULL, options, NULL, &data);
        memory_fail_after(-1);
        if (status == UNROLL_OK)
            break;
        CHECK(memory_live() == live, "%s: allocation %d: '%s'", name, n, unroll_last_error());
    }
    unroll_dataset_free(data);
    CHECK(memory_live() == live, "%s", name);
}

/* ---- which task ---- */

/* Many rows of a table, where `%d` is the number of the row or of a tenth of it. */
static void check_guess(const char *header, const char *row, const char *task, const char *why, const char *note)
{
    static char table[1 << 15];
    unroll_dataset *data = NULL;
    const char *reason = "";
    int at = snprintf(table, sizeof table, "%s\n", header);
    for (int i = 0; i < 60; i++) {
        for (const char *c = row; *c; c++)
            at += *c == 'N'   ? snprintf(table + at, sizeof table - (size_t)at, "%d", i)
                  : *c == 'K' ? snprintf(table + at, sizeof table - (size_t)at, "%d", i / 10)
                  : *c == 'C' ? snprintf(table + at, sizeof table - (size_t)at, "%s", (i * i) % 3 ? "NW" : "SE")
                              : snprintf(table + at, sizeof table - (size_t)at, "%c", *c);
        table[at++] = '\n';
    }
    if (!MUST(dataset_parse(table, (size_t)at, "a.csv", NULL, NULL, NULL, &data)))
        return;
    const char *found = unroll_task_suggest(data, &reason);
    CHECK(found && strcmp(found, task) == 0 && strstr(reason, why), "'%s' is guessed as %s: %s", header, found, reason);
    CHECK(strstr(data->notes, note), "'%s' of '%s'", note, data->notes);
    unroll_dataset_free(data);
}

static void test_guesses(void)
{
    check_guess("year,month,hour,pm,cbwd", "2010,K,N,7.N,C", "forecast", "in the order of the file",
                "year and month are read as ordinary numbers");
    check_guess("a,b,price", "K,N,N.5", "forecast", "`task` regress", "");
    check_guess("a,b,label", "K,N,C", "tag", "'label'", "");
    check_guess("a,b,y", "K,N,N.5", "regress", "'y'", "");
    check_guess("store,sales", "K,N.5", "forecast", "'store'",
                "the values of 'store' repeat: if they identify series, `group` store");
    check_guess("user_id,sales", "K,N.5", "forecast", "'sales'", "`group` user_id reads each as one");
    check_guess("device,load", "C,N.5", "forecast", "'load'", "`group` device");
    check_guess("id,load", "N,N.5", "forecast", "'load'", "its numbers only identify the rows");
}

/* A table with rows longer than the first read; all of its columns are constant. */
static char *make_wide(int columns)
{
    char *text = malloc((size_t)columns * 12 + 3), *at = text;
    for (int row = 0; row < 3; row++)
        for (int i = 0; i < columns; i++)
            at += sprintf(at, row ? "%d%c" : "c%d%c", row ? 1 : i, i == columns - 1 ? '\n' : ',');
    return text;
}

static void test_wide(void)
{
    unroll_dataset *data = NULL;
    char *wide = make_wide(20000), *wider = make_wide(100001);
    size_t lines = 0;
    if (MUST(dataset_parse(wide, strlen(wide), "wide.csv", NULL, NULL, NULL, &data))) {
        for (const char *at = data->notes; (at = strchr(at, '\n')); at++) lines++;
        CHECK(data->columns == 20000 && data->steps == 2 && lines == 21, "%d columns, %zu notes", data->columns, lines);
    }
    unroll_dataset_free(data);
    CHECK_REFUSED(dataset_parse(wider, strlen(wider), "wider.csv", NULL, NULL, NULL, &data), UNROLL_DATA,
                  "more than 100000 columns");
    free(wide), free(wider);
}

#define CHECK_ROWS(rows) \
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i])

int main(void)
{
    CHECK_ROWS(jsonl);
    CHECK_ROWS(arff);
    CHECK_ROWS(sets);
    CHECK_ROWS(csv);
    CHECK_ROWS(content);
    CHECK_ROWS(series);
    CHECK_ROWS(times);
    CHECK_ROWS(gaps);
    CHECK_ROWS(wide);
    CHECK_ROWS(written);
    test_wide();
    test_schemas();
    test_guesses();
    if (archive_can_unpack())
        test_packed();
    else
        check_skip("packed tables: this build has no libarchive");
    check_no_memory("a.jsonl", "{\"x\": [1, 2], \"y\": 3, \"labels\": [\"a\"]}\n", NULL);
    check_no_memory("a.json", "[{\"x\": [1, 2]},{\"x\": [3]}]", NULL);
    check_no_memory("a", ATTRIBUTES "1,x\n2,x\n", NULL);
    check_no_memory("a.csv", "date,g,x\n2020-01-01,a,1\n2020-01-01,b,2\n", "group=g");
    return check_finish("test_tables");
}
