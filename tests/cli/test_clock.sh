#!/bin/bash
# How long a user waits: for the first loss, for the end of --for, for an interrupted validation. For a quiet machine.
#     tests/cli/test_clock.sh BINARY
# test: kinds=timed-plain; args=$B/unroll; alone; seconds=10
binary=$(realpath "$1") || exit 2
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
passed=0 failed=0
within() {              # within WHAT BEGIN SECONDS
    if awk -v a="$2" -v b="$EPOCHREALTIME" -v most="$3" 'BEGIN { exit !(b - a < most) }'; then passed=$((passed + 1))
    else failed=$((failed + 1)); echo "FAILED $1: not within $3 s, but $(awk -v a="$2" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')"; fi
}
wait_for() { for _ in $(seq 4000); do [ -s "$1" ] && return; sleep 0.005; done; }
for i in $(seq 400); do echo "$i: a line of text, in which $((i * 7919 % 1000)) is a number"; done >text

began=$EPOCHREALTIME
"$binary" train text --for 20s --out early --quiet 2>/dev/null &
wait_for early/metrics.jsonl
within "the first loss of the default network" "$began" 1
kill -INT $!; wait $!

began=$EPOCHREALTIME
"$binary" train text --hidden 16 --for 2s --out ended --quiet 2>/dev/null
within "--for 2s" "$began" 3.5

for i in $(seq 60); do cat text; done >long
"$binary" train long --hidden 256 --layers 2 --batch 4 --bptt 8 --validate-every 1 --val 0.5 --threads 1 --out looking --quiet 2>/dev/null &
child=$!
wait_for looking/config.json
sleep 0.5
began=$EPOCHREALTIME
kill -INT $child; wait $child
within "SIGINT within a validation" "$began" 2
echo "test_clock: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
