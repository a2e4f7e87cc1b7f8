/* A text in memory as a data set of one column of tokens: for prompts, and for the reader of files (reader_table.h). */
#ifndef DATA_TEXT_H
#define DATA_TEXT_H
#include "data/reader_table.h"

/* The bytes are only read. `name` is for messages. */
unroll_status text_parse(const void *bytes, size_t size, const char *name, const struct tokenizer *tokenizer,
                         unroll_dataset **dataset);

#endif
