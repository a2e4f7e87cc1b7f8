# The OpenCL extension: its kernels as strings. The host code is plain C and is built elsewhere.
ROWS_opencl = device=opencl
NEEDS_opencl = gpu

# Kernels, and argument structs in which addresses become offsets.
$B/text/%.inc: extensions/opencl/%.cl
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
$B/text/gpu_kernels.inc: extensions/gpu/gpu_kernels.h
	@mkdir -p $(@D)
	sed -E '/^#/d; s/(const )?(struct )?[a-z0-9_]+ \*([a-z])/ulong \3/g; s/, \*([a-z])/, \1/g; s/size_t/ulong/g; s/ulong constant;/ulong constants;/' $< | $(AS_STRINGS) >$@
FLAGS_opencl_kernels = -I$B/text
$B/extensions/opencl/opencl_kernels.o: $(patsubst extensions/opencl/%.cl,$B/text/%.inc,$(wildcard extensions/opencl/*.cl)) \
    $B/text/gpu_kernels.inc $B/text/philox.inc
