/* rnn and rnn_back: compared with a plain implementation in double and its finite differences; the same bits for all
 * chunks, teams and ISAs; ranks that share the units; the count of work. "quick", for sanitizers: only outputs are
 * compared with the plain implementation, and wide layers run mostly on the fastest ISA. Cells are not tested: the
 * plain implementation uses their forward functions. */
/* test: kinds=check-plain,long-memory; args-memory=quick; seconds=10 */
#include "tests/device/rnn_case.h"

enum { UNITS_MAX = 64, STATES_MAX = 4, FIELDS_MAX = 8 };
static bool quick;

/* ---- the plain implementation ---------------------------------------------------------- */

static bool takes_part(const struct rnn_case *c, uint32_t t, uint32_t b)
{
    return !c->shape.lengths || (int32_t)t < ((int32_t *)c->slot[RNN_LENGTHS].at)[b];
}

static bool row_is_reset(const struct rnn_case *c, uint32_t t, uint32_t b)
{
    return c->shape.resets && ((uint8_t *)c->slot[RNN_RESET].at)[t * c->shape.B + b];
}

/* Variables of the plain implementation, and its state for one row and step. */
struct plain {
    struct rnn_case *c;
    struct slot sums; /* [T, B, G, U] of the inputs FROM_X */
    double state[STATES_MAX][UNITS_MAX];
    double in[FIELDS_MAX][UNITS_MAX], intermediate[FIELDS_MAX][UNITS_MAX];
    double loss, worst;
};

static void plain_products(struct plain *p, unsigned source, const double *operand)
{
    const struct rnn_case *c = p->c;
    const struct cell_declaration *cell = c->cell->declaration;
    uint32_t row = 0;
    for (int k = 0; k < cell->inputs; k++) {
        if (cell->input[k].from & source)
            for (uint32_t u = 0; u < c->units; u++)
                for (uint32_t i = 0; i < c->shape.K; i++) p->in[k][u] += get(&c->w_dense, row, u, i, 0) * operand[i];
        row += (cell->input[k].from & (FROM_H | FROM_INTERMEDIATE)) != 0;
    }
}

static void plain_sums(struct plain *p, uint32_t t, uint32_t b)
{
    const struct rnn_case *c = p->c;
    const struct cell_declaration *cell = c->cell->declaration;
    uint32_t row = 0;
    for (int k = 0; k < cell->inputs; k++) {
        bool recurrent = cell->input[k].from & (FROM_H | FROM_INTERMEDIATE);
        for (uint32_t u = 0; u < c->units; u++) {
            p->in[k][u] = cell->input[k].from & FROM_X ? get(&p->sums, t, b, (uint32_t)k, u) : 0;
            if (recurrent && c->shape.bias)
                p->in[k][u] += get(&c->slot[RNN_BIAS], row, u, 0, 0);
        }
        row += recurrent;
    }
}

/* Computes one step of a row in double and updates the states. */
static void plain_step(struct plain *p, uint32_t t, uint32_t b)
{
    const struct rnn_case *c = p->c;
    double next[STATES_MAX][UNITS_MAX] = {{0}}, saved[FIELDS_MAX][UNITS_MAX], m[UNITS_MAX];
    struct fields in = {p->in, UNITS_MAX, 0}, state = {p->state, UNITS_MAX, 0};
    struct fields intermediate = {p->intermediate, UNITS_MAX, 0}, made = {next, UNITS_MAX, 0};
    struct cell_step step = {.rows = 1,
                             .width = c->units,
                             .options = c->layer.options,
                             .value = {.in = in,
                                       .state = state,
                                       .next = made,
                                       .intermediate = intermediate,
                                       .saved = {saved, UNITS_MAX, 0},
                                       .vector = {c->slot[RNN_VECTOR].at, c->units, 0}}};
    plain_sums(p, t, b);
    plain_products(p, FROM_H, p->state[0]);
    c->cell->forward[0](&step);
    if (c->cell->declaration->phases == 2) {
        plain_products(p, FROM_INTERMEDIATE, p->intermediate[0]);
        c->cell->forward[1](&step);
    }
    memcpy(p->state, next, sizeof next);
    memcpy(m, next[0], sizeof m);
    for (uint32_t i = 0; c->shape.projected && i < c->shape.K; i++) {
        p->state[0][i] = 0;
        for (uint32_t u = 0; u < c->units; u++) p->state[0][i] += get(&c->slot[RNN_PROJ], i, u, 0, 0) * m[u];
    }
}

static double off(double made, double expected)
{
    double d = fabs(made - expected) / (1 + fabs(expected));
    return isnan(d) ? INFINITY : d;
}

static double *number(const struct slot *s, uint32_t i, uint32_t j, uint32_t k, uint32_t l)
{
    return (double *)s->at + offset_of(s, (uint32_t[]){i, j, k, l});
}

/* Returns the address of state s of row b in the output's slot or that of the other states. */
static double *state_number(const struct rnn_case *c, int output, int others, int s, uint32_t b, uint32_t u)
{
    return s ? number(&c->slot[others], (uint32_t)s - 1, b, u, 0) : number(&c->slot[output], b, u, 0, 0);
}

static uint32_t state_width(const struct rnn_case *c, int s) { return s ? c->units : c->shape.K; }

/* Runs the steps of row b; see plain_run. */
static void plain_row(struct plain *p, uint32_t b)
{
    const struct rnn_case *c = p->c;
    for (uint32_t i = 0; i < c->shape.T; i++) {
        uint32_t t = c->shape.direction ? c->shape.T - 1 - i : i;
        bool part = takes_part(c, t, b);
        if (part && row_is_reset(c, t, b))
            memset(p->state, 0, sizeof p->state);
        if (part)
            plain_step(p, t, b);
        for (uint32_t k = 0; k < c->shape.K; k++) {
            double y = part ? p->state[0][k] : 0;
            p->loss += part ? get(&c->slot[RNN_DY], t, b, k, 0) * y : 0;
            p->worst = fmax(p->worst, off(get(&c->slot[RNN_Y], t, b, k, 0), y));
        }
    }
}

/* Returns the loss: all outputs and final states, weighted by the gradients that backward is given. Also finds the
 * largest difference from the kernels' outputs and final states. */
static double plain_run(struct plain *p)
{
    const struct rnn_case *c = p->c;
    int states = c->cell->declaration->states;
    p->loss = p->worst = 0;
    for (uint32_t b = 0; b < c->shape.B; b++) {
        for (int s = 0; s < states; s++)
            for (uint32_t u = 0; u < state_width(c, s); u++) p->state[s][u] = *state_number(c, RNN_H0, RNN_S0, s, b, u);
        plain_row(p, b);
        for (int s = 0; s < states; s++)
            for (uint32_t u = 0; u < state_width(c, s); u++) {
                p->loss += p->state[s][u] * *state_number(c, RNN_DHN, RNN_DSN, s, b, u);
                p->worst = fmax(p->worst, off(*state_number(c, RNN_HN, RNN_SN, s, b, u), p->state[s][u]));
            }
    }
    return p->loss;
}

/* ---- gradients by finite differences --------------------------------------------------- */

/* Returns the derivative of the loss with respect to one value. */
static double slope(struct plain *p, double *number)
{
    const double step = 1e-5, kept = *number;
    *number = kept + step;
    double above = plain_run(p);
    *number = kept - step;
    double below = plain_run(p);
    *number = kept;
    return (above - below) / (2 * step);
}

static double worst_of_sums(struct plain *p)
{
    const struct rnn_case *c = p->c;
    const struct slot *g = &c->slot[RNN_G];
    double worst = 0;
    for (uint32_t t = 0; t < g->count[0]; t++)
        for (uint32_t b = 0; b < g->count[1]; b++)
            for (uint32_t k = 0; takes_part(c, t, b) && k < g->count[2]; k++)
                for (uint32_t u = 0; (c->cell->declaration->input[k].from & FROM_X) && u < g->count[3]; u++)
                    worst = fmax(worst, off(get(g, t, b, k, u), slope(p, number(&p->sums, t, b, k, u))));
    return worst;
}

static double worst_of_states(struct plain *p)
{
    const struct rnn_case *c = p->c;
    double worst = 0;
    for (int s = 0; s < c->cell->declaration->states; s++)
        for (uint32_t b = 0; b < c->shape.B; b++)
            for (uint32_t u = 0; u < state_width(c, s); u++)
                worst = fmax(worst, off(*state_number(c, RNN_DH0, RNN_DS0, s, b, u),
                                        slope(p, state_number(c, RNN_H0, RNN_S0, s, b, u))));
    return worst;
}

/* Returns the operand of an input's recurrent product: the intermediate, or the entering state. */
static double operand(const struct rnn_case *c, unsigned from, uint32_t t, uint32_t b, uint32_t k)
{
    bool first = t == (c->shape.direction ? c->shape.T - 1 : 0);
    uint32_t before = c->shape.direction ? t + 1 : t - 1;
    if (from & FROM_INTERMEDIATE)
        return get(&c->slot[RNN_INTERMEDIATE], t, b, 0, k);
    if (row_is_reset(c, t, b))
        return 0;
    if (first || !takes_part(c, before, b))
        return get(&c->slot[RNN_H0], b, k, 0, 0);
    return get(&c->slot[RNN_Y], before, b, k, 0);
}

/* Checks the recurrent weights and bias: what gemm_dw and bias_grad compute from the gradients of the sums. */
static double worst_of_weights(struct plain *p)
{
    const struct rnn_case *c = p->c;
    const struct cell_declaration *cell = c->cell->declaration;
    double worst = 0;
    uint32_t row = 0;
    for (uint32_t k = 0; k < (uint32_t)cell->inputs; k++) {
        if (!(cell->input[k].from & (FROM_H | FROM_INTERMEDIATE)))
            continue;
        for (uint32_t u = 0; u < c->units; u++)
            for (uint32_t i = 0; i <= c->shape.K; i++) {
                double sum = 0;
                for (uint32_t t = 0; t < c->shape.T; t++)
                    for (uint32_t b = 0; b < c->shape.B; b++)
                        sum += !takes_part(c, t, b)
                                   ? 0
                                   : get(&c->slot[RNN_G], t, b, k, u) *
                                         (i == c->shape.K ? 1 : operand(c, cell->input[k].from, t, b, i));
                if (i < c->shape.K)
                    worst = fmax(worst, off(sum, slope(p, number(&c->w_dense, row, u, i, 0))));
                else if (c->shape.bias)
                    worst = fmax(worst, off(sum, slope(p, number(&c->slot[RNN_BIAS], row, u, 0, 0))));
            }
        row++;
    }
    return worst;
}

static double worst_of_vectors(struct plain *p)
{
    const struct rnn_case *c = p->c;
    const struct slot *v = &c->slot[RNN_VECTOR];
    double worst = 0;
    for (uint32_t i = 0; v->rank && i < v->count[0]; i++)
        for (uint32_t u = 0; u < c->units; u++) {
            double sum = 0;
            for (uint32_t t = 0; t < c->shape.T; t++)
                for (uint32_t b = 0; b < c->shape.B; b++) sum += get(&c->slot[RNN_DV], t, b, i, u);
            worst = fmax(worst, off(sum, slope(p, number(v, i, u, 0, 0))));
        }
    return worst;
}

static double worst_of_projection(struct plain *p)
{
    const struct rnn_case *c = p->c;
    double worst = 0;
    for (uint32_t i = 0; c->shape.projected && i < c->shape.K; i++)
        for (uint32_t u = 0; u < c->units; u++) {
            double sum = 0;
            for (uint32_t t = 0; t < c->shape.T; t++)
                for (uint32_t b = 0; b < c->shape.B; b++)
                    sum +=
                        takes_part(c, t, b) ? get(&c->slot[RNN_DP], t, b, i, 0) * get(&c->slot[RNN_M], t, b, u, 0) : 0;
            worst = fmax(worst, off(sum, slope(p, number(&c->slot[RNN_PROJ], i, u, 0, 0))));
        }
    return worst;
}

static void check_against_plain(struct rnn_case *c, const char *name)
{
    struct plain p = {.c = c, .sums = c->slot[RNN_G]};
    p.sums.memory = p.sums.at = allocate_zeroed(p.sums.bytes, 1);
    fill(c, &p.sums, RNN_G, -1);
    plain_run(&p);
    CHECK(p.worst <= 1e-12, "%s: outputs are off by %g", name, p.worst);
    double (*const parts[])(struct plain *) = {worst_of_sums, worst_of_states, worst_of_weights, worst_of_vectors,
                                               worst_of_projection};
    static const char *const names[] = {"sums", "states", "weights", "vectors", "projection"};
    for (size_t i = 0; !quick && i < sizeof parts / sizeof *parts; i++) {
        double worst = parts[i](&p);
        CHECK(worst <= 1e-7, "%s: gradients of the %s are off by %g", name, names[i], worst);
    }
    release(p.sums.memory);
}

/* ---- the same bits --------------------------------------------------------------------- */

static bool run_both(struct rnn_case *c, struct team *members, int chunks, const char *name)
{
    unroll_status status = run_kernel(c, members, chunks, false, true);
    if (status == UNROLL_OK)
        status = run_kernel(c, members, chunks, true, true);
    return CHECK(status == UNROLL_OK, "%s: status %d", name, (int)status);
}

static const int results[] = {RNN_G, RNN_Y,   RNN_HN,  RNN_SN, RNN_S, RNN_INTERMEDIATE,
                              RNN_M, RNN_DH0, RNN_DS0, RNN_DV, RNN_DP};

/* Returns the name of the first result whose bits differ, or NULL. */
static const char *other_bits(const struct rnn_case *a, const struct rnn_case *b)
{
    static const char *const names[] = {"g", "y", "hn", "sn", "s", "link", "m", "dh0", "ds0", "dv", "dp"};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        const struct slot *x = &a->slot[results[i]], *y = &b->slot[results[i]];
        if (x->rank && memcmp(x->memory, y->memory, x->bytes))
            return names[i];
    }
    return NULL;
}

static void check_same(const struct rnn_case *expected, const struct cpu_isa *isa, struct team *members,
                       enum division division, int chunks, const char *name)
{
    struct rnn_case c;
    int team = members ? team_size(members) : 1;
    case_new(&c, isa, expected->shape, 0, expected->shape.U);
    c.division = division;
    if (run_both(&c, members, chunks, name)) {
        const char *other = other_bits(expected, &c);
        CHECK(!other, "%s: %s, %d chunks, %d threads: other bits in %s", name, isa->name, chunks, team, other);
    }
    CHECK(c.work[0].flops == expected->work[0].flops && c.work[1].flops == expected->work[1].flops,
          "%s: %d chunks, %d threads count %g flops, not %g", name, chunks, team, c.work[0].flops,
          expected->work[0].flops);
    CHECK(chunks > 1 || (c.work[0].bytes == expected->work[0].bytes && c.work[1].bytes == expected->work[1].bytes),
          "%s: %d threads count %g bytes, not %g", name, team, c.work[0].bytes, expected->work[0].bytes);
    case_free(&c);
}

/* If nothing is saved for backward, outputs and final states are the same. */
static void check_inference(const struct rnn_case *expected, const char *name)
{
    struct rnn_case c;
    case_new(&c, expected->isa, expected->shape, 0, expected->shape.U);
    CHECK(run_kernel(&c, NULL, 2, false, false) == UNROLL_OK, "%s: %s", name, unroll_last_error());
    static const int kept[] = {RNN_Y, RNN_HN, RNN_SN};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const struct slot *made = &c.slot[kept[i]], *wanted = &expected->slot[kept[i]];
        CHECK(!made->rank || !memcmp(made->memory, wanted->memory, made->bytes),
              "%s: inference gives other bits (slot %d)", name, kept[i]);
    }
    case_free(&c);
}

/* ---- ranks that share the units -------------------------------------------------------- */

struct rank_run {
    struct rnn_case c[3];
};

static void run_rank(void *argument, int me)
{
    struct rnn_case *c = &((struct rank_run *)argument)->c[me];
    use_workspace(me);
    run_both(c, NULL, 2, "ranks");
}

/* True if the values saved for backward include this row and step: ended rows are not saved. */
static bool is_kept(const struct rnn_case *c, int slot, uint32_t t, uint32_t b)
{
    const bool for_backward = slot == RNN_G || slot == RNN_S || slot == RNN_INTERMEDIATE || slot == RNN_M;
    return !for_backward || takes_part(c, t, b);
}

/* Compares a rank's own units with the same units, from first_unit on, computed by a single rank. */
static double worst_of_slice(const struct rnn_case *whole, const struct rnn_case *part, int slot)
{
    const struct slot *a = &whole->slot[slot], *b = &part->slot[slot];
    uint32_t n[4] = {1, 1, 1, 1}, i[4];
    double worst = 0;
    for (int axis = 0; axis < b->rank; axis++) n[axis] = b->count[axis];
    uint32_t shift = b->rank && n[b->rank - 1] != a->count[a->rank - 1] ? part->first_unit : 0;
    for (i[0] = 0; b->rank && i[0] < n[0]; i[0]++)
        for (i[1] = 0; i[1] < n[1]; i[1]++)
            for (i[2] = 0; i[2] < n[2] && is_kept(part, slot, i[0], i[1]); i[2]++)
                for (i[3] = 0; i[3] < n[3]; i[3]++) {
                    uint32_t j[4] = {i[0], i[1], i[2], i[3]};
                    j[b->rank - 1] += shift;
                    worst = fmax(worst, off(get(b, i[0], i[1], i[2], i[3]), get(a, j[0], j[1], j[2], j[3])));
                }
    return worst;
}

static void check_ranks(const struct rnn_case *whole, int ranks, const char *name)
{
    struct rank_run *run = allocate_zeroed(1, sizeof *run);
    struct unroll_comm *comm[3];
    struct team *team;
    bool made = comm_threads_new(ranks, 10, comm) == UNROLL_OK && team_new(ranks, &team) == UNROLL_OK;
    if (!CHECK(made, "%s", unroll_last_error()))
        return;
    for (int r = 0; r < ranks; r++) {
        struct rnn_case *c = &run->c[r];
        uint32_t first, count;
        shard_range(whole->shape.U, ranks, r, 1, &first, &count);
        case_new(c, whole->isa, whole->shape, first, count);
        c->comm = comm[r];
        c->group = (struct group){.size = ranks, .rank = {0, 1, 2}};
    }
    team_run(team, run_rank, run);
    for (int r = 0; r < ranks; r++) {
        for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
            double worst = worst_of_slice(whole, &run->c[r], results[i]);
            CHECK(worst <= 1e-12, "%s: rank %d of %d is off by %g in slot %d", name, r, ranks, worst, results[i]);
        }
        case_free(&run->c[r]);
    }
    team_free(team);
    comm_threads_free(comm, ranks);
    release(run);
}

/* ---- the count of work ----------------------------------------------------------------- */

static void check_work(const struct rnn_case *c, const char *name)
{
    uint64_t row_steps = 0, numbers = 0;
    for (uint32_t t = 0; t < c->shape.T; t++)
        for (uint32_t b = 0; b < c->shape.B; b++) row_steps += takes_part(c, t, b);
    uint64_t inputs = (uint64_t)cell_inputs_from(c->cell->declaration, FROM_H | FROM_INTERMEDIATE);
    numbers = inputs * c->units * c->shape.K + (c->shape.projected ? c->shape.K * c->units : 0);
    for (int back = 0; back < 2; back++)
        CHECK(c->work[back].flops == 2 * (double)(row_steps * numbers), "%s: counted %g flops, not %g", name,
              c->work[back].flops, 2 * (double)(row_steps * numbers));
}

/* ---- the list -------------------------------------------------------------------------- */

static void check_case(const struct cpu_isa *isa, struct shape shape, struct team *const teams[2])
{
    check_next_case();
    struct rnn_case c;
    char name[96];
    snprintf(name, sizeof name, "%s U%u K%u%s%s%s%s", shape.cell, (unsigned)shape.U, (unsigned)shape.K,
             shape.direction ? " reverse" : "", shape.lengths ? " lengths" : "", shape.resets ? " resets" : "",
             shape.bias ? "" : " no bias");
    case_new(&c, isa, shape, 0, shape.U);
    if (run_both(&c, NULL, 1, name)) {
        if (isa->real == DTYPE_F64) {
            check_against_plain(&c, name);
            check_inference(&c, name);
            check_work(&c, name);
            for (int ranks = 2; ranks <= 3 && !shape.projected; ranks++) check_ranks(&c, ranks, name);
        }
        check_same(&c, isa, teams[1], DIVISION_ROWS, 1, name);
        check_same(&c, isa, teams[1], DIVISION_UNITS, 1, name);
        check_same(&c, isa, NULL, DIVISION_CHOSEN, 2, name);
        check_same(&c, isa, teams[0], DIVISION_UNITS, 3, name);
        for (enum isa i = ISA_SCALAR; isa->real == DTYPE_F32 && i < ISA_COUNT; i++)
            if (isa_available(i) && cpu_isa_find(i, DTYPE_F32))
                check_same(&c, cpu_isa_find(i, DTYPE_F32), teams[0], DIVISION_CHOSEN, 2, name);
    }
    case_free(&c);
}

/* every: 1 for all combinations of direction, lengths and resets, 3 for some, 7 for none and all of them. */
static void check_cells(const struct cpu_isa *isa, uint32_t T, uint32_t B, uint32_t U, int every,
                        struct team *const teams[2])
{
    for (int i = 0; isa->cells[i]; i++)
        for (int variant = 0; variant < 8; variant += every) {
            struct shape s = {.cell = isa->cells[i]->declaration->name,
                              .T = T,
                              .B = B,
                              .U = U,
                              .K = U,
                              .direction = variant & 1,
                              .lengths = variant & 2,
                              .resets = variant & 4,
                              .bias = variant % 3 != 2};
            check_case(isa, s, teams);
            if (strncmp(s.cell, "lstm", 4))
                continue;
            s.projected = true;
            s.K = variant % 3 ? U - 2 : U + 2;
            check_case(isa, s, teams);
        }
}

int main(int count, char **words)
{
    struct team *teams[2];
    quick = check_quick(count, words);
    cpu_flush_denormals(); /* as every thread of a team does */
    if (team_new(2, &teams[0]) != UNROLL_OK || team_new(3, &teams[1]) != UNROLL_OK)
        return 1;
    check_cells(cpu_isa_find(ISA_SCALAR, DTYPE_F64), 4, 3, 4, 1, teams);
    const struct cpu_isa *wide = cpu_isa_find(quick ? isa_best() : ISA_SCALAR, DTYPE_F32);
    check_cells(cpu_isa_find(ISA_SCALAR, DTYPE_F32), 4, 3, 33, quick ? 3 : 1, teams);
    check_cells(wide, 2, 70, 32, 7, teams);
    check_cells(wide, quick ? 2 : 3, 5, 133, 7, teams);
    team_free(teams[0]);
    team_free(teams[1]);
    return check_finish("test_rnn");
}
