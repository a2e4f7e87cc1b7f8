/* cuDNN as a peer of bench/gpu.py. Calls the RNN interface (version 8, in cuDNN 8.0 and newer) directly, in the
 * protocol of bench/peer.py. Each algorithm is tried, and the fastest counts. The driver and cuDNN are loaded at run
 * time. No NVIDIA header is needed: the constants and types below are taken from NVIDIA's documentation. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FLOAT = 0, HALF = 2, BFLOAT16 = 9 };             /* cudnnDataType_t */
enum { DEFAULT_MATH = 0, TENSOR_OP_MATH = 1, FMA_MATH = 3 };
enum { DOUBLE_BIAS = 2, LINEAR_INPUT = 0, SEQ_MAJOR_UNPACKED = 0, PADDED_IO = 1, ADD_GRADIENT = 0 };
enum { PERSIST_DYNAMIC = 2, ALGORITHMS = 4, MAX_RUNS = 100000 };
static const char *const algorithm_names[ALGORITHMS] = {"STANDARD", "PERSIST_STATIC", "PERSIST_DYNAMIC",
                                                        "PERSIST_STATIC_SMALL_H"};
typedef unsigned long long gpu;         /* CUdeviceptr, and cuDNN's device pointers, which have the same width */
typedef void *handle;

/* ---- functions of both libraries: result, name, parameters ---- */

#define DRIVER_FUNCTIONS(F)                                                             \
    F(cuInit, (unsigned)) F(cuDeviceGet, (int *, int)) F(cuDevicePrimaryCtxRetain, (handle *, int)) \
    F(cuCtxSetCurrent, (handle)) F(cuCtxSynchronize, (void)) F(cuMemAlloc_v2, (gpu *, size_t))      \
    F(cuMemcpyHtoD_v2, (gpu, const void *, size_t))                                     \
    F(cuMemsetD8Async, (gpu, unsigned char, size_t, handle))                            \
    F(cuEventCreate, (handle *, unsigned)) F(cuEventRecord, (handle, handle))           \
    F(cuEventSynchronize, (handle)) F(cuEventElapsedTime, (float *, handle, handle))
#define CUDNN_FUNCTIONS(F)                                                              \
    F(cudnnCreate, (handle *)) F(cudnnCreateRNNDescriptor, (handle *))                  \
    F(cudnnCreateRNNDataDescriptor, (handle *)) F(cudnnCreateTensorDescriptor, (handle *))          \
    F(cudnnCreateDropoutDescriptor, (handle *))                                         \
    F(cudnnSetDropoutDescriptor, (handle, handle, float, void *, size_t, unsigned long long))       \
    F(cudnnSetRNNDescriptor_v8, (handle, int algorithm, int cell, int bias, int direction, int input_mode,      \
        int data, int math_precision, int math, int32_t input, int32_t hidden, int32_t projection,  \
        int32_t layers, handle dropout, uint32_t flags))                                \
    F(cudnnSetRNNDataDescriptor, (handle, int type, int layout, int steps, int rows, int width, const int *, void *)) \
    F(cudnnSetTensorNdDescriptor, (handle, int type, int rank, const int *, const int *))           \
    F(cudnnBuildRNNDynamic, (handle, handle, int rows))                                 \
    F(cudnnGetRNNWeightSpaceSize, (handle, handle, size_t *))                           \
    F(cudnnGetRNNTempSpaceSizes, (handle, handle, int mode, handle, size_t *, size_t *)) \
    F(cudnnRNNForward, (handle, handle, int mode, const int32_t *, handle x_shape, gpu x, handle y_shape, gpu y,        \
        handle h_shape, gpu hx, gpu hy, handle c_shape, gpu cx, gpu cy, size_t, gpu weights, size_t, gpu work,  \
        size_t, gpu reserve))                                                           \
    F(cudnnRNNBackwardData_v8, (handle, handle, const int32_t *, handle y_shape, gpu y, gpu dy, handle x_shape, gpu dx, \
        handle h_shape, gpu hx, gpu dhy, gpu dhx, handle c_shape, gpu cx, gpu dcy, gpu dcx, size_t, gpu weights,        \
        size_t, gpu work, size_t, gpu reserve))                                         \
    F(cudnnRNNBackwardWeights_v8, (handle, handle, int add, const int32_t *, handle x_shape, gpu x, handle h_shape,     \
        gpu hx, handle y_shape, gpu y, size_t, gpu dweights, size_t, gpu work, size_t, gpu reserve))

#define DECLARE(name, parameters) static int (*name) parameters;
DRIVER_FUNCTIONS(DECLARE)
CUDNN_FUNCTIONS(DECLARE)
static size_t (*cudnnGetVersion)(void);

static char refusal[256];

/* Records a refusal: a sentence, or the source text of a call and its result. Returns -1. */
static int refuse(const char *what, int code)
{
    int length = (int)strcspn(what, "(");
    if (code)
        snprintf(refusal, sizeof refusal, "%.*s returned %d", length, what, code);
    else
        snprintf(refusal, sizeof refusal, "%.*s", length, what);
    return -1;
}

#define TRY(call)                                                       \
    do {                                                                \
        int code_ = (call);                                             \
        if (code_)                                                      \
            return code_ == -1 ? -1 : refuse(#call, code_);             \
    } while (0)

/* Copies the address of a symbol, because ISO C has no cast from an object pointer to a function pointer. */
static int find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol ? 0 : refuse(name, -1);
}

static int load(void)
{
    const char *file = getenv("CUDNN");
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    void *cudnn = driver ? dlopen(file ? file : "libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (!cudnn)
        return refuse(driver ? "libcudnn.so.9 was not found" : "there is no CUDA driver on this machine", 0);
#define FIND_IN_DRIVER(name, parameters) TRY(find(driver, #name, &name));
#define FIND_IN_CUDNN(name, parameters) TRY(find(cudnn, #name, &name));
    DRIVER_FUNCTIONS(FIND_IN_DRIVER)
    CUDNN_FUNCTIONS(FIND_IN_CUDNN)
    return find(cudnn, "cudnnGetVersion", &cudnnGetVersion);
}

/* ---- a network ---- */

struct network {
    char cell[16], purpose[16], dtype[16];
    int layers, steps, rows, input, hidden, directions, ragged;
    int type, math, algorithm;
    int *lengths;                       /* [rows] */
    handle cudnn, rnn, dropout, x_shape, y_shape, h_shape, begin, end;
    size_t weights_size, work_size, reserve_size;
    gpu x, dx, y, dy, hy, cy, dhx, dcx, weights, dweights, work, reserve, device_lengths;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 40;                /* 24 bits */
}

/* Draws lengths uniform in 1 .. steps, the same numbers as `unroll bench --ragged`. */
static void draw_lengths(struct network *n)
{
    uint64_t state = 2;
    for (int row = 0; row < n->rows; row++)
        n->lengths[row] = n->ragged ? 1 + (int)((double)next(&state) * 0x1p-24 * (n->steps - 1) + 0.5) : n->steps;
}

static size_t size_of(const struct network *n, size_t count)
{
    return count * (n->type == FLOAT ? 4 : 2);
}

/* Writes a number as fp32, bf16 (the upper half of a float) or fp16 (with a new exponent). All scales are between
 * 2^-13 and 2, so no fp16 overflows, and subnormal ones become zero. */
static void write_number(int type, float value, char *to)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 23 & 255) - 127 + 15;
    uint16_t half = (uint16_t)(bits >> 16);
    if (type == HALF)
        half = (uint16_t)((bits >> 16 & 0x8000) | (exponent > 0 ? (uint32_t)exponent << 10 | (bits >> 13 & 0x3ff) : 0));
    memcpy(to, type == FLOAT ? (void *)&bits : (void *)&half, type == FLOAT ? 4 : 2);
}

static int random_array(const struct network *n, size_t count, float scale, gpu *to)
{
    uint64_t state = 1;
    char *numbers = malloc(size_of(n, count));
    if (!numbers)
        return refuse("no memory", 0);
    for (size_t i = 0; i < count; i++)
        write_number(n->type, scale * ((float)next(&state) * 0x1p-23f - 1), numbers + size_of(n, i));
    int code = cuMemAlloc_v2(to, size_of(n, count));
    if (!code)
        code = cuMemcpyHtoD_v2(*to, numbers, size_of(n, count));
    free(numbers);
    return code ? refuse("no memory on the GPU", code) : 0;
}

static int mode_of(const char *cell)      /* cudnnRNNMode_t */
{
    return strcmp(cell, "lstm") == 0 ? 2 : strcmp(cell, "gru") == 0 ? 3 : strcmp(cell, "rnn") == 0 ? 1 : -1;
}

static int shape_data(const struct network *n, int width, handle *shape)
{
    TRY(cudnnCreateRNNDataDescriptor(shape));
    uint32_t zero = 0;
    TRY(cudnnSetRNNDataDescriptor(*shape, n->type, SEQ_MAJOR_UNPACKED, n->steps, n->rows, width, n->lengths, &zero));
    return 0;
}

/* Sets up everything that does not depend on the algorithm. */
static int describe(struct network *n)
{
    n->type = strcmp(n->dtype, "fp16") == 0 ? HALF : strcmp(n->dtype, "bf16") == 0 ? BFLOAT16 : FLOAT;
    n->math = n->type != FLOAT ? TENSOR_OP_MATH : strcmp(n->dtype, "tf32") == 0 ? DEFAULT_MATH : FMA_MATH;
    n->lengths = malloc((size_t)n->rows * sizeof *n->lengths);
    if (!n->lengths)
        return refuse("no memory", 0);
    draw_lengths(n);
    TRY(shape_data(n, n->input, &n->x_shape));
    TRY(shape_data(n, n->directions * n->hidden, &n->y_shape));
    const int sizes[] = {n->layers * n->directions, n->rows, n->hidden};
    const int strides[] = {n->rows * n->hidden, n->hidden, 1};
    TRY(cudnnCreateTensorDescriptor(&n->h_shape));
    TRY(cudnnSetTensorNdDescriptor(n->h_shape, n->type, 3, sizes, strides));
    TRY(cudnnCreateDropoutDescriptor(&n->dropout));
    TRY(cudnnSetDropoutDescriptor(n->dropout, n->cudnn, 0, NULL, 0, 0));
    TRY(cudnnCreateRNNDescriptor(&n->rnn));
    TRY(cuEventCreate(&n->begin, 0));
    TRY(cuEventCreate(&n->end, 0));
    return 0;
}

static int fill(struct network *n)
{
    size_t places = (size_t)n->steps * (size_t)n->rows;
    size_t outputs = places * (size_t)(n->directions * n->hidden);
    size_t states = (size_t)(n->layers * n->directions * n->rows * n->hidden);
    gpu *const arrays[] = {&n->hy, &n->cy, &n->dhx, &n->dcx};
    TRY(random_array(n, places * (size_t)n->input, 1, &n->x));
    TRY(random_array(n, places * (size_t)n->input, 1, &n->dx));
    TRY(random_array(n, outputs, 1, &n->y));
    TRY(random_array(n, outputs, 1, &n->dy));
    for (int i = 0; i < 4; i++)
        TRY(random_array(n, states, 1, arrays[i]));
    TRY(cuMemAlloc_v2(&n->device_lengths, (size_t)n->rows * sizeof(int)));
    TRY(cuMemcpyHtoD_v2(n->device_lengths, n->lengths, (size_t)n->rows * sizeof(int)));
    return 0;
}

static int is_training(const struct network *n)
{
    return strcmp(n->purpose, "train") == 0;
}

/* Selects an algorithm and allocates its memory. The memory of the previous one stays allocated until the process
 * ends. */
static int take_algorithm(struct network *n, int algorithm)
{
    size_t weights = n->weights_size;
    n->algorithm = algorithm;
    TRY(cudnnSetRNNDescriptor_v8(n->rnn, algorithm, mode_of(n->cell), DOUBLE_BIAS, n->directions == 2,
                                 LINEAR_INPUT, n->type, FLOAT, n->math, n->input, n->hidden, n->hidden, n->layers,
                                 n->dropout, PADDED_IO));
    if (algorithm == PERSIST_DYNAMIC)
        TRY(cudnnBuildRNNDynamic(n->cudnn, n->rnn, n->rows));
    TRY(cudnnGetRNNWeightSpaceSize(n->cudnn, n->rnn, &n->weights_size));
    TRY(cudnnGetRNNTempSpaceSizes(n->cudnn, n->rnn, is_training(n), n->x_shape, &n->work_size, &n->reserve_size));
    if (n->weights_size > weights) {
        TRY(random_array(n, n->weights_size / size_of(n, 1), 0.03f, &n->weights));
        TRY(random_array(n, n->weights_size / size_of(n, 1), 0.03f, &n->dweights));
    }
    TRY(cuMemAlloc_v2(&n->work, n->work_size + 1));
    TRY(cuMemAlloc_v2(&n->reserve, n->reserve_size + 1));
    return 0;
}

static int run_once(struct network *n)
{
    TRY(cudnnRNNForward(n->cudnn, n->rnn, is_training(n), (const int32_t *)(uintptr_t)n->device_lengths, n->x_shape,
                        n->x, n->y_shape, n->y, n->h_shape, 0, n->hy, n->h_shape, 0, n->cy, n->weights_size,
                        n->weights, n->work_size, n->work, n->reserve_size, n->reserve));
    if (!is_training(n))
        return 0;
    TRY(cudnnRNNBackwardData_v8(n->cudnn, n->rnn, (const int32_t *)(uintptr_t)n->device_lengths, n->y_shape, n->y,
                                n->dy, n->x_shape, n->dx, n->h_shape, 0, 0, n->dhx, n->h_shape, 0, 0, n->dcx,
                                n->weights_size, n->weights, n->work_size, n->work, n->reserve_size, n->reserve));
    TRY(cuMemsetD8Async(n->dweights, 0, n->weights_size, NULL));       /* gradients accumulate */
    TRY(cudnnRNNBackwardWeights_v8(n->cudnn, n->rnn, ADD_GRADIENT, (const int32_t *)(uintptr_t)n->device_lengths,
                                   n->x_shape, n->x, n->h_shape, 0, n->y_shape, n->y, n->weights_size, n->dweights,
                                   n->work_size, n->work, n->reserve_size, n->reserve));
    return 0;
}

/* ---- measuring ---- */

struct times {
    float ms[MAX_RUNS];
    int runs;
};

static int compare(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return a < b ? -1 : a > b;
}

static int measure(struct network *n, double seconds, struct times *t)
{
    double begin = now();
    for (t->runs = 0; t->runs < MAX_RUNS && (t->runs < 1 || now() - begin < seconds); t->runs++) {
        TRY(cuEventRecord(n->begin, NULL));
        TRY(run_once(n));
        TRY(cuEventRecord(n->end, NULL));
        TRY(cuEventSynchronize(n->end));
        TRY(cuEventElapsedTime(&t->ms[t->runs], n->begin, n->end));
    }
    qsort(t->ms, (size_t)t->runs, sizeof *t->ms, compare);
    return 0;
}

static int try_algorithm(struct network *n, int algorithm, struct times *t)
{
    TRY(take_algorithm(n, algorithm));
    TRY(run_once(n));
    TRY(cuCtxSynchronize());
    return measure(n, 0.05, t);
}

/* Selects the fastest algorithm. Each one that fails records a refusal; the last refusal remains if all fail. */
static int choose(struct network *n, struct times *t)
{
    int best = -1;
    float ms = 0;
    for (int i = 0; i < ALGORITHMS; i++) {
        if (try_algorithm(n, i, t))
            continue;
        if (best < 0 || t->ms[t->runs / 2] < ms) {
            ms = t->ms[t->runs / 2];
            best = i;
        }
    }
    return best < 0 ? -1 : try_algorithm(n, best, t);
}

static int prepare(struct network *n, struct times *t)
{
    int device;
    handle context;
    if (mode_of(n->cell) < 0)
        return refuse("cuDNN has no such cell", 0);
    TRY(load());
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxSetCurrent(context));
    TRY(cudnnCreate(&n->cudnn));
    TRY(describe(n));
    TRY(fill(n));
    return choose(n, t);
}

static void answer(const char *line, struct network *n, struct times *t)
{
    double seconds;
    int code = -1;
    *refusal = 0;
    if (sscanf(line, "run %lf", &seconds) == 1 && n->rnn && (code = measure(n, seconds, t)) == 0)
        printf("{\"ms\": %.6g, \"ms_median\": %.6g, \"runs\": %d}\n", (double)t->ms[0],
               (double)t->ms[t->runs / 2], t->runs);
    else if (sscanf(line, "prepare %15s %15s %15s %d %d %d %d %d %d %d", n->cell, n->purpose, n->dtype, &n->layers,
                    &n->steps, &n->rows, &n->input, &n->hidden, &n->directions, &n->ragged) == 10
             && (code = prepare(n, t)) == 0)
        printf("{\"version\": \"cuDNN %zu %s\"}\n", cudnnGetVersion(), algorithm_names[n->algorithm]);
    if (code)
        printf("{\"refused\": \"%s\"}\n", *refusal ? refusal : "neither 'prepare ...' nor 'run SECONDS'");
    fflush(stdout);
}

int main(void)
{
    static struct network network;
    static struct times times;
    char line[256];
    while (fgets(line, sizeof line, stdin))
        answer(line, &network, &times);
    return 0;
}
