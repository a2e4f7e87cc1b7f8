#!/bin/bash
# Two machines, simulated by network namespaces with a link of 100 Mbit/s: the bytes of one process, and an exit within
# the timeout when the link goes down. Usage: test_network.sh build/unroll [more]
# more: instead, lost packets, and a link that is down in one direction
# test: args=$B/unroll; seconds=20
# test: kinds=long-plain; args=$B/unroll more; seconds=20
unroll=$(realpath "$1") here=$(dirname "$(realpath "$0")")
. "$here/checks.sh" test_network
. "$here/machines.sh"

clean() {
    machines_clean
    rm -rf "$dir"
}
trap clean EXIT

machines_make 2 100mbit "$dir" || { skip "$machines_missing"; finish; }
machines_seconds=80
run() { machines_run "$@" >log 2>&1; }

make_text
train=(train text --layers 2 --hidden 96 --bptt 16 --batch 8 --val 0 --threads 1 --exact 2)
"$unroll" "${train[@]}" --steps 10 --out alone >log 2>&1
run "$unroll" "${train[@]}" --steps 10 --split batch=2 --out both
check "two machines train" test $? = 0
check "to the bytes of one process" cmp alone/model.safetensors both/model.safetensors

if [ "${2:-}" = more ]; then
    "$unroll" "${train[@]}" --steps 60 --out sixty >log 2>&1
    if machines_lose 2; then
        run "$unroll" "${train[@]}" --steps 60 --split batch=2 --out lossy
        check "two machines train while 2% of all packets get lost" test $? = 0
        check "some were: $(machines_lost)" test "$(machines_lost)" -gt 10
        check "to the bytes of one process" cmp sixty/model.safetensors lossy/model.safetensors
    else
        skip "packets can't be lost here (nft)"
    fi
fi
run "$unroll" "${train[@]}" --steps 1000000 --split batch=2 --timeout 3s --out cut &
job=$!
for i in $(seq 1200); do [ -s cut/metrics.jsonl ] && break; sleep 0.1; done # on a busy machine programs start late
check "they train when the link goes down" test -s cut/metrics.jsonl
if [ "${2:-}" = more ]; then machines_half_down 2 1; else machines_down 2; fi
# mpirun itself may wait minutes for the lost machine; the ranks do not.
left() {
    for p in $(pgrep -x unroll); do
        [ "$(readlink "/proc/$p/cwd")" = "$dir" ] && echo "$p"
    done
}
for i in $(seq 1200); do [ -n "$(left)" ] || break; sleep 0.1; done
check "the ranks end within the timeout and a few seconds" test -z "$(left)"
names_both() { # mpirun passes on what a rank printed, possibly after the rank has exited
    for i in $(seq 100); do
        grep -q 'rank [01] waited 3[.0-9]* seconds for a message from rank [01]' log && return
        sleep 0.1
    done
    return 1
}
check "the message names both ranks" names_both
for p in $(pgrep -f -- "--mca plm_rsh_agent $dir/agent"); do kill -KILL "$p"; done 2>/dev/null
wait $job 2>/dev/null
check "mpirun does not say that all went well" test $? != 0
finish
