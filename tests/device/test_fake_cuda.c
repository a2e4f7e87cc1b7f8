/* The fake CUDA driver detects errors: unordered work, wrong use of memory, launches that a GPU would refuse, leaks.
 * Run by with_fake_cuda.sh. */
/* test: if=g++; run=tests/device/with_fake_cuda.sh $B */
#include "check.h"
#include "extensions/cuda/driver.h"
#include "fake_cuda/probe.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { N = 64, TRIES = 40 };

static cu_context context;
static cu_module module;
static cu_function probe;
static cu_stream first, second;
static cu_event event;
static cu_ptr a, b;
static int32_t *pinned;

#define OK(call) CHECK((call) == 0, "refused")
#define REFUSED(call, code) do { int got = (call); CHECK(got == (int)(code), "%d, not %d", got, (int)(code)); } while (0)

static cu_result launch(cu_stream stream, cu_ptr to, cu_ptr from, int add, unsigned threads)
{
    struct probe_args args = {(int32_t *)(uintptr_t)to, (const int32_t *)(uintptr_t)from, add};
    struct cu_launch l = {
        .grid_x = N / 32, .grid_y = 1, .grid_z = 1, .block_x = threads, .block_y = 1, .block_z = 1, .stream = stream};
    void *arguments[] = {&args};
    return cu.cuLaunchKernelEx(&l, probe, arguments, NULL);
}

static void start(void)
{
    CHECK(cuda_load() == UNROLL_OK, "the fake driver does not load");
    OK(cu.cuDevicePrimaryCtxRetain(&context, 0));
    OK(cu.cuCtxPushCurrent(context));
    OK(cu.cuModuleLoadData(&module, "fake kernels"));
    OK(cu.cuModuleGetFunction(&probe, module, "fake_probe"));
    OK(cu.cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cu.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    OK(cu.cuEventCreate(&event, 0));
    OK(cu.cuMemAlloc(&a, N * 4));
    OK(cu.cuMemAlloc(&b, N * 4));
    OK(cu.cuMemHostAlloc((void **)&pinned, N * 4, 0));
}

static void stop(void)
{
    OK(cu.cuMemFree(a));
    OK(cu.cuMemFree(b));
    OK(cu.cuMemFreeHost(pinned));
}

/* ---- order -------------------------------------------------------------------------------- */

/* Computes b = (a = i) + 1 on another stream. */
static void submit(int i, bool waits)
{
    OK(launch(first, a, 0, i, 32));
    OK(cu.cuEventRecord(event, first));
    if (waits)
        OK(cu.cuStreamWaitEvent(second, event, 0));
    OK(launch(second, b, a, 1, 32));
    OK(cu.cuMemcpyDtoHAsync(pinned, b, N * 4, second));
}

/* Counts the attempts with the right values. */
static int right_orders(bool waits)
{
    int right = 0;
    for (int i = 0; i < TRIES; i++) {
        submit(i, waits);
        OK(cu.cuStreamSynchronize(second));
        right += pinned[N - 1] == i + 1;
        OK(cu.cuStreamSynchronize(first));
    }
    return right;
}

static void check_order(void)
{
    CHECK(right_orders(true) == TRIES, "work that is ordered by an event goes wrong");
    CHECK(right_orders(false) < TRIES, "a missing wait for an event is not found");
    submit(1234, true);
    CHECK(pinned[N - 1] != 1235, "the host sees a copy that it has not waited for");
    OK(cu.cuStreamSynchronize(second));
    CHECK(pinned[N - 1] == 1235, "the host does not see what it waited for");
}

/* Captures a graph of `first` and `second`: forked and joined, or with a missing wait. */
static cu_result capture(cu_graph *graph, bool forks, bool joins)
{
    OK(cu.cuStreamBeginCapture(first, CU_CAPTURE_RELAXED));
    OK(cu.cuEventRecord(event, first));
    OK(cu.cuStreamWaitEvent(second, event, 0));
    OK(launch(first, a, 0, 7, 32));
    if (forks) {
        OK(cu.cuEventRecord(event, first));
        OK(cu.cuStreamWaitEvent(second, event, 0));
    }
    OK(launch(second, b, a, 1, 32));
    if (joins) {
        OK(cu.cuEventRecord(event, second));
        OK(cu.cuStreamWaitEvent(first, event, 0));
    }
    return cu.cuStreamEndCapture(first, graph);
}

static int right_graphs(bool forks)
{
    cu_graph graph;
    cu_exec exec;
    int right = 0;
    OK(capture(&graph, forks, true));
    OK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < TRIES; i++) {
        OK(cu.cuMemsetD8Async(a, 0, N * 4, first));
        OK(cu.cuGraphLaunch(exec, first));
        OK(cu.cuMemcpyDtoHAsync(pinned, b, N * 4, first));
        OK(cu.cuStreamSynchronize(first));
        right += pinned[0] == 8;
    }
    OK(cu.cuGraphExecDestroy(exec));
    OK(cu.cuGraphDestroy(graph));
    return right;
}

static void check_graphs(void)
{
    cu_graph graph;
    CHECK(right_graphs(true) == TRIES, "a graph that is right goes wrong");
    CHECK(right_graphs(false) < TRIES, "a wait that a graph lacks is not found");
    REFUSED(capture(&graph, true, false), 904);
    OK(cu.cuStreamBeginCapture(first, CU_CAPTURE_RELAXED));
    REFUSED(cu.cuStreamSynchronize(first), 900);
    REFUSED(cu.cuMemcpyHtoDAsync(a, &context, 8, first), CU_INVALID_VALUE);
    OK(cu.cuStreamEndCapture(first, &graph));
    OK(cu.cuGraphDestroy(graph));
}

/* ---- misuse ------------------------------------------------------------------------------- */

static void check_memory(void)
{
    size_t available, total;
    int32_t host[N] = {0};
    cu_ptr other;
    OK(cu.cuMemGetInfo(&available, &total));
    CHECK(available == total - 2 * N * 4, "memory is not counted");
    REFUSED(cu.cuMemAlloc(&other, total), CU_OUT_OF_MEMORY);
    REFUSED(cu.cuMemcpyHtoDAsync(a, host, N * 4 + 1, first), CU_INVALID_VALUE);
    REFUSED(cu.cuMemcpyHtoDAsync((cu_ptr)(uintptr_t)host, host, 4, first), CU_INVALID_VALUE);
    REFUSED(cu.cuMemcpyDtoHAsync((void *)(uintptr_t)b, a, 4, first), CU_INVALID_VALUE);
    REFUSED(cu.cuMemcpyDtoDAsync(a, a + 4, 8, first), CU_INVALID_VALUE);
    REFUSED(cu.cuMemFree(a + 4), CU_INVALID_VALUE);
    OK(cu.cuMemAlloc(&other, 16));
    OK(cu.cuMemFree(other));
    REFUSED(cu.cuMemFree(other), CU_INVALID_VALUE);
    REFUSED(cu.cuMemsetD8Async(other, 0, 4, first), CU_INVALID_VALUE);
    host[3] = 5;
    OK(cu.cuMemcpyHtoDAsync(a, host, N * 4, first));
    host[3] = 6; /* pageable memory: the driver has made a copy */
    OK(cu.cuMemcpyDtoHAsync(host, a, N * 4, first));
    CHECK(host[3] == 5, "%d, not 5", host[3]);
}

/* Launches the probe kernel with a launch attribute. */
static cu_result launch_with(int id, unsigned cluster, unsigned shared)
{
    struct probe_args args = {(int32_t *)(uintptr_t)a, NULL, 1};
    struct cu_launch_attribute attribute = {.id = id};
    struct cu_launch l = {.grid_x = 32,
                          .grid_y = 1,
                          .grid_z = 1,
                          .block_x = 1,
                          .block_y = 1,
                          .block_z = 1,
                          .shared_bytes = shared,
                          .stream = first,
                          .attribute = &attribute,
                          .attributes = id != 0};
    void *arguments[] = {&args};
    if (id == CU_LAUNCH_COOPERATIVE)
        attribute.value.cooperative = 1, l.grid_x = 132 * 32 + 1;
    else
        attribute.value.cluster.x = cluster, attribute.value.cluster.y = attribute.value.cluster.z = 1;
    return cu.cuLaunchKernelEx(&l, probe, arguments, NULL);
}

/* Maps one page of host memory at a fixed address. */
static void *host_page(uintptr_t at)
{
    void *page =
        mmap((void *)at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(page == (void *)at, "no page at %#zx", (size_t)at);
    return page;
}

/* The padding of an argument struct may have any value: here, the upper half of a host address. */
static void check_padding(void)
{
    struct probe_args args = {(int32_t *)(uintptr_t)a, NULL, 1};
    const uint64_t word = (uint64_t)(uintptr_t)host_page((uintptr_t)0x6a00 << 32) + (uint64_t)args.add;
    char bytes[sizeof args];
    void *arguments[] = {bytes};
    struct cu_launch l = {
        .grid_x = N / 32, .grid_y = 1, .grid_z = 1, .block_x = 32, .block_y = 1, .block_z = 1, .stream = first};
    memcpy(bytes, &args, sizeof bytes);
    memcpy(bytes + offsetof(struct probe_args, add), &word, sizeof word);
    OK(cu.cuLaunchKernelEx(&l, probe, arguments, NULL));
    OK(cu.cuStreamSynchronize(first));
}

static void check_launches(void)
{
    struct cu_launch_attribute attribute = {.id = CU_LAUNCH_CLUSTER, .value.cluster = {16, 1, 1}};
    struct cu_launch l = {.grid_x = 16,
                          .grid_y = 1,
                          .grid_z = 1,
                          .block_x = 128,
                          .block_y = 1,
                          .block_z = 1,
                          .shared_bytes = 200 << 10,
                          .attribute = &attribute,
                          .attributes = 1};
    int clusters;
    REFUSED(launch(first, a, 0, 1, 129), CU_INVALID_VALUE);
    REFUSED(launch_with(0, 1, 49 << 10), CU_INVALID_VALUE);
    REFUSED(launch_with(CU_LAUNCH_CLUSTER, 3, 0), CU_INVALID_VALUE);
    REFUSED(launch_with(CU_LAUNCH_CLUSTER, 16, 0), CU_INVALID_VALUE);
    REFUSED(launch_with(CU_LAUNCH_COOPERATIVE, 1, 0), 720);
    REFUSED(launch_with(99, 1, 0), CU_INVALID_VALUE);
    OK(launch_with(CU_LAUNCH_CLUSTER, 8, 0));
    OK(cu.cuFuncSetAttribute(probe, CU_MAX_DYNAMIC_SHARED, 200 << 10));
    OK(cu.cuFuncSetAttribute(probe, CU_NON_PORTABLE_CLUSTER_SIZE, 1));
    OK(launch_with(CU_LAUNCH_CLUSTER, 16, 100 << 10));
    OK(cu.cuOccupancyMaxActiveClusters(&clusters, probe, &l));
    CHECK(clusters == 8, "%d clusters of 16 blocks fit, not 8", clusters);
    OK(cu.cuStreamSynchronize(first));
}

/* Each fault loses the context, so it needs a process of its own. */
static void check_faults(const char *program)
{
    static const struct {
        const char *what;
        int status;
    } runs[] = {{"host-pointer", 0}, {"freed", 0},     {"behind", 0},  {"leak", 87},
                {"injected", 0},     {"no-device", 0}, {"no-start", 0}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char command[1000];
        snprintf(command, sizeof command, "%s %s 2>/dev/null >&2", program, runs[i].what);
        int status = system(command);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == runs[i].status, "'%s' ends with status %#x", runs[i].what,
              status);
    }
}

/* The fault that check_faults runs. */
static int fault(const char *what)
{
    if (!strcmp(what, "injected"))
        setenv("FAKE_CUDA_FAIL", "cuMemFree:1:719", 1);
    if (!strcmp(what, "no-device")) {
        setenv("FAKE_CUDA_DEVICES", "0", 1);
        return cuda_load() != UNROLL_UNSUPPORTED;
    }
    if (!strcmp(what, "no-start")) {
        setenv("FAKE_CUDA_FAIL", "cuInit:1:999", 1);
        return cuda_load() != UNROLL_RESOURCE || !strstr(unroll_last_error(), "starting the driver");
    }
    start();
    if (!strcmp(what, "injected")) {
        REFUSED(cu.cuMemFree(a), CU_LAUNCH_FAILED);
        stop();
    } else if (!strcmp(what, "host-pointer")) {
        OK(launch(first, (cu_ptr)(uintptr_t)host_page(0x6a0012345000), 0, 1, 32));
    } else if (!strcmp(what, "freed")) {
        OK(cu.cuMemFree(b));
        OK(launch(first, b, 0, 1, 32));
    } else if (!strcmp(what, "behind")) {
        cu_ptr small;
        OK(cu.cuMemAlloc(&small, N * 4 - 16));
        OK(launch(first, small, 0, 1, 32));
        REFUSED(cu.cuMemFree(small), CU_ILLEGAL_ADDRESS);
    } else {
        return atomic_load(&checks_failed);
    }
    if (strcmp(what, "injected") && strcmp(what, "behind")) {
        REFUSED(cu.cuStreamSynchronize(first), CU_LAUNCH_FAILED);
        REFUSED(cu.cuMemFree(a), CU_LAUNCH_FAILED); /* and the context remains lost */
    }
    setenv("FAKE_CUDA_LEAKS", "allow", 1);
    return atomic_load(&checks_failed);
}

int main(int count, char **argument)
{
    setenv("FAKE_CUDA_ERRORS", "return", 1);
    if (count > 1)
        return fault(argument[1]);
    start();
    check_order();
    check_memory();
    check_graphs();
    check_launches();
    check_padding();
    stop();
    check_faults(argument[0]);
    return check_finish("test_fake_cuda");
}
