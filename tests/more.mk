# Tests outside of `make test`: checks on real GPUs and TPUs, fuzzers with coverage, hardware.

# The binding's tests, repeated thousands of times to detect memory leaks.
test-python-long: $B/libunroll.a
	@tests/python/test_python.sh $B long

# Training steps compiled for TPUs that are not present: PyPI's libtpu is large.
tpu-check: all $t/cases/test_ahead
	tests/device/check_tpu.sh $B

# On a machine with a GPU, nvcc and cuBLASLt; needs no network.
gpu-check:
	@$(MAKE) -s --no-print-directory -j$$(nproc) all $t/cases/test_device $t/cases/test_curve $t/session/test_ranks
	@tests/device/gpu_check.sh $B

# A small version of this check on the fake driver, which tests it without a GPU.
gpu-check-tiny: all $t/cases/test_device $t/cases/test_curve $t/session/test_ranks $(FAKE_CUDA)
	@CASES=tests/cases/tiny.txt HIDDEN=8 STEPS=2 BYTES=1500 tests/device/with_fake_cuda.sh $B tests/device/gpu_check.sh $B

# A folder for a bare machine with a GPU: checks, benchmark, run.sh. Needs nvcc; GPU_CODES=90 makes it smaller.
gpu-bundle:
	@$(MAKE) -s --no-print-directory -j$$(nproc) CUDA=1 $B/bundled/unroll $(PEERS)/peer_cudnn $(PEERS)/gpu_probe
	@tools/gpu_bundle.sh $B $B/gpu-bundle

# Several programs in one (tools/gpu_bundle.c): all names of each are local except for its main.
BUNDLED = unroll test_device test_ways test_curve test_ranks
$B/bundled/unroll.o: $(filter-out $B/extensions/serve/cli/%,$(CLI)) $B/extensions/serve/cli/serve_none.o $B/extensions/serve/cli/load.o
$B/bundled/test_device.o: $t/cases/test_device.o $t/cases/case.o
$B/bundled/test_ways.o: $t/cases/test_ways.o $t/cases/case.o
$B/bundled/test_curve.o: $t/cases/test_curve.o
$B/bundled/test_ranks.o: $t/session/test_ranks.o
$(BUNDLED:%=$B/bundled/%.o):
	@mkdir -p $(@D)
	ld -r $^ -o $@
	objcopy --redefine-sym main=main_$(basename $(@F)) $@
	objcopy --keep-global-symbol=main_$(basename $(@F)) $@
$B/bundled/unroll: $B/tools/gpu_bundle.o $(BUNDLED:%=$B/bundled/%.o) $B/libunroll.a
	$(CC) $(CFLAGS) $^ $(BUNDLED_LIBS) -o $@
# A bare machine may have no libarchive and no libwebsockets.
PLAIN_LIBS = $(filter-out $(ARCHIVE_LIBS),$(LIBS))
BUNDLED_LIBS = $(if $(JANSSON)$(filter /%,$(shell $(CC) -print-file-name=libjansson.a)),$(PLAIN_LIBS:-ljansson=-l:libjansson.a),$(PLAIN_LIBS))

# All combinations of meshes and pairs of options, over threads and over processes.
meshes: all $t/session/test_ranks $t/comm/test_sums
	$t/session/test_ranks all
	tests/mpi/test_mpi.sh $B/unroll $t/comm/test_sums all

# 1,000 ranks of a launched training are killed: the weights are those of an undisturbed run.
KILLS ?= 1000
kills: all
	tests/mpi/test_launch.sh $B/unroll $(KILLS)
	tests/mpi/test_worlds.sh $B/unroll $(KILLS)

mutate:
	tests/cells/mutate.sh

FUZZ_SECONDS ?= 60
FUZZED_frames = cli/run/frames.c
FUZZED_launch = cli/run/launch_text.c
FUZZED_arrivals = extensions/cluster/policies/arrivals.c
FUZZED_inference = extensions/serve/cli/inference.c extensions/serve/cli/buffer.c
FUZZED_state  = src/stream/state.c
FUZZED_cluster = extensions/cluster/planner/cluster.c
# Instrumented files: parsers and what they use.
FUZZED = $(filter src/base/% src/io/% src/convert/% src/data/% extensions/xla/compiled.c,$(SOURCES))
fuzz: $B/libunroll.a
	@tools/install.sh clang libclang-rt-14-dev
	@$(foreach f,$(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c)),mkdir -p $B/fuzz/$f && \
	    clang -g -O1 -fsanitize=fuzzer,address,undefined -ffp-contract=off -D_GNU_SOURCE -Iinclude -Isrc -Itests -I. \
	    tests/fuzz/fuzz_$f.c $(FUZZED_$f) $(FUZZED) $B/libunroll.a $(LIBS) \
	    -o $B/fuzz/fuzz_$f && \
	    $B/fuzz/fuzz_$f -max_total_time=$(FUZZ_SECONDS) $B/fuzz/$f tests/fuzz/seeds/$f || exit 1;)

# Exported hardware: every cell, 1 to 3 layers, both widths; SIM: verilator or icarus.
SIM ?= $(if $(shell command -v verilator),verilator,icarus)
RTL_PATH = PATH="$$PATH:$(dir $(PEERS_PYTHON))"
rtl:
	$(SUBMAKE) -j2 --output-sync=line rtl-simulated rtl-synthesised
rtl-simulated: $t/export/test_verilog
	$t/export/test_verilog all $(SIM)
rtl-synthesised: $t/export/test_gates
	$(RTL_PATH) $t/export/test_gates
	tests/export/test_formal.sh 20

vectors:
	python3 tools/make_torch_vectors.py --out tests/vectors

reference: $B/unroll
	tools/reference.sh $B docs/reference

.PHONY: rtl rtl-simulated rtl-synthesised kills meshes gpu-check gpu-check-tiny gpu-bundle tpu-check test-python-long mutate fuzz vectors reference
