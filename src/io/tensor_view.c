/* Sizes of arrays in files, and conversion of their elements. The formats fill in the views. */
#include "io/tensor_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

bool tensor_view_bytes(const struct tensor_view *tensor, uint64_t *bytes)
{
    uint64_t product = dtype_size(tensor->dtype);
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] > INT64_MAX || __builtin_mul_overflow(product, tensor->shape[i], &product))
            return false;
    *bytes = product;
    return true;
}

/* A separate loop for each type, because arrays may have millions of numbers. */
#define EACH(type, value)                                           \
    for (size_t i = 0; i < count; i++) {                            \
        type x;                                                     \
        memcpy(&x, (const char *)from + i * sizeof x, sizeof x);    \
        to[i] = (double)(value);                                    \
    }                                                               \
    break

void doubles_of(enum dtype dtype, const void *from, double *to, size_t count)
{
    switch (dtype) {
    case DTYPE_F64: EACH(double, x);
    case DTYPE_F32: EACH(float, x);
    case DTYPE_F16: EACH(uint16_t, f16_to_f32(x));
    case DTYPE_BF16: EACH(uint16_t, bf16_to_f32(x));
    case DTYPE_I64: EACH(int64_t, x);
    case DTYPE_I32: EACH(int32_t, x);
    case DTYPE_I16: EACH(int16_t, x);
    case DTYPE_I8: EACH(int8_t, x);
    case DTYPE_U64: EACH(uint64_t, x);
    case DTYPE_U32: EACH(uint32_t, x);
    case DTYPE_U16: EACH(uint16_t, x);
    case DTYPE_U8: EACH(uint8_t, x);
    case DTYPE_BOOL: EACH(uint8_t, x != 0);
    case DTYPE_COUNT: break;
    }
}

static double element(const struct tensor_view *tensor, uint64_t i)
{
    double value = NAN;
    doubles_of(tensor->dtype, (const char *)tensor->data + i * dtype_size(tensor->dtype), &value, 1);
    return value;
}

unroll_status tensor_view_to_floats(const struct tensor_view *tensor, float *to)
{
    uint64_t count = tensor_view_count(tensor);
    if (tensor->dtype == DTYPE_F32) {
        memcpy(to, tensor->data, tensor->bytes);
        return UNROLL_OK;
    }
    for (uint64_t i = 0; i < count; i++) {
        double value = element(tensor, i);
        to[i] = (float)value;
        if (isinf(to[i]) && !isinf(value))
            return fail(UNROLL_DATA,
                        "tensor '%.160s': value %" PRIu64 " is %g, too large for a float; fix: save it with values "
                        "that fit",
                        tensor->name, i, value);
    }
    return UNROLL_OK;
}

bool dtype_is_whole(enum dtype dtype)
{
    return dtype != DTYPE_F64 && dtype != DTYPE_F32 && dtype != DTYPE_F16 && dtype != DTYPE_BF16;
}

unroll_status tensor_view_to_integers(const struct tensor_view *tensor, int32_t *to)
{
    uint64_t count = tensor_view_count(tensor);
    if (!dtype_is_whole(tensor->dtype))
        return fail(UNROLL_DATA, "tensor '%.160s' holds %s; it must hold integers; fix: save it as integers",
                    tensor->name, dtype_name(tensor->dtype));
    for (uint64_t i = 0; i < count; i++) {
        double value = element(tensor, i);
        if (!(value >= INT32_MIN && value <= INT32_MAX))
            return fail(UNROLL_DATA,
                        "tensor '%.160s': value %" PRIu64 " is %.0f, more than 32 bits; fix: save it with values "
                        "that fit",
                        tensor->name, i, value);
        to[i] = (int32_t)value;
    }
    return UNROLL_OK;
}

uint64_t tensor_view_count(const struct tensor_view *tensor) { return tensor->bytes / dtype_size(tensor->dtype); }

const char *tensor_view_shape(const struct tensor_view *tensor, char text[SHAPE_TEXT])
{
    size_t used = (size_t)snprintf(text, SHAPE_TEXT, "[");
    for (int i = 0; i < tensor->rank; i++)
        used += (size_t)snprintf(text + used, SHAPE_TEXT - used, "%s%" PRIu64, i ? ", " : "", tensor->shape[i]);
    snprintf(text + used, SHAPE_TEXT - used, "]");
    return text;
}
