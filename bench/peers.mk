# make bench-peers: Unroll beside oneDNN, PyTorch, ONNX Runtime and OpenVINO; bench/README.md explains it.
#   ONLY=lstm-train or ONLY=lstm-train/A,stream    a part alone; the page keeps the other results
#   SHORT=1    two short rounds; the results and the page go to $B/peers/short, not into bench/
#   JSON=1     prints each result as a line of JSON; they are kept in $B/peers/results
PEERS = $B/peers
PEER_FLAGS = -std=c11 -D_GNU_SOURCE $(WARN)

bench-peers: $B/unroll
	@bench/install.sh $(PEERS)
	@$(MAKE) -s --no-print-directory $(PEERS)/peer_onednn2 $(PEERS)/peer_onednn3 $(PEERS)/floor
	@$(PEERS)/venv/bin/python bench/run.py --unroll $B/unroll --peers $(PEERS) \
	    --build "$(shell git rev-parse --short HEAD 2>/dev/null)" --only "$(ONLY)" \
	    $(if $(SHORT),--results short --rounds 2 --seconds 0.1) $(if $(JSON),--json)
	@$(PEERS)/venv/bin/python bench/report.py $(PEERS)/$(if $(SHORT),short --out $(PEERS)/short,results)

# The same driver against Debian's oneDNN 2 and PyPI's oneDNN 3.
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

# make gpu-bench: Unroll beside PyTorch and cuDNN on a GPU, into bench/RESULTS-gpu.md. Wants nvcc (for our kernels), gcc,
# PyTorch in the environment of PYTHON, and no network. ONLY=lstm-bf16/768,.. measures a part; MINUTES=9 is the most.
# Building counts.
PYTHON ?= python3
gpu-bench:
	@begin=$$(date +%s) && $(MAKE) -s --no-print-directory -j$$(nproc) all $(PEERS)/peer_cudnn && \
	$(PYTHON) bench/gpu.py --unroll $B/unroll --cudnn $(PEERS)/peer_cudnn --only "$(ONLY)" --minutes $(or $(MINUTES),9) \
	    --begin $$begin --build "$(shell git rev-parse --short HEAD 2>/dev/null)"

$(PEERS)/peer_cudnn: bench/peer_cudnn.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PEER_FLAGS) $< -ldl -o $@

# The numbers of src/device/cuda/cycles.h, measured; make gpu-bundle takes it along.
$(PEERS)/gpu_probe: bench/gpu_probe.cu
	@mkdir -p $(@D)
	$(NVCC) -std=c++17 -O2 -gencode=arch=compute_90a,code=sm_90a $< -o $@
# An exchange through L2 and nothing else: what one writer a line gains.
$(PEERS)/gpu_exchange: bench/gpu_exchange.cu
	@mkdir -p $(@D)
	$(NVCC) -std=c++17 -O2 -gencode=arch=compute_90a,code=sm_90a $< -o $@

# What integers cost a classifier: $B/accuracy MODEL TRAINING-SET TEST-SET (docs/howto/fpga.md).
$B/accuracy: bench/accuracy.c $B/libunroll.a
	$(CC) $(CFLAGS) $(FLAGS) $^ $(LIBS) -o $@

# What pieces of time gain for a trained model: $B/pieces MODEL TEXT [STEPS [PIECES..]] (docs/internals/time.md).
$B/pieces: bench/pieces.c $B/libunroll.a
	$(CC) $(CFLAGS) $(FLAGS) $^ $(LIBS) -o $@

# Ranks of simulated clusters: bench/simulate.sh (docs/internals/simulation.md).
$B/simulate: bench/simulate.c $B/libunroll.a
	$(CC) $(CFLAGS) $(FLAGS) $^ $(LIBS) -o $@

# What 2 to 64 cores would make of the regimes: $B/cores bench/regimes.txt [PART [NAME]] (docs/internals/threads.md).
$B/cores: bench/cores.c $B/libunroll.a
	$(CC) $(CFLAGS) $(FLAGS) $^ $(LIBS) -o $@

.PHONY: bench-peers gpu-bench
