#!/bin/bash
# What workers gain by telling each other less: for each policy speed, bytes and loss of the same number of updates, on
# links of $RATE (10mbit) and of 10 Gbit/s, on machines played by network namespaces.
# Usage: bench/policies.sh UNROLL TEXT [WAY...]      WAY: options of one training, as one word
#   $WORKERS (2), $HIDDEN (128), $BATCH (256), $BPTT (64), $STEPS (128); $RUNS: where the runs stay (nowhere)
[ -x "$1" ] && [ -f "$2" ] || { sed -n '2,5s/^# //p' "$0"; exit 2; }
here=$(dirname "$(realpath "$0")") unroll=$(realpath "$1") text=$(realpath "$2")
shift 2
. "$here/../tests/mpi/machines.sh"
dir=$(mktemp -d) || exit 1
runs=${RUNS:-$dir}
trap 'machines_clean; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
workers=${WORKERS:-2} steps=${STEPS:-128}
[ $# -gt 0 ] || set -- "--sync every" "--sync every --compress half" "--sync every --compress topk:0.01" \
    "--sync every --compress lowrank:4" "--sync local:8" "--sync local:32" "--sync local:32,rate=0.7,momentum=0.9" \
    "--sync local:8 --compress lowrank:4"

# A line: the way, seconds an update, the part of them in which the first worker waited, bytes that it sent an update, loss.
report() {
    python3 - "$1" "$2" <<'PY'
import json, sys
text = open("result").read()
r = json.loads(text[text.index("{"):text.rindex("}") + 1])
steps, rank = r["steps"], r["ranks"][0]
seconds = rank["compute"] + rank["exposed"]
print("%-44s %-8s %8.3f s/update  waits %5.1f%%  sends %9.0f bytes/update  validation %.4f"
      % (sys.argv[1], sys.argv[2], seconds / steps, 100 * rank["exposed"] / seconds, rank["sent"] / steps, r["val_loss"]))
PY
}

for rate in "${RATE:-10mbit}" 10gbit; do
    machines_make "$workers" "$rate" "$dir" || { echo "skipped: $machines_missing"; exit 0; }
    for way in "$@"; do
        out=$runs/$(echo "$rate $way" | tr -c 'a-z0-9.\n' -)
        rm -rf "$out"
        machines_run "$unroll" train "$text" --layers 2 --hidden "${HIDDEN:-128}" --bptt "${BPTT:-64}" \
            --batch "${BATCH:-256}" --threads 1 --workers "$workers" $way --steps "$steps" --validate-every "$steps" \
            --timeout 300s --json --out "$out" >result 2>log || { echo "$way:"; tail -n 5 log; continue; }
        report "$way" "$rate"
    done
    machines_clean
done
