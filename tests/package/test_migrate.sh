#!/bin/bash
# tools/migrate_0_2.sh rewrites a program of 0.1 into one that compiles and runs, a second run changes nothing, and the
# page has the script's table of names, each of which exists.
#     tests/package/test_migrate.sh LIBRARY_FOLDER
# test: args=$B; seconds=5
set -u
build=$(realpath "$1") || exit 2
root=$(realpath "$(dirname "$0")/../..")
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
passed=0 failed=0
holds() {               # NAME COMMAND...
    local name=$1; shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name"; fi
}
mkdir old && cp "$root/tests/package/migrate_example.c" old/program.c
holds "the script runs" "$root/tools/migrate_0_2.sh" old
holds "the program compiles" gcc -std=c11 -Wall -Wno-unused-value -Werror -I"$root/include" old/program.c -o program \
    "$build/libunroll.a" -ljansson -larchive -lz -lm -pthread -ldl
holds "the program runs" test "$(./program)" = "1 0"
cp old/program.c once.c && "$root/tools/migrate_0_2.sh" old
holds "a second run changes nothing" cmp -s once.c old/program.c
echo 'const char *name = unroll_cell_name(0);' >old/hint.c
holds "what has to be changed by hand is printed" grep -q 'hint.c:1: unroll_cell_name: use unroll_list$' <("$root/tools/migrate_0_2.sh" old 2>&1)
holds "a missing file is refused" test "$("$root/tools/migrate_0_2.sh" nothing 2>&1 | grep -c 'fix:')" = 1
table=$("$root/tools/migrate_0_2.sh" --table)
holds "the table is the same" diff <(echo "$table") <(tail -n "$(wc -l <<<"$table")" "$root/docs/reference/migration-0.2.md")
for name in $(sed -nE 's/^\| [^ ]+ \| `(unroll_\w+|UNROLL_\w+)`.*/\1/p' <<<"$table" | sort -u); do
    holds "$name is declared" grep -qrwE "$name|${name%_default}\)" "$root/include"
done
echo "migrate: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
