/* The sources of a gate input, in addition to its bias. */
#pragma once

enum cell_source {
    FROM_X = 1,            /* W x: computed for all steps in advance */
    FROM_H = 2,            /* U h: h is the cell's first state */
    FROM_INTERMEDIATE = 4, /* U intermediate: computed by the first phase of the same step */
};
