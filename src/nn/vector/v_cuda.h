/* V is one float in a CUDA thread, with the bits of v_f32.h. The _rn functions round according to IEEE 754 and are
 * never contracted, whatever flags nvcc gets (except -ftz=true). */
#if !defined __CUDACC__ && !defined GPU_ON_HOST
#error "v_cuda.h requires nvcc, or the tests that compile kernels for the host"
#endif

typedef float V, v_element;
#define V_WIDTH   1
#define CELL_CODE static __device__ __forceinline__

CELL_CODE V v_load(const float *p) { return *p; }
CELL_CODE void v_store(float *p, V a) { *p = a; }
CELL_CODE V v_load_some(const float *p, size_t n) { return n ? *p : 0; }
CELL_CODE void v_store_some(float *p, V a, size_t n)
{
    if (n)
        *p = a;
}
CELL_CODE V v_const(float c) { return c; }
CELL_CODE V v_add(V a, V b) { return __fadd_rn(a, b); }
CELL_CODE V v_sub(V a, V b) { return __fsub_rn(a, b); }
CELL_CODE V v_mul(V a, V b) { return __fmul_rn(a, b); }
CELL_CODE V v_div(V a, V b) { return __fdiv_rn(a, b); }
CELL_CODE V v_fma(V a, V b, V c) { return __fmaf_rn(a, b, c); }
CELL_CODE V v_fnma(V a, V b, V c) { return __fmaf_rn(-a, b, c); }
CELL_CODE V v_sqrt(V a) { return __fsqrt_rn(a); }
CELL_CODE V v_abs(V a) { return __int_as_float(__float_as_int(a) & 0x7fffffff); }
CELL_CODE V v_min(V a, V b) { return a < b ? a : b; }
CELL_CODE V v_max(V a, V b) { return a > b ? a : b; }
CELL_CODE V v_select_less(V a, V b, V yes, V no) { return a < b ? yes : no; }
CELL_CODE V v_exponent_of_low_bits(V t) { return __uint_as_float(__float_as_uint(t) << 23); }
CELL_CODE V v_low_bits_of_exponent(V a) { return __uint_as_float(__float_as_uint(a) >> 23 | 0x4b000000); }
CELL_CODE V v_mantissa(V a) { return __uint_as_float((__float_as_uint(a) & 0x007fffff) | 0x3f800000); }

#include "nn/vector/v_math.h"
