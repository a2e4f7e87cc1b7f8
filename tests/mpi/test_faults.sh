#!/bin/bash
# Other failures while ranks train: the system time jumps, a rank dies while it saves or serves weights to others,
# another MPI. Each time the cause is named, training resumes in time, and nothing is lost.
# Usage: test_faults.sh build/unroll wrong_clock.so
# test: args=$B/unroll $B/tests/mpi/wrong_clock.so; seconds=40
unroll=$(realpath "$1") clock=$(realpath "$2") here=$(dirname "$(realpath "$0")")
. "$here/checks.sh" test_faults
. "$here/launched.sh"

make_text
train=(train text --batch 8 --val 0 --threads 1 --bptt 8 --schedule constant --timeout 8s)
small=(--hidden 12 --dropout 0.2 --exact 8)

launch() {      # launch NAME RANKS [OPTIONS]: in the background until it is asked to stop, process $job
    "$unroll" launch --ranks "$2" --silence 6s --attempts 1000 "${train[@]}" --steps 1000000000 --out "$1" "${@:3}" >"$1.log" 2>&1 &
    job=$!
}
# A rank is killed after it has written a part of a checkpoint, which remains.
die_while_saving() {
    local i rank=$(rank_of 0 "$1")
    [ -n "$rank" ] || return
    for i in $(seq 100000); do
        compgen -G "$1/ckpt/*.tmp*" >/dev/null && break
    done
    kill -KILL "$rank" 2>/dev/null && compgen -G "$1/ckpt/*.tmp*" >/dev/null
}

command -v mpirun.openmpi >/dev/null || skip "no Open MPI here"
if command -v mpirun.openmpi >/dev/null; then
    what="the time of the day jumps by hours"
    LD_PRELOAD=$clock launch jumps 1:3 "${small[@]}" --save-every 20
    until_saved jumps
    kill -KILL "$(rank_of 1 jumps)"
    check "$what: a killed rank is named" until_said jumps '^launch: rank 1 (process [0-9]* on .*) was killed'
    check "$what: two go on" until_said jumps 'launch: 2 ranks train again'
    kill -STOP "$(rank_of 0 jumps)"
    check "$what: a stopped rank is named" until_said jumps '^launch: rank 0 .* does not answer'
    check "$what: one continues" until_said jumps 'launch: 1 rank train again'
    stop_at_a_step jumps
    undisturbed_until "$step" jumps "$unroll" "${train[@]}" "${small[@]}"

    what="a rank dies while it saves"
    large=(--hidden 160 --exact 2)
    launch saves 2:2 "${large[@]}" --save-every 1
    until_saved saves
    deaths=0
    for i in $(seq 60); do      # a death between two saves does not count
        die_while_saving saves && deaths=$((deaths + 1))
        until_said saves 'train again' $i || break
        [ $deaths = 2 ] && break
    done
    check "$what: $deaths deaths, not 2" test $deaths = 2
    stop_at_a_step saves
    undisturbed_until "$step" saves "$unroll" "${train[@]}" "${large[@]}"
    "$unroll" train --resume saves --steps "$((step + 2))" >log 2>&1
    check "$what: what was half written is gone: $(ls saves/ckpt | tr '\n' ' ')" test -z "$(compgen -G 'saves/ckpt/*.tmp*')"

    what="a rank dies that serves weights"
    for wait in 0 2; do
        launch served$wait 2:2 --workers 2 --sync server:$wait --hidden 12 --save-every 20
        until_saved served$wait
        kill -KILL "$(rank_of 1 served$wait)"
        check "$what, server:$wait: it is named" until_said served$wait '^launch: rank 1 (process [0-9]* on .*) was killed'
        check "$what, server:$wait: two go on" until_said served$wait 'launch: 2 ranks train again'
        stop_at_a_step served$wait
        [ $wait = 0 ] &&        # asynchronous runs never have the same weights
            undisturbed_until "$step" served0 "$unroll" launch --ranks 2:2 "${train[@]}" --workers 2 --sync server:0 --hidden 12
    done
fi

if command -v mpirun.mpich >/dev/null; then
    what="MPICH"
    UNROLL_MPI=mpich launch mpich 1:2 "${small[@]}" --save-every 20
    until_saved mpich
    kill -KILL "$(rank_of 1 mpich)"
    check "$what: a killed rank is named" until_said mpich '^launch: rank 1 (process [0-9]* on .*) was killed'
    check "$what: the other continues" until_said mpich 'launch: 1 rank train again'
    stop_at_a_step mpich
    undisturbed_until "$step" mpich "$unroll" "${train[@]}" "${small[@]}"
else
    skip "no MPICH here"
fi
finish
