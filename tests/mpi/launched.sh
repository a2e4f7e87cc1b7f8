# Shared by the tests of unroll launch, in addition to checks.sh: the ranks of a run, words in its log NAME.log, its
# checkpoints, its end. The launcher is process $job, the subject of the test $what; each test defines how to start it.
# Sourced.

ranks_of() {    # ranks_of NAME: the processes of its ranks
    local p
    for p in $(pgrep -x unroll); do
        [ "/proc/$p/cwd" -ef . ] && tr '\0' '\n' <"/proc/$p/cmdline" | grep -qxE -- "--(out|resume)=(.*/)?$1" && echo "$p"
    done 2>/dev/null
}
rank_of() {     # rank_of RANK NAME; over UCX a rank is its place
    local p
    for p in $(ranks_of "$2"); do
        tr '\0' '\n' <"/proc/$p/environ" | grep -qxE "(OMPI_COMM_WORLD_RANK|PMI_RANK|UNROLL_PLACE)=$1" && echo "$p" && return
    done 2>/dev/null
}

said() { [ "$(grep -c -- "$2" "$1.log")" -ge "${3:-1}" ]; }
until_said() {  # until_said NAME WORDS [COUNT]: waits until the log has the words COUNT times; at most five minutes, and while the launcher runs
    local i
    for i in $(seq 6000); do said "$@" && return; kill -0 $job 2>/dev/null || break; sleep 0.05; done
    said "$@"
}
newest_of() { ls -d "$1"/ckpt/step-* 2>/dev/null | grep -v tmp | sort -t- -k2n | tail -n 1; }   # newest_of NAME: its newest checkpoint
until_saved() { # until_saved NAME: waits for a checkpoint, when all ranks train
    local i
    for i in $(seq 6000); do [ -n "$(newest_of "$1")" ] && return; sleep 0.05; done
    return 1
}
ends() {        # ends NAME STATUS: and nothing of it remains
    wait $job 2>/dev/null
    local status=$? left
    cp "$1.log" log
    check "$what: it ends with $2, not $status" test $status = "$2"
    check "$what: no process is left" test -z "$(ranks_of "$1")"
    left=$(left_in_memory; ls -d unroll-launch.* 2>/dev/null)
    check "$what: nothing is left in memory or /tmp: $left" test -z "$left"
}
stop_at_a_step() {  # stop_at_a_step NAME: asks the launcher to stop; $step is the step of the newest checkpoint
    kill -TERM $job
    ends "$1" 75
    step=$(newest_of "$1")
    step=${step##*-}
}
undisturbed_until() {   # undisturbed_until STEP NAME COMMAND...: an undisturbed run up to that step has the same weights and states
    rm -rf straight
    "${@:3}" --steps "$1" --out straight >straight.log 2>&1
    check "$what: weights and states of step $1 are those of an undisturbed run" diff -r "straight/ckpt/step-$1" "$2/ckpt/step-$1"
}
refused() {     # refused STATUS WORDS ARGUMENTS...
    "$unroll" launch "${@:3}" >log 2>&1
    local status=$?
    check "launch ${*:3} ends with $1, not $status" test $status = "$1"
    check "launch ${*:3} says: $2" says "$2"
}
seconds_again() {   # seconds_again NAME: time from its losses until training resumed
    grep -o 'again after [0-9.e-]*' "$1.log" | sed 's/.* //' | sort -g |
        awk '{ x[NR] = $1 } END { printf "%d times, seconds from loss to training: median %s, worst %s\n", NR, x[int((NR + 1) / 2)], x[NR] }'
}
