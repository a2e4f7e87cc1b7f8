/* The pools over time, as models, plans and kernels number them. */
#pragma once

enum pool { POOL_LAST, POOL_MEAN, POOL_MAX, POOL_FIRST };
