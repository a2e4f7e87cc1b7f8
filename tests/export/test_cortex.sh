#!/bin/bash
# Compares exported C on emulated Cortex-M boards with the same C on this machine, bit by bit: models of every cell in
# floats and in integers, and a trained one. M4F and M7 with FPU, M0 without. The instructions of a step are counted,
# and the exporter's estimate must be near them; speed is not measured.
#     tests/export/test_cortex.sh BINARY LIBRARY
# COUNTS=FILE in the environment: appends the counts, for the table of tools/fit_cortex.py.
# test: kinds=long-plain; args=$B/unroll $B/libunroll.a; seconds=100
set -u
binary=$(realpath "$1") || exit 2
library=$(realpath "$2") || exit 2
root=$(realpath "$(dirname "$0")/../..") || exit 2
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
for tool in gcc arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null && continue
    echo "test_cortex: 0 passed, 0 failed, 1 skipped: needs $tool" \
         "(Debian: gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm)"
    exit 0
done
examples=$root/examples/cortex_m
passed=0 failed=0
cd "$place" || exit 2

for _ in $(seq 60); do echo "the quick brown fox jumps over the lazy dog"; done >text.txt
"$binary" train text.txt --hidden 24 --layers 1 --embed 8 --steps 60 --batch 4 --bptt 16 --out run \
    >log 2>&1 ||
    { tail -n 5 log; exit 1; }
gcc -O1 -I"$root/include" "$root/tests/export/cortex_models.c" "$library" -ljansson -lm -pthread -o models ||
    exit 1
models=$(./models "$place" "$(find run -name model.safetensors | head -n 1)") || exit 1

# board CORE FLAGS MACHINE NANOSECONDS_OF_A_TICK MODEL: runs the model there and compares the output with that on this
# machine
board() {
    local here=$5/here there=$5/there
    arm-none-eabi-gcc -std=gnu99 -O2 -ffp-contract=off -mthumb $2 -I"$5" -I"$examples" \
        "$root/tests/export/cortex_m.c" "$5/model.c" "$examples/board.c" -T "$examples/board.ld" \
        -nostartfiles -lm -lc -lnosys -o "$5/model.elf" 2>log ||
        { failed=$((failed + 1)); tail -n 5 log; return; }
    timeout 60 qemu-system-arm -M $3 -nographic -semihosting-config enable=on,target=native -icount shift=0 \
        -kernel "$5/model.elf" </dev/null >"$there" 2>&1
    if diff <(grep -v ticks "$here") <(grep -v ticks "$there") >log && grep -q ticks "$there"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED ${5##*/} on a $1:"
        head -n 4 log
    fi
    estimate "$1" "$5" $((16#$(sed -n 's/^ticks //p' "$there") * $4 / 24))
}

number() { sed 's/.*"'"$1"'":\([0-9]*\).*/\1/' "$2/cost.json"; }

# estimate CORE MODEL INSTRUCTIONS: compares the count with the printed cycles, divided by the assumed cycles of an
# instruction (src/convert/c99/estimate.c). All operations have one price, and so have all functions. The network with
# softmax and softplus and the integer minLSTM (cell 6), whose divisions and logarithms cost more, have wider bounds.
estimate() {
    local counts="" bounds="0.85 1.15" cycles=1.4 key
    case $1-$2 in
    Cortex-M4F-*fp32) cycles=2.1 ;;
    Cortex-M4F-*int8) cycles=1.5 ;;
    Cortex-M7-*fp32)  cycles=1.05 ;;
    Cortex-M7-*int8)  cycles=0.75 ;;
    esac
    [[ ${2##*/} != network_* && ${2##*/} != cell_6_int8 ]] || bounds="0.6 1.2"
    if awk -v e="$(number "$1" "$2")" -v n="$3" -v c=$cycles -v b="$bounds" -v what="${2##*/} $1" \
        'BEGIN { split(b, at, " "); r = n ? e / c / n : 0
                 printf "%-34s %9d instructions a step, estimated %.2f of them\n", what, n, r
                 exit !(r > at[1] && r < at[2]) }'; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED the estimate of ${2##*/} on a $1 is not within $bounds of the count"
    fi
    [ -n "${COUNTS:-}" ] || return 0
    for key in multiply_accumulates sums pointwise functions conversions; do
        counts="$counts $(number $key "$2")"
    done
    echo "$1 ${2##*/}$counts $3" >>"$COUNTS"
}

for model in $models; do
    gcc -std=gnu99 -O2 -ffp-contract=off -DHOSTED -I"$model" "$root/tests/export/cortex_m.c" \
        "$model/model.c" -lm -o here || exit 1
    ./here >"$model/here"
    board Cortex-M4F "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" mps2-an386 40 "$model"
    board Cortex-M7 "-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-sp-d16" mps2-an500 40 "$model"
    board Cortex-M0+ -mcpu=cortex-m0 microbit 62 "$model"
done
echo "test_cortex: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
