#!/bin/sh
# Run on a machine with a GPU, in the folder that `make gpu-bundle` made: what the machine has, the checks, the benchmark.
# Each part has a time limit, its words in results/NAME.log, and a line here that begins with its name; parts that lack
# something say "skipped" and what. MINUTES of the benchmark (9), LIMIT: seconds of the checks (2000: more
# than their own parts may take together).
cd "$(dirname "$0")" || exit 1
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
mkdir -p results
minutes=${MINUTES:-9} passed=0 lost=0 skipped=0
skip() { skipped=$((skipped + 1)); echo "$1: skipped: $2"; }
part() {        # NAME SECONDS COMMAND: what it says is shown while it runs
    part_name=$1 part_limit=$2 part_begin=$(date +%s)
    shift 2
    { timeout -k 10 "$part_limit" "$@" 2>&1; echo $? >"results/$part_name.code"; } | tee "results/$part_name.log" | sed 's/^/    /'
    part_code=$(cat "results/$part_name.code")
    case $part_code in
    0) part_result=ok passed=$((passed + 1)) ;;
    124|137) part_result="FAILED: more than $part_limit s" lost=$((lost + 1)) ;;
    *) part_result="FAILED: status $part_code" lost=$((lost + 1)) ;;
    esac
    echo "$part_name: $part_result ($(($(date +%s) - part_begin)) s): $(tail -n 1 "results/$part_name.log")"
    return "$part_code"
}
finish() { echo "gpu bundle: $passed parts passed, $lost failed, $skipped skipped; what they said is in $PWD/results"; test $lost = 0; exit; }

# Is there a C library that it runs on?
part starts 20 build/unroll --version || finish
part devices 60 build/unroll devices || finish
if ! command -v nvidia-smi >/dev/null; then
    skip smi "there is no nvidia-smi"
else
    part smi 30 nvidia-smi
fi
found=$(grep '^cuda ' results/devices.log)
case $found in
*none*|'')
    lost=$((lost + 1))
    echo "gpu: FAILED: there is no GPU that can be used: $found"
    for name in check bench; do skip $name "it wants a GPU"; done
    finish ;;
esac
part check "${LIMIT:-2000}" tests/device/gpu_check.sh build
if ! command -v python3 >/dev/null; then
    skip peers "there is no python3, which measures beside PyTorch and cuDNN; what we take alone:"
    sed 's/#.*//' bench/regimes-gpu.txt | while read -r regime name cell dtype shape form _; do
        test -z "$regime" || echo "$regime-$name $cell $dtype $shape $form"
    done >results/regimes
    end=$(($(date +%s) + minutes * 60))
    while read -r name cell dtype shape form; do
        test "$(date +%s)" -lt $end || { skip "bench $name" "$minutes minutes are over"; continue; }
        test "$form" = ragged && ragged=--ragged || ragged=
        for pass in infer train; do
            # shellcheck disable=SC2086
            part "bench-$name-$pass" 60 build/unroll bench --device cuda --cell "$cell" --precision "$dtype" \
                --shape "$shape" --pass $pass --seconds 0.5 $ragged </dev/null
        done
    done <results/regimes
else
    part bench $((minutes * 60 + 120)) python3 bench/gpu.py --unroll build/unroll --cudnn build/peers/peer_cudnn \
        --minutes "$minutes" --out results/RESULTS-gpu.md
fi
finish
