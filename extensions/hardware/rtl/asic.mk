# make asic: the core in standard cells, with its memories as macros that are counted separately. LIB: a library in
# Liberty format; CELL: the driver of inputs; NANOSECONDS: the target clock period. Area is from yosys, timing and power
# from OpenSTA, without wires. The activity is measured with the vectors in Icarus Verilog: toggles per bit and clock,
# over all bits of the core.
LIB  ?= /usr/share/qflow/tech/osu018/osu018_stdcells.lib
CELL ?= BUFX2
NANOSECONDS ?= 5
asic: asic_times.log asic_area.txt
	@grep -E 'Chip area|Number of cells' asic_area.txt | sed 's/^ *//'
	@cat asic_times.log
asic_net.v: $(CORE)
	@$(call need,$(YOSYS))
	@test -r $(LIB) || { echo 'make asic needs a library: $(LIB) is not here; fix: LIB=FILE, or the package qflow-tech-osu018'; exit 1; }
	@printf 'set_driving_cell $(CELL)\nset_load 0.05\n' >asic_drive.txt
	@sed -n '/^module unroll_ro*m \|^module unroll_ram /,/);/p' unroll_memories.v | sed 's/^module/(* blackbox *) module/; s/output reg/output wire/; s/);$$/); endmodule/' >asic_macros.v
	@sed -n '/^module unroll_weights /,/);/p' unroll_weights.v | sed 's/^module/(* blackbox *) module/; s/output reg/output wire/; s/);$$/); endmodule/' >>asic_macros.v
	@sed '/^module unroll_r[oa]m /,/^endmodule/d' unroll_memories.v >asic_parts.v
	@$(YOSYS) -q -l asic_synth.log -p "read_verilog -defer $(NAME).v unroll_core.v unroll_deltas.v asic_parts.v asic_macros.v; hierarchy -top $(NAME); \
	    synth -flatten -top $(NAME); dfflibmap -liberty $(LIB); abc -D $$(echo '$(NANOSECONDS) * 1000' | bc) -constr asic_drive.txt -liberty $(LIB); \
	    opt_clean -purge; setundef -zero; splitnets -ports; opt_clean -purge; tee -o asic_area.txt stat -liberty $(LIB); \
	    write_verilog -noattr -noexpr -nohex asic_raw.v" >/dev/null 2>&1 || { tail -n 5 asic_synth.log; exit 1; }
	@awk 'index($$1, "\\$$paramod") == 1 {if (!($$1 in m)) m[$$1] = "macro_" ++n; sub(/^ *[^ ]+/, "  " m[$$1])} {print}' asic_raw.v >$@
asic_area.txt: asic_net.v
asic_activity.txt: $(CORE)
	@$(call need,iverilog)
	@printf 'module dump; initial begin $$dumpfile("asic_wave.vcd"); $$dumpvars(0, bench.dut); end endmodule\n' >asic_dump.v
	@iverilog -g2012 -s bench -s dump -o asic_bench bench_$(NAME).vh bench.v $(CORE) $(MODELS) asic_dump.v
	@./asic_bench >/dev/null
	@awk '/^\$$var (reg|wire) /{w[$$4] = $$3; if (!seen[$$4]++) bits += $$3; next} /^#/{next} \
	    /^[01]/{id = substr($$0, 2); v = substr($$0, 1, 1); if (id in last && last[id] != v) n++; last[id] = v; next} \
	    /^b/{v = substr($$1, 2); while (length(v) < w[$$2]) v = "0" v; if ($$2 in last) {p = last[$$2]; \
	    for (i = 1; i <= length(v); i++) if (substr(v, i, 1) != substr(p, i, 1)) n++} last[$$2] = v} \
	    /^\$$comment/{next} END{print n, bits}' asic_wave.vcd >asic_toggles.txt
	@clocks=$$(grep -c '^#' asic_wave.vcd); awk -v c=$$clocks '{printf "%.4f\n", $$1 / $$2 / (c / 2)}' asic_toggles.txt >$@; rm -f asic_wave.vcd
asic_times.log: asic_net.v asic_activity.txt
	@$(call need,sta)
	@printf '%s\n' 'read_liberty $(LIB)' 'read_verilog asic_net.v' 'link_design $(NAME)' \
	    'create_clock -name clk -period $(NANOSECONDS) [get_ports clk]' 'report_worst_slack' \
	    "set_power_activity -global -activity $$(cat asic_activity.txt)" 'report_power' 'exit' >asic_sta.tcl
	@sta -no_splash -exit asic_sta.tcl >asic_sta.log 2>&1; echo "activity $$(cat asic_activity.txt) toggles a bit and clock; at $(NANOSECONDS) ns:" >$@; \
	    grep -v -i '^warning' asic_sta.log >>$@
.PHONY: asic
