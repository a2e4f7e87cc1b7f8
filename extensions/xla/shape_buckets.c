/* Lowers plans for all devices, and creates programs on demand (shape_buckets.h). */
#include "extensions/xla/shape_buckets.h"
#include "base/memory.h"
#include <string.h>

/* ---- choosing a bucket ------------------------------------------------------------------ */

static uint32_t halved(uint32_t n, int level) { return (n + (1u << level) - 1) >> level; }

/* Returns the steps of a level. Segments of time (checkpoints) are made for one number of steps. */
static uint32_t capacity_of_steps(const struct plan *p, int level)
{
    return p->config.lengths && !p->config.checkpoint ? halved(p->config.T, level) : p->config.T;
}

/* Returns the rows of a level, at least one for each device along the batch. Rows that do not run keep their states,
 * so all rows run if a caller could read these. */
static uint32_t capacity_of_rows(const struct plan *p, const int mesh[M_N], int level)
{
    bool looks = p->config.mode == MODE_INFER || p->config.mode == MODE_MODULE || p->config.stateful;
    uint32_t each = (uint32_t)mesh[M_BATCH], rows = halved(p->config.B, level);
    if (!p->config.lengths || looks || p->config.shards > 1)
        return p->config.B;
    return (rows + each - 1) / each * each < p->config.B ? (rows + each - 1) / each * each : p->config.B;
}

int shape_bucket_for(const struct plan *p, const int mesh[M_N], uint32_t steps, uint32_t rows)
{
    int by_steps = 0, by_rows = 0;
    while (by_steps + 1 < STEP_LEVELS && capacity_of_steps(p, by_steps + 1) >= steps &&
           capacity_of_steps(p, by_steps + 1) < capacity_of_steps(p, by_steps))
        by_steps++;
    while (by_rows + 1 < ROW_LEVELS && capacity_of_rows(p, mesh, by_rows + 1) >= rows &&
           capacity_of_rows(p, mesh, by_rows + 1) < capacity_of_rows(p, mesh, by_rows))
        by_rows++;
    return by_steps * ROW_LEVELS + by_rows;
}

/* ---- plans ----------------------------------------------------------------------------- */

static unroll_status lower_all(struct shape_bucket *b, const struct plan *host, const int mesh[M_N], int number)
{
    struct plan_config c = host->config;
    c.T = capacity_of_steps(host, number / ROW_LEVELS);
    c.B = capacity_of_rows(host, mesh, number % ROW_LEVELS);
    c.chunks = c.T < host->config.T ? 1 : c.chunks;
    if (plan_ranks(host) > 1) /* already the part of a rank */
        return plan_new(host->model, &c, &b->plan[0]);
    memcpy(c.mesh, mesh, sizeof c.mesh);
    for (int r = 0; r < b->mesh.devices; r++) {
        for (int m = M_N, rest = r; m-- > 0; rest /= mesh[m]) c.at[m] = rest % mesh[m];
        TRY(plan_new(host->model, &c, &b->plan[r]));
    }
    return check_alike(b->mesh);
}

static unroll_status find_locations(struct shape_bucket *b, const struct plan *host, struct location *const *location)
{
    const struct plan *p = b->plan[0];
    size_t n = (size_t)p->buffers;
    TRY(ALLOCATE(b->form, n, "for an XLA program's buffers"));
    TRY(ALLOCATE(b->location, n, "for an XLA program's buffers"));
    TRY(ALLOCATE(b->extra, n, "for an XLA program's buffers"));
    for (int i = 0; i < p->buffers; i++) {
        int known = plan_find_buffer(host, p->buffer[i].name);
        if (p->buffer[i].segment == SEG_SCRATCH)
            continue;
        TRY(form_new(b->mesh, i, known >= 0 ? &host->buffer[known] : NULL, &b->form[i]));
        b->extra[i] = location_of(&p->buffer[i]);
        b->location[i] = known >= 0 && location[known] ? location[known] : &b->extra[i];
    }
    return UNROLL_OK;
}

static unroll_status fill_shape_bucket(struct shape_bucket *b, const struct plan *host, const int mesh[M_N], int number,
                                       struct location *const *location)
{
    int devices = 1;
    for (int m = 0; m < M_N; m++) devices *= mesh[m];
    TRY(ALLOCATE(b->plan, (size_t)devices, "for the plans of %d devices", devices));
    b->mesh = (struct mesh_plans){(const struct plan *const *)b->plan, devices, 0};
    TRY(lower_all(b, host, mesh, number));
    return find_locations(b, host, location);
}

unroll_status shape_bucket_new(const struct plan *host, const int mesh[M_N], int number,
                               struct location *const *location, struct shape_bucket **shape_bucket)
{
    struct shape_bucket *b;
    TRY(ALLOCATE(b, 1, "for an XLA program"));
    unroll_status status = fill_shape_bucket(b, host, mesh, number, location);
    if (status != UNROLL_OK) {
        shape_bucket_free(b, NULL);
        return status;
    }
    *shape_bucket = b;
    return UNROLL_OK;
}

static void free_program(struct program *p, struct xla_plugin *plugin, int devices)
{
    for (int r = 0; p->given_rows && r < devices; r++)
        for (int i = 0; i < p->owned; i++) xla_buffer_free(plugin, p->given_rows[r][p->argument.count + i]);
    release(p->argument.buffer);
    release(p->result.buffer);
    release(p->lost.buffer);
    release(p->given);
    release(p->given_rows);
    release(p->given_back);
    release(p->given_back_rows);
    *p = (struct program){0};
}

void shape_bucket_free(struct shape_bucket *b, struct xla_plugin *plugin)
{
    if (!b)
        return;
    for (int i = 0; i < PHASE_N * PHASE_N; i++)
        free_program(&b->program[i / PHASE_N][i % PHASE_N], plugin, b->mesh.devices);
    for (struct range_program *r = b->ranges, *next; r; r = next) {
        next = r->next;
        free_program(&r->program, plugin, b->mesh.devices);
        release(r);
    }
    for (int i = 0; b->extra && b->form && b->plan[0] && i < b->plan[0]->buffers; i++) {
        location_leave(&b->extra[i], plugin);
        release(b->form[i].shard);
    }
    release(b->form);
    release(b->location);
    release(b->extra);
    for (int r = 0; b->plan && r < b->mesh.devices; r++) plan_free(b->plan[r]);
    release(b->plan);
    release(b);
}

/* ---- programs -------------------------------------------------------------------------- */

static bool is_in(const struct program_buffers *list, int buffer)
{
    for (int i = 0; i < list->count; i++)
        if (list->buffer[i] == buffer)
            return true;
    return false;
}

static unroll_status make_rows(pjrt_buffer ***all, pjrt_buffer ****rows, int devices, int count)
{
    size_t n = (size_t)devices, m = (size_t)count;
    TRY(ALLOCATE(*all, n * m, "for an XLA program's buffers"));
    TRY(ALLOCATE(*rows, n, "for an XLA program's buffers"));
    for (size_t r = 0; r < n; r++) (*rows)[r] = *all + r * m;
    return UNROLL_OK;
}

static unroll_status make_lists(struct shape_bucket *b, struct program *p, struct translation *t)
{
    p->argument = t->argument;
    p->result = t->result;
    t->argument.buffer = t->result.buffer = NULL;
    TRY(ALLOCATE(p->lost.buffer, (size_t)b->plan[0]->buffers, "for an XLA program's buffers"));
    for (int i = 0; i < b->plan[0]->buffers && !t->end; i++) /* in a range they keep their memory */
        if (b->plan[0]->buffer[i].segment == SEG_STEP && is_written_in(b->plan[0], t->first, t->last, i) &&
            !is_in(&p->result, i))
            p->lost.buffer[p->lost.count++] = i;
    p->owned = t->owned;
    TRY(make_rows(&p->given, &p->given_rows, b->mesh.devices, p->argument.count + p->owned));
    return make_rows(&p->given_back, &p->given_back_rows, b->mesh.devices, p->result.count);
}

static unroll_status give_own(struct program *p, struct xla_plugin *plugin, int devices, const struct translation *t)
{
    for (int r = 0; r < devices; r++)
        for (int i = 0; i < t->owned; i++)
            TRY(xla_upload(plugin, r, PJRT_S32, NULL, 0, &t->own[i].of[r], &p->given_rows[r][p->argument.count + i]));
    return UNROLL_OK;
}

static const char *name_of(enum phase first, enum phase last)
{
    static const char *const names[] = {
#define PHASE_NAME(NAME, name) #name,
        PHASES(PHASE_NAME)
#undef PHASE_NAME
    };
    return first == last ? names[first] : first == PHASE_FORWARD && last == PHASE_UPDATE ? "step" : "parts";
}

/* Compiles the translated text, and frees it. */
static unroll_status make_program(struct shape_bucket *b, struct xla_plugin *plugin, struct program *p,
                                  struct translation *t, unroll_status status)
{
    if (status == UNROLL_OK && t->h.size) {
        status = xla_compile(plugin, t->h.text, t->h.size, b->mesh.devices, &p->executable);
        if (status == UNROLL_OK)
            status = make_lists(b, p, t);
        if (status == UNROLL_OK)
            status = give_own(p, plugin, b->mesh.devices, t);
    }
    translation_free(t);
    if (status != UNROLL_OK)
        free_program(p, plugin, b->mesh.devices);
    else
        p->made = true;
    return status;
}

unroll_status shape_bucket_program(struct shape_bucket *b, struct xla_plugin *plugin, enum phase first, enum phase last,
                                   struct program **program)
{
    struct program *p = *program = &b->program[first][last];
    struct translation t;
    if (p->made)
        return UNROLL_OK;
    unroll_status status = translate_phases(b->mesh, first, last, name_of(first, last), &t);
    return make_program(b, plugin, p, &t, status);
}

unroll_status shape_bucket_range(struct shape_bucket *b, struct xla_plugin *plugin, enum phase phase, int from, int end,
                                 struct program **program)
{
    struct range_program *r = b->ranges;
    struct translation t;
    while (r && (r->phase != phase || r->from != from || r->end != end)) r = r->next;
    if (!r) {
        TRY(ALLOCATE(r, 1, "for an XLA program"));
        *r = (struct range_program){.next = b->ranges, .phase = phase, .from = from, .end = end};
        b->ranges = r;
    }
    *program = &r->program;
    if (r->program.made)
        return UNROLL_OK;
    unroll_status status = translate_range(b->mesh, phase, from, end, "range", &t);
    return make_program(b, plugin, &r->program, &t, status);
}
