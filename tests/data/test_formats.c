/* Readers of series, sentences, arrays, images and folders: small files and the data they become, as a line of text,
 * and the messages for wrong ones. The files are made here. */
/* test: kinds=plain,memory */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "check.h"
#include "io/archive.h"
#include "data/readers/reader_table.h"

static char folder[] = "/tmp/unroll_formats_XXXXXX";

/* ---- a data set as text: "x y: [1 2, 3 ?] a; .." names, then the columns of each sequence ---- */

static char shown[1 << 16];

__attribute__((format(printf, 1, 2))) static void show(const char *format, ...)
{
    size_t used = strlen(shown);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(shown + used, sizeof shown - used, format, arguments);
    va_end(arguments);
}

/* Prints an entry: numbers, a category or the members of a set; "?" is missing. */
static void show_entry(const struct column *c, size_t entry)
{
    if (c->type == COLUMN_NUMBERS) {
        for (int i = 0; i < c->width; i++) {
            float number = c->numbers[entry * (size_t)c->width + (size_t)i];
            if (isnan(number))
                show("%s?", i ? " " : "");
            else
                show("%s%g", i ? " " : "", (double)number);
        }
    } else if (c->type == COLUMN_SET) {
        for (int i = 0, n = 0; i < c->vocabulary_size; i++)
            if (c->numbers[entry * (size_t)c->vocabulary_size + (size_t)i] > 0)
                show("%s%s", n++ ? "+" : "", c->vocabulary[i]);
    } else {
        int32_t id = column_id(c, entry);
        show("%s", id < 0 ? "?" : c->vocabulary[id]);
    }
}

/* Prints the names of the columns, then the entries of all sequences. */
static const char *show_dataset(const unroll_dataset *d)
{
    shown[0] = '\0';
    for (int i = 0; i < d->columns; i++) show("%s%s", i ? " " : "", d->column[i].name);
    for (size_t s = 0; s < d->sequences; s++) {
        show("%s", s ? ";" : ":");
        for (int i = 0; i < d->columns; i++) {
            const struct column *c = &d->column[i];
            show(c->of_sequence ? " " : " [");
            for (size_t e = d->begin[s]; !c->of_sequence && e < d->begin[s + 1]; e++) {
                show("%s", e == d->begin[s] || c->type == COLUMN_TOKENS ? "" : ", ");
                show_entry(c, e);
            }
            if (c->of_sequence)
                show_entry(c, s);
            else
                show("]");
        }
    }
    return shown;
}

/* expected: the data set; or, after a '!', a part of the message that refuses it, which must have a fix. */
static void check_outcome(unroll_status status, unroll_dataset *d, const char *name, const char *what,
                          const char *expected)
{
    const char *found = status == UNROLL_OK ? show_dataset(d) : unroll_last_error();
    check_next_case();
    if (expected[0] == '!') {
        CHECK(status != UNROLL_OK && strstr(found, expected + 1), "%s: '%s' gives '%s', not '%s'", name, what, found,
              expected);
        CHECK(status == UNROLL_OK || strstr(found, "; fix: "), "'%s' names no way to mend it", found);
    } else {
        CHECK(status == UNROLL_OK && strcmp(found, expected) == 0, "%s: '%s' gives '%s', not '%s'", name, what, found,
              expected);
    }
    if (status == UNROLL_OK)
        unroll_dataset_free(d);
}

/* ---- texts ---- */

struct text_case {
    const char *name, *options, *text, *expected;
};

#define TS  "@problemName p\n@univariate true\n@classLabel true a b\n@data\n"
#define TS2 "#remark\n@problemName p\r\n@dimensions 2\n@classLabel true a b\n@data\n"
#define CONLLU                                                                                 \
    "# text = du bois\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\tP\t_\t2\tcase\t_\t_\n" \
    "1.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n2\tbois\tbois\t_\tN\t_\t0\troot\t_\t_\n\n"

static const struct text_case text_cases[] = {
    {"p.ts", "", TS "1,2,3:a\n4.5,?,NaN:b\n", "x label: [1, 2, 3] a; [4.5, ?, ?] b"},
    {"p.ts", "", TS "1:a\n\n#remark\n1e2, -2 ,3: b \n", "x label: [1] a; [100, -2, 3] b"},
    {"p.ts", "", TS2 "1,2:3,4:a\r\n5:6:b\r\n", "x label: [1 3, 2 4] a; [5 6] b"},
    {"p.ts", "", "@problemName p\n@classLabel true\n@data\n1:2:z z\n3:4:?\n", "x label: [1 2] z z; [3 4] ?"},
    {"p.ts", "", "@problemName p\n@classLabel false\n@data\n1,2\n", "x: [1, 2]"},
    {"p.ts", "", TS "1,2:c\n", "!'p.ts', line 5: the class 'c' is not listed after @classLabel; fix: "},
    {"p.ts", "", TS "1,two:a\n", "!'p.ts', line 5: value 2, 'two', is not a number; fix: "},
    {"p.ts", "", TS "1,,2:a\n", "!line 5: value 2, '', is not a number"},
    {"p.ts", "", TS "1,0x10:a\n", "!'0x10', is not a number"},
    {"p.ts", "", TS "1,1e99:a\n", "!'1e99', is not a number"},
    {"p.ts", "", TS2 "1,2:3:a\n", "!line 6: dimension 2 has 1 steps, those before have 2; fix: "},
    {"p.ts", "", TS2 "1,2:a\n", "!line 6: 1 dimensions, not 2; fix: "},
    {"p.ts", "", TS "1,2:a\n1,2:3,4:a\n", "!line 6: 2 dimensions, not 1"},
    {"p.ts", "", TS "1,2\n", "!0 dimensions"},
    {"p.ts", "", TS, "!there is no series after @data; fix: "},
    {"p.ts", "", "@problemName p\n@timeStamps true\n@data\n(0,1):a\n",
     "!line 2: series with time stamps are not read; fix: "},
    {"p.ts", "", "@problemName p\n1,2:a\n", "!line 2: neither a header nor after @data; fix: "},
    {"p.ts", "", "@problemName p\n@dimensions 0\n@data\n", "!line 2: @dimensions is not a whole number"},
    {"p.ts", "", "@problemName p\n@dimensions 99999999999999999999\n@data\n", "!@dimensions is not a whole number"},

    {"s.txt", "", "1 5 9\n1 2\n\n-\n4\n1 7\n2\n2 3\n8 9\n", "sets: [1+5+9, 1+2]; [, 4, 1+7, 2, 2+3, 8+9]"},
    {"s.txt", "", "1 5\n1 2\n3 4\n4 5\n1 7\n2 6\n2 3\n8 9\n",
     "text: [1 5\n1 2\n3 4\n4 5\n1 7\n2 6\n2 3\n8 9\n]"}, /* the same number in each: a text */
    {"s.txt", "", "1 5 9\n1 2\n4\n1 7\n2\n3 2\n8 9\n4\n5\n", "text: [1 5 9\n1 2\n4\n1 7\n2\n3 2\n8 9\n4\n5\n]"},

    {"G_TRAIN.tsv", "", "1\t0.5\t-1\n2\t3\t4e-1\n", "label x: 1 [0.5, -1]; 2 [3, 0.4]"},
    {"G_TEST.txt", "", "  1.0000000e+00  5.0e-01  2\n 2.0e+00 3 4 \n", "label x: 1 [0.5, 2]; 2 [3, 4]"},
    {"g_test.csv", "", "-1,1,NaN,3,NaN,NaN\n1,2\n", "label x: -1 [1, ?, 3]; 1 [2]"},
    {"G_TRAIN.tsv", "", "1\t0.5\n2\n", "!'G_TRAIN.tsv', line 2: expected a class and a series; fix: "},
    {"G_TRAIN.tsv", "", "1\t0.5\n2\tNaN\tNaN\n", "!line 2: the series has no step; fix: "},
    {"G_TRAIN.tsv", "", "1\t0.5\n2\t3\tx\n", "!line 2: value 2, 'x', is not a number; fix: "},

    {"s", "", "a\tX\nb\tY\n\nc\tX\n\n", "word tag: [a, b] [X, Y]; [c] [X]"},
    {"s", "", "# d\na\tX\tP\n#\tY\tQ\n\n\nc\tX\tP", "word tag: [a, #] [P, Q]; [c] [P]"},
    {"s", "tag=2", "a\tX\tP\n#\tY\tQ\n\nc\tX\tP\n", "word tag: [a, #] [X, Y]; [c] [X]"},
    {"s.conll", "", "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\n. . O O\n\n", "word tag: [EU, .] [B-ORG, O]"},
    {"s.conllu", "", CONLLU, "word tag: [de, bois] [ADP, ?]"},
    {"s.conllu", "tag=XPOS", CONLLU, "word tag: [de, bois] [P, N]"},
    {"s.conllu", "word=LEMMA,tag=DEPREL", CONLLU, "word tag: [de, bois] [case, root]"},
    {"s", "", "a\tX\n\nb\tY\tZ\n",
     "!'s', line 3: the columns of the lines before are 2, the line has 3 columns; fix: "},
    {"s", "tag=3", "a\tX\n\nb\tY\n", "!'s', line 1: the tag is column 3, the line has 2 columns; fix: "},
    {"s", "", "a\tX\n\n\tY\n", "!'s', line 3: the word is empty; fix: "},
    {"s.conll", "", "\n# d\n", "!'s.conll' holds no sentence; fix: "},
    {"s.conll", "tag=last", "a b\n", "!fix: choose one of"},
    {"s", "", "a\tX\n\nb\xff\tY\n", "!is not UTF-8"},
};

static void check_texts(void)
{
    for (size_t i = 0; i < sizeof text_cases / sizeof *text_cases; i++) {
        const struct text_case *c = &text_cases[i];
        unroll_dataset *d = NULL;
        unroll_status status = dataset_parse(c->text, strlen(c->text), c->name, NULL, c->options, NULL, &d);
        check_outcome(status, d, c->name, c->text, c->expected);
    }
}

/* A plain text for a model of tagged words: one sentence per line; unknown words are missing values. */
static void check_sentences(void)
{
    static const char tagged[] = "a\tX\n.\tY\n\nb\tX\n", plain[] = "a b, c.\n\n \tb\r\n\"a";
    struct schema *schema;
    unroll_dataset *d = NULL;
    MUST(dataset_parse(tagged, strlen(tagged), "s", NULL, "", NULL, &d));
    MUST(schema_of_dataset(d, &schema));
    unroll_dataset_free(d);
    schema_named(schema, "tag")->target = schema->targets_optional = true;
    unroll_status status = dataset_parse(plain, strlen(plain), "plain", NULL, NULL, schema, &d);
    check_outcome(status, d, "plain", plain, "word: [a, b, ?, ?, .]; []; [b]; [?, a]");
    schema_free(schema);
}

/* ---- files ---- */

struct bytes {
    unsigned char at[4096];
    size_t size;
};

static void put(struct bytes *b, const void *bytes, size_t size)
{
    memcpy(b->at + b->size, bytes, size);
    b->size += size;
}

static void write_bytes(const char *name, const struct bytes *b)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        mkdir(path, 0700);
    }
    MUST(write_file_atomically(path, &(struct piece){b->at, b->size}, 1));
}

static void write_text(const char *name, const char *text)
{
    struct bytes b = {.size = 0};
    put(&b, text, strlen(text));
    write_bytes(name, &b);
}

static void check_file_with(const char *reader, const char *name, const char *options, const char *expected)
{
    char path[512];
    unroll_dataset *d = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unroll_status status = dataset_open(path, reader, options, NULL, &d);
    check_outcome(status, d, name, options, expected);
}

static void check_file(const char *name, const char *options, const char *expected)
{
    check_file_with(NULL, name, options, expected);
}

/* ---- arrays ---- */

static void put_npy(struct bytes *b, const char *type, const char *shape, const void *data, size_t size)
{
    char text[256];
    int length = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", type, shape);
    const unsigned char prefix[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)length, 0};
    put(b, prefix, sizeof prefix);
    put(b, text, (size_t)length);
    put(b, data, size);
}

static const float numbers[] = {1, 2, 3, 4, 5, 6, 7, 8};

static void check_npy(void)
{
    static const struct {
        const char *type, *shape, *options, *expected;
        size_t bytes;
        const void *data;
    } cases[] = {
        {"<f4", "4,", "", "x: [1, 2, 3, 4]", 16, numbers},
        {"<f4", "2, 3", "", "x: [1 2 3, 4 5 6]", 24, numbers},
        {"<f4", "2, 3", "rows=examples", "x: [1, 2, 3]; [4, 5, 6]", 24, numbers},
        {"<f4", "2, 2, 2", "", "x: [1 2, 3 4]; [5 6, 7 8]", 32, numbers},
        {"<f4", "2, 2, 2", "rows=steps", "x: [1 2 3 4, 5 6 7 8]", 32, numbers},
        {"|u1", "3,", "", "x: [1, 200, 255]", 3, "\1\310\377"},
        {"<i2", "2,", "", "x: [-2, 258]", 4, "\376\377\2\1"},
        {">i2", "2,", "", "x: [-257, 513]", 4, "\376\377\2\1"},
        {"<f2", "2,", "", "x: [1, -2]", 4, "\0\74\0\300"},
        {"<f8", "1,", "", "x: [1]", 8, "\0\0\0\0\0\0\360\77"},
        {"|b1", "2,", "", "x: [0, 1]", 2, "\0\1"},
        {"<f4", "2, 3", "", "!is truncated: its header declares more", 20, numbers},
        {"<f4", "2,", "", "!has data after the numbers that its header declares", 12, numbers},
        {"<f4", "2, 0", "", "!is empty: axis 1 of its shape is 0", 0, numbers},
        {"<f4", "0,", "", "!is empty: axis 0 of its shape is 0", 0, numbers},
        {"<f4", "4611686018427387904, 4", "", "!its header declares more than", 16, numbers},
        {"<f4", "2, 1000000000000", "", "!its header declares more than", 16, numbers},
        {"<f4", "1000000000000,", "", "!is truncated", 16, numbers},
        {"<f4", "", "", "!is a single number, not an array", 4, numbers},
        {"|O", "2,", "", "!has elements of the type '|O', not numbers", 16, numbers},
        {"<c8", "2,", "", "!has elements of the type '<c8', not numbers", 16, numbers},
        {"<f3", "2,", "", "!has elements of the type '<f3'", 16, numbers},
        {"<U2", "2,", "", "!x holds texts", 16, "a\0\0\0b\0\0\0c\0\0\0\0\0\0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes b = {.size = 0};
        put_npy(&b, cases[i].type, cases[i].shape, cases[i].data, cases[i].bytes);
        write_bytes("one.npy", &b);
        check_file("one.npy", cases[i].options, cases[i].expected);
    }
}

/* Keras' layout: training uses one part, predictions of an existing model the other. */
static void check_test_part(void)
{
    struct bytes x = {.size = 0}, test = x;
    struct schema *schema;
    unroll_dataset *d = NULL;
    char path[512];
    put_npy(&x, "<f4", "1, 2, 2", numbers, 16);
    put_npy(&test, "<f4", "1, 2, 2", numbers + 4, 16);
    write_bytes("keras/x_train.npy", &x);
    write_bytes("keras/x_test.npy", &test);
    check_file_with("npz", "keras", "", "x: [1 2, 3 4]");
    check_file_with("npz", "keras", "part=test", "x: [5 6, 7 8]");
    snprintf(path, sizeof path, "%s/keras", folder);
    MUST(dataset_open(path, "npz", "", NULL, &d));
    MUST(schema_of_dataset(d, &schema));
    unroll_dataset_free(d);
    unroll_status status = dataset_open(path, "npz", NULL, schema, &d);
    check_outcome(status, d, "keras", "for a model", "x: [5 6, 7 8]");
    schema_free(schema);
}

/* The arrays of an .npz unpacked into a folder: the same members as in the archive. */
static void check_npz(void)
{
    struct bytes x = {.size = 0}, y = x, lengths = x, names = x, odd = x;
    put_npy(&x, "<f4", "2, 2, 2", numbers, 32);
    put_npy(&y, "<i4", "2,", "\1\0\0\0\3\0\0\0", 8);
    put_npy(&lengths, "|u1", "2,", "\2\1", 2);
    put_npy(&names, "<U2", "2,", "a\0\0\0b\0\0\0\344\0\0\0\0\0\0", 16);
    put_npy(&odd, "<f4", "3,", numbers, 12);
    write_bytes("npz/x.npy", &x);
    check_file_with("npz", "npz", "", "x: [1 2, 3 4]; [5 6, 7 8]");
    write_bytes("npz/y.npy", &y);
    check_file_with("npz", "npz", "", "x y: [1 2, 3 4] 1; [5 6, 7 8] 3");
    write_bytes("npz/lengths.npy", &lengths);
    write_bytes("npz/y.npy", &names);
    check_file_with("npz", "npz", "", "x y: [1 2, 3 4] ab; [5 6] \303\244");
    write_bytes("npz/y.npy", &odd);
    check_file_with("npz", "npz", "", "!y has 3 entries, x 2; fix: ");
    check_file_with("npz", "npz", "part=test", "!has no array x_test; fix: ");
    check_test_part();
}

/* ---- images ---- */

static void write_idx(const char *name, int type, int rank, const unsigned *shape, const char *data, size_t size)
{
    struct bytes b = {.size = 0};
    put(&b, (unsigned char[]){0, 0, (unsigned char)type, (unsigned char)rank}, 4);
    for (int i = 0; i < rank; i++)
        for (int shift = 24; shift >= 0; shift -= 8) put(&b, &(unsigned char){(unsigned char)(shape[i] >> shift)}, 1);
    put(&b, data, size);
    write_bytes(name, &b);
}

static void check_idx(void)
{
    static const char pixels[] = "\1\2\3\4\5\6\7\377";
    write_idx("t-images-idx3-ubyte", 8, 3, (unsigned[]){2, 2, 2}, pixels, 8);
    check_file("t-images-idx3-ubyte", "", "!t-labels-idx1-ubyte'; fix: put it next to the images");
    write_idx("t-labels-idx1-ubyte", 8, 1, (unsigned[]){2}, "\7\3", 2);
    check_file("t-images-idx3-ubyte", "", "x label: [1 2, 3 4] 7; [5 6, 7 255] 3");
    write_idx("t-labels-idx1-ubyte", 8, 1, (unsigned[]){3}, "\7\3\1", 3);
    check_file("t-images-idx3-ubyte", "", "!has 3 labels, ");
    write_idx("t-labels-idx1-ubyte", 8, 1, (unsigned[]){2}, "\7", 1);
    check_file("t-images-idx3-ubyte", "", "!is truncated: it has 1 of 2 bytes");
    write_idx("t-labels-idx1-ubyte", 8, 2, (unsigned[]){2, 1}, "\7\3", 2);
    check_file("t-images-idx3-ubyte", "", "!holds no labels");
    write_text("t-labels-idx1-ubyte", "no labels");
    check_file("t-images-idx3-ubyte", "", "!does not begin with 0 0 TYPE AXES, as IDX files do");
    write_idx("u.idx", 8, 3, (unsigned[]){2, 2, 2}, pixels, 8);
    check_file("u.idx", "", "x: [1 2, 3 4]; [5 6, 7 255]");
    write_idx("u.idx", 11, 2, (unsigned[]){2, 2}, pixels, 8);
    check_file("u.idx", "", "x: [258, 772]; [1286, 2047]");
    write_idx("u.idx", 8, 1, (unsigned[]){8}, pixels, 8);
    check_file("u.idx", "", "!has one axis: these are labels");
    write_idx("u.idx", 8, 3, (unsigned[]){2, 2, 2}, pixels, 7);
    check_file("u.idx", "", "!is truncated");
    write_idx("u.idx", 8, 3, (unsigned[]){1, 2, 2}, pixels, 8);
    check_file("u.idx", "", "!has data after");
    write_idx("u.idx", 8, 3, (unsigned[]){0xffffffff, 0xffffffff, 0xffffffff}, pixels, 8);
    check_file("u.idx", "", "!its header declares more than");
    write_idx("u.idx", 8, 3, (unsigned[]){2, 0, 2}, pixels, 8);
    check_file("u.idx", "", "!is empty: axis 1");
    write_idx("images/a.idx", 8, 3, (unsigned[]){2, 2, 2}, pixels, 8);
    write_idx("images/b.idx", 8, 3, (unsigned[]){2, 2, 2}, pixels, 8);
    check_file("images", "", "!holds several files; fix: ");
}

/* ---- folders ---- */

static void check_folders(void)
{
    write_text("by_file/Greek.txt", "Ares\nZeus\n");
    write_text("by_file/Irish.txt", "Daly\r\n\r\nKeane");
    write_text("by_file/README.md", "names\n");
    write_text("by_file/.hidden", "x\n");
    write_text("by_file/Czech.txt", "");
    check_file("by_file", "", "text label: [Ares] Greek; [Zeus] Greek; [Daly] Irish; [Keane] Irish");
    write_text("by_folder/neg/1.txt", "bad\nfilm\n");
    write_text("by_folder/neg/2.txt", "\n");
    write_text("by_folder/pos/1.txt", "good");
    write_text("by_folder/list.txt", "pos/1.txt");
    check_file("by_folder", "", "text label: [bad\nfilm] neg; [good] pos");
    write_text("parts/JSB.train.txt", "a\n");
    write_text("parts/JSB.valid.txt", "a\n");
    check_file("parts", "", "!has two files of one class 'JSB', 'JSB.valid.txt' and one before");
    write_text("twins/train/pos/1.txt", "a");
    write_text("twins/test/pos/1.txt", "a");
    check_file("twins", "", "!has two folders 'pos', in 'test/pos' and 'train/pos'");
    write_text("one/only.txt", "a\n");
    check_file("one", "", "!has no classes: it holds one file");
    write_text("about/README", "a\n");
    write_text("about/LICENSE", "a\n");
    check_file("about", "", "!holds no files");
    write_text("empty/a.txt", "");
    write_text("empty/b.txt", "\n");
    check_file("empty", "", "!all its files are empty");
    write_text("series/sit/1.csv", "x,y\n1,2\n3,4\n");
    write_text("series/run/1.csv", "5\t?\n");
    check_file("series", "", "x label: [5 ?] run; [1 2, 3 4] sit");
    write_text("series/run/1.csv", "5\n");
    check_file("series", "", "!/sit/1.csv' has 2 numbers at each step, those before 1");
    write_text("series/run/1.csv", "5,6\n7\n");
    check_file("series", "", "!/run/1.csv', line 2: 1 numbers, the lines before have 2");
    write_text("series/run/1.csv", "5,6\n7,z\n");
    check_file("series", "", "!line 2: value 2, 'z', is not a number");
    write_text("series/run/1.csv", "x,y\n");
    check_file("series", "", "!/run/1.csv' has no steps");
    write_text("tables/1.csv", "the,DT\n");
    write_text("tables/2.csv", "5,6\n");
    check_file("tables", "", "!holds series and no folder for each class");
    struct bytes array = {.size = 0};
    put_npy(&array, "<f4", "2, 2", numbers, 16);
    write_bytes("arrays/sit/1.npy", &array);
    write_bytes("arrays/run/1.npy", &array);
    check_file("arrays", "", "x label: [1 2, 3 4] run; [1 2, 3 4] sit");
    write_text("latin/a.txt", "caf\xe9\n");
    write_text("latin/b.txt", "b\n");
    check_file("latin", "", "!is not UTF-8");
}

/* An archive is read like a folder with the same files. */
static void check_archives(void)
{
    char command[1024];
    if (!archive_can_unpack()) {
        check_skip("this build has no libarchive");
        return;
    }
    snprintf(
        command, sizeof command,
        "cd %s && tar --sort=name -czf by_file.tar.gz by_file && tar --sort=name -cf by_folder.tar by_folder && tar "
        "-cf npz.tar npz && gzip -k t-images-idx3-ubyte one.npy && gzip t-labels-idx1-ubyte",
        folder);
    write_idx("t-labels-idx1-ubyte", 8, 1, (unsigned[]){2}, "\7\3", 2);
    CHECK(system(command) == 0, "tar or gzip");
    check_file("by_file.tar.gz", "", "text label: [Ares] Greek; [Zeus] Greek; [Daly] Irish; [Keane] Irish");
    check_file("by_folder.tar", "", "text label: [bad\nfilm] neg; [good] pos");
    check_file_with("npz", "npz.tar", "part=test", "!has no array x_test");
    check_file("t-images-idx3-ubyte.gz", "", "x label: [1 2, 3 4] 7; [5 6, 7 255] 3");
    check_file("t-images-idx3-ubyte", "", "x label: [1 2, 3 4] 7; [5 6, 7 255] 3");
}

int main(void)
{
    char command[128];
    if (!mkdtemp(folder))
        return 2;
    check_texts();
    check_sentences();
    check_npy();
    check_npz();
    check_idx();
    check_folders();
    check_archives();
    CHECK(memory_live() == 0, "%llu allocations are left", (unsigned long long)memory_live());
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || check_finish("test_formats");
}
