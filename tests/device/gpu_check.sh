#!/bin/sh
# Compares the CUDA device on a real GPU with the CPU: the list of cases with each implementation of a recurrence,
# trainings in every precision, repeatability, NVIDIA's compute-sanitizer. Fails without a GPU. With with_fake_cuda.sh
# it tests itself. Each part has a time limit (SECONDS_A_PART, default 150) and prints its result when it ends, so that
# a hanging program does not affect other parts. Usage: gpu_check.sh BUILD; CASES=FILE, HIDDEN, STEPS and BYTES (of
# text) in the environment make it smaller.
limit=${SECONDS_A_PART:-150}
build=$1 cases=${CASES:-tests/cases/cases.txt} hidden=${HIDDEN:-128} steps=${STEPS:-40} bytes=${BYTES:-1000000}
what=$("$build/unroll" devices | grep '^cuda ')
case $what in
*none*|'') echo "FAILED: there is no GPU to check: $what"; echo "gpu_check: 0 passed, 1 failed, 0 skipped"; exit 1 ;;
esac
echo "$what"

work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0 failed=0 skipped=0
check() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; fi; }
skip() { skipped=$((skipped + 1)); echo "skipped: $1"; }
count() {       # NAME COMMAND: adds up the last line of a program and prints it
    name=$1 begin=$(date +%s)
    shift
    timeout -k 5 "$limit" "$@" >"$work/log" 2>&1
    code=$? took=$(($(date +%s) - begin))
    grep FAILED "$work/log" | head -n 5
    counts=$(sed -nE 's/^[^:]+: ([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$work/log" | tail -n 1)
    if test "$code" = 124 || test "$code" = 137 || test -z "$counts"; then
        failed=$((failed + 1))
        echo "FAILED: $name: $(test -n "$counts" || echo "no result, ")status $code after $took s: $*"
        tail -n 5 "$work/log"
        return
    fi
    passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
    echo "$name: ${counts% *} passed, ${counts#* } failed ($took s)"
}

# Some cases under compute-sanitizer, for at most $tool_limit seconds; racecheck does not support the exchange between
# blocks.
tool_limit=$((limit * 4 / 5))
sanitize() {
    if test "$1" = racecheck; then export UNROLL_CUDA_ALGORITHM=portable; fi
    timeout -k 5 "$tool_limit" "$sanitizer" --tool "$1" --error-exitcode 9 --log-file "$work/$1" "$build/tests/cases/test_device" cuda \
        tests/cases/short.txt gru >"$work/log" 2>&1
    code=$?
    unset UNROLL_CUDA_ALGORITHM
    if test "$code" = 124 || test "$code" = 137; then
        skip "$1 takes more than $tool_limit s"
    elif grep -q 'Device not supported' "$work/$1" "$work/log" 2>/dev/null; then
        skip "compute-sanitizer does not serve this device"
    elif test "$code" = 0; then
        passed=$((passed + 1)); echo "$1: clean"
    else
        failed=$((failed + 1)); echo "FAILED: $1"; tail -n 5 "$work/$1" "$work/log"
    fi
}

# Outputs, losses, gradients, weights after updates: with the implementation that the planner chooses, and with each
# where supported.
for way in '' portable cluster grid; do
    if test -n "$way"; then export UNROLL_CUDA_ALGORITHM="$way"; fi
    count "cases${way:+, $way}" "$build/tests/cases/test_device" cuda "$cases"
done
unset UNROLL_CUDA_ALGORITHM

# The short list with XLA's plugin for CUDA, if there is one: $PJRT_PLUGIN, the one that `make tpu-check` left in BUILD,
# or PyPI's jax-cuda13-pjrt in Python's folders. It does not include the CUDA libraries; without them, its error is the
# reason for skipping.
plugin=$build/cuda13/jax_plugins/xla_cuda13/xla_cuda_plugin.so
test -f "$plugin" || plugin=cuda
xla=$(PJRT_PLUGIN=${PJRT_PLUGIN:-$plugin} "$build/unroll" devices 2>/dev/null | grep '^xla ')
case $xla in
"xla    cuda, plugin "*)
    echo "$xla"
    plugin=${xla#xla    cuda, plugin }
    count "cases of XLA" "$build/tests/cases/test_device" "xla:${plugin% (interface*}" tests/cases/short.txt
    count "curves of XLA" "$build/tests/cases/test_curve" "xla:${plugin% (interface*}" ;;
*) skip "no GPU through XLA: ${xla#xla    }" ;;
esac

# Two ranks over NCCL. Here they share the GPU, which NCCL allows if it takes them for two machines: the data passes
# through the local network. With more GPUs, each rank has its own.
case $what in
*'no NCCL'*) skip "several ranks: there is no NCCL" ;;
*)
    if command -v mpirun.openmpi >/dev/null; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        count "ranks" mpirun.openmpi --oversubscribe -n 2 \
            sh -c 'export NCCL_HOSTID=$OMPI_COMM_WORLD_RANK; exec "$@"' rank "$build/tests/session/test_ranks" mpi cuda
    else
        skip "several ranks: there is no Open MPI"
    fi ;;
esac

# Trainings with the command: NAME, cell and more options. Each may take a fifth of a part's time, all of a cell
# together twice that time.
cat README.md docs/internals/plan.md | head -c "$bytes" >"$work/text"
train() {
    name=$1
    shift
    left=$((begin + 2 * limit - $(date +%s)))
    test "$left" -gt 0 || { echo "train $*: not begun: the others took $((2 * limit)) s"; return; }
    test "$left" -lt $((limit / 5 + 1)) || left=$((limit / 5 + 1))
    timeout -k 5 "$left" "$build/unroll" train "$work/text" --hidden "$hidden" --batch 8 --bptt 16 --steps "$steps" \
        --seed 5 --sample-every 0 --log-interval 1 --out "$work/$name" "$@" >/dev/null 2>"$work/log" ||
        { echo "train $*: status $?, of at most $left s:"; tail -n 3 "$work/log"; }
}
loss() { tail -n 1 "$work/$1/metrics.jsonl" 2>/dev/null | sed -nE 's/.*"loss": ?([0-9.e+-]+).*/\1/p'; }
near() {        # NAME NAME TOLERANCE: compares the losses of two runs, relative
    awk -v a="$(loss "$1")" -v b="$(loss "$2")" -v t="$3" \
        'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a > 0 && b > 0 && d <= t * b) }'
}
weights() { sha256sum "$work/$1"/ckpt/step-*/model.safetensors 2>/dev/null | cut -c1-64; }
same() { test -n "$(weights "$1")" && test "$(weights "$1")" = "$(weights "$2")"; }

for cell in lstm gru; do
    before=$passed lost=$failed begin=$(date +%s)
    train "cpu-$cell" --cell $cell --device cpu
    for precision in fp32 tf32 bf16 fp16; do
        run=$cell-$precision
        train "$run" --cell $cell --device cuda --precision $precision
        train "$run-again" --cell $cell --device cuda --precision $precision
        check same "$run" "$run-again"
        case $precision in fp32) tolerance=0.001 ;; tf32) tolerance=0.01 ;; *) tolerance=0.03 ;; esac
        check near "$run" "cpu-$cell" $tolerance
        for way in portable cluster grid; do
            UNROLL_CUDA_ALGORITHM=$way train "$run-$way" --cell $cell --device cuda --precision $precision
            check near "$run-$way" "$run" $tolerance
        done
    done
    echo "trainings of $cell: $((passed - before)) passed, $((failed - lost)) failed ($(($(date +%s) - begin)) s)"
done

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
if test -z "$sanitizer"; then
    skip "there is no compute-sanitizer here"
else
    for tool in memcheck racecheck; do sanitize $tool; done
fi
echo "gpu_check: $passed passed, $failed failed, $skipped skipped"
test "$failed" = 0
