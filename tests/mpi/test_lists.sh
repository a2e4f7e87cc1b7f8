#!/bin/bash
# Lists of devices over processes: with mpirun, rank r uses entry r of --device cpu,opencl, and the training is that of
# one process. Usage: test_lists.sh build/unroll
# test: args=$B/unroll; seconds=30; alone
unroll=$(realpath "$1") cache=$(dirname "$(realpath "$1")")/opencl here=$(dirname "$(realpath "$0")")
mkdir -p "$cache"
export POCL_CACHE_DIR=$cache/pocl # reuses built programs
. "$here/checks.sh" test_lists

command -v mpirun >/dev/null || { skip "there is no mpirun here; fix: apt install openmpi-bin"; finish; }
"$unroll" devices >found
list=cpu,opencl
if grep -q '^opencl none' found; then
    skip "there is no OpenCL driver here: cpu,cpu in its place; fix: apt install pocl-opencl-icd"
    list=cpu,cpu
fi
for i in $(seq 300); do echo "$i: a line of text, in which $((i * 7919 % 1000)) is a number"; done >text
train=(train text --cell lstm --layers 2 --hidden 8 --bptt 8 --batch 4 --val 0.2 --threads 1 --steps 6 --seed 3
    --log-interval 1 --sample-every 0)
ranks() { mpirun -n 2 --oversubscribe "$@" >log 2>&1; }
last() { tail -n 1 "$1/metrics.jsonl" | sed -nE "s/.*\"$2\": ?([0-9.]+).*/\1/p"; }
is_close() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && (a - b) * (a - b) < 1e-10) }'; }

check "one process trains" "$unroll" "${train[@]}" --out alone
check "a list without mpirun divides its work" sh -c "'$unroll' bench --device cpu,cpu --shape 2,8,4,8,8 --seconds 0.01 --json |
    grep -q '\"work\":\[0.5,0.5\]'"
check "each rank has its entry" ranks "$unroll" "${train[@]}" --device $list --split layer=2 --out layers
check "layers: the loss of one process" is_close "$(last alone loss)" "$(last layers loss)"
check "layers: its validation" is_close "$(last alone val_loss)" "$(last layers val_loss)"
check "ranks along the batch" ranks "$unroll" "${train[@]}" --device $list --split batch=2 --out rows
check "rows: the loss of one process" is_close "$(last alone loss)" "$(last rows loss)"
check "a run of ranks resumes in one process" "$unroll" train --resume layers --steps 8 --device cpu --split layer=1

# A rank that is slow, because it is stopped for 90 of 100 ms, passes layers to the others while all train.
ranks "$unroll" "${train[@]}" --layers 6 --steps 1000000000 --log-interval 50 --device $list --split layer=2 --balance --out slow &
job=$!
for i in $(seq 1200); do slow=$(process_of 0 slow); [ -s slow/metrics.jsonl ] && break; sleep 0.05; done
for i in $(seq 2400); do
    kill -STOP "$slow" && sleep 0.09 && kill -CONT "$slow" && sleep 0.01 || break
    grep -q '"divided"' slow/metrics.jsonl && break
done
kill -TERM "$slow"
wait $job
check "a rank that became slow: work is divided again" grep -q '"divided":{"times":[1-9][0-9]*,"work":\[0.[0-9]*,0.[0-9]*\]}' slow/metrics.jsonl
check "and the run says so" says 'work is redistributed: rank 0 [0-9]*%, rank 1 [0-9]*%'

# A missing entry is reported by the rank that has it, and all ranks exit.
ranks "$unroll" "${train[@]}" --device cpu,xla:none.so --split layer=2 --out lost
check "an entry that is not there ends all" test $? != 0
check "rank 1 has the second entry" says 'none.so'
ranks "$unroll" "${train[@]}" --device cpu,cpu,cpu --split layer=2 --out many
check "more entries than ranks end all" test $? != 0
check "and are told" says '3 devices are named for 2 ranks'
finish
