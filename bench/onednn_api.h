/* Gives versions 2 and 3 of oneDNN's C interface the same names where they differ: memory descriptors (a struct,
 * then a handle) and recurrent primitives (a description first, then arguments in one call). All other functions
 * that the driver calls are the same in both. */
#ifndef BENCH_ONEDNN_API_H
#define BENCH_ONEDNN_API_H

#include <stdbool.h>
#include <stdlib.h>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_version.h>

#if DNNL_VERSION_MAJOR < 3
typedef const dnnl_memory_desc_t *desc;
#else
typedef const_dnnl_memory_desc_t desc;
#endif

enum net_cell { NET_RNN, NET_LSTM, NET_GRU, NET_GRU_BEFORE, NET_CELLS }; /* oneDNN: vanilla, lstm, lbr, gru */

/* The tensors of a recurrent primitive. *_C is the LSTM's second state: NULL for other cells. */
enum tensor { SRC, SRC_ITER, SRC_ITER_C, WEIGHTS, WEIGHTS_ITER, BIAS, DST, DST_ITER, DST_ITER_C, TENSORS };

static inline desc new_desc(int dimensions, const dnnl_dims_t sizes, dnnl_data_type_t type,
                            dnnl_format_tag_t tag)
{
#if DNNL_VERSION_MAJOR < 3
    dnnl_memory_desc_t *made = malloc(sizeof *made);
    bool sound = made && !dnnl_memory_desc_init_by_tag(made, dimensions, sizes, type, tag);
#else
    dnnl_memory_desc_t made = NULL;
    bool sound = !dnnl_memory_desc_create_with_tag(&made, dimensions, sizes, type, tag);
#endif
    if (!sound)
        abort(); /* the sizes were checked, so there is no memory */
    return made;
}

static inline void free_desc(desc d)
{
#if DNNL_VERSION_MAJOR < 3
    free((void *)d);
#else
    if (d)
        dnnl_memory_desc_destroy((dnnl_memory_desc_t)d);
#endif
}

/* Sequences of arguments that all cells share. */
#define INPUTS(d) d[SRC], d[SRC_ITER]
#define MATRICES(d) d[WEIGHTS], d[WEIGHTS_ITER]
#define OUTPUTS(d) d[BIAS], d[DST], d[DST_ITER]

static inline dnnl_status_t forward_desc(dnnl_primitive_desc_t *made, dnnl_engine_t engine,
                                         enum net_cell cell, dnnl_prop_kind_t kind,
                                         dnnl_rnn_direction_t direction, const desc d[TENSORS],
                                         const_dnnl_primitive_attr_t attributes)
{
#if DNNL_VERSION_MAJOR < 3
    dnnl_rnn_desc_t r;
    dnnl_status_t status =
        cell == NET_LSTM  ? dnnl_lstm_forward_desc_init(&r, kind, direction, INPUTS(d), d[SRC_ITER_C],
                                                        MATRICES(d), OUTPUTS(d), d[DST_ITER_C], 0)
        : cell == NET_RNN ? dnnl_vanilla_rnn_forward_desc_init(&r, kind, dnnl_eltwise_tanh, direction,
                                                               INPUTS(d), MATRICES(d), OUTPUTS(d), 0, 0, 0)
                          : (cell == NET_GRU ? dnnl_lbr_gru_forward_desc_init : dnnl_gru_forward_desc_init)(
                                &r, kind, direction, INPUTS(d), MATRICES(d), OUTPUTS(d), 0);
    return status ? status : dnnl_primitive_desc_create(made, &r, attributes, engine, NULL);
#else
    if (cell == NET_LSTM)
        return dnnl_lstm_forward_primitive_desc_create(made, engine, kind, direction, INPUTS(d),
                                                       d[SRC_ITER_C], MATRICES(d), NULL, NULL, OUTPUTS(d),
                                                       d[DST_ITER_C], 0, attributes);
    if (cell == NET_RNN)
        return dnnl_vanilla_rnn_forward_primitive_desc_create(made, engine, kind, dnnl_eltwise_tanh,
                                                              direction, INPUTS(d), MATRICES(d), OUTPUTS(d),
                                                              0, 0, 0, attributes);
    return (cell == NET_GRU ? dnnl_lbr_gru_forward_primitive_desc_create
                            : dnnl_gru_forward_primitive_desc_create)(
        made, engine, kind, direction, INPUTS(d), MATRICES(d), OUTPUTS(d), 0, attributes);
#endif
}

/* d: the tensors, g: their gradients. */
static inline dnnl_status_t backward_desc(dnnl_primitive_desc_t *made, dnnl_engine_t engine,
                                          enum net_cell cell, dnnl_rnn_direction_t direction,
                                          const desc d[TENSORS], const desc g[TENSORS],
                                          const_dnnl_primitive_desc_t forward)
{
    const dnnl_prop_kind_t kind = dnnl_backward;
#if DNNL_VERSION_MAJOR < 3
    dnnl_rnn_desc_t r;
    dnnl_status_t status =
        cell == NET_LSTM
            ? dnnl_lstm_backward_desc_init(&r, kind, direction, INPUTS(d), d[SRC_ITER_C], MATRICES(d),
                                           OUTPUTS(d), d[DST_ITER_C], INPUTS(g), g[SRC_ITER_C], MATRICES(g),
                                           OUTPUTS(g), g[DST_ITER_C], 0)
        : cell == NET_RNN ? dnnl_vanilla_rnn_backward_desc_init(&r, kind, dnnl_eltwise_tanh, direction,
                                                                INPUTS(d), MATRICES(d), OUTPUTS(d), INPUTS(g),
                                                                MATRICES(g), OUTPUTS(g), 0, 0, 0)
                          : (cell == NET_GRU ? dnnl_lbr_gru_backward_desc_init : dnnl_gru_backward_desc_init)(
                                &r, kind, direction, INPUTS(d), MATRICES(d), OUTPUTS(d), INPUTS(g),
                                MATRICES(g), OUTPUTS(g), 0);
    return status ? status : dnnl_primitive_desc_create(made, &r, NULL, engine, forward);
#else
    if (cell == NET_LSTM)
        return dnnl_lstm_backward_primitive_desc_create(
            made, engine, kind, direction, INPUTS(d), d[SRC_ITER_C], MATRICES(d), NULL, NULL, OUTPUTS(d),
            d[DST_ITER_C], INPUTS(g), g[SRC_ITER_C], MATRICES(g), NULL, NULL, OUTPUTS(g), g[DST_ITER_C], 0,
            forward, NULL);
    if (cell == NET_RNN)
        return dnnl_vanilla_rnn_backward_primitive_desc_create(
            made, engine, kind, dnnl_eltwise_tanh, direction, INPUTS(d), MATRICES(d), OUTPUTS(d), INPUTS(g),
            MATRICES(g), OUTPUTS(g), 0, 0, 0, forward, NULL);
    return (cell == NET_GRU ? dnnl_lbr_gru_backward_primitive_desc_create
                            : dnnl_gru_backward_primitive_desc_create)(
        made, engine, kind, direction, INPUTS(d), MATRICES(d), OUTPUTS(d), INPUTS(g), MATRICES(g), OUTPUTS(g),
        0, forward, NULL);
#endif
}

#undef INPUTS
#undef MATRICES
#undef OUTPUTS
#endif
