#!/bin/sh
# Runs test commands, one a line of standard input ("SECONDS COMMAND..."), one more at a time than there are
# processors, for many wait, and adds up their last lines "NAME: N passed, N failed, N skipped", which it shows in
# the order of the commands. Those with "alone" before them watch the clock: they come last, one by one. Those with
# "long" before all run when the argument is "long". A program that dies or hangs counts as one failure.
place=$(mktemp -d) || exit 1
workers=
trap 'rm -rf "$place"' EXIT
trap 'kill $workers; wait; exit 130' INT TERM

run() {                 # FOLDER SECONDS COMMAND: the folder gets its log, its status, and last how long it took
    begin=$(date +%s)
    timeout -k 5 "$2" sh -c "$3" >"$1/log" 2>&1 </dev/null &
    child=$!
    wait $child
    echo $? >"$1/status"
    echo $(($(date +%s) - begin)) >"$1/took.new"
    mv "$1/took.new" "$1/took"
}

work() {                # LIST: takes one command after another that no other worker has taken
    child=
    trap '[ -z "$child" ] || kill $child; exit' TERM
    number=0
    while read -r seconds command; do
        number=$((number + 1))
        mkdir "$1.$number" 2>/dev/null && run "$1.$number" "$seconds" "$command"
    done <"$1"
}

passed=0 failed=0 skipped=0
show() {                # FOLDER COMMAND
    status=$(cat "$1/status") took=$(cat "$1/took") command=$2
    line=$(grep -E '^[^:]+: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' "$1/log" | tail -n 1)
    counts=$(echo "$line" | sed -nE 's/^[^:]+: ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped.*/\1 \2 \3/p')
    log=$1/log
    set -- ${counts:-0 0 0}
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    if [ -z "$counts" ] || { [ "$status" != 0 ] && [ "$2" = 0 ]; }; then
        failed=$((failed + 1))
        line="$command: ended with status $status after $took s"
        tail -n 40 "$log"
    elif [ "$2" != 0 ]; then
        grep -E -A 12 'FAILED|ERROR|WARNING: Thread' "$log" | head -n 120
    fi
    grep '^skipped: ' "$log"
    echo "$line ($took s)"
    echo "$took s: $command" >>"$place/seconds"
}

run_all() {             # LIST WORKERS
    workers=
    for worker in $(seq "$2"); do
        work "$1" &
        workers="$workers $!"
    done
    shown=0
    while read -r seconds command; do
        shown=$((shown + 1))
        until [ -e "$1.$shown/took" ]; do sleep 0.1; done
        show "$1.$shown" "$command"
    done <"$1"
    wait
}

if [ "${1:-}" = long ]; then sed 's/^long //'; else grep -v '^long '; fi >"$place/all"
grep -v '^alone ' "$place/all" >"$place/together"
sed -n 's/^alone //p' "$place/all" >"$place/alone"
run_all "$place/together" "$(($(nproc) + 1))"
run_all "$place/alone" 1
echo
echo "the slowest:"
sort -rn "$place/seconds" | head -n 5
echo
echo "$passed passed, $failed failed, $skipped skipped"
test "$failed" = 0
