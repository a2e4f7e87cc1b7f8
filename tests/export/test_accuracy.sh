#!/bin/sh
# bench/accuracy.c, which measures the loss of accuracy of a classifier in integers: waves that are easily distinguished
# lose nothing, wrong labels are counted as wrong, and models of other kinds are refused. Measured losses are in
# docs/howto/fpga.md. Usage: test_accuracy.sh UNROLL ACCURACY
# test: args=$B/unroll $B/accuracy; seconds=10
unroll=$(realpath "$1") accuracy=$(realpath "$2") passed=0 failed=0
place=$(mktemp -d) && cd "$place" || exit 2
trap 'rm -rf "$place"' EXIT
holds() { name=$1; shift; if "$@"; then passed=$((passed + 1)); else echo "FAILED $name"; failed=$((failed + 1)); fi; }
# waves SLOW FAST: 20 sequences of two numbers a step, labeled by their frequency
waves() {
    echo '@problemName waves'; echo '@timeStamps false'; echo '@univariate false'; echo '@classLabel true slow fast'; echo '@data'
    awk -v slow="$1" -v fast="$2" 'BEGIN { for (s = 0; s < 20; s++) { a = b = ""; f = s % 2 ? .9 : .2
        for (t = 0; t < 16; t++) { a = a (t ? "," : "") sin(f * t + s); b = b (t ? "," : "") cos(f * t + s) }
        print a ":" b ":" (s % 2 ? fast : slow) } }'
}
says() { "$accuracy" run/model.safetensors train.ts "$1" 2>&1 | grep -q "$2"; }
waves slow fast >train.ts
waves fast slow >wrong.ts
"$unroll" train train.ts --cell gru --layers 1 --hidden 8 --streaming --pool last --seed 1 --lr 0.02 --steps 400 --out run >log 2>&1
holds "all are right" says train.ts 'of 20 sequences right: floats 20, integers of 8 bits 20, of 16 bits 20'
holds "wrong labels count as wrong" says wrong.ts 'of 20 sequences right: floats 0, integers of 8 bits 0, of 16 bits 0'
holds "what is not there is refused" says no.ts 'no.ts'
echo "test_accuracy: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
