/* What a data set is, for `unroll inspect FILE`: columns, their types, what is missing, ranges, how often which
 * category, lengths, groups, notes, first rows. */
#ifndef DATA_DATA_DESCRIBE_H
#define DATA_DATA_DESCRIBE_H
#include "base/json.h"
#include "data/dataset.h"

unroll_status dataset_describe(const unroll_dataset *dataset, json_t **description); /* json_decref */

#endif
