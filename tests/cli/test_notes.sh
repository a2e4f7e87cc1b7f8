#!/bin/bash
# Checks that notes are printed once: a training that opens the same data as training, validation and test part repeats
# none, and prints all different ones, also one that begins like another.
#     tests/cli/test_notes.sh BINARY
# test: args=$B/unroll; seconds=3
set -u
binary=$(realpath "$1") || exit 2
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
passed=0 failed=0
is() {                  # WHAT FOUND EXPECTED
    if [ "$2" = "$3" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $1: '$2' instead of '$3'"; fi
}

awk 'BEGIN { print "id,kind,x,y"; for (i = 1; i <= 60; i++) printf "%d,k\366ln,%.2f,%.2f\n", i, sin(i), sin(i) * 2 }' > a.csv
"$binary" train a.csv --task regress --layout examples --target y --val a.csv --test a.csv --epochs 1 --threads 1 --out run >out 2>&1
is "the training" $? 0
is "the note about the encoding" "$(grep -c '^note: .*code page 1252' out)" 1
is "the note about the column id" "$(grep -c "^note: the column 'id'" out)" 1
is "repeated notes" "$(grep '^note: ' out | sort | uniq -d)" ""

echo "notes: $passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
