# The hardware extension: its Verilog, scripts and pins as strings. The host code is plain C and is built elsewhere.
ROWS_hardware = format=verilog

$B/text/%.inc: extensions/hardware/rtl/%.v
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
$B/text/%.inc: extensions/hardware/rtl/%.mk
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
$B/text/%.inc: extensions/hardware/rtl/%.pcf
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
$B/text/%.inc: extensions/hardware/rtl/%.lpf
	@mkdir -p $(@D)
	$(AS_STRINGS) $< >$@
FLAGS_verilog = -I$B/text
$B/extensions/hardware/verilog.o: $(patsubst extensions/hardware/rtl/%,$B/text/%.inc,$(basename $(wildcard extensions/hardware/rtl/*)))
