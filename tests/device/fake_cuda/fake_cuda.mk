# CUDA without a GPU: the kernels compiled by g++ onto a shim (fake_cuda/*.cc), a driver and a cuBLASLt made of
# them. The shim itself knows ThreadSanitizer and tells it what orders what: it is never built with one.
CXX := $(shell command -v g++)
FAKE_CUDA_FLAGS = -std=c++17 -g -ffp-contract=off -D_GNU_SOURCE -Iinclude -Isrc -Itests -Itests/device -MMD -MP -fPIC $(WARN)
FAKE_CUDA = $(patsubst %.cc,$T/device/%.o,$(subst tests/device/,,$(wildcard tests/device/fake_cuda/*.cc)))

# A misaligned access is an illegal instruction, caught and named.
FAKE_KERNEL_FLAGS = $(FAKE_CUDA_FLAGS) -O1 -x c++ -Wno-unused-function \
    $(if $(SANITIZE),,-fsanitize=alignment -fsanitize-undefined-trap-on-error)

$(FAKE_CUDA): $T/device/%.o: tests/device/%.cc
	@mkdir -p $(@D)
	$(CXX) $(FAKE_CUDA_FLAGS) -O2 -c $< -o $@

$T/device/test_gpu_shim.o: tests/device/test_gpu_shim.cu
	@mkdir -p $(@D)
	$(CXX) $(FAKE_KERNEL_FLAGS) $(SANITIZE) -c $< -o $@
$T/device/test_gpu_shim: $T/device/test_gpu_shim.o $(FAKE_CUDA)
	$(CXX) $(SANITIZE) $^ -o $@

-include $(wildcard $T/device/fake_cuda/*.d)
