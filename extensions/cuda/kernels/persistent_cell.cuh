/* A CELL_USER: the persistent kernels of one cell, with operands of PERSISTENT_OPERAND: how the fields of its units
 * are loaded, summed and stored around its functions. persistent.cuh has the parts shared by all cells. */

#ifndef PERSISTENT_CELL_HEADS
#define PERSISTENT_CELL_HEADS

/* Returns the number of bits of a mask below `bit`. */
constexpr uint32_t bits_below(uint32_t mask, int bit)
{
    return bit == 0 ? 0 : bits_below(mask, bit - 1) + (mask >> (bit - 1) & 1);
}

#define BIT_FROM_H(name, from)      | (((from) & FROM_H) != 0 ? 1u << CELL_(in_##name) : 0u)
#define BIT_FROM_INTERMEDIATE(name, from)   | (((from) & FROM_INTERMEDIATE) != 0 ? 1u << CELL_(in_##name) : 0u)

#define GET_INPUT(name, from)                                                                              \
    v.in.name = ((from) & FROM_X) != 0 || keeps_sum(from, phase) ? g[(size_t)CELL_(in_##name) * field] : 0;
#define FIELD_OF_H(name, from)      h_##name = bits_below(h_mask, CELL_(in_##name)),
#define FIELD_OF_INTERMEDIATE(name, from)   intermediate_##name = bits_below(intermediate_mask, CELL_(in_##name)),
#define ADD_SUM(name, from)                                                                                \
    if (((from) & FROM_H) != 0)                                                                            \
        v.in.name = v_add(v.in.name, sums.of[h_##name]);
#define ADD_INTERMEDIATE_SUM(name, from)                                                                           \
    if (((from) & FROM_INTERMEDIATE) != 0)                                                                         \
        v.in.name = v_add(v.in.name, sums.of[intermediate_##name]);
#define KEEP_SUM(name, from)                                                                               \
    if (((from) & FROM_H) != 0)                                                                            \
        g[(size_t)CELL_(in_##name) * field] = v_add(((from) & FROM_X) != 0                                 \
            ? g[(size_t)CELL_(in_##name) * field] : 0, sums.of[h_##name]);

#define GET_STATE(name)             v.state.name = at[CELL_(state_##name) * count];
#define FORGET_STATE(name)          v.state.name = 0;
#define PUT_NEXT(name)              at[CELL_(state_##name) * count] = v.next.name;
#define NEXT_H(name)                                                                                       \
    if (CELL_(state_##name) == 0)                                                                          \
        h = v.next.name;
#define PUT_SAVED(name)             g[(size_t)CELL_(saved_##name) * field] = v.saved.name;
#define PUT_INTERMEDIATE(name)              at[(size_t)CELL_(intermediate_##name) * field] = v.intermediate.name;
#define GET_OPTION(name)            v.option.name = a.name;
#define GET_VECTOR(name)            v.vector.name = a.vector.at[(size_t)CELL_(vector_##name) * a.vector.field + unit];

#define GET_SAVED(name)             v.saved.name = g[(size_t)CELL_(saved_##name) * field];
#define GET_ENTERING(name)                                                                                 \
    at = state_of(h, others, CELL_(state_##name), step, p);                                                \
    v.state.name = at && !reset ? *at : 0;
#define GET_KEPT(name)                                                                                     \
    v.state.name = CELL_(state_##name) == 0 ? *y : s[(size_t)(CELL_(state_##name) - 1) * field];
#define GET_LEAVING(name)           v.next.name = *state_of(h, others, CELL_(state_##name), step, p);
#define GET_GRADIENT(name)                                                                                 \
    d.next.name = at[CELL_(state_##name) * count] + (CELL_(state_##name) == 0 ? dy : 0);                   \
    d.state.name = leaving ? 0 : at[CELL_(state_##name) * count];
#define PUT_GRADIENT(name)          at[CELL_(state_##name) * count] = d.state.name;
#define PUT_INPUT(name, from)       g[(size_t)CELL_(in_##name) * field] = d.in.name;
#define PUT_VECTOR(name)            at[(size_t)CELL_(vector_##name) * field] = d.vector.name;
#define CLEAR_VECTOR(name)          at[(size_t)CELL_(vector_##name) * a.dv.field] = 0;
#define STAGE_INPUT(name, from)                                                                            \
    if (((from) & FROM_H) != 0)                                                                            \
        stage_at(stage, h_##name, d.in.name);
#define STAGE_INTERMEDIATE_INPUT(name, from)                                                                       \
    if (((from) & FROM_INTERMEDIATE) != 0)                                                                         \
        stage_at(stage, intermediate_##name, d.in.name);
#define STAGE_KEPT_INPUT(name, from)                                                                       \
    if (((from) & FROM_H) != 0)                                                                            \
        stage_at(stage, h_##name, g[(size_t)CELL_(in_##name) * field]);
#define INTERMEDIATE_OF(name)               value = v.intermediate.name;
#define SET_INTERMEDIATE(name)              d.intermediate.name = value;

#define BY_PHASE(first, second)                                                                             \
    if (phase == 0) {                                                                                       \
        first                                                                                               \
    } else {                                                                                                \
        second                                                                                              \
    }

/* A sum of the second phase that the first one computed is kept in place of the input. */
#define keeps_sum(from, phase)      ((phase) == 1 && ((from) & FROM_H) != 0)
#endif

struct CELL_(persistent) {
    typedef struct CELL_(unit) unit;
    enum : uint32_t {
        h_mask = 0u GATE_INPUTS(BIT_FROM_H) GATE_INPUTS_2(BIT_FROM_H),
        intermediate_mask = 0u GATE_INPUTS(BIT_FROM_INTERMEDIATE) GATE_INPUTS_2(BIT_FROM_INTERMEDIATE)
    };
    enum : uint32_t {
        phases = CELL_PHASES,
        inputs = CELL_(inputs),
        states = CELL_(states),
        intermediates = CELL_(intermediates),
        fields_h = bits_below(h_mask, inputs),
        fields_intermediate = bits_below(intermediate_mask, inputs)
    };
    /* The field of its product for each input. */
    enum : uint32_t {
        GATE_INPUTS(FIELD_OF_H) GATE_INPUTS_2(FIELD_OF_H) GATE_INPUTS(FIELD_OF_INTERMEDIATE)
            GATE_INPUTS_2(FIELD_OF_INTERMEDIATE)
    };

    GPU_CODE void set_constants(unit &v, const struct persistent_args &a, uint32_t unit)
    {
        OPTIONS(GET_OPTION)
        VECTORS(GET_VECTOR)
        v.choice = NULL;
    }
    GPU_CODE void get_inputs(unit &v, const float *g, uint32_t field, int phase)
    {
        BY_PHASE(GATE_INPUTS(GET_INPUT), GATE_INPUTS_2(GET_INPUT))
    }
    template <class SUMS> GPU_CODE void add_sums(unit &v, const SUMS &sums, int phase)
    {
        BY_PHASE(GATE_INPUTS(ADD_SUM), GATE_INPUTS_2(ADD_INTERMEDIATE_SUM))
    }
    /* Keeps sums of h that the second phase reads. */
    template <class SUMS> GPU_CODE void keep_sums(const SUMS &sums, float *g, uint32_t field, int phase)
    {
        if (phase == 0) {
            GATE_INPUTS_2(KEEP_SUM)
        }
    }
    GPU_CODE void run_forward(unit &v, int phase)
    {
#if CELL_PHASES == 2
        if (phase == 1) {
            CELL_(forward_2)(&v);
            return;
        }
#endif
        CELL_(forward)(&v);
    }
    GPU_CODE void get_states(unit &v, const float *at, uint32_t count){STATES(GET_STATE)} GPU_CODE
        void forget(unit &v){STATES(FORGET_STATE)} GPU_CODE
        void put_next(unit &v, float *at, uint32_t count){STATES(PUT_NEXT)} GPU_CODE
        void put_saved(unit &v, float *g, uint32_t field,
                       int phase){BY_PHASE(SAVED(PUT_SAVED), SAVED_2(PUT_SAVED))} GPU_CODE
        void put_intermediates(unit &v, float *at, uint32_t field){INTERMEDIATES(PUT_INTERMEDIATE)} GPU_CODE
        float next_h(const unit &v)
    {
        float h = 0;
        STATES(NEXT_H)
        return h;
    }
    GPU_CODE float intermediate(const unit &v)
    {
        float value = 0;
        INTERMEDIATES(INTERMEDIATE_OF)
        return value;
    }

    GPU_CODE void get_saved(unit &v, const float *g, uint32_t field,
                            int phase){BY_PHASE(SAVED(GET_SAVED), SAVED_2(GET_SAVED))} GPU_CODE
        void get_entering(unit &v, const struct persistent_view &h, const struct persistent_view &others, uint32_t step,
                          const struct spot &p, bool reset)
    {
        const float *at;
        STATES(GET_ENTERING)
    }
    /* Loads the states that left the previous step: h from y, the others from s. */
    GPU_CODE void get_kept(unit &v, const float *y, const float *s, uint32_t field){STATES(GET_KEPT)} GPU_CODE
        void get_leaving(unit &v, const struct persistent_view &h, const struct persistent_view &others, uint32_t step,
                         const struct spot &p){STATES(GET_LEAVING)}
    /* leaving: `at` has gradients of the leaving states; otherwise partial gradients of the entering ones. */
    GPU_CODE void get_gradients(unit &d, const float *at, uint32_t count, float dy,
                                bool leaving){STATES(GET_GRADIENT)} GPU_CODE
        void put_gradients(unit &d, float *at, uint32_t count){STATES(PUT_GRADIENT)} GPU_CODE
        void set_intermediate(unit &d, float value){INTERMEDIATES(SET_INTERMEDIATE)} GPU_CODE
        void run_backward(const unit &v, unit &d, int phase)
    {
#if CELL_PHASES == 2
        if (phase == 1) {
            CELL_(backward_2)(&v, &d);
            return;
        }
#endif
        CELL_(backward)(&v, &d);
    }
    GPU_CODE void put_inputs(unit &d, float *g, uint32_t field,
                             int phase){BY_PHASE(GATE_INPUTS(PUT_INPUT), GATE_INPUTS_2(PUT_INPUT))} GPU_CODE
        void put_vectors(unit &d, float *at, uint32_t field){VECTORS(PUT_VECTOR)} GPU_CODE
        void clear_vectors(const struct persistent_args &a, uint32_t step, const struct spot &p)
    {
        if (!a.dv.at)
            return;
        [[maybe_unused]] float *at = field_at(a.dv, step, p);
        VECTORS(CLEAR_VECTOR)
    }
    /* Stages, after the second phase, the gradients of inputs that multiplied the intermediate; after the first,
     * those that multiplied h, of both phases. */
    template <class STAGE>
    GPU_CODE void stage_inputs(unit &d, const float *g, uint32_t field, const STAGE &stage, int phase)
    {
        if (phase == 1) {
            GATE_INPUTS_2(STAGE_INTERMEDIATE_INPUT)
        } else {
            GATE_INPUTS(STAGE_INPUT)
            GATE_INPUTS_2(STAGE_KEPT_INPUT)
        }
    }
};

/* The text for a single launch (persistent_fixed.c) compiles only one kernel: there PERSISTENT_ONLY_lstm and
 * PERSISTENT_ONLY_forward_ are 1. PERSISTENT_FIXED returns the arguments, some of which are constants there. */
#ifndef PERSISTENT_FIXED
#define PERSISTENT_FIXED(direction) a
#endif
#ifndef PERSISTENT_KERNEL
#define PERSISTENT_IS(word)   PERSISTENT_IS_2(word)
#define PERSISTENT_IS_2(word) PERSISTENT_ONLY_##word
#define PERSISTENT_KERNEL(direction)                                                                        \
    KERNEL(PERSISTENT_NAME(CELL, direction), struct persistent_args)                                        \
    {                                                                                                       \
        const struct persistent_args &arguments = PERSISTENT_FIXED(direction);                              \
        if constexpr (CELL_(persistent)::fields_h > 0)                                                      \
            direction##_walk<CELL_(persistent), PERSISTENT_OPERAND>(arguments);                             \
        else                                                                                                \
            direction##_units<CELL_(persistent)>(arguments);                                                \
    }
#endif
/* The kernels of a cell without a product by a state are the same for all narrow operands: only those of bf16 exist
 * (persistent_operand). */
#define FROM_X 0
#define FROM_H 1
#define FROM_INTERMEDIATE 1
#define IS_MULTIPLIED(name, from) || (from)
#if PERSISTENT_WALKS || (0 GATE_INPUTS(IS_MULTIPLIED) GATE_INPUTS_2(IS_MULTIPLIED))
#define PERSISTENT_EXISTS 1
#else
#define PERSISTENT_EXISTS 0
#endif
#undef FROM_X
#undef FROM_H
#undef FROM_INTERMEDIATE
#undef IS_MULTIPLIED
#if PERSISTENT_EXISTS && (!defined PERSISTENT_ONE || (PERSISTENT_IS(CELL) && PERSISTENT_ONLY_forward_))
PERSISTENT_KERNEL(forward)
#endif
#if PERSISTENT_EXISTS && (!defined PERSISTENT_ONE || (PERSISTENT_IS(CELL) && PERSISTENT_ONLY_backward_))
PERSISTENT_KERNEL(backward)
#endif
#undef PERSISTENT_EXISTS
