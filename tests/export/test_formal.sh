#!/bin/sh
# The queue of y in exported hardware, proven by yosys for all inputs of the first clocks: a result stays until it is
# taken; none is lost, duplicated or out of order. A broken queue is detected. Usage: test_formal.sh [CLOCKS]
# test: kinds=plain
cd "$(dirname "$0")/../.." || exit 2
clocks=${1:-10} passed=0 failed=0
command -v yosys >/dev/null || { echo "skipped: proofs of exported hardware: yosys is not here"; echo "test_formal: 0 passed, 0 failed, 1 skipped"; exit 0; }
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
proves() {
    yosys -q -l "$place/log" -p "read_verilog -formal -defer $1; read_verilog -formal tests/export/queue_formal.v
        hierarchy -top queue_formal; proc; flatten; memory -nordff; opt -full; async2sync; dffunmap
        sat -verify -prove-asserts -set-assumes -enable_undef -set-init-def -set-def-inputs \
            -tempinduct-baseonly -tempinduct -maxsteps $clocks" >/dev/null 2>&1
    grep -q "Reached maximum number of time steps -> proved base case for $clocks steps" "$place/log"
}
check() { if "$@"; then passed=$((passed + 1)); else echo "FAILED $*"; failed=$((failed + 1)); fi; }
breaks() { sed "$1" extensions/hardware/rtl/unroll_memories.v >"$place/broken.v"; ! proves "$place/broken.v"; }
check proves extensions/hardware/rtl/unroll_memories.v
check breaks 's/(!valid || ready) && head/head/'
check breaks 's/if (reading) begin/if (reading \&\& !valid) begin/; s/tail <= tail + 1.b1;/tail <= tail + 2;/'
echo "test_formal: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
