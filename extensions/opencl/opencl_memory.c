/* Memory of an OpenCL device: one buffer object with offsets as addresses, because kernels of OpenCL 1.2 can only
 * follow pointers passed as arguments. If it is full, a larger object is made and the old one copied. Sessions
 * allocate when they are created, so this happens rarely. Address 0 is none. */
#include "base/memory.h"
#include "extensions/opencl/opencl_context.h"

enum { ALIGNMENT = 256 };

static const char taking[] = "taking memory";

/* ---- blocks ------------------------------------------------------------------------------- */

static struct opencl_block *new_block(struct opencl_block **where, uint64_t at, uint64_t bytes, bool used)
{
    struct opencl_block *b = allocate_zeroed(1, sizeof *b);
    if (!b)
        return NULL;
    *b = (struct opencl_block){*where, at, bytes, used};
    return *where = b;
}

/* Returns the first free block that is large enough, cut to size; NULL: none, or no memory for the list. */
static struct opencl_block *find_room(struct opencl_heap *h, uint64_t bytes)
{
    struct opencl_block *b = h->first;
    while (b && (b->used || b->bytes < bytes)) b = b->next;
    if (!b)
        return NULL;
    if (b->bytes > bytes) {
        if (!new_block(&b->next, b->at + bytes, b->bytes - bytes, false))
            return NULL;
        b->bytes = bytes;
    }
    b->used = true;
    return b;
}

/* Merges adjacent free blocks. */
static void merge(struct opencl_heap *h)
{
    for (struct opencl_block *b = h->first; b;) {
        struct opencl_block *next = b->next;
        if (!next || b->used || next->used) {
            b = next;
            continue;
        }
        b->bytes += next->bytes;
        b->next = next->next;
        release(next);
    }
}

/* ---- the buffer object -------------------------------------------------------------------- */

static unroll_status finish_all(const struct opencl_context *c)
{
    for (int i = 0; i < c->queues; i++) TRY(opencl_check(cl.clFinish(c->queue[i]), "waiting for the device"));
    return UNROLL_OK;
}

static unroll_status refuse_bytes(const struct opencl_context *c, uint64_t bytes, uint64_t whole, const char *what,
                                  const char *fix)
{
    return fail(UNROLL_RESOURCE,
                "device opencl:%d has no memory for %.1f MB of %s: with them %.1f MB would be one piece, of which it "
                "gives at most %.1f MB; fix: %s",
                c->gpu.index, (double)bytes / 1e6, what, (double)whole / 1e6, (double)c->piece_max / 1e6, fix);
}

/* Copies the contents of the old object to the new one. */
static unroll_status move_to(struct opencl_context *c, cl_mem memory)
{
    struct opencl_heap *h = &c->heap;
    if (!h->memory)
        return UNROLL_OK;
    TRY(finish_all(c));
    TRY(opencl_check(cl.clEnqueueCopyBuffer(c->queue[0], h->memory, memory, 0, 0, h->bytes, 0, NULL, NULL), taking));
    TRY(opencl_check(cl.clFinish(c->queue[0]), taking));
    (void)cl.clReleaseMemObject(h->memory);
    return UNROLL_OK;
}

/* Adds room for `bytes` bytes at the end. */
static unroll_status grow(struct opencl_context *c, uint64_t bytes, const char *what, const char *fix)
{
    struct opencl_heap *h = &c->heap;
    struct opencl_block **last = &h->first;
    while (*last && (*last)->next) last = &(*last)->next;
    const uint64_t free_at_end = *last && !(*last)->used ? (*last)->bytes : 0;
    const uint64_t begin = h->bytes ? h->bytes : ALIGNMENT, whole = begin + bytes - free_at_end;
    cl_int result;
    if (whole > c->piece_max)
        return refuse_bytes(c, bytes, whole, what, fix);
    cl_mem memory = cl.clCreateBuffer(c->context, OPENCL_MEM_READ_WRITE, whole, NULL, &result);
    if (result == OPENCL_MEM_OBJECT_ALLOCATION_FAILURE || result == OPENCL_INVALID_BUFFER_SIZE)
        return refuse_bytes(c, bytes, whole, what, fix);
    TRY(opencl_check(result, taking));
    unroll_status status = move_to(c, memory);
    if (status != UNROLL_OK) {
        (void)cl.clReleaseMemObject(memory);
        return status;
    }
    h->memory = memory;
    h->bytes = whole;
    if (!new_block(*last ? &(*last)->next : last, begin, whole - begin, false))
        return fail(UNROLL_RESOURCE, "no memory for the list of memory of a device");
    merge(h);
    return UNROLL_OK;
}

static unroll_status clear(struct opencl_context *c, const struct opencl_block *b)
{
    const cl_uint zero = 0;
    TRY(opencl_check(
        cl.clEnqueueFillBuffer(c->queue[0], c->heap.memory, &zero, sizeof zero, b->at, b->bytes, 0, NULL, NULL),
        "clearing memory"));
    return opencl_check(cl.clFinish(c->queue[0]), "clearing memory");
}

unroll_status opencl_take(struct opencl_context *c, uint64_t bytes, const char *what, const char *fix, gpu_address *at)
{
    const uint64_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *at = 0;
    if (!bytes)
        return UNROLL_OK;
    struct opencl_block *b = find_room(&c->heap, whole);
    if (!b) {
        TRY(grow(c, whole, what, fix));
        b = find_room(&c->heap, whole);
    }
    if (!b)
        return fail(UNROLL_RESOURCE, "no memory for the list of memory of a device");
    unroll_status status = clear(c, b);
    if (status != UNROLL_OK)
        b->used = false;
    else
        *at = b->at;
    return status;
}

void opencl_give(struct opencl_context *c, gpu_address at)
{
    struct opencl_heap *h = &c->heap;
    for (struct opencl_block *b = h->first; b; b = b->next)
        if (b->at == at)
            b->used = false;
    merge(h);
    if (!h->first || h->first->used || h->first->next)
        return;
    (void)finish_all(c); /* nothing is allocated: the object is freed */
    (void)cl.clReleaseMemObject(h->memory);
    release(h->first);
    *h = (struct opencl_heap){0};
}
