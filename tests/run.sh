#!/bin/sh
# Runs test commands, one a line of standard input ("SECONDS COMMAND..."), and adds up their last lines
# "NAME: N passed, N failed, N skipped". A program that dies or hangs counts as one failure.
passed=0 failed=0 skipped=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
while read -r seconds command; do
    begin=$(date +%s)
    timeout -k 5 "$seconds" sh -c "$command" >"$log" 2>&1 </dev/null
    status=$?
    line=$(grep -E '^[^:]+: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' "$log" | tail -n 1)
    counts=$(echo "$line" | sed -nE 's/^[^:]+: ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped.*/\1 \2 \3/p')
    set -- ${counts:-0 0 0}
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    if [ -z "$counts" ] || { [ "$status" != 0 ] && [ "$2" = 0 ]; }; then
        failed=$((failed + 1))
        line="$command: ended with status $status after $(($(date +%s) - begin)) s"
        tail -n 40 "$log"
    elif [ "$2" != 0 ]; then
        grep -E 'FAILED|ERROR|WARNING: Thread' "$log" | head -n 40
    fi
    grep '^skipped: ' "$log"
    echo "$line ($(($(date +%s) - begin)) s)"
done
echo
echo "$passed passed, $failed failed, $skipped skipped"
test "$failed" = 0
