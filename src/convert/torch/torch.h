/* Shared by the import of PyTorch state_dicts: modules found from names and shapes, and their order. A state_dict
 * contains neither forward() nor activations. */
#pragma once
#include "convert/file_table.h"
#include "convert/tensor_set.h"
#include "model/model.h"

/* TORCH_MATRIX, a matrix without a bias, is an embedding or a linear layer, depending on its position. */
enum torch_kind { TORCH_STACK, TORCH_LINEAR, TORCH_EMBEDDING, TORCH_MATRIX };

struct torch_module {
    enum torch_kind kind;
    char base[192];         /* prefix of its tensors' names: "model.lstm.", or "" */
    char name[64];          /* our name: base without the prefix and the last dot */
    uint32_t input, output; /* widths; for an embedding: number of tokens, and width */
    bool bias;
    struct activation activation; /* of a linear layer, from the user's order */
    /* of a stack: */
    const struct cell_declaration *cell;
    int levels, directions;
    uint32_t hidden, projection;
};

struct torch_modules {
    struct torch_module module[MODEL_LAYERS_MAX];
    int count;
};

/* Finds all modules of the tensors whose names begin with the prefix, and checks each tensor. */
unroll_status torch_find_modules(const struct tensor_set *, const unroll_import_config *, struct torch_modules *);

/* Sorts the modules from the input on, as the user specified or in the only order that their shapes allow. Matrices
 * become embeddings or linear layers. */
unroll_status torch_order_modules(const unroll_import_config *, struct torch_modules *);

/* Imports a state_dict from any file format. IMPORT_STATE_DICT_TAKES: the options it supports. */
enum { IMPORT_STATE_DICT_TAKES = TAKES_PREFIX | TAKES_ORDER | TAKES_NONLINEARITY | TAKES_GRU_RESET };
unroll_status import_state_dict(const struct tensor_set *, const unroll_import_config *, unroll_model **);

unroll_status import_torch(const char *path, const unroll_import_config *, unroll_model **);
