# make              build/unroll and build/libunroll.a; CUDA=1: with the kernels for GPUs, as where a GPU is;
#                   EXTENSIONS="cuda xla": with these extensions, EXTENSIONS=: the core alone; the default is all
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
# make static       build/unroll-linux-ARCH: one file without shared libraries (wants PyPI's ziglang and cmake)
# make wasm         build/demo: the command for browsers and the page that runs it (wants PyPI's ziglang and cmake)
# make install      into PREFIX (/usr/local); make uninstall; make deb: a Debian package
# make meshes       trains every mesh with every pair of options (minutes)
# make kills        kills 1,000 ranks of a launched training, whose weights are then those of an undisturbed one
# make tpu-check    training steps compiled for TPUs that are not here, by PyPI's libtpu (a large download)
# make mutate       breaks the cells one operation at a time: a check must notice each (2 minutes)
# make fuzz         every parser under libFuzzer, FUZZ_SECONDS each (wants clang)
# make rtl          exported hardware of every cell in a simulator, its gates, chips and standard cells (minutes)
# make vectors      rebuilds the PyTorch vectors (needs PyTorch)
# make bench-peers  measures us versus oneDNN, PyTorch, ONNX Runtime and OpenVINO (25 minutes; ONLY=PART)
# make bench-guard  fails if this build is slower than an older one: OLD=BINARY, tag or commit (bench/README.md)
# make bench-first  the first second: a stream, a prediction, an update, an import; scalar kernels
# make reference    writes docs/reference/commands.md and unroll-*.md from the table of options, api*.md from the headers
# make expand       writes a cell as the compiler reads it: CELL=lstm ISA=avx2 (src/nn/cells/README.md)
# make format       formats the C files as .clang-format says (wants clang-format-22)
#
# JANSSON=DIR: libjansson.a and jansson.h lie somewhere below DIR, where the system has none (an unpacked package).
#
# No contraction of a * b + c anywhere: it is fused where a kernel says so and nowhere else, so that every
# instruction set gives the same bits.
B       ?= build
CC      ?= gcc
CFLAGS  ?= -O2
CLANG   := $(findstring clang,$(shell $(CC) --version 2>/dev/null))
WARN     = -Wall -Wextra -Wpedantic $(if $(CLANG),-Wno-missing-field-initializers -Wno-non-literal-null-conversion)
FLAGS    = -std=c11 -ffp-contract=off -fvisibility=hidden -D_GNU_SOURCE -Iinclude -Isrc -I. -MMD -MP $(WARN) $(SANITIZE) $(JANSSON_FLAGS)
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
# What serves other devices, clusters and hardware: a folder each, with NAME.mk, which says what the extension adds
# (ROWS_NAME) and which others it needs (NEEDS_NAME). EXTENSIONS="cuda xla" chooses, EXTENSIONS= builds the core alone.
.DEFAULT_GOAL := all
ALL_EXTENSIONS = gpu cuda opencl xla hardware cluster simulation serve
EXTENSIONS ?= $(ALL_EXTENSIONS)
-include $(wildcard extensions/*/*.mk)
BUILT_EXTENSIONS := $(filter $(EXTENSIONS) $(foreach e,$(EXTENSIONS),$(NEEDS_$e)),$(ALL_EXTENSIONS))
$(foreach e,$(filter-out $(ALL_EXTENSIONS),$(EXTENSIONS)),$(error EXTENSIONS: there is no extension '$e'; fix: choose of $(ALL_EXTENSIONS)))
SOURCES   := $(filter-out $(OTHER_ISAS) $(if $(filter wasm32,$(ARCH)),,%/wasi.c) $(if $(ARCHIVE),src/io/archive_none.c,src/io/archive.c src/io/gzip.c),$(sort \
    $(shell find src $(BUILT_EXTENSIONS:%=extensions/%) -name '*.c' ! -path '*/cli/*')))
OBJECTS   := $(SOURCES:%.c=$B/%.o) $(foreach e,$(BUILT_EXTENSIONS),$(OBJECTS_$e)) $B/extension_rows.o
CLI       := $(patsubst %.c,$B/%.o,$(filter-out $(LEFT_OUT),$(sort $(shell find cli $(wildcard $(BUILT_EXTENSIONS:%=extensions/%/cli)) -name '*.c')))) $B/extension_commands.o

# The list of extensions of this build, for the library and for the command.
extension_words = $(foreach e,$1,$e:$(subst $(space),$(comma),$(strip $(ROWS_$e))))
empty    =
space    = $(empty) $(empty)
$B/extension_rows.c $B/extension_commands.c: $B/extension_%.c: always
	@mkdir -p $(@D)
	@tools/extensions.sh $* $(call extension_words,$(BUILT_EXTENSIONS)) -- \
	    $(call extension_words,$(filter-out $(BUILT_EXTENSIONS),$(ALL_EXTENSIONS))) >$@.new && { cmp -s $@.new $@ || cp $@.new $@; }
$B/extension_rows.o $B/extension_commands.o: %.o: %.c
	$(CC) $(CFLAGS) $(FLAGS) -c $< -o $@

# A session or a stream of a debug build that is given no ISA draws one of those that the machine has.
# Its kernels are not optimized at all: under a sanitizer a file of tiles takes minutes at -O1, seconds at -O0.
DEBUG = -O1 -g -DUNROLL_DEBUG
# The tests' own cells are for bits, never for speed.
KERNEL_FILES = src/nn/cells/isa/cells_ src/device/cpu/isa/kernels_
$(KERNEL_FILES:%=$B/%%.o): FLAGS += $(if $(filter -DUNROLL_DEBUG,$(CFLAGS)),-O0)
$B/tests/cells/toys_%.o: FLAGS += $(if $(filter -DUNROLL_DEBUG,$(CFLAGS)),-O0,-Og)

# No frame so large that a thread with a small stack could not hold some of them (unroll.h: 256 KB are enough).
FRAMES := $(if $(CLANG),-Wframe-larger-than=32768 -Werror=frame-larger-than,-Werror=frame-larger-than=32768)
$B/src/%.o $B/extensions/%.o $B/cli/%.o: FLAGS += $(if $(SANITIZE),,$(if $(filter -O2 -O3,$(CFLAGS)),$(FRAMES)))

all: $B/unroll

debug:
	@$(MAKE) --no-print-directory B=$B/debug CFLAGS='$(DEBUG)' all $B/debug/tests/cases/test_cases

$B/unroll: $(CLI) $B/libunroll.a
	$(CC) $(CFLAGS) $(SANITIZE) $^ $(LIBS) $(SERVE_LIBS) -o $@

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

# Source that is compiled and also printed into exported C: each line as a string.
AS_STRINGS = sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&",/'
$B/text/%.inc: src/stream/program/%.h
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
FLAGS_c99_fixed = -I$B/text
$B/text/%.inc: examples/data/%.csv
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
FLAGS_cmd_demo = -I$B/text
$B/cli/commands/cmd_demo.o: $B/text/co2.inc
$B/src/convert/c99/c99_fixed.o: $B/text/integer_functions.inc $B/text/integer_tables.inc
# ---- what it takes ------------------------------------------------------------------------

NEEDED = gcc make libc6-dev libjansson-dev libarchive-dev zlib1g-dev libwebsockets-dev
deps:
	@tools/install.sh $(NEEDED)

# Libraries that are used where they are found: Debian's packages, of the table.
OPTIONAL = $(shell sed -n 's/.*\.package = "\([^"]*\)".*/\1/p' src/base/system/library.c)
deps-all: deps
	@tools/install.sh --optional $(OPTIONAL)

# Dictionaries: without them the demo is shorter. libsndfile1 reads sounds other than wav files.
DEMO_DATA = wamerican-small wfrench wngerman witalian wspanish wswedish
demo: deps
	@tools/install.sh --optional $(DEMO_DATA) libsndfile1
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

# The code of a cell as the compiler reads it (src/nn/cells/README.md).
CELL ?= lstm
ISA  ?= avx2
expand:
	@mkdir -p $B/expanded
	@CC='$(CC)' tools/expand.sh $(CELL) $(ISA) $B/expanded/$(CELL)_$(ISA).c $(ISA_$(ISA))

clean:
	rm -rf $B
.PHONY: always expand without_its_log all clean debug format deps deps-all demo

-include $(OBJECTS:.o=.d) $(CLI:.o=.d) $(wildcard $B/tests/*/*.d)
