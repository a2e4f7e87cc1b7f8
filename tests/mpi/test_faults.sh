#!/bin/bash
# What else may go wrong where ranks train: the time of the day jumps, a rank dies while it saves or serves weights to
# others, another MPI. Each time the culprit is named, training goes on in time, and nothing is lost.
# Usage: test_faults.sh build/unroll wrong_clock.so
unroll=$(realpath "$1") clock=$(realpath "$2") here=$(dirname "$(realpath "$0")")
. "$here/checks.sh" test_faults

for i in $(seq 400); do echo "$i: a line of text, in which $((i * 7919 % 1000)) is a number and nothing is new"; done >text
train=(train text --batch 8 --val 0 --threads 1 --bptt 8 --schedule constant --timeout 8s)
small=(--hidden 12 --dropout 0.2 --exact 8)

launch() {      # launch NAME RANKS [OPTIONS]: in the background, process $job
    "$unroll" launch --ranks "$2" --silence 1.5s "${train[@]}" --out "$1" "${@:3}" >"$1.log" 2>&1 &
    job=$!
}
until_said() {
    local i
    for i in $(seq 800); do grep -q -- "$2" "$1.log" && return; kill -0 $job 2>/dev/null || break; sleep 0.05; done
    grep -q -- "$2" "$1.log"
}
until_saved() {
    local i
    for i in $(seq 800); do ls "$1"/ckpt/step-*[0-9] >/dev/null 2>&1 && return; sleep 0.05; done
    return 1
}
ends() {        # ends NAME STATUS
    wait $job 2>/dev/null
    local status=$?
    cp "$1.log" log
    check "$what: it ends with $2, not $status" test $status = "$2"
    check "$what: no process is left" test -z "$(ranks_of "$1")"
}
alone() { "$unroll" "${train[@]}" "${@:2}" --out "$1" >log 2>&1; }
same() { check "$what: the weights are those of an undisturbed run" cmp "$1/model.safetensors" "$2/model.safetensors"; }

command -v mpirun.openmpi >/dev/null || skip "no Open MPI here"
if command -v mpirun.openmpi >/dev/null; then
    alone straight "${small[@]}" --steps 1200

    what="the time of the day jumps by hours"
    LD_PRELOAD=$clock launch jumps 1:3 "${small[@]}" --steps 1200 --save-every 20
    until_saved jumps
    kill -KILL "$(rank_of 1 jumps)"
    check "$what: a killed rank is named" until_said jumps '^launch: rank 1 (process [0-9]* on .*) was killed'
    check "$what: two go on" until_said jumps 'launch: 2 ranks train again'
    kill -STOP "$(rank_of 0 jumps)"
    check "$what: a stopped rank is named" until_said jumps '^launch: rank 0 .* does not answer'
    ends jumps 0
    same straight jumps

    what="a rank dies while it saves"
    large=(--hidden 160 --exact 2 --steps 24)
    alone undisturbed "${large[@]}"
    launch saves 2:2 "${large[@]}" --save-every 1
    deaths=0
    for i in $(seq 4000); do
        unfinished=$(compgen -G 'saves/ckpt/*.tmp*' | head -n 1)
        rank=$([ -n "$unfinished" ] && rank_of 0 saves)
        if [ -n "$rank" ] && [ -e "$unfinished" ] && kill -KILL "$rank" 2>/dev/null; then
            deaths=$((deaths + 1))
            until_said saves "launch: start $((deaths + 1)) with"
            [ $deaths = 2 ] && break
        fi
        kill -0 $job 2>/dev/null || break
        sleep 0.002
    done
    check "$what: $deaths deaths" test $deaths -gt 0
    ends saves 0
    same undisturbed saves
    check "$what: what was half written is gone" test -z "$(compgen -G 'saves/ckpt/*.tmp*')"

    what="a rank dies that serves weights"
    for wait in 0 2; do
        launch served$wait 2:2 --workers 2 --sync server:$wait --hidden 12 --steps 1200 --save-every 20
        until_saved served$wait
        kill -KILL "$(rank_of 1 served$wait)"
        check "$what, server:$wait: it is named" until_said served$wait '^launch: rank 1 (process [0-9]* on .*) was killed'
        check "$what, server:$wait: two go on" until_said served$wait 'launch: 2 ranks train again'
        ends served$wait 0
    done
    what="$what, server:0"
    launch undisturbed0 2:2 --workers 2 --sync server:0 --hidden 12 --steps 1200
    ends undisturbed0 0
    same undisturbed0 served0
fi

if command -v mpirun.mpich >/dev/null; then
    what="MPICH"
    alone straight2 --hidden 12 --exact 8 --steps 400
    UNROLL_MPI=mpich launch mpich 1:2 --hidden 12 --exact 8 --steps 400 --save-every 20
    until_saved mpich
    kill -KILL "$(rank_of 1 mpich)"
    check "$what: a killed rank is named" until_said mpich '^launch: rank 1 (process [0-9]* on .*) was killed'
    check "$what: the other goes on" until_said mpich 'launch: 1 rank train again'
    ends mpich 0
    same straight2 mpich
else
    skip "no MPICH here"
fi
finish
