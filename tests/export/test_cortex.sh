#!/bin/bash
# Exported C on emulated Cortex-M boards against the same C here, bit by bit: models of every cell in floats and in
# integers, and one that was trained. M4F and M7 with their FPU; integers also on an M0, which has none. Not a test
# of speed, though the instructions of a step are shown.
#     tests/export/test_cortex.sh BINARY LIBRARY
set -u
binary=$(realpath "$1") || exit 2
library=$(realpath "$2") || exit 2
root=$(realpath "$(dirname "$0")/../..") || exit 2
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
for tool in gcc arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null && continue
    echo "test_cortex: 0 passed, 0 failed, 1 skipped: needs $tool (Debian: gcc-arm-none-eabi libnewlib-arm-none-eabi" \
         "qemu-system-arm)"
    exit 0
done
examples=$root/examples/cortex_m
passed=0 failed=0
cd "$place" || exit 2

for _ in $(seq 60); do echo "the quick brown fox jumps over the lazy dog"; done >text.txt
"$binary" train text.txt --hidden 24 --layers 1 --embed 8 --steps 60 --batch 4 --bptt 16 --out run >log 2>&1 ||
    { tail -n 5 log; exit 1; }
gcc -O1 -I"$root/include" "$root/tests/export/cortex_models.c" "$library" -ljansson -lm -pthread -o models || exit 1
models=$(./models "$place" "$(find run -name model.safetensors | head -n 1)") || exit 1

# board NAME FLAGS MACHINE NANOSECONDS_OF_A_TICK MODEL: runs it there, and compares with what was printed here.
board() {
    local here=$5/here there=$5/there
    arm-none-eabi-gcc -std=gnu99 -O2 -ffp-contract=off -mthumb $2 -I"$5" -I"$examples" "$root/tests/export/cortex_m.c" \
        "$5/model.c" "$examples/board.c" -T "$examples/board.ld" -nostartfiles -lm -lc -lnosys -o "$5/model.elf" 2>log ||
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
    printf '%-26s %-10s %9d instructions a step\n' "${5##*/}" "$1" \
        $((16#$(sed -n 's/^ticks //p' "$there") * $4 / 24))
}

for model in $models; do
    gcc -std=gnu99 -O2 -ffp-contract=off -DHOSTED -I"$model" "$root/tests/export/cortex_m.c" "$model/model.c" -lm -o here ||
        exit 1
    ./here >"$model/here"
    board Cortex-M4F "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" mps2-an386 40 "$model"
    case $model in
    *int8) board Cortex-M0 -mcpu=cortex-m0 microbit 62 "$model" ;;
    *)     board Cortex-M7 "-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-sp-d16" mps2-an500 40 "$model" ;;
    esac
done
echo "test_cortex: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
