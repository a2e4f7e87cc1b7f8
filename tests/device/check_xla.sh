#!/bin/sh
# Compares the XLA device with the CPU, using XLA's real plugin for CPUs from PyPI. Usage: check_xla.sh BUILD
# test: kinds=long-plain; args=$B; needs=$B/unroll $B/tests/cases/test_curve $B/tests/cases/test_device $B/tests/cases/test_several; seconds=200
build=$1 cases=${CASES:-tests/cases/short.txt}
plugin=$build/xla/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so
sum=55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc
skip() { echo "skipped: $1"; echo "check_xla: 0 passed, 0 failed, 1 skipped"; exit 0; }

test "$(uname -m)" = x86_64 || skip "XLA's plugin for CPUs is for x86-64"
if ! test -f "$plugin"; then
    wheel=$build/xla-wheel
    python3 -m pip --version >/dev/null 2>&1 || skip "there is no pip to get XLA's plugin for CPUs with"
    rm -rf "$wheel" "$build/xla"
    echo "xla-cpu-pjrt==0.0.1 --hash=sha256:$sum" >"$build/xla.txt"
    timeout 100 python3 -m pip download -q --no-deps --require-hashes --only-binary=:all: -d "$wheel" \
        -r "$build/xla.txt" \
        >"$build/xla.log" 2>&1 || skip "XLA's plugin for CPUs (PyPI's xla-cpu-pjrt) could not be had"
    python3 -m zipfile -e "$wheel"/*.whl "$build/xla" && rm -r "$wheel" ||
        skip "XLA's plugin could not be unpacked"
fi

work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0 failed=0 ranks=
check() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; fi; }
count() {       # adds up the last line of a program
    "$@" >"$work/log" 2>&1
    grep FAILED "$work/log"
    counts=$(sed -nE 's/^[^:]+: ([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$work/log" | tail -n 1)
    passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
    test -n "$counts" || { failed=$((failed + 1)); tail -n 5 "$work/log"; }
}
# A value of the last line of metrics, to five digits.
last() { tail -n 1 "$2/metrics.jsonl" | sed -nE "s/.*\"$1\": ?([0-9.e+-]+).*/\1/p" | xargs printf '%.4g'; }

# A hundred losses in fp32 and bf16 with all optimizations of LLVM. The rest tests our programs, not the speed of the
# compiled code, and needs no optimization.
count "$build/tests/cases/test_curve" "xla:$plugin"
export XLA_FLAGS="--xla_backend_optimization_level=0 $XLA_FLAGS"
count "$build/tests/cases/test_device" "xla:$plugin" "$cases"
# Together with the CPU.
count "$build/tests/cases/test_several" "cpu,xla:$plugin" tests/cases/tiny.txt near
# Six of the cases on 2, 2, 4, 4, 4 and 8 devices.
grep -v '^#' "$cases" | sed -n '1p;3p;5p;7p;9,10p' >"$work/cases"
count "$build/tests/cases/test_device" "xla:$plugin" --cuts "$work/cases"

# A training with the command: the same loss, a model that the CPU reads, the same text.
cat README.md docs/internals/plan.md >"$work/text"
train() {       # train OUT DEVICE [OPTIONS]; with several ranks where $ranks starts them
    out=$work/$1 device=$2
    shift 2
    $ranks "$build/unroll" train "$work/text" --cell gru --hidden 24 --batch 8 --bptt 16 --steps 40 --val 0.2 \
        --seed 5 --sample-every 0 --log-interval 1 --device "$device" --out "$out" "$@" >/dev/null 2>"$work/log" ||
        { echo "train on $device:"; cat "$work/log"; }
}
train run-cpu cpu
train run-xla "xla:$plugin"
check test "$(last loss "$work/run-cpu")" = "$(last loss "$work/run-xla")"
check test -n "$(last loss "$work/run-xla")"
"$build/unroll" sample "$work/run-xla" --length 60 --temperature 0 >"$work/here" 2>&1
"$build/unroll" sample "$work/run-xla" --length 60 --temperature 0 --device "xla:$plugin" >"$work/there" 2>&1
check cmp "$work/here" "$work/there"
here=$("$build/unroll" eval "$work/run-xla" "$work/text" | cut -c1-6)
there=$("$build/unroll" eval "$work/run-xla" "$work/text" --device "xla:$plugin" | cut -c1-6)
check test "$here" = "$there"
"$build/unroll" train --resume "$work/run-xla" --steps 50 >/dev/null 2>"$work/log"
check test "$(last step "$work/run-xla")" = 50

# One layer for each thread or process.
train both-cpu cpu --layers 2
train both-threads "cpu,xla:$plugin" --layers 2 --split layer=2
check test "$(last loss "$work/both-cpu")" = "$(last loss "$work/both-threads")"
skipped=0
if command -v mpirun.openmpi >/dev/null; then
    ranks="mpirun.openmpi --allow-run-as-root --oversubscribe -n 2"
    train both-ranks "cpu,xla:$plugin" --layers 2 --split layer=2
    check test "$(last loss "$work/both-cpu")" = "$(last loss "$work/both-ranks")"
else
    echo "skipped: no Open MPI here for ranks on processor and XLA"
    skipped=1
fi
echo "check_xla: $passed passed, $failed failed, $skipped skipped"
test "$failed" = 0
