#!/bin/bash
# Ranks with a fake GPU each, over the fake NCCL: meshes compared with one process on the CPU, runs resumed with other
# numbers of GPUs and on the CPU, refusals, and ranks that are killed, stopped or cut off. test_ranks.c has the list of
# networks. Usage: with_fake_cuda.sh BUILD test_gpu_ranks.sh BUILD
# test: kinds=long-plain; if=g++; run=tests/device/with_fake_cuda.sh $B; args=$B; needs=$B/unroll $B/tests/session/test_ranks fake-cuda; seconds=60
build=$(realpath "$1") unroll=$build/unroll test_ranks=$build/tests/session/test_ranks
. "$(dirname "$0")/../mpi/checks.sh" test_gpu_ranks
export FAKE_CUDA_DEVICES=8 UNROLL_CUDA_ALGORITHM=portable

check "devices says which NCCL there is" sh -c "'$unroll' devices | grep -q 'NCCL 2.27'"
check "and what it is without" sh -c "UNROLL_NCCL=/nowhere '$unroll' devices | grep -q 'no NCCL'"
if ! command -v mpirun.openmpi >/dev/null; then
    skip "no Open MPI here: nothing was run on several GPUs"
    finish
fi
run=(timeout -k 5 60 mpirun.openmpi --oversubscribe)

# ---- meshes --------------------------------------------------------------------------------

for n in 2 3 4; do
    check "meshes of $n GPUs" "${run[@]}" -n $n "$test_ranks" mpi cuda
done

# ---- runs ----------------------------------------------------------------------------------

for i in $(seq 400); do echo "$i: a line of text, in which $((i * 7919 % 1000)) is a number and nothing is new"; done >text
train=(train text --layers 2 --hidden 8 --bptt 6 --batch 8 --val 0 --threads 1 --schedule-steps 6)
ranks() { "${run[@]}" -n "$1" "$unroll" "${train[@]}" --device cuda "${@:2}" >log 2>&1; }
loss() { "$unroll" eval "$1" text --json | sed -n 's/.*"nats": *\([0-9.]*\).*/\1/p'; }
alike() { awk -v a="$(loss "$1")" -v b="$(loss "$2")" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 1e-10) }'; }

"$unroll" "${train[@]}" --steps 6 --out one >log 2>&1
check "6 steps on the CPU" test $? = 0
ranks 2 --steps 3 --split batch=2 --out two
check "3 steps on 2 GPUs" test $? = 0
resume() {      # resume NAME COMMAND...
    rm -rf "$1" && cp -r two "$1"
    "${@:2}" >log 2>&1
    check "2 GPUs go on: $1" test $? = 0
    check "$1 ends where one process does" alike one "$1"
}
on() { resume "$1" "${@:3}" "$unroll" train --resume "$1" --steps 6 $2; }
on the-cpu "--device cpu"
on one-gpu "--device cuda"
on three-gpus "--device cuda --split batch=3" "${run[@]}" -n 3
on stages "--device cuda --split layer=2" "${run[@]}" -n 2

# ---- refusals ------------------------------------------------------------------------------

refused() {     # refused STATUS WORDS OPTIONS...
    ranks 2 --steps 1 --out no "${@:3}"
    check "${*:3} ends with $1" test $? = "$1"
    check "${*:3} says: $2" says "$2"
}
refused 4 'share the units of a layer' --split hidden=2
refused 4 'NCCL adds in an order of its own' --split batch=2 --exact 4
refused 4 'NCCL chooses how it adds' --split batch=2 --sum ring
refused 4 'no rank sees all gradients' --split layer=2 --precision fp16
UNROLL_NCCL=/nowhere refused 3 'NCCL named by UNROLL_NCCL cannot be loaded' --split batch=2
FAKE_CUDA_NCCL_VERSION=21205 refused 4 'at least 2.14 is needed' --split batch=2
FAKE_CUDA_DEVICES=1 refused 7 'Duplicate GPU detected : rank 0 and rank 1' --split batch=2
check "nothing is written" test ! -e no

# ---- ranks that fail -----------------------------------------------------------------------

fail_rank() {   # fail_rank SIGNAL EXIT-CODE
    rm -rf victim
    "${run[@]}" -n 2 "$unroll" "${train[@]}" --steps 1000000 --device cuda --split batch=2 --timeout 5s --log-interval 1 \
        --out victim >log 2>&1 &
    local job=$! begin p= waited=0
    while [ ! -s victim/metrics.jsonl ] && [ $waited -lt 150 ]; do sleep 0.1; waited=$((waited + 1)); done
    p=$(process_of 1 victim)
    begin=$(date +%s)
    check "rank 1 was found" test -n "$p"
    kill -"$1" "$p"
    wait $job
    check "after SIG$1 the run ends with $2" test $? = "$2"
    check "within the deadline" test $(($(date +%s) - begin)) -le 20
    for i in $(seq 100); do pgrep -f -- '--out victim' >/dev/null || break; sleep 0.1; done      # mpirun ends before them
    check "no process is left" test -z "$(pgrep -f -- '--out victim')"
}
fail_rank STOP 7
# In NCCL or in one of our messages, depending on where the other rank was stopped.
check "the message names both ranks, and which one stopped" says "rank 0 waited [56][0-9.]* seconds for .*rank 1.*; rank 1 does not answer"
fail_rank KILL 137

# Rank 0 does not finish an operation; NCCL may report the reason.
cut_off() {     # cut_off SETTING WORDS
    printf '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 0 ] && export %s\nexec "$@"\n' "$1" >cut_off
    chmod +x cut_off
    rm -rf lost
    "${run[@]}" -n 2 ./cut_off "$unroll" "${train[@]}" --steps 1000 --device cuda --split batch=2 --timeout 3s --out lost \
        >log 2>&1
    check "$1 ends the run with 7" test $? = 7
    check "$1: the message names both ranks and the operation" says "$2"
}
cut_off FAKE_CUDA_NCCL_STALLS=60 "'[a-z_]* .*': rank [01] waited 3[.0-9]* seconds for rank [01]"
cut_off FAKE_CUDA_NCCL_LOSES=60 "'[a-z_]* .*': rank 0 could not reach rank 1: NCCL: remote process exited"
finish
