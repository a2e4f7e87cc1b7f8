/* V is one double with the C library's functions, for finite differences, not for training. Its bits are not a
 * reference. */
#include <math.h>
#include <stddef.h>

typedef double V, v_element;
#define V_WIDTH   1
#define CELL_CODE static inline __attribute__((always_inline, unused))

CELL_CODE V v_load(const double *p) { return *p; }
CELL_CODE void v_store(double *p, V a) { *p = a; }
CELL_CODE V v_load_some(const double *p, size_t n) { return n ? *p : 0; }
CELL_CODE void v_store_some(double *p, V a, size_t n)
{
    if (n)
        *p = a;
}
CELL_CODE V v_const(double c) { return c; }
CELL_CODE V v_add(V a, V b) { return a + b; }
CELL_CODE V v_sub(V a, V b) { return a - b; }
CELL_CODE V v_mul(V a, V b) { return a * b; }
CELL_CODE V v_div(V a, V b) { return a / b; }
CELL_CODE V v_fma(V a, V b, V c) { return a * b + c; }
CELL_CODE V v_sqrt(V a) { return sqrt(a); }
CELL_CODE V v_abs(V a) { return fabs(a); }
CELL_CODE V v_min(V a, V b) { return a < b ? a : b; }
CELL_CODE V v_max(V a, V b) { return a > b ? a : b; }
CELL_CODE V v_less(V a, V b) { return a < b; }
CELL_CODE V v_exp(V a) { return exp(a); }
CELL_CODE V v_log(V a) { return log(a); }
CELL_CODE V v_sigmoid(V a) { return 1 / (1 + exp(-a)); }
CELL_CODE V v_tanh(V a) { return tanh(a); }

#include "nn/vector/v_derived.h"
