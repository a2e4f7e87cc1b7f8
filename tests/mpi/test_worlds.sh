#!/bin/bash
# unroll launch --engine ucx: ranks that are killed, stopped or told to leave, others that come, spares: those that are left
# go on in their processes, from what they have in memory, to the weights of an undisturbed run. Skipped where UCX is not.
# Usage: test_worlds.sh build/unroll [KILLS]; KILLS: so many ranks are killed one after the other, and nothing else is tested
unroll=$(realpath "$1") kills=${2:-} here=$(dirname "$(realpath "$0")")
. "$here/checks.sh" test_worlds
"$unroll" devices 2>/dev/null | grep -q '^ *UCX.*libucp' || { skip "no UCX here"; finish; }

for i in $(seq 400); do echo "$i: a line of text, in which $((i * 7919 % 1000)) is a number and nothing is new"; done >text
train=(train text --batch 8 --val 0 --threads 1 --hidden 12 --bptt 8 --dropout 0.2 --exact 8 --schedule constant --timeout 20s --stateful)

ranks_of() {    # NAME: the processes of the ranks of a run
    local p
    for p in $(pgrep -x unroll); do
        [ "/proc/$p/cwd" -ef . ] && tr '\0' '\n' <"/proc/$p/environ" | grep -q '^UNROLL_PLACE=' &&
            tr '\0' '\n' <"/proc/$p/cmdline" | grep -qxE -- "--(out|resume)=(.*/)?$1" && echo "$p"
    done 2>/dev/null
}
rank_of() {     # PLACE NAME
    local p
    for p in $(ranks_of "$2"); do
        tr '\0' '\n' <"/proc/$p/environ" | grep -qx "UNROLL_PLACE=$1" && echo "$p" && return
    done 2>/dev/null
}
launch() {      # NAME RANKS [OPTIONS]: in the background, process $job
    "$unroll" launch --engine ucx --ranks "$2" --silence 2s ${launch_with:-} "${train[@]}" --save-every 200 --out "$1" "${@:3}" >"$1.log" 2>&1 &
    job=$!
}
until_said() {  # NAME WORDS [COUNT]: its log says so, as often
    local i
    for i in $(seq 1200); do [ "$(grep -c -- "$2" "$1.log")" -ge "${3:-1}" ] && return; kill -0 $job 2>/dev/null || break; sleep 0.05; done
    [ "$(grep -c -- "$2" "$1.log")" -ge "${3:-1}" ]
}
ends() {        # NAME STATUS
    wait $job 2>/dev/null
    local status=$?
    cp "$1.log" log
    check "$what: it ends with $2, not $status" test $status = "$2"
    check "$what: no process is left" test -z "$(ranks_of "$1")"
    left=$(left_in_memory; ls -d unroll-launch.* 2>/dev/null)
    check "$what: nothing is left in memory or /tmp: $left" test -z "$left"
}
stop_at_a_step() {  # NAME: stopped by a signal; an undisturbed run up to there has the same checkpoint
    kill -TERM $job
    ends "$1" 75
    local step=$(ls "$1/ckpt" | grep -v tmp | sed 's/step-//' | sort -n | tail -n 1)
    rm -rf straight
    "$unroll" "${train[@]}" --steps "$step" --out straight >straight.log 2>&1
    check "$what: weights and states of step $step are those of an undisturbed run" \
        diff -r "straight/ckpt/step-$step" "$1/ckpt/step-$step"
    check "$what: each step is reported once" awk -F'[:,]' '{ if ($2 + 0 <= last) exit 1; last = $2 + 0 }' <(grep -o '"step":[0-9]*' "$1/metrics.jsonl")
}

# ---- many kills: spares take the places, or one is lost each time and then all are there again -------------------------

if [ -n "$kills" ]; then
    what="$kills kills"
    launch_with="--attempts 1000000" launch many 1:3 --steps 1000000000
    until_said many '^step 1 '
    done=0 hung=0 again=0
    while [ "$done" -lt "$kills" ] && [ $hung = 0 ]; do
        all=($(ranks_of many))
        if [ ${#all[@]} -le 1 ]; then
            kill -USR2 $job
            again=$((again + 1))
            until_said many 'train again' $again || hung=1
            continue
        fi
        sleep "0.0$((RANDOM % 10))"
        kill -KILL "${all[$((RANDOM % ${#all[@]}))]}" 2>/dev/null || continue
        done=$((done + 1)) again=$((again + 1))
        until_said many 'train again' $again || hung=1
        again=$(grep -c 'train again' many.log)
    done
    check "$what: none hangs" test $hung = 0
    check "$what: nobody was started anew" test "$(grep -c '^launch: start' many.log)" = 1
    stop_at_a_step many
    grep -o 'again after [0-9.e-]*' many.log | sed 's/.* //' | sort -g |
        awk '{ x[NR] = $1 } END { printf "%d times, seconds from loss to training: median %s, worst %s\n", NR, x[int((NR + 1) / 2)], x[NR] }'
    finish
fi

# ---- what is refused -------------------------------------------------------------------------------------------------

refused() {     # refused STATUS WORDS ARGUMENTS...
    "$unroll" launch "${@:3}" >log 2>&1
    local status=$?
    check "launch ${*:3} ends with $1, not $status" test $status = "$1"
    check "launch ${*:3} says: $2" says "$2"
}
refused 4 'divides the batch alone' --engine ucx --ranks 2 train text --split layer=2
refused 4 'divides the batch alone' --engine ucx --ranks 2 train text --workers 2
refused 4 'fix: --engine ucx' --ranks 2 --spares 1 train text
printf 'elsewhere slots=2\n' >hosts
refused 4 'on this machine alone' --engine ucx --ranks 2 --hosts hosts train text

# ---- ranks that are lost, leave and come -----------------------------------------------------------------------------

what="ranks are killed, stopped, told to leave, and come"
launch lost 1:4 --steps 1000000000
until_said lost '^step 1 '
kill -KILL "$(rank_of 0 lost)"
check "$what: the killed one is named" until_said lost '^launch: rank 0 (process [0-9]* on .*) was killed'
check "$what: three go on" until_said lost 'launch: 3 ranks train again'
kill -TERM "$(rank_of 2 lost)"
check "$what: the one that leaves is named" until_said lost 'was told to leave'
check "$what: two go on" until_said lost 'launch: 2 ranks train again'
kill -STOP "$(rank_of 3 lost)"
check "$what: the stopped one is named" until_said lost '^launch: rank [01] .* does not answer'
check "$what: one goes on" until_said lost 'launch: 1 rank train again'
kill -USR2 $job
check "$what: four are there again" until_said lost 'launch: 4 ranks train again'
check "$what: nobody was started anew" test "$(grep -c '^launch: start' lost.log)" = 1
stop_at_a_step lost

what="a spare takes the place of a lost rank"
launch_with="--spares 1" launch spared 2:2 --steps 1000000000
until_said spared '^step 1 '
kill -KILL "$(rank_of 1 spared)"
check "$what: two train again" until_said spared 'launch: 2 ranks train again'
check "$what: the first is killed, too" kill -KILL "$(rank_of 0 spared)"
check "$what: two train again" until_said spared 'launch: 2 ranks train again' 2
stop_at_a_step spared

what="all are killed"
launch all 2:2 --steps 3000
until_said all '^step 1 '
for i in $(seq 400); do ls all/ckpt/step-*00 >/dev/null 2>&1 && break; sleep 0.05; done
kill -KILL $(ranks_of all)
check "$what: they start again" until_said all 'launch: start 2 with'
ends all 0
"$unroll" "${train[@]}" --steps 3000 --out undisturbed >log 2>&1
check "$what: the weights are those of an undisturbed run" cmp undisturbed/model.safetensors all/model.safetensors
finish
