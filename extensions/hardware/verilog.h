/* Shared by the printers of hardware files. verilog.c assembles the files; hardware.h builds the tables. */
#ifndef EXPORT_VERILOG_H
#define EXPORT_VERILOG_H
#include "extensions/hardware/hardware.h"
#include "unroll_advanced.h"
#include <stdio.h>

enum { VERILOG_PREFIX = 32 };

struct verilog_report;

struct verilog {
    const struct hardware *h;
    const char *prefix;         /* of the module and all files */
    const char *target, *store; /* names from the tables in verilog.c */
    const char *directory;
    struct unroll_integer *reference;
    const struct calibration_data *calibration; /* source of the test's inputs; NULL: noise */
    int steps;                                  /* steps of the test's vectors */
    struct verilog_report *report;              /* filled by verilog_count, before it is printed */
};

/* A word of a table file, assembled from fields; files have hexadecimal words. */
struct bits {
    uint8_t bit[512];
    int count;
};
static inline void bits_put(struct bits *b, int64_t value, int width)
{
    for (int i = 0; i < width; i++) b->bit[b->count++] = (uint8_t)((uint64_t)value >> (i < 63 ? i : 63) & 1);
}

/* Printers of the texts. */
void print_verilog_top(FILE *, const struct verilog *); /* verilog_tables.c */
void print_verilog_table(FILE *, const struct verilog *, const char *name);
extern const char *const verilog_tables[]; /* names of tables, terminated by NULL */
bool verilog_has_table(const struct verilog *, const char *name);
void print_verilog_bench(FILE *, const struct verilog *); /* verilog_bench.c: the test, its vectors, the Makefile */
void print_verilog_makefile(FILE *, const struct verilog *);
unroll_status print_verilog_vectors(FILE *x, FILE *y, const struct verilog *);

enum { VERILOG_MEMORIES = 24 };
struct verilog_memory {
    const char *name;
    uint64_t words;
    int bits;      /* per word */
    bool is_table; /* read only */
};
int verilog_memories(const struct verilog *, struct verilog_memory list[VERILOG_MEMORIES]); /* returns the count */

/* Resources and speed, estimated before any synthesis (verilog_report.c). */
struct verilog_report {
    uint64_t macs, memory_bits;
    double clocks, busy, latency; /* per step; clocks in which the lanes multiply; from x to y */
    int dsps, blocks;             /* block RAMs of the target's size */
    double luts, flip_flops;      /* 0: not estimated */
    double megahertz;             /* assumed for the target */
    double nanojoules;            /* assumed, per step */
    struct integer_cost cost;     /* from the calibration; 0 steps: none */
};
void verilog_estimate(const struct verilog *,
                      struct verilog_report *); /* verilog_estimate.c: blocks, luts, flip_flops */
unroll_status verilog_count(const struct verilog *, struct verilog_report *);
/* Returns the lanes for which the target's chip has DSPs, after those of the rest of the core. */
int verilog_most_lanes(const struct program *, const char *target);
void print_verilog_report(FILE *, const struct verilog *); /* report.json */
void tell_verilog_report(const struct verilog *, const unroll_export_config *);

/* Writes DIRECTORY/PREFIX.v and all files that it needs; verilog_count must be called before. */
unroll_status verilog_write(const struct verilog *);

#endif
