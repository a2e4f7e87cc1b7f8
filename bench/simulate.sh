#!/bin/bash
# Simulates clusters (docs/internals/simulation.md). Usage: bench/simulate.sh UNROLL SIMULATE [scale|sums|calibrate|all]
#   scale      weak scaling of a 4 x 1024 LSTM, 64 rows a host, T = 64: $HOSTS (1 16 64 256 1024), 100 and 25 GbE, fat tree
#   sums       each sum on each topology, the same training on $RANKS (16) hosts, 25 GbE
#   calibrate  2, 3 and 4 real ranks in network namespaces, links of $RATE (40mbit), compared with simulated ones
[ -x "$1" ] && [ -x "$2" ] || { sed -n '2,5s/^# //p' "$0"; exit 2; }
here=$(dirname "$(realpath "$0")") unroll=$(realpath "$1") simulate=$(realpath "$2") part=${3:-all}
. "$here/../tests/mpi/machines.sh"
dir=$(mktemp -d) || exit 1
trap 'machines_clean; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
seconds() { sed -n 's/.* ranks, \([0-9.e-]*\) s a step.*/\1/p'; }

scale() {
    local network hosts one step
    echo "network        hosts  s/step    efficiency"
    for network in cpu-100gbe cpu-25gbe; do
        one=$("$simulate" "$here/networks/$network.json" 1 flat 1 4 1024 256 64 64 1,1,1 0 auto | seconds)
        for hosts in ${HOSTS:-1 16 64 256 1024}; do
            step=$one
            [ "$hosts" = 1 ] || step=$("$simulate" "$here/networks/$network.json" "$hosts" fat_tree 1 4 1024 256 64 \
                $((64 * hosts)) "$hosts",1,1 0 auto | seconds)
            awk -v n=$network -v h="$hosts" -v a="$one" -v b="$step" 'BEGIN { printf "%-13s  %5d  %.5f  %8.2f%%\n", n, h, b, 100 * a / b }'
        done
    done
}

sums() {
    local topology sum
    echo "topology   sum               s/step"
    for topology in fat_tree torus dragonfly; do
        for sum in halving_doubling ring ring_2d tree gather_broadcast; do
            printf '%-9s  %-16s  %s\n' $topology $sum "$(timeout 600 "$simulate" "$here/networks/cpu-25gbe.json" ${RANKS:-16} $topology 1 4 1024 \
                256 64 $((64 * ${RANKS:-16})) ${RANKS:-16},1,1 0 $sum | seconds)"
        done
    done
}

# Compares ranks whose messages take nearly all of a step, so that other work on this machine has little effect. Of
# $TURNS (3) the least disturbed counts. Two numbers are fitted to the sums of 2 ranks: the share of the rate that
# messages get, and their latency. The others are predicted.
calibrate() {
    local n sum rate=${RATE:-40} i
    seq 100000 >text
    : >real
    for n in $(for i in $(seq ${TURNS:-3}); do echo ${RANKS:-2 3 4}; done); do
        machines_make $n "${rate}mbit" "$dir" || { echo "skipped: $machines_missing"; return; }
        for i in $(seq $n); do # limits both directions, as real links do
            tc -n $machines_name-0 qdisc add dev port$i root tbf rate "${rate}mbit" burst 64kb latency 100ms
        done
        for sum in halving_doubling tree ring; do
            rm -rf net
            machines_run "$unroll" train text --cell lstm --layers 2 --hidden 192 --bptt 16 --batch $((8 * n)) --val 0 --threads 1 \
                --split batch=$n --sum $sum --steps ${STEPS:-4} --schedule constant --timeout 300s --json --out net >result 2>log ||
                { tail -n 5 log; return 1; }
            python3 -c 'import json, sys
text = open("result").read()
r = json.loads(text[text.index("{"):text.rindex("}") + 1])
print(*sys.argv[1:], max(x["compute"] + x["exposed"] for x in r["ranks"]) / r["steps"], min(x["compute"] for x in r["ranks"]) / r["steps"])' \
                $n $sum >>real
        done
        machines_clean
    done
    fit "$rate"
}

fit() {     # fit MBIT
    python3 - "$simulate" "$1" <<'PY'
import json, subprocess, sys
simulate, rate = sys.argv[1], float(sys.argv[2])
turns = [(int(n), name, float(s), float(c)) for n, name, s, c in map(str.split, open("real"))]
cases = sorted({t[:2] for t in turns})
real = [(*case, min(t[2] for t in turns if t[:2] == case), max(t[2] for t in turns if t[:2] == case)) for case in cases]
flops = 6 * 16 * 8 * (4 * 192 * (13 + 192) + 4 * 192 * 384 + 192 * 13)
gflops = flops / min(t[3] for t in turns) / 1e9
def simulated(case, part, latency):
    json.dump({"name": "namespaces", "rank": {"gflops": gflops, "recurrent_gflops": gflops, "memory_bandwidth": 1e10},
               "levels": [{"name": "tbf", "latency": latency, "bandwidth": part * rate * 1e6 / 8}]}, open("net.json", "w"))
    out = subprocess.run([simulate, "net.json", str(case[0]), "flat", "2", "2", "192", "13", "16", str(8 * case[0]),
                          "%d,1,1" % case[0], "0", case[1]], capture_output=True, text=True).stdout
    return float(out.split(" ranks, ")[1].split()[0])
def worst(part, latency):
    return max(abs(simulated(case, part, latency) / case[2] - 1) for case in real if case[0] == 2)
def around(at, step, least, most): return [x for x in (at - step, at, at + step) if least <= x <= most]
part, latency = 0.95, 2e-3
for step in (0.1, 0.05, 0.02, 0.01, 0.005):
    for _ in range(2):
        part, latency = min(((p, l) for p in around(part, step, 0.3, 1) for l in around(latency, step / 20, 0, 0.05)),
                            key=lambda x: worst(*x))
print("fitted to 2 ranks: %.3f of %g Mbit/s, latency %.2f ms" % (part, rate, 1e3 * latency))
print("ranks  sum               real s/step (slowest)  simulated  error")
for case in real:
    found = simulated(case, part, latency)
    print("%5d  %-16s  %11.3f (%7.3f)  %9.3f  %+5.1f%%" % (*case, found, 100 * (found / case[2] - 1)))
PY
}

[ "$part" = all ] && parts="scale sums calibrate" || parts=$part
for p in $parts; do "$p" || exit 1; done
exit 0
