#!/bin/bash
# Checks the planner's order of meshes against measured times: trains the best, the second and the last mesh for this
# machine's ranks for $STEPS (30) updates each, in turns, $ROUNDS (3) times. The fastest round counts.
# Usage: bench/planner.sh UNROLL TEXT [NETWORK]    $RANKS (2), $HIDDEN (128), $BATCH (32), $BPTT (64), $LAYERS (2)
[ -x "$1" ] && [ -f "$2" ] || { sed -n '2,4s/^# //p' "$0"; exit 2; }
command -v mpirun.openmpi >/dev/null || { echo "skipped: no Open MPI here"; exit 0; }
here=$(dirname "$(realpath "$0")") unroll=$(realpath "$1") text=$(realpath "$2")
file=$(realpath "${3:-$here/networks/one-host.json}")
dir=$(mktemp -d) && cd "$dir" || exit 1
trap 'rm -rf "$dir"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ranks=${RANKS:-2}
network=(--layers "${LAYERS:-2}" --hidden "${HIDDEN:-128}" --bptt "${BPTT:-64}" --batch "${BATCH:-32}")
"$unroll" plan --auto --network "$file" --hosts 1 "${network[@]}" --input 65 --sync every --compress none --json >ways ||
    exit 1
python3 - "$ranks" <<'PY' >chosen || exit 1
import json, sys
ways = [w for w in json.load(open("ways"))["ways"] if w["ranks"] == int(sys.argv[1]) and w["workers"] == 1]
for w in (ways[0], ways[1], ways[-1]) if len(ways) > 2 else ways:
    s = w["split"]
    print("batch=%d,layer=%d,hidden=%d" % (s["batch"], s["layer"], s["hidden"]), w["chunks"] or 1, w["sum"], w["seconds"])
PY
for round in $(seq "${ROUNDS:-3}"); do
    while read -r split chunks sum priced <&3; do
        mpirun.openmpi --oversubscribe -n "$ranks" "$unroll" train "$text" "${network[@]}" --split "$split" \
            --chunks "$chunks" --sum "$sum" --threads 1 --steps "${STEPS:-30}" --val 0 --timeout 300s --json \
            --out run </dev/null >result 2>log || { tail -n 3 log; exit 1; }
        python3 - "$split" "$chunks" "$priced" <<'PY' >>measured
import json, sys
text = open("result").read()
r = json.loads(text[text.index("{"):text.rindex("}") + 1])
print(*sys.argv[1:], max(k["compute"] + k["exposed"] for k in r["ranks"]) / r["steps"])
PY
        rm -rf run
    done 3<chosen
done
python3 - <<'PY'
best = {}
for line in open("measured"):
    split, chunks, priced, seconds = line.split()
    key = split, chunks, float(priced)
    best[key] = min(best.get(key, 9e9), float(seconds))
ways = sorted(best, key=lambda k: k[2])
for k in ways:
    print("%-28s chunks %-3s priced %7.1f ms  measured %7.1f ms" % (k[0], k[1], 1e3 * k[2], 1e3 * best[k]))
held = all(best[a] <= best[b] for a, b in zip(ways, ways[1:]))
print("the order %s" % ("holds" if held else "does not hold"))
PY
