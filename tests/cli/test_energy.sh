#!/bin/bash
# Joules of trainings, from given watts, from counters of a fake kernel that wrap around, or from none. Each machine is
# counted once, whatever its number of ranks. Usage: test_energy.sh build/unroll
# test: args=$B/unroll
unroll=$(realpath "$1")
. "$(dirname "$(realpath "$0")")/../mpi/checks.sh" test_energy
make_text
train=(train text --hidden 8 --batch 6 --bptt 16 --val 0 --threads 1 --out run --overwrite)
zone() { mkdir -p "kernel/$1" && echo "$2" >"kernel/$1/name" && echo "$3" >"kernel/$1/energy_uj" && echo 262143328850 >"kernel/$1/max_energy_range_uj"; }
last() { tail -n 1 run/metrics.jsonl | sed -nE "s/.*\"$1\": ?\"?([^,\"}]+).*/\1/p"; }
export UNROLL_POWERCAP=$dir/kernel

check "without counters it trains" "$unroll" "${train[@]}" --steps 3
check "and tells no joules" test -z "$(last joules)"

check "watts are given" "$unroll" "${train[@]}" --steps 20 --watts 50
check "their source is said" test "$(last source)" = given
check "joules are watts times seconds" awk -v j="$(last joules)" -v s="$(last seconds)" 'BEGIN { print j, s; exit !(j > 0 && j <= 50 * s + 5) }'
check "joules per item" awk -v j="$(last joules)" -v i="$(last joules_per_item)" 'BEGIN { print j, i; d = j / (20 * 6 * 16) / i; exit !(d > 0.999 && d < 1.001) }'
"$unroll" "${train[@]}" --steps 3 --watts x >log 2>&1
check "watts that are no number are refused" says '--watts'

zone intel-rapl:0 package-0 262143000000
zone intel-rapl:0:0 core 0
zone intel-rapl:0:1 dram 1000000
zone intel-rapl:1 psys 0
rm -rf run
"$unroll" "${train[@]}" --steps 1000000000 >log 2>&1 &
job=$!
for i in $(seq 2400); do [ -s run/metrics.jsonl ] && break; sleep 0.05; done
echo 2000000 >kernel/intel-rapl:0/energy_uj     # it wrapped around: 2.32885 J
echo 1500000 >kernel/intel-rapl:0:1/energy_uj   # .5 J
echo 9000000 >kernel/intel-rapl:0:0/energy_uj   # already included in the package
for i in $(seq 2400); do [ "$(last joules)" = 2.82885 ] && break; sleep 0.05; done
kill -TERM $job
wait $job
check "counters go round, and each joule is counted once: $(last joules)" test "$(last joules)" = 2.82885
check "their source is the kernel" test "$(last source)" = powercap
rm kernel/*/energy_uj
check "counters that can't be read" "$unroll" "${train[@]}" --steps 3
check "are none" test -z "$(last joules)"

if command -v mpirun.openmpi >/dev/null; then
    check "three ranks of a machine" mpirun.openmpi --oversubscribe -n 3 "$unroll" "${train[@]}" --steps 20 --watts 50 --split batch=3
    check "take what it takes" awk -v j="$(last joules)" -v s="$(last seconds)" 'BEGIN { print j, s; exit !(j > 0 && j <= 50 * s + 25) }'
else
    skip "no Open MPI here"
fi
finish
