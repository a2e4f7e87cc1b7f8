# CUDA without a GPU: the kernels compiled by g++ for a shim (fake_cuda/*.cc), and a fake driver, cuBLASLt and NCCL. The
# shim itself reports to ThreadSanitizer what orders what, so it is never built with a sanitizer.
CXX := $(shell command -v g++)
FAKE_CUDA_FLAGS = -std=c++17 -g -ffp-contract=off -D_GNU_SOURCE -Iinclude -Isrc -I. -Itests -Itests/device -MMD -MP -fPIC -fvisibility=hidden $(WARN)
FAKE = $(1:%=$t/device/fake_cuda/%.o)
SHIM = $(call FAKE,runtime time fibre sync memory async warp clock)
FAKE_DRIVER = $(call FAKE,driver memory_of_device streams)

# A misaligned access executes an illegal instruction, which is caught and reported.
FAKE_KERNEL_FLAGS = $(filter-out -Wpedantic -std=c++17,$(FAKE_CUDA_FLAGS)) -std=gnu++20 -O1 -x c++ -Wno-unused-function -Wno-unused-parameter -Wno-unknown-pragmas \
    $(if $(SANITIZE),,-fsanitize=alignment -fsanitize-undefined-trap-on-error)

$t/device/fake_cuda/%.o: tests/device/fake_cuda/%.cc
	@mkdir -p $(@D)
	$(CXX) $(FAKE_CUDA_FLAGS) -O2 -c $< -o $@

# The kernels of the device.
FAKE_KERNELS = $(call FAKE,probe_kernels) $(patsubst extensions/cuda/kernels/%.cu,$t/device/fake_cuda/%_kernels.o,$(wildcard extensions/cuda/kernels/*.cu))
$t/device/fake_cuda/%_kernels.o: extensions/cuda/kernels/%.cu
	@mkdir -p $(@D)
	$(CXX) $(FAKE_KERNEL_FLAGS) $(SANITIZE) -c $< -o $@

$t/device/fake_cuda/probe_kernels.o: tests/device/fake_cuda/probe.cu
	@mkdir -p $(@D)
	$(CXX) $(FAKE_KERNEL_FLAGS) $(SANITIZE) -c $< -o $@

# UNROLL_CUDA_DRIVER, UNROLL_CUBLASLT and UNROLL_NCCL name these; UNROLL_CUDA_KERNELS names the text that stands for an
# image of kernels.
FAKE_CUDA = $t/device/fake_cuda.so $t/device/fake_cublaslt.so $t/device/fake_nccl.so $t/device/fake_kernels.image $t/device/fake_profiler.so
fake-cuda: $(FAKE_CUDA)
.PHONY: fake-cuda
$t/device/fake_cuda.so: $(SHIM) $(FAKE_DRIVER) $(FAKE_KERNELS)
	$(CXX) $(SANITIZE) -shared -Wl,-z,defs,-soname,fake_cuda.so $^ -o $@
$t/device/fake_%.so: $t/device/fake_cuda/%.o $t/device/fake_cuda.so
	$(CXX) -shared -Wl,-z,defs,-rpath,'$$ORIGIN' $^ -o $@
# For a profiler that does not depend on these: it is loaded by its path (extensions/cuda/nvtx.h).
$t/device/fake_profiler.so: $t/device/fake_cuda/profiler.o
	$(CXX) -shared -Wl,-z,defs $^ -o $@
$t/device/fake_kernels.image:
	@mkdir -p $(@D)
	echo 'fake kernels' >$@

$t/device/test_gpu_shim.o: tests/device/test_gpu_shim.cu
	@mkdir -p $(@D)
	$(CXX) $(FAKE_KERNEL_FLAGS) $(SANITIZE) -c $< -o $@
$t/device/test_gpu_shim: $t/device/test_gpu_shim.o $(SHIM)
	$(CXX) $(SANITIZE) $^ -o $@

$t/device/test_fake_cuda.o: FLAGS += -Itests/device
$t/device/test_fake_cuda: $t/device/test_fake_cuda.o $B/libunroll.a | $(FAKE_CUDA)
	$(CC) $(CFLAGS) $(SANITIZE) $^ $(LIBS) -o $@

# The persistent kernels alone, without a driver.
$t/device/test_persistent.o: tests/device/test_persistent.cc
	@mkdir -p $(@D)
	$(CXX) $(FAKE_CUDA_FLAGS) -O1 $(SANITIZE) -c $< -o $@
$t/device/test_persistent: $t/device/test_persistent.o $(filter %persistent_bf16_kernels.o %persistent_fp16_kernels.o \
    %persistent_tf32_kernels.o %persistent_fp32_kernels.o,$(FAKE_KERNELS)) $(SHIM) $B/libunroll.a
	$(CXX) $(SANITIZE) $^ $(LIBS) -o $@

-include $(wildcard $t/device/fake_cuda/*.d)
