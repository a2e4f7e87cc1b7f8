/* DLPack's structs, written from its specification (dmlc.github.io/dlpack), versions 0 and 1: how programs share arrays
 * without a copy. Only what a CPU needs. */
#ifndef DLPACK_H
#define DLPACK_H
#include <stdint.h>

enum { DLPACK_CPU = 1, DLPACK_READ_ONLY = 1 };
enum { DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_FLOAT = 2, DLPACK_BOOL = 6 };

struct dlpack_device { int32_t type, index; };
struct dlpack_dtype { uint8_t code, bits; uint16_t lanes; };

struct dlpack_tensor {
    void                *data;
    struct dlpack_device device;
    int32_t              rank;
    struct dlpack_dtype  dtype;
    int64_t             *shape, *strides;       /* strides in elements; NULL: row-major */
    uint64_t             byte_offset;
};

/* Capsules named "dltensor". */
struct dlpack_managed {
    struct dlpack_tensor tensor;
    void                *owner;
    void               (*deleter)(struct dlpack_managed *);
};

/* Capsules named "dltensor_versioned". */
struct dlpack_versioned {
    struct { uint32_t major, minor; } version;
    void                *owner;
    void               (*deleter)(struct dlpack_versioned *);
    uint64_t             flags;
    struct dlpack_tensor tensor;
};

/* Functions of a type, in the capsule "dlpack_exchange_api" of its attribute __dlpack_c_exchange_api__. */
struct dlpack_exchange {
    struct { uint32_t major, minor; } version;
    const struct dlpack_exchange *previous;
    void (*allocate)(void), (*from_object)(void), (*to_object)(void);   /* not used */
    int (*describe)(void *object, struct dlpack_tensor *); /* valid while the object lives; -1: an exception is set */
};

#endif
