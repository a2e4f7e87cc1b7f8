#!/bin/bash
# unroll launch over machines simulated by network namespaces: a link is lost, so that a rank receives nothing and
# continues alone. It is reported within --silence and a second, the others continue, and the separated rank writes
# nothing more.
# Usage: test_launch_network.sh build/unroll
# test: kinds=long-plain; args=$B/unroll
unroll=$(realpath "$1") here=$(dirname "$(realpath "$0")")
. "$here/checks.sh" test_launch_network
. "$here/launched.sh"
. "$here/machines.sh"
listener=
clean() {
    [ -z "$listener" ] || kill $listener 2>/dev/null
    machines_clean
    rm -rf "$dir"
}
trap clean EXIT
machines_make 2 100mbit "$dir" || { skip "$machines_missing"; finish; }

# Ranks of other machines must not be children of this one: a listener starts them, and the agent only keeps its
# connection.
mkfifo asked
while :; do
    while read -r host command; do
        (ip netns exec $machines_name-${host##*.} unshare -u sh -c "hostname unroll${host##*.}; $command" </dev/null >remote.log 2>&1 &)
    done <asked
done &
listener=$!
cat >connect <<END
#!/bin/sh
echo "\$*" >$dir/asked
exec sleep 1000
END
chmod +x connect

make_text
train=(train "$dir/text" --batch 8 --val 0 --threads 1 --hidden 12 --bptt 8 --exact 8 --schedule constant --timeout 6s)
launch() {      # launch NAME RANKS [OPTIONS]: on machine 1, in the background
    ip netns exec $machines_name-1 unshare -u env OMPI_MCA_plm_rsh_agent="$dir/connect" OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self \
        OMPI_MCA_btl_tcp_if_include=link0 OMPI_MCA_oob_tcp_if_include=link0 OMPI_MCA_plm_rsh_no_tree_spawn=1 \
        sh -c 'hostname unroll1; exec "$@"' sh timeout -k 5 60 "$unroll" launch --ranks "$2" --silence 2s --hosts hosts "${train[@]}" \
        --save-every 20 --out "$dir/$1" "${@:3}" >"$1.log" 2>&1 &
    job=$!
}
left() {        # processes of ranks on the lost machine
    local p
    for p in $(ip netns pids $machines_name-2); do [ "$(cat "/proc/$p/comm" 2>/dev/null)" = unroll ] && echo "$p"; done
}
up() {
    for p in $(ip netns pids $machines_name-2); do kill -KILL "$p"; done 2>/dev/null
    ip -n $machines_name-2 link set link0 up
}

"$unroll" "${train[@]}" --steps 1500 --out straight >log 2>&1
printf '10.231.77.1 slots=1\n10.231.77.2 slots=1\n' >hosts
lost() {        # lost NAME HOW...: while two ranks train
    launch "$1" 1:2 --steps 1500
    until_saved "$1"
    check "$what: both train" until_said "$1" '^2 ranks'
    "${@:2}"
    local begin=$EPOCHREALTIME
    check "$what: the lost one is named" until_said "$1" '^launch: rank 1 .* does not answer'
    check "$what: in 3 seconds" awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a; exit !(b - a < 3) }'
    check "$what: its host counts as lost" until_said "$1" '^launch: no rank on 10.231.77.2 responds'
    wait $job
    check "$what: the other continues to the end, $?" test $? = 0
    check "$what: to the weights of an undisturbed run" cmp straight/model.safetensors "$1/model.safetensors"
}

what="a link is lost between two ranks"
lost cut machines_down 2
up
what="what one of two ranks sends is lost"
lost half machines_half_down 2 1
machines_half_up 2 1
up

what="a rank is cut off that writes the files"
printf '10.231.77.2 slots=1\n10.231.77.1 slots=1\n' >hosts
launch alone 1:1 --steps 25000
until_saved alone
machines_down 2
check "$what: it is named" until_said alone '^launch: rank 0 .* does not answer'
check "$what: it trains on, alone" test -n "$(left)"
check "$what: another takes its place when it may not write any more" until_said alone '^launch: 1 rank train again'
check "$what: then it has ended" test -z "$(left)"
wait $job
check "$what: the other continues to the end, $?" test $? = 0
"$unroll" "${train[@]}" --steps 25000 --out straight2 >log 2>&1
check "$what: to the weights of an undisturbed run" cmp straight2/model.safetensors alone/model.safetensors
finish
