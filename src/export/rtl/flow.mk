# What can be done with exported hardware; the Makefile beside it says NAME, TARGET and STORE.
#   make sim                                compares with the reference's vectors: PASS
#   make sim ARGS='+stall=128 +resets=4'    with random stalls and resets (bench.v)
#   make sim SIM=verilator                  in Verilator; otherwise in Icarus Verilog where it is here
SOURCES = $(NAME).v unroll_core.v unroll_memories.v unroll_weights.v
MODELS  = $(if $(filter spram,$(STORE)),spram_model.v)
SIM    ?= $(if $(shell command -v iverilog),icarus,verilator)
ARGS   ?=

sim: sim-$(SIM)
	@./bench-$(SIM) $(ARGS) >sim.log; cat sim.log; grep -q ^PASS sim.log

sim-icarus:
	@command -v iverilog >/dev/null || { echo 'make sim needs Icarus Verilog or Verilator'; exit 1; }
	@iverilog -g2012 -o bench-icarus bench_$(NAME).vh bench.v $(SOURCES) $(MODELS)

sim-verilator:
	@command -v verilator >/dev/null || { echo 'make sim needs Icarus Verilog or Verilator'; exit 1; }
	@verilator --binary -O3 -Wno-fatal -Wno-lint -Wno-style --top-module bench -o ../bench-verilator \
	    bench_$(NAME).vh bench.v $(SOURCES) $(MODELS) >verilator.log 2>&1 || { tail -n 20 verilator.log; exit 1; }

clean:
	rm -rf bench-icarus bench-verilator obj_dir *.log
.PHONY: sim sim-icarus sim-verilator clean
