#!/bin/bash
# Measures the cost and gain of several ranks on a machine. Usage: bench/ranks.sh UNROLL TEXT [network|speed|exact|all]
#   network   3 network namespaces with links of $RATE (200mbit): the exposed part of the communication
#             of a 2 x $HIDDEN (650) language model. $BATCH rows (of all ranks), $BPTT steps
#   speed     1 rank against 2 on one machine, interleaved: characters a second
#   exact     2, 4 and 8 ranks with and without --exact of that number, 2 also with --exact 8, interleaved
[ -x "$1" ] && [ -f "$2" ] || { sed -n '2,5s/^# //p' "$0"; exit 2; }
here=$(dirname "$(realpath "$0")") unroll=$(realpath "$1") text=$(realpath "$2") part=${3:-all}
. "$here/../tests/mpi/machines.sh"
dir=$(mktemp -d) || exit 1
trap 'machines_clean; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
alone=${QUIET:-}        # a prefix for each run, a command that keeps other work off the machine

network() {
    local rate=${RATE:-200mbit} hidden=${HIDDEN:-650} batch=${BATCH:-192} bptt=${BPTT:-64} steps=${STEPS:-4}
    machines_make 3 "$rate" "$dir" || { echo "skipped: $machines_missing"; return; }
    machines_run "$unroll" train "$text" ${UNITS:-} --layers 2 --hidden "$hidden" --bptt "$bptt" --batch "$batch" --val 0 \
        --threads 1 --split batch=3 --steps "$steps" --schedule constant --timeout 300s --json ${MORE:-} \
        --out network >result 2>log || { tail -n 20 log; return 1; }
    echo "3 ranks, links of $rate, 2 x $hidden, batch $batch, bptt $bptt, $steps steps, ${UNITS:-characters}"
    python3 - <<'PY'
import json
text = open("result").read()
result = json.loads(text[text.index("{"):text.rindex("}") + 1])
steps = result["steps"]
print("rank  compute s/step  communication s/step  exposed s/step  exposed of the step")
for i, r in enumerate(result["ranks"]):
    part = r["exposed"] / (r["compute"] + r["exposed"])
    print("%4d  %14.2f  %20.2f  %14.2f  %18.1f%%" % (i, r["compute"] / steps, r["communication"] / steps,
                                                   r["exposed"] / steps, 100 * part))
print("of the communication %.0f%% is hidden" % (100 - 100 * sum(r["exposed"] for r in result["ranks"]) /
                                                 sum(r["communication"] for r in result["ranks"])))
PY
    machines_clean
}

# speed_of RANKS OPTIONS...: prints items per second
speed_of() {
    local ranks=$1 run=()
    [ "$ranks" -gt 1 ] && run=(mpirun.openmpi --oversubscribe --bind-to none -n "$ranks")
    rm -rf speed
    $alone "${run[@]}" "$unroll" train "$text" --layers 2 --hidden 256 --bptt 64 --batch 64 --val 0 --threads 1 \
        --steps "${STEPS:-20}" --schedule constant --json --out speed "${@:2}" 2>log |
        sed -n 's/.*"items_per_second": *\([0-9.e+]*\).*/\1/p'
}

# A virtual machine may lose a core for seconds, so only the best run shows its speed.
best() { sort -g | tail -n 1; }
median() { sort -g | awk '{ x[NR] = $1 } END { print (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'; }

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", b / a }'; }

# compare NAME A B: runs with options A and B in turns; prints medians, the best, and the ratios of B to A
compare() {
    local i
    : >a; : >b
    for i in $(seq "${ROUNDS:-5}"); do
        speed_of $2 >>a
        speed_of $3 >>b
    done
    [ -s a ] && [ -s b ] || { tail -n 5 log; return 1; }
    echo "$1, characters/s: medians $(median <a) and $(median <b), ratio $(ratio "$(median <a)" "$(median <b)");" \
         "best $(best <a) and $(best <b), ratio $(ratio "$(best <a)" "$(best <b)")" \
         "(all: $(tr '\n' ' ' <a)| $(tr '\n' ' ' <b))"
}

[ "$part" = network ] || [ "$part" = all ] && network
if [ "$part" = speed ] || [ "$part" = all ]; then
    compare "1 rank, 2 ranks" "1" "2 --split batch=2"
fi
if [ "$part" = exact ] || [ "$part" = all ]; then
    for ranks in ${RANKS:-2 4 8}; do
        compare "$ranks ranks, the same with --exact $ranks" "$ranks --split batch=$ranks" \
            "$ranks --split batch=$ranks --exact $ranks"
    done
    compare "2 ranks, the same with --exact 8" "2 --split batch=2" "2 --split batch=2 --exact 8"
fi
exit 0
