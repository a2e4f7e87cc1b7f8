# make formal: what is asserted of each bus (formal.v) holds at all times, by induction over at most DEPTH clocks.
DEPTH ?= 12
formal: $(addprefix formal-,$(BUSES))
formal-%: FORCE
	@$(call need,$(YOSYS))
	@$(YOSYS) -q -l formal_$*.log -p "read_verilog -formal formal.v loader.v $(NAME)_$*.v; prep -flatten -nordff -top $(NAME)_$*; \
	    async2sync; sat -verify -tempinduct -set-assumes -prove-asserts -maxsteps $(DEPTH)" >/dev/null 2>&1 \
	    && echo "PASS: the handshakes of $*, proven" || { echo "FAIL: formal_$*.log"; grep -i -m 5 'error\|fail' formal_$*.log; exit 1; }
