#!/bin/bash
# How runs of many ranks end when interrupted: the launcher or a rank is asked to stop, killed or stopped. Also ranks
# that share a processor with each other and with another program. Usage: test_ends.sh build/unroll [timed]
# timed: also measures how long it takes, and what a guard prints before the launcher exits; on a quiet machine
# test: args=$B/unroll; seconds=20
# test: kinds=timed-plain; args=$B/unroll timed; alone; seconds=20
unroll=$(realpath "$1") timed=${2:-}
. "$(dirname "$(realpath "$0")")/checks.sh" test_ends

make_text
train=(train text --batch 8 --val 0 --threads 1 --timeout 4s)

# begin NAME RANKS: a run in the background, process $job, that has saved and continues
begin() {
    rm -rf "$1"
    $mpirun -n "$2" "$unroll" "${train[@]}" --hidden 12 --bptt 8 --steps 1000000 --save-every 20 --split batch="$2" --out "$1" >"$1.log" 2>&1 &
    job=$!
    for i in $(seq 2400); do
        ls "$1"/ckpt/step-*[0-9] >/dev/null 2>&1 && [ -s "$1/metrics.jsonl" ] && break
        kill -0 $job 2>/dev/null || break
        sleep 0.05
    done
}
# ends NAME STATUSES SECONDS: exits with one of them, if timed within the limit, and leaves no processes or shared
# memory
ends() {
    local begin=$EPOCHREALTIME status
    wait $job 2>/dev/null
    status=$?
    [ -z "$timed" ] ||
        check "$what: it ends in $3 s" awk -v a="$begin" -v b="$EPOCHREALTIME" -v most="$3" 'BEGIN { print b - a; exit !(b - a < most) }'
    cp "$1.log" log
    check "$what: the status is $2, not $status" grep -qx "$status" <<<"${2// /$'\n'}"
    for i in $(seq 2400); do [ -z "$(writing_to "$1")" ] && break; sleep 0.05; done
    check "$what: no process is left" test -z "$(writing_to "$1")"
    check "$what: no shared memory is left" test -z "$(left_in_memory)"
}
resumable() { check "$what: it says how to go on" says '^resume: unroll train --resume '; }

told() {        # told SIGNAL STATUS SECONDS: mpirun gets the signal; all ranks save and exit
    what="$mpirun gets SIG$1"
    begin told 2
    kill -"$1" $job
    ends told "$2" "$3"
    check "$what: it has saved" test -s "$(sed -n 's/^saved //p' log)/optim.safetensors"
    resumable
}
killed() {      # killed RANK STATUS
    what="$mpirun, rank $1 is killed"
    begin killed 3
    kill -KILL "$(process_of "$1" killed)"
    ends killed "$2" 0.7
    [ -z "$timed" ] || resumable        # its guard prints the hint; a busy machine may end the launcher first
    newest=$(ls killed/ckpt | sed 's/step-//' | sort -n | tail -n 1)
    check "$what: it can be resumed" "$unroll" train --resume killed --split batch=1 --steps "$((newest + 3))"
}
all_killed() {  # all_killed WHOM STATUS SECONDS: mpirun, or the ranks and their guards
    what="$mpirun, $1 killed"
    begin all 3
    case $1 in
        mpirun) kill -KILL $job ;;
        *) kill -KILL $(writing_to all | grep -vx $job) ;;
    esac
    ends all "$2" "$3"
}
stopped() {     # stopped NAME RANK
    kill -STOP "$(process_of "$2" "$1")"
}
stop_ends() {   # stop_ends NAME RANK: it is the one that all wait for, directly or indirectly
    what="$mpirun, rank $2 is stopped"
    ends "$1" 7 6
    check "$what: one rank says that it does not answer" test "$(grep -c "^error: .*rank [0-9] waited [0-9.]* seconds for .*; rank $2 does not answer" log)" = 1
    check "$what: and what was being done" says "'sum_end\\|'all_reduce\\|tag "
    resumable
}
# crowd LEAST: four ranks share one processor with another program; at least LEAST characters a second
crowd() {
    what="$mpirun on a crowded processor"
    rm -rf crowd
    taskset -c 0 sh -c 'while :; do :; done' &
    local stranger=$!
    taskset -c 0 timeout -k 5 300 $mpirun $unbound -n 4 "$unroll" "${train[@]/4s/120s}" --hidden 64 --layers 2 --bptt 32 \
        --steps 10 --json --split hidden=4 --out crowd >result 2>log
    check "$what: it trains" test $? = 0
    kill $stranger
    wait $stranger 2>/dev/null
    sed -n 's/.*"items_per_second":\([0-9]*\).*/\1/p' result >speed
    [ -z "$timed" ] || check "$what: $(cat speed) characters/s, not $1" test "$(cat speed)" -gt "$1"
}

if command -v mpirun.openmpi >/dev/null; then
    mpirun="mpirun.openmpi --oversubscribe" unbound="--bind-to none"
    begin stops 3
    stop=$job
    stopped stops 1
    told USR2 75 0.7
    told TERM 1 1.7             # mpirun's own status, whatever the ranks return; it waits a second before it passes the signal on
    killed 1 137
    job=$stop stop_ends stops 1
    killed 0 137
    all_killed ranks 137 2.5    # no rank is left to hurry mpirun
    all_killed mpirun 137 0.7
    crowd 500                   # with yields in all waits, 200 to 350
else
    skip "no Open MPI here"
fi
if command -v mpirun.mpich >/dev/null; then
    mpirun=mpirun.mpich unbound=
    begin stops 3
    stop=$job
    stopped stops 0
    for i in 1 2 3; do told TERM 75 0.7; done           # the proxy lost it one time in four
    killed 1 "9 15"             # of all ranks, combined with OR: others may have aborted by then
    killed 0 "9 15"
    job=$stop stop_ends stops 0
    all_killed mpirun 137 0.7
    crowd 1700                  # likewise 1100
else
    skip "no MPICH here"
fi
finish
