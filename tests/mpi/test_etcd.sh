#!/bin/bash
# unroll launch --control etcd: three servers on this machine, whose leader is killed together with a rank; and a
# launcher that is paused while another takes over its run, and writes nothing when it wakes. Usage: test_etcd.sh
# build/unroll
# test: kinds=long-plain; args=$B/unroll; seconds=60
unroll=$(realpath "$1") here=$(dirname "$(realpath "$0")")
. "$here/checks.sh" test_etcd
. "$here/launched.sh"
command -v mpirun.openmpi >/dev/null || { skip "no Open MPI here"; finish; }

make_text
train=(train text --batch 8 --val 0 --threads 1 --hidden 12 --bptt 8 --exact 8 --schedule constant --timeout 8s)

refused 2 'is no store' --ranks 2 --control zookeeper:there "${train[@]}" --steps 1 --out no
refused 2 'is not etcd:HOST:PORT' --ranks 2 --control etcd:there "${train[@]}" --steps 1 --out no
refused 7 'no server of etcd answers' --ranks 2 --control etcd:127.0.0.1:1 "${train[@]}" --steps 1 --out no
command -v etcd >/dev/null || { skip "no etcd here"; finish; }

base=$((20000 + RANDOM % 20000)) servers= cluster= etcds=()
for i in 0 1 2; do
    cluster=$cluster,n$i=http://127.0.0.1:$((base + 10 + i))
    servers=$servers,127.0.0.1:$((base + i))
done
for i in 0 1 2; do
    etcd --name n$i --data-dir n$i.etcd --listen-client-urls http://127.0.0.1:$((base + i)) \
        --advertise-client-urls http://127.0.0.1:$((base + i)) --listen-peer-urls http://127.0.0.1:$((base + 10 + i)) \
        --initial-advertise-peer-urls http://127.0.0.1:$((base + 10 + i)) --initial-cluster "${cluster#,}" >n$i.log 2>&1 &
    etcds+=($!)
done
disown "${etcds[@]}"
trap 'kill -KILL "${etcds[@]}" 2>/dev/null; rm -rf "$dir"' EXIT
status_of() {
    (exec 3<>/dev/tcp/127.0.0.1/$((base + $1)) &&
        printf 'POST /v3/maintenance/status HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}' >&3 && timeout 1 cat <&3) 2>/dev/null
}
leader() {      # the leader among the running servers
    local i s
    for i in 0 1 2; do
        s=$(status_of $i)
        [ -n "$s" ] && [ "$(sed -n 's/.*"member_id":"\([0-9]*\)".*/\1/p' <<<"$s")" = "$(sed -n 's/.*"leader":"\([0-9]*\)".*/\1/p' <<<"$s")" ] &&
            echo $i && return
    done
    return 1
}
for i in $(seq 100); do leader >/dev/null && break; sleep 0.1; done
check "etcd has a leader" leader

launch() {      # launch LOG WORDS...
    "$unroll" launch --ranks 1:3 --silence 3s --control "etcd:${servers#,}" "${@:2}" >"$1.log" 2>&1 &
    job=$!
}
rank_below() {  # the process of rank $2 among the descendants of process $1
    local p
    for p in $(pgrep -x unroll); do
        [ "/proc/$p/cwd" -ef . ] && [ "$(ps -o ppid= -p "$(ps -o ppid= -p "$p" | tr -d ' ')" | tr -d ' ')" = "$1" ] &&
            tr '\0' '\n' <"/proc/$p/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$2" && echo "$p" && return
    done 2>/dev/null
}

what="etcd's leader is killed, and a rank"
launch one "${train[@]}" --steps 3000 --save-every 20 --out one
until_saved one
killed=$(leader)
kill -KILL "${etcds[$killed]}"
kill -KILL "$(rank_below $job 1)"
check "$what: the ranks that are left go on" until_said one '^launch: 2 ranks train again'
wait $job
check "$what: the training ends, $?" test $? = 0
"$unroll" "${train[@]}" --steps 3000 --out straight >log 2>&1
check "$what: with the weights of an undisturbed run" cmp straight/model.safetensors one/model.safetensors

what="a launcher is paused"
launch first "${train[@]}" --steps 16000 --save-every 20 --out two
first=$job
until_saved two
launch second train --resume two
second=$job
check "$what: before that a second one waits" until_said second '^launch: another launcher has this run'
kill -STOP $first
check "$what: the second continues" until_said second '^launch: start 2 with 3 ranks, from\|launch: start 2 with 3 ranks'
check "$what: and trains" until_said second '^step '
kill -CONT $first
wait $first
check "$what: awake, it ends with 7, $?" test $? = 7
cp first.log log
check "$what: and says why" says 'belongs to another launcher'
wait $second
check "$what: the training ends, $?" test $? = 0
"$unroll" "${train[@]}" --steps 16000 --out straight2 >log 2>&1
check "$what: with the weights of an undisturbed run" cmp straight2/model.safetensors two/model.safetensors
finish
