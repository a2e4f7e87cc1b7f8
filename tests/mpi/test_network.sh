#!/bin/bash
# Two machines, played by two network namespaces with a link of 100 Mbit/s between them: the bytes of one process, and
# an end within the deadline when the link goes down. Usage: test_network.sh build/unroll
unroll=$(realpath "$1")
passed=0 failed=0 skipped=0
dir=$(mktemp -d) || exit 1
one=unroll-$$-1 two=unroll-$$-2
cd "$dir" || exit 1

check() {
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        tail -n 12 log 2>/dev/null
    fi
}
finish() {
    echo "test_network: $passed passed, $failed failed, $skipped skipped"
    exit $((failed > 0))
}
skip() {
    skipped=$((skipped + 1))
    echo "skipped: $1"
    finish
}
clean() {               # a daemon of MPI may be left on the lost machine
    for p in $(ip netns pids $one) $(ip netns pids $two); do kill -KILL "$p"; done
    ip netns del $one
    ip netns del $two
    rm -rf "$dir"
} 2>/dev/null
trap clean EXIT

command -v mpirun.openmpi >/dev/null || skip "no Open MPI here"
ip netns add $one 2>/dev/null && ip netns add $two 2>/dev/null || skip "network namespaces can't be made here"
ip -n $one link add link0 type veth peer name link0 netns $two 2>/dev/null || skip "no pair of virtual links here"
for at in "$one 1" "$two 2"; do
    ip -n ${at% *} addr add 10.231.77.${at#* }/24 dev link0
    ip -n ${at% *} link set link0 up
    ip -n ${at% *} link set lo up
    tc -n ${at% *} qdisc add dev link0 root tbf rate 100mbit burst 64kb latency 100ms 2>/dev/null ||
        skip "links can't be slowed down here (tc)"
done

# How mpirun begins something on the machine 10.231.77.N.
cat >agent <<END
#!/bin/sh
host=\$1
shift
exec ip netns exec unroll-$$-\${host##*.} unshare -u sh -c "hostname unroll\${host##*.}; export OMPI_ALLOW_RUN_AS_ROOT=1 \\
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; \$*"
END
chmod +x agent
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
run() {
    timeout -k 5 50 ip netns exec $one unshare -u sh -c 'hostname unroll1; exec "$@"' sh mpirun.openmpi -n 2 \
        --host 10.231.77.1,10.231.77.2 --mca plm_rsh_agent "$dir/agent" --mca pml ob1 --mca btl tcp,self \
        --mca btl_tcp_if_include link0 --mca oob_tcp_if_include link0 --mca plm_rsh_no_tree_spawn 1 "$@" >log 2>&1
}

for i in $(seq 400); do echo "$i: a line of text, in which $((i * 7919 % 1000)) is a number and nothing is new"; done >text
train=(train text --layers 2 --hidden 96 --bptt 16 --batch 8 --val 0 --threads 1 --exact 2)
"$unroll" "${train[@]}" --steps 10 --out alone >log 2>&1
run "$unroll" "${train[@]}" --steps 10 --split batch=2 --out both
check "two machines train" test $? = 0
check "to the bytes of one process" cmp alone/model.safetensors both/model.safetensors

run "$unroll" "${train[@]}" --steps 1000000 --split batch=2 --deadline 3s --out cut &
job=$!
for i in $(seq 100); do [ -s cut/metrics.jsonl ] && break; sleep 0.1; done
ip -n $two link set link0 down
# mpirun itself may wait for the lost machine for minutes; the ranks do not.
left() {
    for p in $(pgrep -x unroll); do
        [ "$(readlink "/proc/$p/cwd")" = "$dir" ] && echo "$p"
    done
}
for i in $(seq 150); do [ -n "$(left)" ] || break; sleep 0.1; done
check "the ranks end within the deadline and a few seconds" test -z "$(left)"
check "the message names both ranks" grep -q 'rank [01] waited 3 seconds for a message from rank [01]' log
for p in $(pgrep -f -- "--mca plm_rsh_agent $dir/agent"); do kill -KILL "$p"; done 2>/dev/null
wait $job 2>/dev/null
check "mpirun does not say that all went well" test $? != 0
finish
