/* The pools over time, as models, plans and kernels number them. */
#ifndef NN_POOLS_H
#define NN_POOLS_H

enum pool { POOL_LAST, POOL_MEAN, POOL_MAX, POOL_FIRST };
#endif
