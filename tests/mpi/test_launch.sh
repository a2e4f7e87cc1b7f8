#!/bin/bash
# unroll launch: ranks that are killed, stopped or asked to leave, hosts that are added, a launcher that is asked to
# stop or is killed, a full disk. Each time training resumes, or ends as it should, with the weights of an undisturbed
# run; the cause is named, and nothing remains. Usage: test_launch.sh build/unroll [KILLS]
# KILLS: this many ranks are killed one after the other, with varying numbers of ranks, and nothing else is tested
# test: args=$B/unroll; seconds=60
# test: kinds=long-plain; args=$B/unroll 50; seconds=60
unroll=$(realpath "$1") kills=${2:-} here=$(dirname "$(realpath "$0")")
. "$here/checks.sh" test_launch
. "$here/launched.sh"
command -v mpirun.openmpi >/dev/null || { skip "no Open MPI here"; finish; }

make_text
train=(train text --batch 8 --val 0 --threads 1 --hidden 12 --bptt 8 --dropout 0.2 --exact 8 --schedule constant --timeout 8s)

# launch NAME RANKS [OPTIONS]: in the background, process $job
launch() {
    "$unroll" launch --ranks "$2" --silence 6s ${launch_with:-} "${train[@]}" --save-every 20 --out "$1" "${@:3}" >"$1.log" 2>&1 &
    job=$!
}
until_newer() {     # NAME: waits for a checkpoint newer than the current one
    local i now=$(ls "$1/ckpt" 2>/dev/null)
    for i in $(seq 15000); do [ "$(ls "$1/ckpt" 2>/dev/null | grep -v tmp)" != "$now" ] && return; sleep 0.02; done
    return 1
}
same() {      # RUN [UNDISTURBED]
    check "$what: the weights are those of an undisturbed run" cmp "${2:-straight}/model.safetensors" "$1/model.safetensors"; }

# ---- many kills ----------------------------------------------------------------------------

# Each time another rank, of another number of ranks, is killed. One is lost each time, and when one is left, the host
# file offers four.
if [ -n "$kills" ]; then
    what="$kills kills"
    echo "localhost slots=4" >hosts
    launch_with="--hosts hosts --attempts 1000000" launch many 1:4 --steps 1000000000
    done=0 hung=0
    while [ "$done" -lt "$kills" ] && [ $hung = 0 ]; do
        until_newer many || hung=1
        all=($(ranks_of many))
        if [ ${#all[@]} = 1 ] && [ $((RANDOM % 2)) = 0 ]; then
            echo "localhost slots=4 # $done" >hosts.new && mv hosts.new hosts
            until_newer many || hung=1
            all=($(ranks_of many))
        fi
        sleep "0.0$((RANDOM % 10))"
        [ ${#all[@]} -gt 0 ] && kill -KILL "${all[$((RANDOM % ${#all[@]}))]}" 2>/dev/null && done=$((done + 1))
    done
    check "$what: none hangs" test $hung = 0
    until_newer many
    stop_at_a_step many
    undisturbed_until "$step" many "$unroll" "${train[@]}"
    seconds_again many
    finish
fi

# ---- refusals ------------------------------------------------------------------------------

refused 2 'missing\|needs\|--ranks' train text
refused 2 'is not MIN:MAX' --ranks 3:2 train text
refused 2 "can't be launched" --ranks 2 sample text
refused 2 'leave out batch' --ranks 2 train text --split batch=2
refused 2 'leave room for 4' --ranks 6:8 train text --exact 4
refused 4 'standard input' --ranks 2 train -
printf 'localhost slots=2\nnode; rm -rf slots=1\n' >bad
refused 3 "line 2 of 'bad'" --ranks 2 --hosts bad train text
env PATH=/nowhere "$unroll" launch --ranks 2 train text --out nothing >log 2>&1
check "launch without an MPI ends with 1" test $? = 1
check "launch without an MPI says: install openmpi-bin" says 'install openmpi-bin'
check "nothing was written" test ! -e nothing -a ! -e runs

# ---- lost ranks ----------------------------------------------------------------------------

steps=1600
"$unroll" "${train[@]}" --steps $steps --out straight >log 2>&1

what="a rank is killed, then one told to leave, then one stopped"
launch lost 1:4 --steps $steps --json
until_saved lost
kill -KILL "$(rank_of 2 lost)"
check "$what: the killed one is named" until_said lost '^launch: rank 2 (process [0-9]* on .*) was killed'
until_said lost 'launch: start 2 with 3 ranks' && until_said lost 'launch: 3 ranks train again'
until_newer lost
kill -TERM "$(rank_of 1 lost)"
check "$what: the one that leaves is named" until_said lost '^launch: rank 1 .* was told to leave and has saved'
until_said lost 'launch: 2 ranks train again'
until_newer lost
kill -STOP "$(rank_of 0 lost)"
check "$what: the stopped one is named" until_said lost '^launch: rank 0 .* does not answer'
check "$what: one continues" until_said lost 'launch: start 4 with 1 rank'
ends lost 0
same lost
check "$what: the result is printed once" test "$(grep -c '{"steps":' lost.log)" = 1

what="ranks are killed before there is a checkpoint"
launch early 2:2 --steps 40 --save-every 1000
for i in 1 2; do
    until_said early "start $i with" && for n in $(seq 3000); do [ -n "$(rank_of 1 early)" ] && break; sleep 0.02; done
    sleep 0.0$((i * 4))
    kill -KILL "$(rank_of 1 early)"
done
ends early 0
"$unroll" "${train[@]}" --steps 40 --out forty >log 2>&1
check "$what: it starts from step 0 and has the weights of an undisturbed run" cmp forty/model.safetensors early/model.safetensors

what="ranks are killed at every start"
launch_with="--attempts 3" launch never 2:2 --steps 1000000 --save-every 1000000
for start in 1 2 3; do
    until_said never "start $start with" && for n in $(seq 3000); do [ -n "$(rank_of 0 never)" ] && break; sleep 0.02; done
    kill -KILL "$(rank_of 0 never)"
done
ends never 7
check "$what: it gives up and says why" says '3 starts in a row lost a rank'

# ---- added hosts ---------------------------------------------------------------------------

what="slots come and go"
echo "localhost slots=1" >hosts
many=8000       # steps: a single rank takes a second, and the launcher reads the host file twice a second
"$unroll" "${train[@]}" --steps $many --out longer >log 2>&1
launch_with="--hosts hosts" launch moves 1:4 --steps $many
until_saved moves
echo "localhost slots=3" >hosts.new && mv hosts.new hosts
check "$what: ranks are added" until_said moves 'launch: start 2 with 3 ranks, from the newest checkpoint'
until_newer moves
kill -KILL "$(rank_of 1 moves)"
check "$what: one is lost" until_said moves 'launch: start 3 with 2 ranks'
until_said moves '2 ranks train again'
echo "localhost slots=4" >hosts.new && mv hosts.new hosts; kill -KILL "$(rank_of 1 moves)"   # both at once
ends moves 0
same moves longer

# ---- the launcher is asked to stop, or killed ----------------------------------------------

what="the launcher is told to stop"
launch told 2:3 --steps $steps
until_saved told
kill -TERM $job
ends told 75
check "$what: it says how to go on" says '^resume: unroll train --resume told'
what="it continues with another"
"$unroll" launch --ranks 2 train --resume told >told.log 2>&1 &
job=$!
ends told 0
same told

what="the launcher is killed"
launch orphans 3:3 --steps 1000000
until_saved orphans
kill -KILL $job
wait $job 2>/dev/null
for i in $(seq 2400); do [ -z "$(ranks_of orphans)" ] && break; sleep 0.05; done
check "$what: the ranks have saved and ended" test -z "$(ranks_of orphans)"
check "$what: nothing was lost" grep -q '^saved orphans/ckpt/step-' orphans.log
"$unroll" launch --ranks 2 train --resume orphans --steps 1000000 >orphans.log 2>&1 &
job=$!
until_said orphans '^step '
kill -TERM $job
ends orphans 75         # leftovers of the killed one are removed, too

# ---- wrong arithmetic ----------------------------------------------------------------------

until_still() { # until_still NAME: the others wait for a stopped rank, so that no checkpoint is written or removed
    local before= now
    for i in $(seq 100); do
        now=$(ls "$1/ckpt"; wc -l "$1/metrics.jsonl")
        [ "$now" = "$before" ] && return
        before=$now
        sleep 1
    done
}
what="a bit of a rank's weights flips"
still=(--steps 1200 --opt sgd --lr 1e-9 --verify-every 5)       # so slow that weights in memory are those of a checkpoint
launch_with="--silence 30s" launch bit 1:3 "${still[@]}"
until_saved bit
wrong=$(rank_of 1 bit)
kill -STOP "$wrong"
until_still bit
check "$what: it is flipped" python3 "$here/flip_bit.py" "$wrong" "$(newest_of bit)/model.safetensors"
kill -CONT "$wrong"
check "$what: the rank is named" until_said bit '^launch: rank 1 .* has a computing or memory error'
check "$what: the others go on without it" until_said bit '^launch: start 2 with 2 ranks, from the newest checkpoint'
ends bit 0
"$unroll" "${train[@]}" "${still[@]}" --out unflipped >log 2>&1
check "$what: the weights are those of an undisturbed run" cmp unflipped/model.safetensors bit/model.safetensors

what="a rank computes wrong gradients, of data that changed in its memory"
launch_with="--silence 30s" launch share 1:3 --steps 1200 --verify-every 5
until_saved share
wrong=$(rank_of 1 share)
kill -STOP "$wrong"
until_still share
check "$what: they are changed" python3 "$here/flip_bit.py" "$wrong" text
kill -CONT "$wrong"
check "$what: the rank is named" until_said share '^launch: rank 1 .* has a computing or memory error'
check "$what: the others go on without it" until_said share '^launch: start 2 with 2 ranks, from the newest checkpoint'
ends share 0
"$unroll" "${train[@]}" --steps 1200 --out unchanged >log 2>&1
check "$what: the weights are those of an undisturbed run" cmp unchanged/model.safetensors share/model.safetensors

# ---- how often to save ---------------------------------------------------------------------

what="--save-every auto"
"$unroll" "${train[@]}" --save-every auto --mtbf 20s --steps 1000000000 --out auto >log 2>&1 &
job=$!
saves() { grep -o '"checkpoint":[0-9]*' auto/metrics.jsonl 2>/dev/null | sort -u | wc -l; }
for i in $(seq 6000); do [ "$(saves)" -ge 2 ] && break; kill -0 $job 2>/dev/null || break; sleep 0.05; done
check "$what: it saves some times" test "$(saves)" -ge 2
kill -TERM $job
wait $job
check "$what: it ends as it is told" test $? = 75
check "$what: its interval is Daly's" awk '/^--save-every auto/ { c = $6; i = $12 }
    END { p = c / 40; daly = sqrt(40 * c) * (1 + sqrt(p) / 3 + p / 9) - c; print c, i, daly; exit !(c > 0 && (i / daly - 1) ^ 2 < 0.01) }' log

# ---- a full disk ---------------------------------------------------------------------------

what="the disk is full"
mkdir disk
if mount -t tmpfs -o size=300k none disk 2>/dev/null; then
    trap 'umount "$dir/disk" 2>/dev/null; rm -rf "$dir"' EXIT
    launch disk/run 2:2 --steps 1000000
    until_saved disk/run
    kept=$(ls disk/run/ckpt | head -n 1)
    head -c 300000 /dev/zero >disk/full 2>/dev/null
    wait $job
    check "$what: it ends with 5" test $? = 5
    cp disk/run.log log
    check "$what: it says so" says 'No space left'
    rm disk/full
    "$unroll" launch --ranks 2 train --resume disk/run --steps 60 >disk/run.log 2>&1
    status=$?
    check "$what: it continues when there is room, $status" test $status = 0 -o $status = 2
    umount disk
else
    skip "no file system can be mounted here"
fi
finish
