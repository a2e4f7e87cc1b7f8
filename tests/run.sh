#!/bin/sh
# Runs the tests that tests/list.sh lists on standard input, one more at a time than there are processors, the longest
# first, and adds up their closing lines "NAME: N passed, N failed, N skipped". Tests with "alone" need all processors:
# they run at the end, one by one. A test that dies, hangs, or prints FAILED without counting a failure counts as one
# failure. It is considered hanging when it needs more than two minutes plus 20 times the seconds in its header, which a
# busy machine does not reach.
place=$(mktemp -d) || exit 1
workers=
trap 'rm -rf "$place"' EXIT
trap 'kill $workers; wait; exit 130' INT TERM
tab=$(printf '\t')

run() {                 # FOLDER SECONDS COMMAND: writes the log, the status and finally the elapsed time to the folder
    begin=$(date +%s)
    timeout -k 5 "$((120 + 20 * $2))" sh -c "$3" >"$1/log" 2>&1 </dev/null &
    child=$!
    wait $child
    echo $? >"$1/status"
    echo $(($(date +%s) - begin)) >"$1/took.new"
    mv "$1/took.new" "$1/took"
}

work() {                # LIST: runs one test after another that no other worker has started
    child=
    trap '[ -z "$child" ] || kill $child; exit' TERM
    number=0
    while IFS=$tab read -r kind seconds alone targets command; do
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
    if [ -z "$counts" ] || { [ "$2" = 0 ] && { [ "$status" != 0 ] || grep -q '^FAILED' "$log"; }; }; then
        failed=$((failed + 1))
        line="$command: ended with status $status after $took s"
        tail -n 40 "$log"
    elif [ "$2" != 0 ]; then
        echo "$command:"
        grep -E -A 12 'FAILED|ERROR|WARNING: Thread' "$log" | head -n 120
    fi
    grep '^skipped: ' "$log"
    echo "$line ($took s)"
    echo "$took s: $command" >>"$place/seconds"
}

run_all() {             # LIST WORKERS: shows each test as soon as it has ended
    workers=
    [ -s "$1" ] || return
    for worker in $(seq "$2"); do
        work "$1" &
        workers="$workers $!"
    done
    left=$(seq "$(wc -l <"$1")")
    while [ -n "$left" ]; do
        waiting=
        for number in $left; do
            if [ -e "$1.$number/took" ]; then show "$1.$number" "$(sed -n "${number}p" "$1" | cut -f 5)"; else waiting="$waiting $number"; fi
        done
        left=$waiting
        [ -z "$left" ] || sleep 0.2
    done
    wait
}

sort -s -t "$tab" -k 2,2nr >"$place/all"
awk -F "$tab" '$3 != "alone"' "$place/all" >"$place/together"
awk -F "$tab" '$3 == "alone"' "$place/all" >"$place/alone"
run_all "$place/together" "$(($(nproc) + 1))"
run_all "$place/alone" 1
if [ "$(wc -l <"$place/seconds")" -gt 5 ]; then
    echo
    echo "the slowest:"
    sort -rn "$place/seconds" | head -n 5
    echo
fi
cp "$place/seconds" "${TEST_SECONDS:-/dev/null}"
echo "$passed passed, $failed failed, $skipped skipped"
test "$failed" = 0
