# Tests. A test is a file in tests/ with a line "test: ..." at its top (tests/README.md); tests/list.sh finds them.
# make check | test | test-long | test-timed
#                                       T=PATTERN: tests whose name matches; SANITIZE=address or thread: with that
#                                       sanitizer; GDB=1: one of them in the debugger; INSTALL=0: installs nothing
t := $B/tests
$t/%.o: FLAGS += -Itests -I.

# Programs: their own object, those named in the header, the library.
TEST_OBJECTS = $(patsubst tests/%.c,$t/%.o,$(filter-out $(OTHER_ISAS),$(wildcard tests/$1.c)))
define TEST_WITH
$t/$(word 1,$1): $(foreach o,$(subst $(comma), ,$(word 2,$1)),$(call TEST_OBJECTS,$o))
endef
comma := ,
$(foreach l,$(shell tests/list.sh objects),$(eval $(call TEST_WITH,$(subst :, ,$l))))
include tests/device/fake_cuda/fake_cuda.mk
$t/fuzz/fuzz_frames: $B/cli/run/frames.o
$t/fuzz/fuzz_launch: $B/cli/run/launch_text.o
$t/fuzz/fuzz_inference: $B/extensions/serve/cli/inference.o $B/extensions/serve/cli/buffer.o
$t/%: $t/%.o $B/libunroll.a
	$(CC) $(CFLAGS) $(SANITIZE) $(filter %.o,$^) $(filter %.a,$^) $(LIBS) -o $@
.SECONDARY:

# ---- not a program of a single file --------------------------------------------------------

$t/mpi/wrong_clock.so: tests/mpi/wrong_clock.c
	@mkdir -p $(@D)
	$(CC) -O2 -Wall -Wextra -shared -fPIC $< -o $@
FAKE_PLUGIN = fake_plugin oracle_read oracle_rules oracle_dot oracle_run oracle_devices
$t/device/fake_plugin.so: $(FAKE_PLUGIN:%=$t/device/%.o)
	$(CC) $(CFLAGS) $(SANITIZE) -shared $(filter %.o,$^) -lm -o $@
$(FAKE_PLUGIN:%=$t/device/%.o) $t/device/fake_opencl.o: FLAGS += -fPIC
# The loader of OpenCL with some functions replaced; its tests are skipped without a loader.
$t/device/fake_opencl.so: $t/device/fake_opencl.o
	@if /sbin/ldconfig -p 2>/dev/null | grep -qF libOpenCL.so.1; then echo linking $@; \
	    $(CC) $(CFLAGS) $(SANITIZE) -shared $< -Wl,--no-as-needed -l:libOpenCL.so.1 -ldl -o $@; fi
# The cells as printed C and StableHLO, compiled and read back.
$t/print_cells: $(patsubst %,$t/cells/%.o,print_cells print_c print_stablehlo toy_records) $B/libunroll.a
	$(CC) $(CFLAGS) $(SANITIZE) $^ $(LIBS) -o $@
$t/printed.c $t/printed.mlir &: $t/print_cells
	$< c >$t/printed.c && $< stablehlo >$t/printed.mlir
$t/printed.o: $t/printed.c
	$(CC) $(CFLAGS) $(FLAGS) -c $< -o $@
$t/cells/check_printed: $t/printed.o | $t/printed.mlir

# ---- building and running ------------------------------------------------------------------

# Packages for the tests; those that lack something print "skipped" and the reason.
TEST_PACKAGES = gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user python3-venv python3-dev librsvg2-bin pkg-config cmake g++ \
    groff-base zsh fish opencl-headers clang gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm iverilog verilator yosys \
    nextpnr-ice40 fpga-icestorm fpga-icestorm-chipdb qflow-tech-osu018 opensta etcd-server nftables \
    clang-22 libclang-rt-22-dev clang-format-22 prometheus chromium codespell debhelper lintian
test-packages: deps
	@tools/install.sh --optional $(OPTIONAL) $(TEST_PACKAGES)

# Kinds of builds, with a folder each. They share the jobs of one make, and the images of kernels.
BUILD_plain  = B=$(BUILT) $(if $(GDB),CFLAGS='$(DEBUG)') SANITIZE=
BUILD_memory = B=$B/memory CFLAGS='$(DEBUG)' SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all'
BUILD_thread = B=$B/thread CFLAGS='$(DEBUG)' SANITIZE='-fsanitize=thread'
BUILT        = $(if $(GDB),$B/debug,$B)
KIND         = $(if $(GDB),plain,$(if $(filter address undefined,$(SANITIZE)),memory,$(filter thread,$(SANITIZE))))
LEVEL        = test
check: LEVEL = check
test-long: LEVEL = long
test-timed: LEVEL = timed
SUBMAKE      = $(MAKE)
# $(SUBMAKE): `make -n` runs lines that contain MAKE.
test: $(if $(value T),deps,test-packages)
test-long: test-packages
check test test-long test-timed:
	@mkdir -p $B
	@BUILT_EXTENSIONS='$(BUILT_EXTENSIONS)' tests/list.sh tests $(BUILT) $(LEVEL) '$(value T)' $(KIND) >$B/tests.list && test -s $B/tests.list || \
	    { echo "error: no test matches '$(value T)'; fix: T=PART of a name that 'tests/list.sh tests build long' prints" >&2; exit 2; }
	@$(if $(value T)$(filter check,$@),,tests/venv.sh $B >/dev/null 2>&1 &)
	@$(SUBMAKE) --no-print-directory -j$$(nproc) $(patsubst %,build-%,$(or $(KIND),plain memory thread)) >$B/make.log 2>&1 || \
	    { tail -n 40 $B/make.log; exit 1; }
	@$(if $(GDB),exec gdb --args $$(cut -f 5 $B/tests.list | head -n 1),tests/run.sh <$B/tests.list)

build-plain build-memory build-thread: build-%: $(IMAGES)
	@targets=$$(awk -F '\t' '$$1 == "$*" { print $$4 }' $B/tests.list | tr ' ' '\n' | sort -u); \
	[ -z "$$targets" ] || $(MAKE) --no-print-directory $(BUILD_$*) $$targets

include tests/more.mk
.PHONY: check test test-long test-timed test-packages build-plain build-memory build-thread
