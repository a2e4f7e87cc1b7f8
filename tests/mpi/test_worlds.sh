#!/bin/bash
# unroll launch --engine ucx: ranks are killed, stopped or asked to leave, others are added, spares take over. The
# remaining ranks continue in their processes, from what they have in memory, to the weights of an undisturbed run.
# Skipped without UCX.
# Usage: test_worlds.sh build/unroll [KILLS]; KILLS: this many ranks are killed one after the other, and nothing else is
# tested
# test: args=$B/unroll; seconds=40
# test: kinds=long-plain; args=$B/unroll 50; seconds=40
unroll=$(realpath "$1") kills=${2:-} here=$(dirname "$(realpath "$0")")
. "$here/checks.sh" test_worlds
. "$here/launched.sh"
"$unroll" devices 2>/dev/null | grep -q '^ *UCX.*libucp' || { skip "no UCX here"; finish; }

make_text
train=(train text --batch 8 --val 0 --threads 1 --hidden 12 --bptt 8 --dropout 0.2 --exact 8 --schedule constant --timeout 20s --stateful)

launch() {      # NAME RANKS [OPTIONS]: in the background, process $job
    "$unroll" launch --engine ucx --ranks "$2" --silence 6s ${launch_with:-} "${train[@]}" --save-every 200 --out "$1" "${@:3}" >"$1.log" 2>&1 &
    job=$!
}
same_at_a_step() {  # NAME: stopped by a signal; an undisturbed run up to there has the same checkpoint
    stop_at_a_step "$1"
    undisturbed_until "$step" "$1" "$unroll" "${train[@]}"
    check "$what: each step is reported once" awk -F'[:,]' '{ if ($2 + 0 <= last) exit 1; last = $2 + 0 }' <(grep -o '"step":[0-9]*' "$1/metrics.jsonl")
}

# ---- many kills: spares replace them, or one is lost each time until all return
# ------------------------------------------

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
    check "$what: no rank was started again" test "$(grep -c '^launch: start' many.log)" = 1
    same_at_a_step many
    seconds_again many
    finish
fi

# ---- refusals --------------------------------------------------------------------------------------------------------

refused 4 'divides the batch alone' --engine ucx --ranks 2 train text --split layer=2
refused 4 'divides the batch alone' --engine ucx --ranks 2 train text --workers 2
refused 4 'fix: use --engine ucx' --ranks 2 --spares 1 train text
printf 'elsewhere slots=2\n' >hosts
refused 4 'on this machine alone' --engine ucx --ranks 2 --hosts hosts train text

# ---- ranks that are lost, leave and join -----------------------------------------------------------------------------

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
check "$what: one continues" until_said lost 'launch: 1 rank train again'
kill -USR2 $job
check "$what: four are there again" until_said lost 'launch: 4 ranks train again'
check "$what: no rank was started again" test "$(grep -c '^launch: start' lost.log)" = 1
same_at_a_step lost

what="a spare takes the place of a lost rank"
launch_with="--spares 1" launch spared 2:2 --steps 1000000000
until_said spared '^step 1 '
kill -KILL "$(rank_of 1 spared)"
check "$what: two train again" until_said spared 'launch: 2 ranks train again'
check "$what: the first is killed, too" kill -KILL "$(rank_of 0 spared)"
check "$what: two train again" until_said spared 'launch: 2 ranks train again' 2
same_at_a_step spared

what="all are killed"
launch all 2:2 --steps 3000
until_said all '^step 1 '
for i in $(seq 6000); do ls all/ckpt/step-*00 >/dev/null 2>&1 && break; sleep 0.05; done
kill -KILL $(ranks_of all)
check "$what: they start again" until_said all 'launch: start 2 with'
ends all 0
"$unroll" "${train[@]}" --steps 3000 --out undisturbed >log 2>&1
check "$what: the weights are those of an undisturbed run" cmp undisturbed/model.safetensors all/model.safetensors
finish
