/* See stopped.h. */
#include "extensions/cuda/stopped.h"
#include "extensions/cuda/driver.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { KERNELS = 64, NAME = 64 };

/* Launches that may stop, by number from 1; different ones beyond the last share its number. */
static struct launch {
    char kernel[NAME];
    enum gpu_operand operand;
    struct tiling tiling;
} launches[KERNELS];
static uint32_t count;
static struct wait_record *record;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unroll_status take_record(void)
{
    void *at;
    if (record)
        return UNROLL_OK;
    TRY(cuda_check(cu.cuMemHostAlloc(&at, sizeof *record, CU_HOST_MAPPED), "taking mapped memory"));
    memset(at, 0, sizeof *record);
    record = at;
    return UNROLL_OK;
}

static uint32_t number_of(const char *kernel, enum gpu_operand operand, const struct tiling *t)
{
    struct launch *l = launches;
    while (l < launches + count && (strcmp(l->kernel, kernel) || memcmp(&l->tiling, t, sizeof *t))) l++;
    if (l == launches + count && count < KERNELS)
        count++;
    else if (l == launches + count)
        l--;
    snprintf(l->kernel, sizeof l->kernel, "%s", kernel);
    l->operand = operand;
    l->tiling = *t;
    return (uint32_t)(l - launches) + 1;
}

unroll_status stopped_prepare(struct persistent_args *a, const char *kernel, enum gpu_operand operand)
{
    pthread_mutex_lock(&lock);
    unroll_status status = take_record();
    a->record = record;
    a->kernel = status == UNROLL_OK ? number_of(kernel, operand, &a->tiling) : 0;
    pthread_mutex_unlock(&lock);
    return status;
}

/* Describes the packet at an offset of the exchange: its row and the block that writes it. */
static void describe_packet(const struct tiling *t, enum gpu_operand operand, const struct wait_record *r, char *text,
                            size_t size)
{
    const struct tiling_product *p = &t->product[r->round % t->phases];
    const uint32_t buffer = r->at / t->operand_buffer, at = r->at % t->operand_buffer;
    const uint32_t chunk = buffer / t->ring, tile = at / (8 * p->operand_row), in = at % (8 * p->operand_row);
    const uint32_t value = in / TILING_COLUMN * TILING_PACKET / operand_bytes(operand);
    const uint32_t rank = value % (t->members * t->units) / t->units;
    snprintf(text, size, "row %u of chunk %u from block %u", tile * 8 + in % TILING_COLUMN / TILING_PACKET,
             chunk % t->chunks, r->block / t->cluster * t->cluster + rank);
}

void stopped_sentence(const struct tiling *t, const char *kernel, enum gpu_operand operand, const struct wait_record *r,
                      char *text, size_t size)
{
    char what[128];
    if (t->algorithm == ALGORITHM_GRID)
        describe_packet(t, operand, r, what, sizeof what);
    else
        snprintf(what, sizeof what, "the operand of chunk %u from its cluster", r->at);
    snprintf(text, size,
             "the kernel %s stopped: block %u (block %u of group %u) waited more than %d s in round %u for %s", kernel,
             r->block, r->block % t->cluster, r->block / t->cluster, WAIT_SECONDS, r->round, what);
}

bool stopped_describe(char *text, size_t size)
{
    pthread_mutex_lock(&lock);
    const struct wait_record r = record ? *(volatile struct wait_record *)record : (struct wait_record){0};
    const bool has = r.kernel > 0 && r.kernel <= count;
    if (has) {
        const struct launch *l = &launches[r.kernel - 1];
        stopped_sentence(&l->tiling, l->kernel, l->operand, &r, text, size);
    }
    pthread_mutex_unlock(&lock);
    return has;
}
