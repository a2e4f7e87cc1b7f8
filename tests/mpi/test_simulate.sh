#!/bin/bash
# Ranks of a simulated cluster: steps take the planner's time, ranks send the plan's messages, every topology and cut
# runs, and the same simulation gives the same numbers. Skipped without SimGrid.
# Usage: test_simulate.sh UNROLL SIMULATE
# test: args=$B/unroll $B/simulate
unroll=$(realpath "$1") simulate=$(realpath "$2")
. "$(dirname "$(realpath "$0")")/checks.sh" test_simulate
network() {     # network BANDWIDTH
    echo '{"name":"net","rank":{"gflops":100,"recurrent_gflops":50,"memory_bandwidth":1e10,"message_bandwidth":1e10,'\
'"waiting_watts":20},"levels":[{"name":"net","latency":1e-5,"bandwidth":'"$1"'}],'\
'"clocks":[{"speed":1,"watts":100},{"speed":0.5,"watts":30}]}' >net.json
}
# run RANKS TOPOLOGY ROWS SPLIT CHUNKS SUM [CLOCKS]: a 2 x 128 LSTM, 16 steps of 32 tokens
run() { timeout 300 "$simulate" net.json "$1" "$2" 1 2 128 32 16 "$3" "$4" "$5" "$6" ${7:-} 2>log; }
seconds() { sed -n 's/.* ranks, \([0-9.e-]*\) s a step.*/\1/p'; }
near() { awk -v a="$1" -v b="$2" -v part="$3" 'BEGIN { exit !(a > 0 && b > 0 && (a / b - 1) ^ 2 <= part ^ 2) }'; }
# The planner's time for the same plan: plans differ between instruction sets, and the command lists only the best.
planned() { sed -n 's/.*, planned \([0-9.e-]*\) s a step.*/\1/p'; }
of_command() {  # of_command ROWS: one rank, with the command
    "$unroll" plan --auto --network net.json --hosts 1 --layers 2 --hidden 128 --input 32 --bptt 16 --batch "$1" --cell lstm --json |
        grep -o '"seconds":[0-9.e-]*' | head -n 1 | sed 's/.*://'
}

network 1e9
first=$(run 1 flat 8 1,1,1 0 auto)
case $first in skipped*) skip "${first#skipped: }"; finish ;; esac
one=$(seconds <<<"$first")
check "one rank takes what its plan costs" near "$one" "$(of_command 8)" 0.001
check "and what the planner expects" near "$one" "$(planned <<<"$first")" 0.001
for topology in flat fat_tree torus dragonfly; do       # messages of several ranks share links of the last two
    run 16 $topology 128 16,1,1 0 auto >$topology
    case $topology in flat | fat_tree) part=0.1 ;; *) part=1 ;; esac
    check "16 ranks of a $topology" near "$(seconds <$topology)" "$(planned <$topology)" $part
done
run 16 flat 128 16,1,1 0 auto >again
check "again the same" cmp flat again
check "and they wait" awk -v a="$(seconds <flat)" -v b="$one" 'BEGIN { exit !(a > b) }'
sent=$(sed -n 's/.*sends \([0-9]*\) bytes.*/\1/p' flat)
sums=$("$unroll" plan --cell lstm --layers 2 --hidden 128 --input 32 --bptt 16 --batch 128 --split batch=16 --json |
    grep -o '"sum_bytes":[0-9.]*' | head -n 1 | sed 's/.*://')
check "a rank sends what the plan says" near "$sent" "$sums" 0.0001
for sum in tree ring; do
    run 4 flat 32 4,1,1 0 $sum >summed
    check "sums by $sum" near "$(seconds <summed)" "$(planned <summed)" 0.4
done
check "a 2 x 2 x 2 mesh" near "$(run 8 flat 32 2,2,2 4 auto | seconds)" "$one" 3
check "with slower clocks it takes longer" awk -v a="$(run 8 flat 32 2,2,2 4 auto 111:111 | seconds)" \
    -v b="$(run 8 flat 32 2,2,2 4 auto | seconds)" 'BEGIN { exit !(a > 1.2 * b && b > 0) }'
network 1e7
check "a slow network is slow" awk -v a="$(run 16 flat 128 16,1,1 0 auto | seconds)" -v b="$one" 'BEGIN { exit !(a > 3 * b) }'
check "a network of several levels is refused" bash -c "sed 's/\"levels\":\\[/&{\"name\":\"a\",\"ranks\":2,\"latency\":0,\"bandwidth\":1},/' net.json >two.json;
    '$simulate' two.json 2 flat 1 1 8 8 2 2 2,1,1 0 auto 2>&1 | grep -q 'several levels'"
finish
