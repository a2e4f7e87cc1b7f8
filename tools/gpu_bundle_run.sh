#!/bin/sh
# Runs on a machine with a GPU, in the folder that `make gpu-bundle` made. The most informative parts run first: the
# properties of the machine, small cases of each recurrence algorithm, the algorithms at real sizes, hardware costs, the
# benchmark against PyTorch and cuDNN, and all checks. Each part has a time limit, and prints a line that begins with
# its name. Parts that lack something print "skipped" and the reason. All output goes to log in the folder OUT
# (results), next to RESULTS-gpu.md. MINUTES: of the benchmark (4). LIMIT: seconds of the last part (240).
cd "$(dirname "$0")" || exit 1
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
results=${OUT:-$PWD/results}
mkdir -p "$results"
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
minutes=${MINUTES:-4} passed=0 lost=0 skipped=0
skip() { skipped=$((skipped + 1)); echo "$1: skipped: $2"; }
part() {        # NAME SECONDS COMMAND: its output is shown while it runs
    part_name=$1 part_limit=$2 part_begin=$(date +%s)
    shift 2
    { timeout -k 10 "$part_limit" "$@" 2>&1; echo $? >"$temporary/code"; } | tee "$temporary/part" | sed -u 's/^/    /'
    part_code=$(cat "$temporary/code")
    case $part_code in
    0) part_result=ok passed=$((passed + 1)) ;;
    124|137) part_result="FAILED: more than $part_limit s" lost=$((lost + 1)) ;;
    *) part_result="FAILED: status $part_code" lost=$((lost + 1)) ;;
    esac
    part_result="$part_name: $part_result ($(($(date +%s) - part_begin)) s): $(tail -n 1 "$temporary/part")"
    echo "$part_result"
    { echo "== $part_result"; cat "$temporary/part"; } >>"$results/log"
    return "$part_code"
}
finish() { echo "gpu bundle: $passed parts passed, $lost failed, $skipped skipped; their output is in $results/log"; test $lost = 0; exit; }

# Can the program run with the C library of this machine?
part starts 20 build/unroll --version || finish
part devices 60 build/unroll devices || finish
found=$(grep '^cuda ' "$temporary/part")
if ! command -v nvidia-smi >/dev/null; then
    skip smi "there is no nvidia-smi"
else
    part smi 30 nvidia-smi
fi
case $found in
*none*|'')
    lost=$((lost + 1))
    echo "gpu: FAILED: there is no GPU that can be used: $found"
    for name in short ways probe bench check; do skip $name "it wants a GPU"; done
    finish ;;
esac
for way in portable cluster grid; do
    part "short-$way" 60 env UNROLL_CUDA_ALGORITHM=$way build/tests/cases/test_device cuda "${CASES:-tests/cases/short.txt}"
done
part ways 90 env PRECISIONS="${PRECISIONS:-bf16 fp32}" build/tests/cases/test_ways cuda "${WAYS:-tests/cases/ways.txt}"
if test -f build/peers/gpu_probe && test -z "$UNROLL_CUDA_DRIVER"; then
    part probe 30 build/peers/gpu_probe
else
    skip probe "it was not built, or the driver is not NVIDIA's"
fi
if ! command -v python3 >/dev/null; then
    skip peers "there is no python3, which measures PyTorch and cuDNN; our times alone:"
    sed 's/#.*//' bench/regimes-gpu.txt | while read -r regime name cell dtype shape form _; do
        test -z "$regime" || echo "$regime-$name $cell $dtype $shape $form"
    done >"$temporary/regimes"
    end=$(($(date +%s) + minutes * 60))
    while read -r name cell dtype shape form; do
        test "$(date +%s)" -lt $end || { skip "bench $name" "$minutes minutes are over"; continue; }
        test "$form" = ragged && ragged=--ragged || ragged=
        for pass in infer train; do
            # shellcheck disable=SC2086
            part "bench-$name-$pass" 60 build/unroll bench --device cuda --cell "$cell" --precision "$dtype" \
                --shape "$shape" --pass $pass --seconds 0.5 $ragged </dev/null
        done
    done <"$temporary/regimes"
else
    part bench $((minutes * 60 + 120)) python3 bench/gpu.py --unroll build/unroll --cudnn build/peers/peer_cudnn \
        --minutes "$minutes" --out "$results/RESULTS-gpu.md" --errors "$results/peers.log"
fi
part check "${LIMIT:-240}" tests/device/gpu_check.sh build
finish
