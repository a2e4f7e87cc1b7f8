/* Code around the pointwise steps of cells, which are printed from their records: NAME_1 for one unit, NAME_WIDTH
 * for a vector of units. An item handles a vector of units of one row. In forward the last phase ends the step; in
 * backward the last phase runs first and begins it. Semantics are those of extensions/cuda/kernels/cells.cu. */

/* Loads and stores of field i, _1 for one unit, _2 for a vector. */
#define LOAD_1(p)     (*(p))
#define LOAD_2(p)     LOAD(p)
#define STORE_1(v, p) (*(p) = (v))
#define STORE_2(v, p) STORE(v, p)

#define LOAD_G_1(i)      LOAD_1(FIELD(a.g, i, row, unit))
#define LOAD_G_2(i)      LOAD_2(FIELD(a.g, i, row, unit))
#define STORE_G_1(i, v)  STORE_1(v, FIELD(a.g, i, row, unit))
#define STORE_G_2(i, v)  STORE_2(v, FIELD(a.g, i, row, unit))
#define LOAD_STATE_1(i)  LOAD_1(FIELD(a.state, i, row, unit))
#define LOAD_STATE_2(i)  LOAD_2(FIELD(a.state, i, row, unit))
#define LOAD_WEIGHT_1(i) LOAD_1(FLOATS(a.vector) + (i) * a.vector_field + unit)
#define LOAD_WEIGHT_2(i) LOAD_2(FLOATS(a.vector) + (i) * a.vector_field + unit)
#define STORE_NEXT_1(i, v) STORE_1(v, FIELD(a.next, i, row, unit))
#define STORE_NEXT_2(i, v) STORE_2(v, FIELD(a.next, i, row, unit))
#define STORE_INTERMEDIATE_1(i, v) STORE_1(v, FIELD(a.intermediate, i, row, unit))
#define STORE_INTERMEDIATE_2(i, v) STORE_2(v, FIELD(a.intermediate, i, row, unit))

/* Returns the address of the state that entered the step; 0: zeros. */
static ulong entered(global char *m, struct cell_backward_args a, uint state, ulong row)
{
    const bool first = state == 0;
    const ulong field = first ? 0 : state - 1;
    const struct gpu_fields before = first ? a.y_before : a.s_before, initial = first ? a.h0 : a.s0;
    if (RESETS(a.resets, a.t, row))
        return 0;
    if (a.before >= 0 && LASTS(a.ends, (ulong)a.before, row))
        return before.at + 4 * (field * before.field + row * before.row);
    return (first && a.projected) || !initial.at ? 0 : initial.at + 4 * (field * initial.field + row * initial.row);
}

static float entered_1(global char *m, struct cell_backward_args a, uint state, ulong row, uint unit)
{
    const ulong at = entered(m, a, state, row);
    return at ? LOAD_1(FLOATS(at) + unit) : 0;
}

static VECTOR entered_2(global char *m, struct cell_backward_args a, uint state, ulong row, uint unit)
{
    const ulong at = entered(m, a, state, row);
    return at ? LOAD_2(FLOATS(at) + unit) : (VECTOR)(0.0f);
}

static float d_next_1(global char *m, struct cell_backward_args a, uint state, ulong row, uint unit)
{
    const float d = LOAD_1(FIELD(a.d_state, state, row, unit));
    return state == 0 && a.dy && !a.projected ? d + LOAD_1(FLOATS(a.dy) + row * a.dy_row + unit) : d;
}

static VECTOR d_next_2(global char *m, struct cell_backward_args a, uint state, ulong row, uint unit)
{
    const VECTOR d = LOAD_2(FIELD(a.d_state, state, row, unit));
    return state == 0 && a.dy && !a.projected ? d + LOAD_2(FLOATS(a.dy) + row * a.dy_row + unit) : d;
}

#define LOAD_ENTERED_1(i) entered_1(m, a, i, row, unit)
#define LOAD_ENTERED_2(i) entered_2(m, a, i, row, unit)
#define LEFT(i)           ((i) == 0 ? FIELD(a.y, 0, row, unit) : FIELD(a.s, (i) - 1, row, unit))
#define LOAD_LEFT_1(i)    LOAD_1(LEFT(i))
#define LOAD_LEFT_2(i)    LOAD_2(LEFT(i))
#define LOAD_D_NEXT_1(i)  d_next_1(m, a, i, row, unit)
#define LOAD_D_NEXT_2(i)  d_next_2(m, a, i, row, unit)
#define LOAD_D_INTERMEDIATE_1(i) LOAD_1(FIELD(a.d_intermediate, i, row, unit))
#define LOAD_D_INTERMEDIATE_2(i) LOAD_2(FIELD(a.d_intermediate, i, row, unit))
#define LOAD_D_STATE_1(i) (first_phase ? 0.0f : LOAD_1(FIELD(a.d_state, i, row, unit)))
#define LOAD_D_STATE_2(i) (first_phase ? (VECTOR)(0.0f) : LOAD_2(FIELD(a.d_state, i, row, unit)))
#define STORE_D_STATE_1(i, v)  STORE_1(v, FIELD(a.d_state, i, row, unit))
#define STORE_D_STATE_2(i, v)  STORE_2(v, FIELD(a.d_state, i, row, unit))
#define STORE_D_WEIGHT_1(i, v) STORE_1(v, FIELD(a.dv, i, row, unit))
#define STORE_D_WEIGHT_2(i, v) STORE_2(v, FIELD(a.dv, i, row, unit))

static void clear_fields(global char *m, struct gpu_fields f, uint fields, ulong row, struct part p)
{
    for (uint i = 0; f.at && i < fields; i++)
        for (uint u = p.first; u < p.end; u++) *FIELD(f, i, row, u) = 0;
}

/* Rows that take no part pass their states on. Their outputs and the values that backward would read are zeros. */
static void end_step(global char *m, struct cell_forward_args a, struct part p, bool lasts, uint states)
{
    const bool forgets = FORGETS(a.ends, a.resets, a.next_t, p.row);
    for (uint s = 0; s < states; s++) {
        const struct gpu_fields copy = s ? a.s : a.y;
        for (uint u = p.first; u < p.end; u++) {
            const float out = lasts ? *FIELD(a.next, s, p.row, u) : *FIELD(a.state, s, p.row, u);
            if (copy.at)
                *FIELD(copy, s ? s - 1 : 0, p.row, u) = lasts ? out : 0;
            if ((s > 0 || !a.projected) && (!lasts || forgets))
                *FIELD(a.next, s, p.row, u) = forgets ? 0 : out;
        }
    }
}

static void keep_intermediates(global char *m, struct cell_forward_args a, struct part p, bool lasts, uint fields)
{
    for (uint i = 0; a.kept_intermediate.at && i < fields; i++)
        for (uint u = p.first; u < p.end; u++)
            *FIELD(a.kept_intermediate, i, p.row, u) = lasts ? *FIELD(a.intermediate, i, p.row, u) : 0;
}

#define CELL_FORWARD(name, one, some, states, inputs, phase, phases, intermediates)                                   \
    KERNEL(name, cell_forward_args)                                                                              \
    {                                                                                                            \
        const struct part p = part_of(ITEM, a.units, WIDTH);                                                     \
        if (p.row >= a.rows)                                                                                     \
            return;                                                                                              \
        const bool lasts = LASTS(a.ends, a.t, p.row);                                                            \
        if (lasts && p.end - p.first == WIDTH)                                                                   \
            some(m, a, p.row, p.first);                                                                          \
        else if (lasts)                                                                                          \
            for (uint u = p.first; u < p.end; u++) one(m, a, p.row, u);                                          \
        else if (phase == 0)                                                                                     \
            clear_fields(m, a.g, inputs, p.row, p);                                                              \
        if (phase == phases - 1)                                                                                 \
            end_step(m, a, p, lasts, states);                                                                    \
        else                                                                                                     \
            keep_intermediates(m, a, p, lasts, intermediates);                                                   \
    }

/* begins: the phase begins the step. It clears the gradients of rows that were reset in the step processed last. */
#define CELL_BACKWARD(name, one, some, states, vectors, begins, phases)                                           \
    KERNEL(name, cell_backward_args)                                                                             \
    {                                                                                                            \
        const struct part p = part_of(ITEM, a.units, WIDTH);                                                     \
        if (p.row >= a.rows)                                                                                     \
            return;                                                                                              \
        if (begins && FORGETS(a.ends, a.resets, a.done, p.row))                                                   \
            for (uint s = a.projected ? 1 : 0; s < states; s++)                                                  \
                for (uint u = p.first; u < p.end; u++) *FIELD(a.d_state, s, p.row, u) = 0;                       \
        if (!LASTS(a.ends, a.t, p.row)) {                                                                        \
            if (phases == 1 || !begins)                                                                           \
                clear_fields(m, a.dv, vectors, p.row, p);                                                        \
        } else if (p.end - p.first == WIDTH) {                                                                   \
            some(m, a, p.row, p.first, begins);                                                                   \
        } else {                                                                                                 \
            for (uint u = p.first; u < p.end; u++) one(m, a, p.row, u, begins);                                   \
        }                                                                                                        \
    }
