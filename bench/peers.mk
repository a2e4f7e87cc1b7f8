# make bench-peers: compares Unroll with oneDNN, PyTorch, ONNX Runtime and OpenVINO; see bench/README.md.
#   ONLY=lstm-train or ONLY=lstm-train/A,stream    only these parts; the page keeps the other results
#   SHORT=1    two short rounds; the results and the page go to $B/peers/short, not into bench/
#   JSON=1     prints each result as a line of JSON; $B/peers/results keeps them
PEERS = $B/peers
PEER_FLAGS = -std=c11 -D_GNU_SOURCE $(WARN)

bench-peers: $B/unroll
	@bench/install.sh $(PEERS)
	@$(MAKE) -s --no-print-directory $(PEERS)/peer_onednn2 $(PEERS)/peer_onednn3 $(PEERS)/floor
	@$(PEERS)/venv/bin/python bench/run.py --unroll $B/unroll --peers $(PEERS) \
	    --build "$(shell git rev-parse --short HEAD 2>/dev/null)" --only "$(ONLY)" \
	    $(if $(SHORT),--results short --rounds 2 --seconds 0.1) $(if $(JSON),--json)
	@$(PEERS)/venv/bin/python bench/report.py $(PEERS)/$(if $(SHORT),short --out $(PEERS)/short,results)

# The same driver, built for Debian's oneDNN 2 and PyPI's oneDNN 3.
$(PEERS)/peer_onednn2: bench/peer_onednn.c bench/onednn_api.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PEER_FLAGS) $< -ldnnl -lm -o $@
$(PEERS)/peer_onednn3: bench/peer_onednn.c bench/onednn_api.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PEER_FLAGS) -I$(PEERS)/venv/include $< -L$(PEERS)/venv/lib \
	    -Wl,-rpath,$(abspath $(PEERS)/venv/lib) -ldnnl -lm -o $@

$(PEERS)/floor: bench/floor.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -march=native $(PEER_FLAGS) -fopenmp $< -o $@

# make bench-guard: this build against an older one in 12 regimes, in turns; fails below .97 of its speed. OLD is a binary,
# or a tag or commit, which is built in $B/guard; the default is the newest tag. ONLY=stream measures a part.
OLD ?= $(shell git describe --tags --abbrev=0 2>/dev/null)
bench-guard: $B/unroll
	@test -n "$(OLD)" || { echo "bench-guard: this repository has no tag; fix: OLD=BINARY or OLD=COMMIT"; exit 2; }
	@old=$(OLD); test -x "$$old" || { old=$B/guard/$(subst /,-,$(OLD)); \
	    { test -d $$old || git clone -q . $$old && git -C $$old checkout -q $(OLD); } && \
	    $(MAKE) -s --no-print-directory -C $$old B=build all >$$old.log 2>&1 && old=$$old/build/unroll || \
	    { echo "bench-guard: $(OLD) cannot be built, see $$old.log; fix: OLD=BINARY or another commit"; exit 2; }; }; \
	python3 bench/guard.py --old $$old --unroll $B/unroll --only "$(ONLY)" --turns $(or $(TURNS),6)

# make bench-first: the time of the first second of use; see bench/first.py.
bench-first: $B/unroll $B/first
	@python3 bench/first.py --unroll $B/unroll --first $B/first $(if $(wildcard $B/python/site),--site $B/python/site)
$B/first: bench/first.c $B/libunroll.a
	$(CC) $(CFLAGS) $(FLAGS) $^ $(LIBS) -o $@

# make gpu-bench: compares Unroll with PyTorch and cuDNN on a GPU and writes bench/RESULTS-gpu.md. Needs nvcc (for our
# kernels), gcc, and PyTorch in the environment of PYTHON, but no network. ONLY=lstm-bf16/768,.. measures a part.
# MINUTES=9 is the time limit, which includes the build.
PYTHON ?= python3
gpu-bench:
	@begin=$$(date +%s) && $(MAKE) -s --no-print-directory -j$$(nproc) all $(PEERS)/peer_cudnn && \
	$(PYTHON) bench/gpu.py --unroll $B/unroll --cudnn $(PEERS)/peer_cudnn --only "$(ONLY)" --minutes $(or $(MINUTES),9) \
	    --begin $$begin --build "$(shell git rev-parse --short HEAD 2>/dev/null)"

$(PEERS)/peer_cudnn: bench/peer_cudnn.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PEER_FLAGS) $< -ldl -o $@

# Measures the numbers of extensions/cuda/kernels/cycles.h. Part of make gpu-bundle.
$(PEERS)/gpu_probe: bench/gpu_probe.cu
	@mkdir -p $(@D)
	$(NVCC) -std=c++17 -O2 -gencode=arch=compute_90a,code=sm_90a $< -o $@
# Measures only an exchange through L2: the gain of one writer per line.
$(PEERS)/gpu_exchange: bench/gpu_exchange.cu
	@mkdir -p $(@D)
	$(NVCC) -std=c++17 -O2 -gencode=arch=compute_90a,code=sm_90a $< -o $@

# The accuracy that a classifier loses to integers: $B/accuracy MODEL TRAINING-SET TEST-SET (docs/howto/fpga.md).
$B/accuracy: bench/accuracy.c $B/libunroll.a
	$(CC) $(CFLAGS) $(FLAGS) $^ $(LIBS) -o $@

# The speed of reading csv: bench/reading.py (bench/README.md).
$B/reading: bench/reading.c $B/libunroll.a
	$(CC) $(CFLAGS) $(FLAGS) $^ $(LIBS) -o $@

# The gain of pieces of time for a trained model: $B/pieces MODEL TEXT [STEPS [PIECES..]] (docs/internals/time.md).
$B/pieces: bench/pieces.c $B/libunroll.a
	$(CC) $(CFLAGS) $(FLAGS) $^ $(LIBS) -o $@

# Ranks of simulated clusters: bench/simulate.sh (docs/internals/simulation.md).
$B/simulate: bench/simulate.c $B/libunroll.a
	$(CC) $(CFLAGS) $(FLAGS) $^ $(LIBS) -o $@

# The regimes, estimated for 2 to 64 cores: $B/cores bench/regimes.txt [PART [NAME]] (docs/internals/threads.md).
$B/cores: bench/cores.c $B/libunroll.a
	$(CC) $(CFLAGS) $(FLAGS) $^ $(LIBS) -o $@

.PHONY: bench-peers gpu-bench
