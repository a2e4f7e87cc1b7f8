# Machines simulated by network namespaces that a switch connects, each with a link of RATE Mbit/s. Sourced by bash
# scripts; not a test. After machines_make, machines_run COMMAND... starts a rank on each with Open MPI, for at most
# $machines_seconds.
#     machines_make COUNT RATE DIRECTORY      false: $machines_missing names what is missing here
machines_make() {
    local i
    machines=$1 machines_dir=$3 machines_name=unroll-$$
    machines_missing=
    command -v mpirun.openmpi >/dev/null || { machines_missing="no Open MPI here"; return 1; }
    ip netns add $machines_name-0 2>/dev/null || { machines_missing="network namespaces can't be made here"; return 1; }
    ip -n $machines_name-0 link add switch type bridge 2>/dev/null || { machines_missing="no switch can be made here"; return 1; }
    ip -n $machines_name-0 link set switch up
    for i in $(seq "$machines"); do
        ip netns add $machines_name-$i
        ip -n $machines_name-$i link add link0 type veth peer name port$i netns $machines_name-0 2>/dev/null ||
            { machines_missing="no pair of virtual links here"; return 1; }
        ip -n $machines_name-0 link set port$i master switch up
        ip -n $machines_name-$i addr add 10.231.77.$i/24 dev link0
        ip -n $machines_name-$i link set link0 up
        ip -n $machines_name-$i link set lo up
        tc -n $machines_name-$i qdisc add dev link0 root tbf rate "$2" burst 64kb latency 100ms 2>/dev/null ||
            { machines_missing="links can't be slowed down here (tc)"; return 1; }
    done
    # How mpirun starts a program on machine 10.231.77.N.
    cat >"$machines_dir/agent" <<END_OF_AGENT
#!/bin/sh
host=\$1
shift
exec ip netns exec $machines_name-\${host##*.} unshare -u sh -c "hostname unroll\${host##*.}; \\
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; \$*"
END_OF_AGENT
    chmod +x "$machines_dir/agent"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

machines_run() {
    local hosts
    hosts=$(seq -s, -f 10.231.77.%g "$machines")
    timeout -k 5 "${machines_seconds:-600}" ip netns exec $machines_name-1 unshare -u sh -c 'hostname unroll1; exec "$@"' sh mpirun.openmpi -n "$machines" \
        --host "$hosts" --mca plm_rsh_agent "$machines_dir/agent" --mca pml ob1 --mca btl tcp,self \
        --mca btl_tcp_if_include link0 --mca oob_tcp_if_include link0 --mca plm_rsh_no_tree_spawn 1 "$@"
}

machines_down() {       # machines_down N: its link goes down
    ip -n $machines_name-"$1" link set link0 down
}

machines_half_down() {  # machines_half_down N M: what it sends to machine M is silently lost; what M sends arrives
    ip -n $machines_name-"$1" neigh replace 10.231.77."$2" lladdr 02:00:00:00:00:99 dev link0 nud permanent
}

machines_half_up() {    # machines_half_up N M
    ip -n $machines_name-"$1" neigh del 10.231.77."$2" dev link0
}

machines_lose() {       # machines_lose PERCENT: of the packets of all machines; false: not supported here
    local i
    for i in $(seq "$machines"); do
        ip netns exec $machines_name-$i nft "add table inet lossy; add chain inet lossy out { type filter hook output priority 0; }; \
            add rule inet lossy out oifname link0 numgen random mod 100 lt $1 counter drop" 2>/dev/null || return 1
    done
}

machines_lost() {       # number of lost packets
    local i
    for i in $(seq "$machines"); do ip netns exec $machines_name-$i nft list table inet lossy; done | sed -n 's/.*packets \([0-9]*\).*/\1/p' |
        awk '{ n += $1 } END { print n + 0 }'
}

machines_clean() {      # an MPI daemon may be left on a lost machine
    local i p
    for i in $(seq 0 "${machines:-0}"); do
        for p in $(ip netns pids $machines_name-$i); do kill -KILL "$p"; done
        ip netns del $machines_name-$i
    done
} 2>/dev/null
