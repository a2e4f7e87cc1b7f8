# The OpenCL extension: its kernels as strings. The host code is plain C and is built elsewhere.
ROWS_opencl = device=opencl
NEEDS_opencl = gpu

# Kernels, and argument structs in which addresses become offsets: each begins with \001 and its name.
OPENCL_FILES = $(wildcard extensions/opencl/*.cl extensions/gpu/kernels/*.inc)
$B/text/opencl.inc: $(OPENCL_FILES) extensions/gpu/gpu_kernels.h src/base/philox.h
	@mkdir -p $(@D)
	{ $(foreach f,$(OPENCL_FILES),printf '"\\001%s",\n' $(basename $(notdir $f)); $(AS_STRINGS) $f;) \
	printf '"\\001philox",\n'; sed '/^#include/d' src/base/philox.h | $(AS_STRINGS); printf '"\\001gpu_kernels",\n'; \
	sed -E '/^#/d; s/(const )?(struct )?[a-z0-9_]+ \*([a-z])/ulong \3/g; s/, \*([a-z])/, \1/g; s/size_t/ulong/g' \
	    extensions/gpu/gpu_kernels.h | $(AS_STRINGS); } >$@
FLAGS_opencl_kernels = -I$B/text
$B/extensions/opencl/opencl_kernels.o: $B/text/opencl.inc
