# make              build/unroll and build/libunroll.a; CUDA=1: with the kernels for GPUs, as where a GPU is
# make demo         installs what is needed, builds, does three tasks on real data: forecast, classify, write (./demo)
# make deps-all     installs the libraries that are used where they are found (unroll devices lists them)
# make check        a minute of tests; installs nothing
# make test         installs what the tests need (INSTALL=0: nothing), builds and runs them (./test); T=NAME: those whose
#                   name matches, GDB=1: in the debugger, SANITIZE=address or thread. make test-long: all (tests/README.md)
# make gpu-check    on a machine with a GPU: the CUDA device versus the CPU, the same bits twice, compute-sanitizer
#                   (make gpu-check-tiny: a small one on the fake driver)
# make gpu-bench    on a machine with a GPU: us versus PyTorch and cuDNN, within 10 minutes (PYTHON=that has PyTorch)
# make gpu-bundle   build/gpu-bundle: both of these for a bare machine with a GPU, which runs run.sh there (wants nvcc)
# make debug        build/debug/unroll: not optimized, and each session draws its ISA (docs/internals/adding.md)
# make install      into PREFIX (/usr/local); make uninstall; make deb: a Debian package
# make meshes       trains every mesh with every pair of options (minutes)
# make kills        kills 1,000 ranks of a launched training, whose weights are then those of an undisturbed one
# make tpu-check    training steps compiled for TPUs that are not here, by PyPI's libtpu (a large download)
# make mutate       breaks the cells one operation at a time: a check must notice each (2 minutes)
# make fuzz         every parser under libFuzzer, FUZZ_SECONDS each (wants clang)
# make rtl          exported hardware of every cell in a simulator, its gates, chips and standard cells (minutes)
# make vectors      makes the PyTorch vectors anew (wants PyTorch)
# make bench-peers  measures us versus oneDNN, PyTorch, ONNX Runtime and OpenVINO (25 minutes; ONLY=PART)
# make reference    writes docs/reference/commands.md and unroll-*.md from the table of options
# make format       formats the C files as .clang-format says (wants clang-format-22)
#
# JANSSON=DIR: libjansson.a and jansson.h lie somewhere below DIR, where the system has none (an unpacked package).
#
# No contraction of a * b + c anywhere: it is fused where a kernel says so and nowhere else, so that every
# instruction set gives the same bits.
B       ?= build
CC      ?= gcc
CFLAGS  ?= -O2
WARN     = -Wall -Wextra -Wpedantic
FLAGS    = -std=c11 -ffp-contract=off -fvisibility=hidden -D_GNU_SOURCE -Iinclude -Isrc -MMD -MP $(WARN) $(SANITIZE) $(JANSSON_FLAGS)
JANSSON_FLAGS := $(if $(JANSSON),-I$(dir $(firstword $(shell find $(JANSSON) -name jansson.h))))
LIBS     = $(or $(firstword $(shell test -z '$(JANSSON)' || find $(JANSSON) -name libjansson.a)),-ljansson) $(ARCHIVE_LIBS) -lm -pthread -ldl
ARCH    := $(shell uname -m)

# Packed data are read where libarchive and zlib are found; ARCHIVE= leaves them out.
ARCHIVE ?= $(shell printf '\043include <archive.h>\n\043include <zlib.h>\nint main(void) { return !archive_version_number() + !zlibVersion(); }' | \
    $(CC) $(CFLAGS) -x c - -o /dev/null -larchive -lz 2>/dev/null && echo yes)
# They are linked even where the linker would leave out what is only needed if it is there.
ARCHIVE_LIBS = $(if $(ARCHIVE),-Wl$(comma)--push-state$(comma)--no-as-needed -larchive -lz -Wl$(comma)--pop-state)
comma    = ,

ISA_avx2   = -mavx2 -mfma
ISA_avx512 = -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma
ISA_avx512_vnni = $(ISA_avx512) -mavx512vnni
ISA_avx512_bf16 = $(ISA_avx512_vnni) -mavx512bf16
ISA_amx    = $(ISA_avx512_bf16) -mamx-tile -mamx-bf16 -mamx-int8

X86_ISAS   = %_avx2.c %_avx512.c %_avx512_vnni.c %_avx512_bf16.c %_amx.c %_amx_bf16.c
OTHER_ISAS = $(if $(filter x86_64,$(ARCH)),%_neon.c,$(if $(filter aarch64,$(ARCH)),$(X86_ISAS),$(X86_ISAS) %_neon.c))
SOURCES   := $(filter-out $(OTHER_ISAS) $(if $(ARCHIVE),src/data/archive_none.c,src/data/archive.c src/data/gzip.c),$(wildcard src/*/*.c src/device/*/*.c))
OBJECTS   := $(SOURCES:%.c=$B/%.o) $B/src/device/cuda/images.o
CLI       := $(patsubst %.c,$B/%.o,$(wildcard cli/*.c))

# A session or a stream of a debug build that is given no ISA draws one of those that the machine has.
# Its kernels are not optimized at all: under a sanitizer a file of tiles takes minutes at -O1, seconds at -O0.
DEBUG = -O1 -g -DUNROLL_DEBUG
# The tests' own cells are for bits, never for speed.
KERNEL_FILES = src/cells/cells_ src/device/cpu/kernels_
$(KERNEL_FILES:%=$B/%%.o): FLAGS += $(if $(filter -DUNROLL_DEBUG,$(CFLAGS)),-O0)
$B/tests/cells/toys_%.o: FLAGS += $(if $(filter -DUNROLL_DEBUG,$(CFLAGS)),-O0,-Og)

# No frame so large that a thread with a small stack could not hold some of them (unroll.h: 256 KB are enough).
$B/src/%.o $B/cli/%.o: FLAGS += $(if $(SANITIZE),,$(if $(filter -O2 -O3,$(CFLAGS)),-Werror=frame-larger-than=32768))

all: $B/unroll

debug:
	@$(MAKE) --no-print-directory B=$B/debug CFLAGS='$(DEBUG)' all $B/debug/tests/cases/test_cases

$B/unroll: $(CLI) $B/libunroll.a
	$(CC) $(CFLAGS) $(SANITIZE) $^ $(LIBS) -o $@

$B/libunroll.a: $(OBJECTS)
	@rm -f $@
	ar rcs $@ $^

$B/%_avx2.o: %_avx2.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(FLAGS) $(ISA_avx2) -c $< -o $@
$B/%_avx512.o: %_avx512.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(FLAGS) $(ISA_avx512) -c $< -o $@
$B/%_avx512_vnni.o: %_avx512_vnni.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(FLAGS) $(ISA_avx512_vnni) -c $< -o $@
$B/%_avx512_bf16.o: %_avx512_bf16.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(FLAGS) $(ISA_avx512_bf16) -c $< -o $@
$B/%_amx_bf16.o: %_amx_bf16.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(FLAGS) $(ISA_amx) -c $< -o $@
$B/%_amx.o: %_amx.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(FLAGS) $(ISA_amx) -c $< -o $@
$B/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(FLAGS) $(FLAGS_$(basename $(notdir $<))) -c $< -o $@

# Kernels for GPUs: an image of each *.cu file for the GPUs of GPU_CODES that it serves and, as PTX, for all that come
# later. They take minutes to compile, so they are made where a GPU is, for packages, or with CUDA=1; once for all kinds
# of build. Without them the library says so when a GPU is asked for.
# GPU_OLDEST: the capability that a file needs; persistent kernels need clusters, which sm_90 brought.
CUDA      ?= $(if $(wildcard /dev/nvidiactl)$(filter deb,$(MAKECMDGOALS)),1)
NVCC      ?= $(if $(CUDA),$(or $(shell command -v nvcc 2>/dev/null),$(if $(filter command% environment%,$(origin CUDA)),\
    $(error CUDA=1: there is no nvcc here; install the CUDA toolkit, or leave CUDA=1 out))))
GPU_CODES ?= $(if $(NVCC),$(patsubst 90,90a,$(filter 80 90 100,$(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code 2>/dev/null)))))
GPU_OLDEST = $(if $(findstring /persistent_,$1),90,80)
gencode    = -gencode=arch=compute_$1,code=$2_$1
# Drivers of CUDA 13, which its images want anyway, unpack what older ones don't know: a fifth smaller.
compress   = $(if $(shell $(NVCC) --version 2>/dev/null | grep -E 'release (1[3-9]|[2-9][0-9])\.'),--compress-mode=size)
NVCCFLAGS  = -std=c++17 -O3 -lineinfo -Xfatbin -compress-all $(compress) -Iinclude -Isrc $(call gencode,$(call GPU_OLDEST,$@),compute) \
    $(foreach i,$(if $(filter 90,$(call GPU_OLDEST,$@)),$(filter-out 80,$(GPU_CODES)),$(GPU_CODES)),$(call gencode,$i,sm))
IMAGES     = $(if $(NVCC),$(patsubst src/device/cuda/%.cu,$(if $(filter build/%,$B),build,$B)/cuda/%.fatbin,$(wildcard src/device/cuda/*.cu)))

# What ptxas says of registers and stacks stays beside the image, the PTX too: tests/device/check_cuda_code.py reads it.
%.fatbin:
	@mkdir -p $@.ptx && rm -f $@.ptx/*
	$(NVCC) $(NVCCFLAGS) $(NVCCFLAGS_$(basename $(@F))) -Xptxas -v --keep --keep-dir $@.ptx -MMD -MP -MF $@.d \
	    -fatbin src/device/cuda/$(basename $(@F)).cu -o $@ 2>$@.log || { cat $@.log; exit 1; }
	@! grep -i warning $@.log >&2
	@find $@.ptx -type f ! -name '*.ptx' -delete
$(foreach i,$(IMAGES),$(eval $i: src/device/cuda/$(basename $(notdir $i)).cu $(if $(wildcard $i.log),,without_its_log)))
-include $(IMAGES:%=%.d)

# The images as data, and of which toolkit they are. Their list is a file, so that a change of CUDA= is noticed.
$B/cuda/list: always
	@mkdir -p $(@D)
	@echo '$(IMAGES)' | cmp -s - $@ || echo '$(IMAGES)' >$@
$B/src/device/cuda/images.S: $(IMAGES) tools/cuda_images.sh $B/cuda/list
	@mkdir -p $(@D)
	tools/cuda_images.sh '$(NVCC)' $(foreach i,$(IMAGES),$i:$(call GPU_OLDEST,$i)) >$@
$B/src/device/cuda/images.o: $B/src/device/cuda/images.S
	$(CC) -c $< -o $@

# Source that is compiled and also printed into exported C: each line as a string.
AS_STRINGS = sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&",/'
$B/text/%.inc: src/export/%.h
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
# Of OpenCL: kernels, and structs of arguments, whose addresses are offsets there.
$B/text/%.inc: src/device/opencl/%.cl
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
$B/text/gpu_kernels.inc: src/device/gpu/gpu_kernels.h
	@mkdir -p $(@D)
	sed -E '/^#/d; s/(const )?(struct )?[a-z0-9_]+ \*([a-z])/ulong \3/g; s/, \*([a-z])/, \1/g; s/size_t/ulong/g; s/ulong constant;/ulong constants;/' $< | $(AS_STRINGS) >$@
$B/text/philox.inc: src/base/philox.h
	@mkdir -p $(@D)
	sed '/^#include/d' $< | $(AS_STRINGS) >$@
# The headers of the persistent kernels, which NVRTC compiles for one launch: each begins with \001 and its name.
PERSISTENT_HEADERS = $(patsubst src/%,%,$(wildcard src/device/cuda/persistent*.cuh src/cells/*.h) src/device/cuda/gpu.cuh \
    src/device/cuda/persistent_args.h src/device/cuda/tiling.h src/device/cuda/cycles.h $(wildcard src/cells/v/v_cuda.h src/cells/v/v_derived.h src/cells/v/v_math.h))
$B/text/persistent.inc: $(PERSISTENT_HEADERS:%=src/%)
	@mkdir -p $(@D)
	{ $(foreach h,$(PERSISTENT_HEADERS),printf '"\\001%s",\n' $h; $(AS_STRINGS) src/$h;) } >$@
FLAGS_persistent_fixed = -I$B/text
$B/src/device/cuda/persistent_fixed.o: $B/text/persistent.inc
FLAGS_opencl_kernels = -I$B/text
$B/src/device/opencl/opencl_kernels.o: $(patsubst src/device/opencl/%.cl,$B/text/%.inc,$(wildcard src/device/opencl/*.cl)) \
    $B/text/gpu_kernels.inc $B/text/philox.inc
FLAGS_c99_fixed = -I$B/text
$B/src/export/c99_fixed.o: $B/text/integer_functions.inc $B/text/integer_tables.inc
$B/text/%.inc: src/export/rtl/%.v
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
$B/text/%.inc: src/export/rtl/%.mk
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
$B/text/%.inc: src/export/rtl/%.pcf
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
$B/text/%.inc: src/export/rtl/%.lpf
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
FLAGS_verilog = -I$B/text
$B/src/export/verilog.o: $(patsubst src/export/rtl/%,$B/text/%.inc,$(basename $(wildcard src/export/rtl/*)))

# ---- what it takes ------------------------------------------------------------------------

NEEDED = gcc make libc6-dev libjansson-dev libarchive-dev zlib1g-dev
deps:
	@tools/install.sh $(NEEDED)

# Libraries that are used where they are found: Debian's packages, of the table.
OPTIONAL = $(shell sed -n 's/.*\.package = "\([^"]*\)".*/\1/p' src/base/library.c)
deps-all: deps
	@tools/install.sh --optional $(OPTIONAL)

# Dictionaries: without them the demo is shorter.
DEMO_DATA = wamerican-small wfrench wngerman witalian wspanish wswedish
demo: deps
	@tools/install.sh --optional $(DEMO_DATA)
	@echo 'building $B/unroll'
	@$(MAKE) -s --no-print-directory -j$$(nproc) all
	@tools/demo.sh $B

# ---- tests --------------------------------------------------------------------------------

include tests/tests.mk

# ---- package ------------------------------------------------------------------------------

include tools/package.mk

# ---- versus other libraries ---------------------------------------------------------------

include bench/peers.mk

# ---- the format of C files ---------------------------------------------------------------

format:
	@tools/format.sh

libs:
	@echo '$(LIBS)'

clean:
	rm -rf $B
.PHONY: always without_its_log all libs clean debug format deps deps-all demo

-include $(wildcard $B/src/*/*.d $B/src/device/*/*.d $B/cli/*.d $B/tests/*/*.d)
