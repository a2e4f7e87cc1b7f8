/* Where a gate input comes from besides its bias. */
#ifndef CELLS_CELL_SOURCE_H
#define CELLS_CELL_SOURCE_H

enum cell_source {
    FROM_X = 1,            /* W x: known for all steps before the first */
    FROM_H = 2,            /* U h: h is the cell's first state */
    FROM_INTERMEDIATE = 4, /* U intermediate: the intermediate is made by the first phase of the same step */
};

#endif
