# The test programs: what each is made of, and how it is run. `make check` runs a spread of them and installs nothing.
# `make test` installs what the tests want and runs nearly all, some under AddressSanitizer and
# UndefinedBehaviorSanitizer. `make test-long` runs all of them, those with threads under ThreadSanitizer too.
T := $B/tests

# Each NAME is tests/NAME.c and the files that OF_NAME adds, linked with the library.
TEST_PROGRAMS = base/test_base base/test_team file/test_safetensors file/test_npy file/test_torch file/test_onnx file/test_rtneural file/test_rnnoise \
    cells/check_gradient cells/check_any cells/check_fixed cells/check_math cells/check_scan cells/check_simd cells/check_fused cells/check_nan \
    cells/check_printed plan/test_plan plan/test_rates plan/test_polls plan/test_mesh plan/test_execution plan/test_toy plan/test_planner \
    device/test_kernels device/test_kernels_training device/test_rnn device/test_low_precision device/test_bf16x3 device/test_executable device/test_xla device/test_several device/test_oracle device/test_estimate device/test_tiling comm/test_comm comm/test_sums comm/test_ucx \
    cases/test_cases cases/test_weights cases/test_listed vectors/test_vectors session/test_session session/test_network session/test_pool session/test_columns session/test_module session/test_pieces session/test_time_ranks session/test_many_threads session/test_refusals session/test_fork session/test_ranks \
    losses/test_losses model/test_initial data/test_tables data/test_cache data/test_own_data train/test_text train/test_words train/test_toys train/test_toy_data train/test_batches train/test_feed train/test_sampler train/test_trainer train/test_checkpoint train/test_resume train/test_twice train/test_balance train/test_corruption train/test_sample train/test_weights_loss train/test_class_weights \
    train/test_examples train/test_tasks \
    tasks/test_forecast tasks/test_forecast_units tasks/test_lm tasks/test_anomaly tasks/test_recommend tasks/test_division tasks/test_accepts \
    parallel/test_policies parallel/test_compress \
    data/test_formats data/test_csv stream/test_stream stream/test_realtime export/test_c99 export/test_integers export/test_verilog
TEST_PROGRAMS := $(foreach p,$(TEST_PROGRAMS),$(if $(wildcard tests/$p.c),$p))
CUDA_PROGRAMS := $(if $(shell command -v g++),device/test_gpu_shim device/test_persistent)
FAKE_CUDA_PROGRAMS := $(if $(CUDA_PROGRAMS),device/test_fake_cuda)
FUZZERS = readers json safetensors npy text state frames import compiled launch arrivals cluster

TOYS := $(filter-out $(OTHER_ISAS),$(wildcard tests/cells/toys_*.c))
OF_cells/check_gradient = cells/toys_f64
OF_cells/check_fixed    = cells/cells_fixed
OF_cells/check_simd     = $(TOYS:tests/%.c=%)
OF_cells/check_fused    = $(TOYS:tests/%.c=%)
OF_cells/check_scan     = cells/toy_records
OF_cells/check_nan      = $(TOYS:tests/%.c=%) cells/toy_records
OF_cells/check_printed  = cells/toys_scalar cells/toy_records
OF_plan/test_mesh       = plan/mesh
OF_plan/test_polls      = plan/mesh
OF_plan/test_execution  = plan/mesh
OF_plan/test_toy        = plan/mesh $(TOYS:tests/%.c=%)
OF_device/test_oracle   = device/oracle_read device/oracle_rules device/oracle_dot device/oracle_run device/oracle_devices
OF_cases/test_cases     = cases/case
OF_cases/test_weights   = cases/case
OF_cases/test_listed    = cases/case
OF_cases/test_device    = cases/case
OF_cases/test_several   = cases/case
OF_cases/test_ahead     = cases/case
OF_device/test_opencl   = cases/case
OF_stream/test_stream   = cases/case

include tests/device/fake_cuda/fake_cuda.mk
TEST_BINARIES = $(TEST_PROGRAMS:%=$T/%) $(CUDA_PROGRAMS:%=$T/%) $(FAKE_CUDA_PROGRAMS:%=$T/%) $(if $(CUDA_PROGRAMS),$(FAKE_CUDA)) $T/cases/test_device $T/cases/test_several $T/cases/test_ahead $T/cases/test_curve $T/device/test_opencl $T/device/test_opencl_header $(FAKE_OPENCL) $T/device/fake_plugin.so $T/mpi/wrong_clock.so $(FUZZERS:%=$T/fuzz/fuzz_%)
TEST_BINARIES += $(if $(CUDA_PROGRAMS),$T/device/test_cuda $B/bundled/unroll $B/peers/peer_cudnn)
$B/tests/%.o: FLAGS += -Itests -I.

define TEST_RULE
$T/$1: $T/$1.o $(OF_$1:%=$T/%.o) $B/libunroll.a
	$$(CC) $$(CFLAGS) $$(SANITIZE) $$(filter %.o %.a,$$^) $$(LIBS) -o $$@
endef
$(foreach p,$(TEST_PROGRAMS) cases/test_device cases/test_several cases/test_ahead cases/test_curve device/test_opencl device/test_opencl_header,$(eval $(call TEST_RULE,$p)))
$(eval $(call TEST_RULE,device/test_cuda))
$(eval $(call TEST_RULE,export/test_gates))
$T/mpi/wrong_clock.so: tests/mpi/wrong_clock.c
	@mkdir -p $(@D)
	$(CC) -O2 -Wall -Wextra -shared -fPIC $< -o $@
FAKE_PLUGIN = fake_plugin oracle_read oracle_rules oracle_dot oracle_run oracle_devices
$T/device/fake_plugin.so: $(FAKE_PLUGIN:%=$T/device/%.o)
	$(CC) $(CFLAGS) $(SANITIZE) -shared $(filter %.o,$^) -lm -o $@
$(FAKE_PLUGIN:%=$T/device/%.o) $T/device/fake_opencl.o: FLAGS += -fPIC
# It is the loader of OpenCL but for a few functions: where there is one.
FAKE_OPENCL := $(if $(shell /sbin/ldconfig -p 2>/dev/null | grep -F libOpenCL.so.1),$T/device/fake_opencl.so)
$T/device/fake_opencl.so: $T/device/fake_opencl.o
	$(CC) $(CFLAGS) $(SANITIZE) -shared $< -Wl,--no-as-needed -l:libOpenCL.so.1 -ldl -o $@
$T/fuzz/fuzz_frames: $B/cli/frames.o
$T/fuzz/fuzz_launch: $B/cli/launch_text.o
$T/fuzz/fuzz_%: $T/fuzz/fuzz_%.o $T/fuzz/driver.o $B/libunroll.a
	$(CC) $(CFLAGS) $(SANITIZE) $(filter %.o,$^) $(filter %.a,$^) $(LIBS) -o $@

# The cells as printed C and StableHLO, compiled and read back.
$T/print_cells: $(patsubst %,$T/cells/%.o,print_cells print_c print_stablehlo toy_records) $B/libunroll.a
	$(CC) $(CFLAGS) $(SANITIZE) $^ $(LIBS) -o $@
$T/printed.c $T/printed.mlir &: $T/print_cells
	$< c >$T/printed.c && $< stablehlo >$T/printed.mlir
$T/printed.o: $T/printed.c
	$(CC) $(CFLAGS) $(FLAGS) -c $< -o $@
$T/cells/check_printed: $T/printed.o | $T/printed.mlir

# ---- running ------------------------------------------------------------------------------

# The programs that take arguments.
RUN_device/test_xla = $T/device/fake_plugin.so
RUN_device/test_several = $T/device/fake_plugin.so
RUN_session/test_fork = $T/device/fake_plugin.so
RUN_train/test_toys = $T/device/fake_plugin.so
RUN_train/test_toy_data = $T/device/fake_plugin.so
RUN_device/test_estimate = $T/device/fake_plugin.so
RUN_cases/test_cases = test tests/cases/cases.txt
RUN_cases/test_weights = tests/cases/cases.txt
RUN_cases/test_listed = tests/cases/cases.txt
RUN_device/test_persistent = $(if $(findstring thread,$(SANITIZE)$(B)),tiny)
$(foreach p,cells/check_fused plan/test_mesh plan/test_execution device/test_rnn device/test_low_precision device/test_bf16x3 session/test_ranks \
    train/test_trainer train/test_corruption,$(eval RUN_$p = $(if $(filter %/memory %/thread,$B),quick)))
RUN_plan/test_polls = $(if $(filter %/thread,$B),untimed)
RUN_train/test_weights_loss = docs/internals/design.md
RUN_stream/test_stream = tests/cases/cases.txt
RUN_vectors/test_vectors = tests/vectors/*.safetensors
RUN_cells/check_printed = $T/printed.mlir
FUZZ_RUNS ?= 20000

PLAIN   = $(TEST_PROGRAMS)
THREADS = base/test_team device/test_several train/test_feed comm/test_comm comm/test_sums plan/test_polls plan/test_mesh device/test_executable session/test_ranks session/test_time_ranks
MEMORY  = base/test_base file/test_safetensors file/test_npy file/test_torch file/test_onnx file/test_rtneural file/test_rnnoise cells/check_nan cells/check_fused cells/check_simd \
          plan/test_plan plan/test_mesh plan/test_execution plan/test_toy plan/test_planner \
          device/test_kernels device/test_kernels_training device/test_rnn device/test_low_precision device/test_bf16x3 device/test_xla device/test_several device/test_oracle device/test_estimate session/test_session session/test_network session/test_pool session/test_columns session/test_module session/test_pieces session/test_time_ranks session/test_many_threads session/test_refusals session/test_fork session/test_ranks \
          vectors/test_vectors losses/test_losses model/test_initial train/test_class_weights \
          data/test_tables data/test_cache data/test_own_data data/test_formats train/test_text train/test_examples train/test_tasks train/test_words train/test_feed train/test_trainer train/test_checkpoint train/test_corruption train/test_sample tasks/test_accepts stream/test_stream export/test_integers export/test_verilog
MEMORY := $(filter $(TEST_PROGRAMS),$(MEMORY))
# Of those what reads files and takes memory by the caller's numbers: `make test` has time for these.
QUICK_MEMORY = base/test_base file/test_safetensors file/test_npy file/test_torch file/test_onnx file/test_rtneural \
    file/test_rnnoise plan/test_plan session/test_session session/test_network session/test_columns data/test_tables data/test_cache data/test_own_data train/test_text data/test_formats data/test_csv tasks/test_accepts stream/test_stream

# Not $(MAKE) by name, which `make -n` would run.
SUBMAKE = $(MAKE)

# "SECONDS COMMAND" lines for tests/run.sh; "alone" before it: the command watches the clock; "long" before all: only
# `make test-long` runs it.
LINES = $(foreach p,$1,echo '$2300 $T/$p $(RUN_$p)';)
LONG := long$(subst ,, )

# Needs what `make` needs, no network and no root.
CHECK_PROGRAMS = base/test_base file/test_safetensors file/test_torch file/test_onnx cells/check_math plan/test_plan \
    device/test_rnn session/test_session session/test_network train/test_trainer train/test_checkpoint train/test_resume stream/test_stream
check:
	@$(MAKE) -s --no-print-directory -j$$(nproc) all $(CHECK_PROGRAMS:%=$T/%) $T/cases/test_cases
	@{ $(call LINES,$(CHECK_PROGRAMS)) echo '60 $T/cases/test_cases test tests/cases/short.txt'; \
	   echo '60 tests/bits/test_bits.sh $B/unroll'; echo '60 tests/rules/test_rules.sh .'; echo '10 tests/rules/test_prose.sh .'; \
	   echo '200 tests/cli/test_cli.sh $B/unroll'; } | tests/run.sh

test test-long: deps
	@tools/install.sh --optional $(OPTIONAL) gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user python3-venv python3-dev librsvg2-bin pkg-config cmake g++ groff-base zsh fish \
	    opencl-headers clang gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm iverilog verilator yosys nextpnr-ice40 fpga-icestorm fpga-icestorm-chipdb qflow-tech-osu018 opensta
	@tools/install.sh --optional etcd-server nftables
	@tools/install.sh --optional clang-22 libclang-rt-22-dev clang-format-22
	@tests/venv.sh $B >/dev/null 2>&1 &
	@$(MAKE) --no-print-directory -j$$(nproc) builds$(@:test%=%) >$B.log 2>&1 || { tail -n 40 $B.log; exit 1; }
	@rm -f $B.log
	@{ $(SUBMAKE) -s --no-print-directory lines; \
	   $(SUBMAKE) -s --no-print-directory memory-lines B=$B/memory; \
	   $(SUBMAKE) -s --no-print-directory thread-lines B=$B/thread; } | tests/run.sh $(@:test-%=%)

test-programs: $(TEST_BINARIES) $T/printed.mlir $B/accuracy $B/simulate
memory-programs: $(QUICK_MEMORY:%=$T/%) $(FUZZERS:%=$T/fuzz/fuzz_%)
memory-programs-long: memory-programs $(MEMORY:%=$T/%) $T/cases/test_cases $T/device/fake_plugin.so
thread-programs: $(THREADS:%=$T/%) $T/device/fake_plugin.so $(CUDA_PROGRAMS:%=$T/%) $(if $(CUDA_PROGRAMS),$(FAKE_CUDA) $T/cases/test_device)

# The builds share their jobs: while one waits for its last file, the others go on. The images are for all.
builds: $B/unroll test-programs memory-build
builds-long: $B/unroll test-programs memory-build-long thread-build
memory-build memory-build-long thread-build: | $(IMAGES)
memory-build memory-build-long:
	@$(MAKE) --no-print-directory $(@:memory-build%=memory-programs%) B=$B/memory CFLAGS='$(DEBUG)' \
	    SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all'
thread-build:
	@$(MAKE) --no-print-directory thread-programs B=$B/thread CFLAGS='$(DEBUG)' SANITIZE='-fsanitize=thread'

lines:
	@$(call LINES,$(PLAIN))
	@echo '300 $T/cases/test_cases test tests/cases/rows.txt'
	@echo '100 $T/cases/test_cases near tests/cases/rows.txt'
	@echo '100 $T/cases/test_weights tests/cases/wide.txt'
	@echo '300 $T/cases/test_cases grad tests/cases/cases.txt'
	@echo '300 $T/cases/test_cases support tests/cases/cases.txt'
	@echo '60 $T/cases/test_several cpu,cpu tests/cases/cases.txt'
	@echo '60 $T/cases/test_several cpu,xla:$T/device/fake_plugin.so tests/cases/short.txt near'
	@echo '60 $T/cases/test_several xla:$T/device/fake_plugin.so,cpu tests/cases/tiny.txt near'
	@echo '60 $T/cases/test_device xla:$T/device/fake_plugin.so tests/cases/cases.txt'
	@$(foreach u,2 3 8,echo '60 env UNROLL_XLA_UNROLL=$u $T/cases/test_device xla:$T/device/fake_plugin.so tests/cases/short.txt';)
	@echo '60 $T/cases/test_ahead xla:$T/device/fake_plugin.so tests/cases/cases.txt v5e:2x2'
	@echo '60 $T/cases/test_device xla:$T/device/fake_plugin.so --cuts tests/cases/cases.txt'
	@echo '60 $T/cases/test_device xla:$T/device/fake_plugin.so --document docs/howto/xla.md $T/cases/row.txt'
	@echo '60 tests/device/test_xla_command.sh $B'
	@echo 'long 200 tests/device/check_xla.sh $B'
	@echo '200 tests/device/check_opencl.sh $B'
	@echo '60 tests/device/test_opencl_fails.sh $B'
	@echo '10 $T/device/test_opencl_header'
	@echo 'long 600 tests/device/check_opencl.sh $B long'
	@$(if $(CUDA_PROGRAMS),$(call LINES,$(CUDA_PROGRAMS))echo '60 tests/device/with_fake_cuda.sh $B $T/device/test_fake_cuda'; \
	    echo '120 tests/device/with_fake_cuda.sh $B $T/device/test_cuda'; \
	    echo '100 tests/device/with_fake_cuda.sh $B tests/device/check_cuda_device.sh $B'; \
	    echo '60 tests/device/with_fake_cuda.sh $B tests/device/test_nvtx.sh $B'; \
    echo 'long 100 tests/device/with_fake_cuda.sh $B tests/device/test_gpu_ranks.sh $B'; \
	    echo '300 tests/device/test_bundle.sh $B'; \
	    echo 'long 600 tests/device/test_bundle.sh $B long'; \
	    echo '100 tests/device/with_fake_cuda.sh $B $T/cases/test_device cuda tests/cases/cases.txt',echo "10 echo 'skipped: CUDA kernels on the host: there is no g++'; echo 'fake_cuda: 0 passed, 0 failed, 1 skipped'")
	@echo '30 python3 tests/device/check_cuda_code.py $B'
	@echo '30 python3 tests/device/check_sass.py'
	@echo '10 tests/device/check_headers.sh'
	@echo 'long 300 tests/cells/check_neon.sh $T/cells/check_simd $B/neon'
	@echo '60 tests/cells/mutate.sh rnn'
	@echo 'long 300 tests/session/mutate_pieces.sh $B'
	@$(if $(CUDA_PROGRAMS),$(foreach w,portable grid,echo '100 env UNROLL_CUDA_ALGORITHM=$w tests/device/with_fake_cuda.sh $B $T/cases/test_device cuda tests/cases/short.txt';))
	@echo 'alone 200 tests/cli/test_cli.sh $B/unroll'
	@echo '100 tests/cli/test_energy.sh $B/unroll'
	@echo '60 tests/cli/test_tasks.sh $B/unroll'
	@echo '60 tests/cli/test_numbers.sh $B/unroll'
	@echo '60 tests/cli/test_completion.sh $B/unroll'
	@echo '60 tests/bits/test_bits.sh $B/unroll'
	@echo '30 tests/rules/test_rules.sh .'
	@echo '10 tests/rules/test_prose.sh .'
	@echo '30 tests/device/test_limits.sh $B/unroll'
	@echo '120 tests/cli/test_crash.sh $B/unroll'
	@echo '60 tests/cli/test_small_stack.sh $B/unroll'
	@echo '60 tests/cli/test_damage.sh $B/unroll'
	@echo '60 tests/data/test_bad_input.sh $B/unroll'
	@echo '60 python3 tests/data/check_csv.py $T/data/test_csv'
	@echo '60 tests/cli/test_stream.sh $B/unroll $B/libunroll.a'
	@echo '60 tests/stream/test_rtsan.sh $B/libunroll.a'
	@echo 'alone 150 tests/mpi/test_mpi.sh $B/unroll $T/comm/test_sums'
	@echo 'alone 100 tests/mpi/test_lists.sh $B/unroll'
	@echo 'alone 120 tests/mpi/test_ends.sh $B/unroll'
	@echo 'alone 100 tests/mpi/test_network.sh $B/unroll'
	@echo 'alone 120 tests/mpi/test_launch.sh $B/unroll'
	@echo 'long 200 tests/mpi/test_launch.sh $B/unroll 50'
	@echo 'alone 120 tests/mpi/test_faults.sh $B/unroll $T/mpi/wrong_clock.so'
	@echo 'long alone 20 $T/device/test_several timed'
	@echo 'alone 120 tests/mpi/test_worlds.sh $B/unroll'
	@echo 'long 200 tests/mpi/test_worlds.sh $B/unroll 50'
	@echo 'long alone 100 tests/mpi/test_launch_network.sh $B/unroll'
	@echo 'long alone 120 tests/mpi/test_network.sh $B/unroll more'
	@echo 'long alone 120 tests/mpi/test_etcd.sh $B/unroll'
	@echo 'alone 200 tests/cli/test_plot.sh $B/unroll $B'
	@echo '60 tests/cli/test_c99.sh $B/unroll'
	@echo '60 tests/export/test_formal.sh'
	@echo '60 tests/export/test_accuracy.sh $B/unroll $B/accuracy'
	@echo '60 tests/mpi/test_simulate.sh $B/unroll $B/simulate'
	@echo 'long 240 tests/export/test_cortex.sh $B/unroll $B/libunroll.a'
	@echo '300 tests/package/test_package.sh $B'
	@echo '60 python3 tests/bench/test_bench.py'
	@echo '300 tests/file/test_onnx_live.sh $B/unroll $B'
	@echo 'long 300 tests/file/test_onnx_live.sh $B/unroll $B 60'
	@echo '600 tests/file/test_interchange.sh $B/unroll $B'
	@echo '580 tests/python/test_python.sh $B'
	@echo '60 tests/docs/test_docs.sh $B/unroll'
	@echo '30 python3 tests/docs/test_names.py .'
	@echo '200 tests/docs/test_pages.sh $B/unroll $B/libunroll.a'
	@echo 'long 200 tests/docs/test_pages.sh $B/unroll $B/libunroll.a docs/howto/microcontrollers.md'
memory-lines:
	@$(call LINES,$(QUICK_MEMORY))
	@$(call LINES,$(filter-out $(QUICK_MEMORY),$(MEMORY)),$(LONG))
	@echo 'long 120 $T/cases/test_cases downgrade tests/cases/short.txt'
	@echo 'long 900 $T/tasks/test_accepts 4'
	@$(foreach f,$(FUZZERS),echo '200 $T/fuzz/fuzz_$f tests/fuzz/seeds/$f $(FUZZ_RUNS)';)
thread-lines:
	@$(call LINES,$(THREADS) $(CUDA_PROGRAMS),$(LONG))
	@$(if $(CUDA_PROGRAMS),echo 'long 100 env UNROLL_CUDA_ALGORITHM=portable tests/device/with_fake_cuda.sh $B $T/cases/test_device cuda tests/cases/tiny.txt')

# What the binding's tests do a few times, thousands of times: no memory may be lost.
test-python-long: $B/libunroll.a
	@tests/python/test_python.sh $B long

# Training steps compiled for TPUs that are not here: PyPI's libtpu is large.
tpu-check: all $T/cases/test_ahead
	tests/device/check_tpu.sh $B

# On a machine with a GPU, nvcc and cuBLASLt; needs no network.
gpu-check:
	@$(MAKE) -s --no-print-directory -j$$(nproc) all $T/cases/test_device $T/cases/test_curve $T/session/test_ranks
	@tests/device/gpu_check.sh $B

# The same check in small on the fake driver: that it works is known before there is a GPU.
gpu-check-tiny: all $T/cases/test_device $T/cases/test_curve $T/session/test_ranks $(FAKE_CUDA)
	@CASES=tests/cases/tiny.txt HIDDEN=8 STEPS=2 BYTES=1500 tests/device/with_fake_cuda.sh $B tests/device/gpu_check.sh $B

# What a bare machine with a GPU needs, in one folder: checks, benchmark, run.sh. Wants nvcc; GPU_CODES=90 makes less of it.
gpu-bundle:
	@$(MAKE) -s --no-print-directory -j$$(nproc) CUDA=1 $B/bundled/unroll $(PEERS)/peer_cudnn
	@tools/gpu_bundle.sh $B $B/gpu-bundle

# One program that is several (tools/gpu_bundle.c): of each all names are its own but that of its main.
BUNDLED = unroll test_device test_curve test_ranks
$B/bundled/unroll.o: $(CLI)
$B/bundled/test_device.o: $T/cases/test_device.o $(OF_cases/test_device:%=$T/%.o)
$B/bundled/test_curve.o: $T/cases/test_curve.o
$B/bundled/test_ranks.o: $T/session/test_ranks.o
$(BUNDLED:%=$B/bundled/%.o):
	@mkdir -p $(@D)
	ld -r $^ -o $@
	objcopy --redefine-sym main=main_$(basename $(@F)) $@
	objcopy --keep-global-symbol=main_$(basename $(@F)) $@
$B/bundled/unroll: $B/tools/gpu_bundle.o $(BUNDLED:%=$B/bundled/%.o) $B/libunroll.a
	$(CC) $(CFLAGS) $^ $(BUNDLED_LIBS) -o $@
# A bare machine may have no libarchive.
PLAIN_LIBS = $(filter-out $(ARCHIVE_LIBS),$(LIBS))
BUNDLED_LIBS = $(if $(JANSSON)$(filter /%,$(shell $(CC) -print-file-name=libjansson.a)),$(PLAIN_LIBS:-ljansson=-l:libjansson.a),$(PLAIN_LIBS))

# The product of meshes and pairs of options, over threads and over processes.
meshes: all $T/session/test_ranks $T/comm/test_sums
	$T/session/test_ranks all
	tests/mpi/test_mpi.sh $B/unroll $T/comm/test_sums all

# Ranks of a launched training are killed, 1,000 of them: the weights are those of an undisturbed run.
KILLS ?= 1000
kills: all
	tests/mpi/test_launch.sh $B/unroll $(KILLS)
	tests/mpi/test_worlds.sh $B/unroll $(KILLS)

mutate:
	tests/cells/mutate.sh

FUZZ_SECONDS ?= 60
FUZZED_frames = cli/frames.c
FUZZED_launch = cli/launch_text.c
FUZZED_arrivals = src/parallel/arrivals.c
FUZZED_state  = src/stream/state.c
FUZZED_cluster = src/plan/cluster.c
fuzz: $B/libunroll.a
	@tools/install.sh clang libclang-rt-14-dev
	@$(foreach f,$(FUZZERS),mkdir -p $B/fuzz/$f && \
	    clang -g -O1 -fsanitize=fuzzer,address,undefined -ffp-contract=off -D_GNU_SOURCE -Iinclude -Isrc -Itests -I. \
	    tests/fuzz/fuzz_$f.c $(FUZZED_$f) src/base/*.c src/file/*.c src/data/*.c src/device/xla/compiled.c $B/libunroll.a $(LIBS) \
	    -o $B/fuzz/fuzz_$f && \
	    $B/fuzz/fuzz_$f -max_total_time=$(FUZZ_SECONDS) $B/fuzz/$f tests/fuzz/seeds/$f || exit 1;)

# Exported hardware: every cell, 1 to 3 layers, both widths; SIM: verilator or icarus.
SIM ?= $(if $(shell command -v verilator),verilator,icarus)
RTL_PATH = PATH="$$PATH:$(dir $(PEERS_PYTHON))"
rtl:
	$(SUBMAKE) -j2 --output-sync=line rtl-simulated rtl-synthesised
rtl-simulated: $T/export/test_verilog
	$T/export/test_verilog all $(SIM)
rtl-synthesised: $T/export/test_gates
	$(RTL_PATH) $T/export/test_gates
	tests/export/test_formal.sh 20

vectors:
	python3 tools/make_torch_vectors.py --out tests/vectors

reference: $B/unroll
	tools/reference.sh $B docs/reference

.PHONY: rtl rtl-simulated rtl-synthesised kills gpu-check gpu-check-tiny check test test-long tpu-check test-python-long test-programs memory-programs thread-programs \
    builds builds-long memory-build memory-build-long memory-programs-long thread-build lines memory-lines thread-lines mutate fuzz vectors reference
