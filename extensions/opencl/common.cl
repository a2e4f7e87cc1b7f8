/* The words of the kernels in extensions/gpu/kernels (places.inc), in OpenCL C 1.2: an item handles a part of a row, or
 * a whole row. Before this come WIDTH, GROUP and similar macros, and the structs of gpu_kernels.h, whose addresses are
 * offsets into the device's only buffer m; 0 is no address. */
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL(name, type) \
    kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void name(global char *restrict m, type a)
#define CODE       static
#define GLOBAL     global
#define MEMORY     m,
#define MEMORY_ARG global char *m,
#define FLOATS(at) ((global float *)(m + (at)))
#define INTS(at)   ((global int *)(m + (at)))
#define UINTS(at)  ((global uint *)(m + (at)))
#define BYTES(at)  ((global uchar *)(m + (at)))
#define LONGS(at)  ((global long *)(m + (at)))
#define TABLE(type, at, i) (((global const struct type *)(m + (at)))[i])

#define ITEM       ((ulong)get_global_id(0))
#define BLOCK      get_group_id(0)
#define THREAD     get_local_id(0)
#define THREADS    GROUP
#define EACH(i, p) for (uint i = (p).first; i < (p).end; i++)

#define TEAM            ITEM
#define MEMBER          0
#define MEMBERS         1
#define TEAM_EACH(i, n) for (uint i = 0; i < (n); i++)
#define team_sum(v)     (v)

/* Products round their operands themselves. */
#define LOWP 0
#define keep_lowp(to, field, row, unit, number)
#define unscaled(rates, factor) (factor)

#define PASTE2(a, b)  a##b
#define PASTE(a, b)   PASTE2(a, b)
#define LOAD_1(p)     (*(p))
#define STORE_1(v, p) (*(p) = (v))
#if WIDTH == 1
#define VECTOR float
#else
#define VECTOR PASTE(float, WIDTH)
#endif
#define LOAD_PART(p)     PASTE(LOAD_, WIDTH)(p)
#define STORE_PART(v, p) PASTE(STORE_, WIDTH)(v, p)
#define VALUE_OF         PASTE(value_, WIDTH)

/* Fields of a cell in backward: the states that left the step, and the gradients of the states after it. */
#define LEFT(i) ((i) == 0 ? FIELD(a.y, 0, row, unit) : FIELD(a.s, (i) - 1, row, unit))
#define D_NEXT(load, i)                                                                                          \
    ((i) == 0 && a.dy && !a.projected                                                                            \
         ? load(FIELD(a.d_state, i, row, unit)) + load(FLOATS(a.dy) + row * a.dy_row + unit)                     \
         : load(FIELD(a.d_state, i, row, unit)))
