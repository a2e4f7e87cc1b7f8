/* What the import of PyTorch's state_dicts shares: modules found from names and shapes, and their order.
 * Not modules as PyTorch has them: a state_dict knows neither forward() nor activations. */
#ifndef FILE_TORCH_H
#define FILE_TORCH_H
#include "file/file_table.h"
#include "file/tensor_set.h"
#include "model/model.h"

/* A matrix alone, without a bias, is an embedding or a linear layer: its place tells. */
enum torch_kind { TORCH_STACK, TORCH_LINEAR, TORCH_EMBEDDING, TORCH_MATRIX };

struct torch_module {
    enum torch_kind kind;
    char base[192];         /* of its tensors' names: "model.lstm.", or "" */
    char name[64];          /* what we call it: without the prefix and the last dot */
    uint32_t input, output; /* widths; of an embedding tokens and width */
    bool bias;
    struct activation activation; /* of a linear one, from the order that the user gives */
    /* a stack */
    const struct cell_declaration *cell;
    int levels, directions;
    uint32_t hidden, projection;
};

struct torch_modules {
    struct torch_module module[MODEL_LAYERS_MAX];
    int count;
};

/* All modules of the tensors whose names begin with the prefix, checked tensor by tensor. */
unroll_status torch_find_modules(const struct tensor_set *, const unroll_import_config *, struct torch_modules *);

/* Sorts them from the input on: as the user says, or in the only order that their shapes allow. Matrices
 * become embeddings or linear layers. */
unroll_status torch_order_modules(const unroll_import_config *, struct torch_modules *);

/* The model of a state_dict, whatever file it lay in; what its import may be given. */
enum { IMPORT_STATE_DICT_TAKES = TAKES_PREFIX | TAKES_ORDER | TAKES_NONLINEARITY | TAKES_GRU_RESET };
unroll_status import_state_dict(const struct tensor_set *, const unroll_import_config *, unroll_model **);

unroll_status import_torch(const char *path, const unroll_import_config *, unroll_model **);

#endif
