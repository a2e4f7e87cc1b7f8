#!/bin/sh
# `unroll demo` in an empty folder, without an environment, and again over its own files. test_demo.sh UNROLL
# test: kinds=check-plain; args=$B/unroll
unroll=$(realpath "$1") passed=0 failed=0
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
holds() { if [ "$2" = 1 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $1"; cat log; fi; }

env -i "$unroll" demo --for 0.3s >log 2>&1
holds "a first demo" $((! $?))
holds "it writes a picture" "$(grep -c '</svg>' unroll-demo/forecast.svg)"
holds "twelve months are predicted" "$(($(grep -cE '^2002-[01][0-9]-01,[0-9.]+' log) == 12))"
holds "its commands are printed" "$(($(grep -c '^[$] unroll ' log) == 4))"
env -i "$unroll" demo --for 0.3s >log 2>&1
holds "a second demo replaces the first" $((! $?))
env -i "$unroll" demo --for 0.3s --out no/such/folder >log 2>&1
holds "a folder that cannot be made is refused" "$(($? == 5 && $(grep -c 'fix: use --out' log)))"
echo "demo: $passed passed, $failed failed, 0 skipped"
test $failed = 0
