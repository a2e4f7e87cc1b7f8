#!/bin/sh
# On a bare machine with a GPU, in the folder that make gpu-bundle made: what the device is, the checks, the benchmark, each
# with a time limit, a log in results/ and a line here. MINUTES of the benchmark (9), LIMIT: seconds of the checks (1500).
cd "$(dirname "$0")" || exit 1
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
mkdir -p results
minutes=${MINUTES:-9} lost=0
part() {        # NAME SECONDS COMMAND
    name=$1 seconds=$2 begin=$(date +%s)
    shift 2
    timeout -k 10 "$seconds" "$@" >"results/$name.log" 2>&1
    code=$?
    case $code in 0) result=ok ;; 124|137) result="FAILED: more than $seconds s" ;; *) result="FAILED: status $code" ;; esac
    test $code = 0 || lost=$((lost + 1))
    echo "$name: $result ($(($(date +%s) - begin)) s): $(tail -n 1 "results/$name.log")"
}
part devices 60 sh -c 'build/unroll devices | grep "^cuda "'
part smi 30 sh -c 'command -v nvidia-smi >/dev/null || { echo "there is no nvidia-smi"; exit 0; }; nvidia-smi'
part check "${LIMIT:-1500}" tests/device/gpu_check.sh build
if python3 -c 'import torch' 2>/dev/null; then
    part bench $((minutes * 60 + 120)) python3 bench/gpu.py --unroll build/unroll --cudnn build/peers/peer_cudnn \
        --minutes "$minutes" --out results/RESULTS-gpu.md
else
    part bench 300 build/unroll bench --device cuda --precision bf16 --shape 1,512,16,768,768 --pass train --seconds 1
fi
test $lost = 0
