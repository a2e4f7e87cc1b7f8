/* Sends the codes of all matrices of a rank as one message to each other member of its group, and sums them. */
#include "extensions/cluster/compress/codes.h"
#include "base/memory.h"
#include <string.h>

/* A message, preceded by its size: the values sent uncompressed; then for each matrix the size of its code, and the
 * code. */
enum { TAG_SIZE = TAG_POLICY | 1, TAG_CODE };
enum { HEAD = CODES_EXACT * sizeof(double) };

static struct matrix matrix_of(const struct share *share, double level)
{
    return (struct matrix){share->rows, share->columns, level};
}

double codes_bytes(const struct compressor *c, double level, const struct update_vector *v)
{
    double bytes = HEAD + sizeof(uint64_t);
    for (int i = 0; i < v->shares; i++) {
        struct matrix m = matrix_of(&v->share[i], level);
        bytes += sizeof(uint32_t) + (double)c->most(&m);
    }
    return bytes * (v->workers - 1);
}

static int levels_of(int members)
{
    int levels = 1;
    while (members >> levels) levels++;
    return levels;
}

/* Allocates the buffers for the codes of all shares, for the sums, and for the residual if the codes lose anything. */
static unroll_status open_codes(struct exchange *e, double level, struct codes *c)
{
    size_t scratch = 1;
    TRY(ALLOCATE(c->matrix, (size_t)e->vector.shares, "for codes"));
    c->most = HEAD;
    for (int i = 0; i < e->vector.shares; i++) {
        const struct matrix m = c->matrix[i] = matrix_of(&e->vector.share[i], level);
        const size_t wanted = c->compressor->scratch ? c->compressor->scratch(&m) : 0;
        scratch = wanted > scratch ? wanted : scratch;
        c->most += sizeof(uint32_t) + c->compressor->most(&m);
    }
    TRY(ALLOCATE(c->out, c->most, "for codes"));
    TRY(ALLOCATE(c->in, c->most, "for codes"));
    c->scratch = allocate_zeroed(1, scratch);
    c->levels = levels_of(e->vector.workers);
    TRY(ALLOCATE(c->level, (size_t)c->levels, "for sums of codes"));
    for (int i = 0; i < c->levels; i++) TRY(ALLOCATE(c->level[i], e->vector.count, "for sums of codes"));
    if (!c->scratch)
        return fail(UNROLL_RESOURCE, "no memory to make codes");
    return c->compressor->loses ? exchange_keep(e, "residual", KEPT_SUMMED, &c->residual) : UNROLL_OK;
}

unroll_status codes_new(struct exchange *e, const struct compressor *compressor, double level, struct codes **codes)
{
    TRY(ALLOCATE(*codes, 1, "for codes"));
    (*codes)->compressor = compressor;
    return open_codes(e, level, *codes);
}

void codes_free(struct codes *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->levels && c->level; i++) release(c->level[i]);
    release(c->level);
    release(c->scratch);
    release(c->in);
    release(c->out);
    release(c->matrix);
    release(c);
}

/* Adds the values of a message for all matrices. */
static unroll_status decode(const struct exchange *e, const unsigned char *from, size_t bytes, float factor, float *to)
{
    struct codes *c = e->codes;
    const unsigned char *end = from + bytes;
    uint32_t size;
    from += HEAD;
    for (int i = 0; i < e->vector.shares; i++, from += size) {
        if (end < from || (size_t)(end - from) < sizeof size)
            break;
        memcpy(&size, from, sizeof size);
        from += sizeof size;
        if (size > (size_t)(end - from) ||
            !c->compressor->decode(&c->matrix[i], from, size, factor, c->scratch, to + e->vector.share[i].first))
            break;
        if (i + 1 == e->vector.shares && from + size == end)
            return UNROLL_OK;
    }
    return fail(UNROLL_COMMUNICATION,
                "a code of %zu bytes that is none; fix: start all ranks with the same program and "
                "options",
                bytes);
}

static unroll_status send_all(struct exchange *e)
{
    struct codes *c = e->codes;
    const uint64_t bytes = c->sent;
    for (int i = 0; i < e->vector.workers; i++)
        if (i != e->vector.worker) {
            TRY(comm_send(e->comm, e->vector.rank[i], TAG_SIZE, &bytes, sizeof bytes));
            TRY(comm_send(e->comm, e->vector.rank[i], TAG_CODE, c->out, c->sent));
        }
    return UNROLL_OK;
}

unroll_status codes_begin(struct exchange *e, const float *numbers, const double exact[CODES_EXACT])
{
    struct codes *c = e->codes;
    float *x = c->residual ? c->residual : c->level[0];
    unsigned char *to = c->out + HEAD;
    memcpy(c->out, exact, HEAD);
    for (size_t i = 0; i < e->vector.count; i++) x[i] = c->residual ? x[i] + numbers[i] : numbers[i];
    for (int i = 0; i < e->vector.shares; i++) {
        const uint32_t size =
            (uint32_t)c->compressor->encode(&c->matrix[i], x + e->vector.share[i].first, c->scratch, to + sizeof size);
        memcpy(to, &size, sizeof size);
        to += sizeof size + size;
    }
    c->sent = (size_t)(to - c->out);
    if (c->residual)
        TRY(decode(e, c->out, c->sent, -1, c->residual));
    e->sums = true;
    return send_all(e);
}

/* Returns the next member's message: its own, or one that it receives. */
static unroll_status take(struct exchange *e, int member, const unsigned char **message, size_t *bytes)
{
    struct codes *c = e->codes;
    uint64_t size = c->sent;
    *message = member == e->vector.worker ? c->out : c->in;
    if (member != e->vector.worker) {
        TRY(comm_recv(e->comm, e->vector.rank[member], TAG_SIZE, &size, sizeof size));
        if (size < HEAD || size > c->most)
            return fail(UNROLL_COMMUNICATION,
                        "a code of %llu bytes, where %zu are the most; fix: start all ranks with "
                        "the same program and options",
                        (unsigned long long)size, c->most);
        TRY(comm_recv(e->comm, e->vector.rank[member], TAG_CODE, c->in, (size_t)size));
    }
    *bytes = (size_t)size;
    return UNROLL_OK;
}

static void add(float *restrict to, const float *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] += from[i];
}

/* Sums pairs 2k and 2k + 1, then pairs of those, and so on: level[i] is in use if bit i of the number of members so
 * far is 1. */
static unroll_status add_member(struct exchange *e, int member, double exact[CODES_EXACT], float **top)
{
    struct codes *c = e->codes;
    const unsigned char *message;
    size_t bytes;
    double more[CODES_EXACT];
    int level = 0;
    TRY(take(e, member, &message, &bytes));
    memcpy(more, message, HEAD);
    for (int i = 0; i < CODES_EXACT; i++) exact[i] += more[i];
    memset(*top, 0, e->vector.count * sizeof **top);
    TRY(decode(e, message, bytes, 1, *top));
    for (; member >> level & 1; level++) {
        add(c->level[level], *top, e->vector.count);
        float *free = *top;
        *top = c->level[level];
        c->level[level] = free;
    }
    float *free = c->level[level];
    c->level[level] = *top;
    *top = free;
    return UNROLL_OK;
}

unroll_status codes_end(struct exchange *e, float *numbers, double exact[CODES_EXACT])
{
    struct codes *c = e->codes;
    float *top = e->mean, *sum = NULL;
    unroll_status status = UNROLL_OK;
    e->sums = false;
    for (int i = 0; i < CODES_EXACT; i++) exact[i] = 0;
    for (int member = 0; member < e->vector.workers && status == UNROLL_OK; member++)
        status = add_member(e, member, exact, &top);
    e->mean = top; /* one of the vectors is free, whichever it is */
    for (int level = 0; level < c->levels && status == UNROLL_OK; level++)
        if (e->vector.workers >> level & 1) {
            if (sum)
                add(c->level[level], sum, e->vector.count);
            sum = c->level[level];
        }
    if (sum)
        memcpy(numbers, sum, e->vector.count * sizeof *numbers);
    return status;
}
