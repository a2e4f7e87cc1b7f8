/* The kinds of layers, a row and a file each. Their operations are in plan/lower/. */
#pragma once
#include "model/layer_kind.h"

/* Add new kinds here. The recurrent kind handles all names that no other row has. */
#define LAYER_KINDS(KIND) KIND(dense) KIND(pool) KIND(recurrent)

#define DECLARE_LAYER_KIND(name) extern const struct layer_kind layer_##name;
LAYER_KINDS(DECLARE_LAYER_KIND)
#undef DECLARE_LAYER_KIND
