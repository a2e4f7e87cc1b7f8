#!/bin/bash
# Measures the gain of less communication between workers: for each policy the speed, bytes and loss of the same number
# of updates, on links of $RATE (10mbit) and of 10 Gbit/s between network namespaces.
# Usage: bench/policies.sh UNROLL TEXT [WAY...]          WAY: options of one training, as one word
#        bench/policies.sh UNROLL TEXT equal [WAY...]    each sends $MEGABYTES (4) on the slow link, at most $MOST (300)
#                                                        updates; plots of the loss: policies-seconds.svg, -sent.svg
#        bench/policies.sh UNROLL TEXT slow [WAY...]     two ranks on this machine, one stopped for 90 of every 100 ms:
#                                                        how long the other waits
#   $WORKERS (2), $HIDDEN (128), $BATCH (256), $BPTT (64), $STEPS (128); $RUNS: a folder that keeps the runs (none)
[ -x "$1" ] && [ -f "$2" ] || { sed -n '2,9s/^# //p' "$0"; exit 2; }
here=$(dirname "$(realpath "$0")") unroll=$(realpath "$1") text=$(realpath "$2")
shift 2
equal= slow=
[ "$1" = equal ] && { equal=yes; shift; }
[ "$1" = slow ] && { slow=yes; shift; }
. "$here/../tests/mpi/machines.sh"
dir=$(mktemp -d) || exit 1
runs=${RUNS:-$dir}
mkdir -p "$runs" && runs=$(realpath "$runs")
trap 'machines_clean; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
workers=${WORKERS:-2} steps=${STEPS:-128} rate=${RATE:-10mbit}
network=(--layers 2 --hidden "${HIDDEN:-128}" --bptt "${BPTT:-64}" --batch "${BATCH:-256}")
[ $# -gt 0 ] || set -- "--sync every" "--sync every --compress half" "--sync every --compress topk:0.01" \
    "--sync every --compress lowrank:4" "--sync local:8" "--sync local:32" "--sync local:32,rate=0.7,momentum=0.9" \
    "--sync local:8 --compress lowrank:4" "--sync server:0" "--sync server:2" "--sync server:any" "--sync gossip"

name_of() { echo "$1" | sed 's/--sync //; s/ *--compress /+/'; }

# Prints a line: policy, seconds per update, the share in which the first worker waits, bytes it sends per update, loss.
report() {
    python3 - "$1" "$2" <<'PY'
import json, sys
text = open("result").read()
r = json.loads(text[text.index("{"):text.rindex("}") + 1])
steps, rank = r["steps"], r["ranks"][0]
seconds = rank["compute"] + rank["exposed"]
print("%-32s %-7s %5d updates %8.4f s/update  waits %5.1f%%  sends %9.0f bytes/update  validation %.4f"
      % (sys.argv[1], sys.argv[2], steps, seconds / steps, 100 * rank["exposed"] / seconds, rank["sent"] / steps,
         r["val_loss"]))
PY
}

train() {       # train RATE WAY STEPS OPTIONS...
    local out
    out=$runs/$([ "$equal" ] || echo "$1-")$(name_of "$2")
    rm -rf "$out"
    machines_run "$unroll" train "$text" "${network[@]}" --threads 1 --workers "$workers" $2 --steps "$3" "${@:4}" \
        --timeout 300s --json --out "$out" >result 2>log || { echo "$2:"; tail -n 5 log; return 1; }
    report "$(name_of "$2")" "$1"
}

# Prints the number of updates that send $MEGABYTES, from the bytes that unroll plan prints.
updates_for() {
    "$unroll" plan "${network[@]}" --input 65 --workers "$workers" $1 | awk -v room="${MEGABYTES:-4}e6" -v most="${MOST:-300}" '
        / rank sends / { for (i = 1; i < NF; i++) { if ($i == "sends") b = $(i + 1); if ($i == "every") n = $(i + 1) } }
        END { if (!b) exit 1; u = int(room / b * n); print (u < 8 ? 8 : u > most ? most : u) }'
}

# Rank 1 writes its process id. Stops it and lets it continue in turn until the run ends.
limp() {
    while [ ! -s rank1 ] && kill -0 "$1" 2>/dev/null; do sleep 0.1; done
    while kill -0 "$1" 2>/dev/null; do
        kill -STOP "$(cat rank1)" && sleep 0.09
        kill -CONT "$(cat rank1)" && sleep 0.01
    done 2>/dev/null
}

if [ "$slow" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    command -v mpirun.openmpi >/dev/null || { echo "skipped: no Open MPI here"; exit 0; }
    for way in "$@"; do
        rm -f rank1
        mpirun.openmpi --oversubscribe -n 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" = 1 ] && echo $$ >rank1; exec "$@"' sh \
            "$unroll" train "$text" "${network[@]}" --threads 1 --workers 2 $way --steps "$steps" --timeout 300s --json \
            --out "$runs/slow" </dev/null >result 2>log &
        limp $!
        wait $! && report "$(name_of "$way")" slow || { echo "$way:"; tail -n 5 log; }
        rm -rf "$runs/slow"
    done
    exit
fi
if [ "$equal" ]; then
    machines_make "$workers" "$rate" "$dir" || { echo "skipped: $machines_missing"; exit 0; }
    names=()
    for way in "$@"; do
        updates=$(updates_for "$([ "$way" = "--sync every" ] && echo "--sync server:0" || echo "$way")")
        train "$rate" "$way" "$updates" --validate-every $(((updates + 5) / 6)) --val 0.03 --warmup 0 --lr 0.004 &&
            names+=("$(name_of "$way")")
    done
    for axis in seconds sent; do
        (cd "$runs" && "$unroll" plot "${names[@]}" --metric val_loss --axis $axis --smooth 0 -o "policies-$axis.svg")
    done
    exit
fi
for rate in "$rate" 10gbit; do
    machines_make "$workers" "$rate" "$dir" || { echo "skipped: $machines_missing"; exit 0; }
    for way in "$@"; do train "$rate" "$way" "$steps" --validate-every "$steps"; done
    machines_clean
done
