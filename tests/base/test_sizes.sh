#!/bin/bash
# Programs compiled with an earlier or a later version of the headers run with this library. Their structs, which begin
# with their size, have fewer or more fields (src/base/sized.h).
#     tests/base/test_sizes.sh LIBRARY_FOLDER
# test: args=$B; seconds=10
set -u
build=$(realpath "$1") || exit 2
here=$(realpath "$(dirname "$0")")
include=$(realpath "$here/../../include")
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
passed=0 failed=0

holds() {               # NAME COMMAND...
    local name=$1; shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name"; fi
}
# Copies the headers. `more` adds three fields to each struct with a size; `fewer` removes one field, which the example
# does not need, from some. Structs inside others keep their size: new fields use reserved places.
copy_headers() {        # FOLDER
    mkdir "$1"
    for header in unroll unroll_stream unroll_network unroll_data unroll_train unroll_ranks unroll_advanced; do
        gcc -w -fpreprocessed -dD -E -P -x c "$include/$header.h" | awk -v how="$1" '
            BEGIN {
                split("model_config network layer batch stream_config trainer_config task_defaults progress sampler_config plan_config", w, " ")
                for (i in w) shorter["unroll_" w[i]] = 1
            }
            !inside && /^typedef struct [a-z_]+ \{/ { inside = 1; name = $3; print; fields = 0; text = ""; next }
            inside && /^\}/ {
                sized = field[1] ~ /^ *size_t size;/
                for (i = 1; i <= fields - (how == "fewer" && sized && name in shorter) - (field[fields] ~ /reserved/); i++) print field[i]
                reserved = field[fields] ~ /reserved\[/
                if (how == "more" && reserved) { print "int newer; double newer_number; const char *newer_text;"; sub(/reserved\[[0-9]\]/, "reserved[" (name ~ /machine/ ? 3 : 1) "]", field[fields]) }
                if (reserved) print field[fields]
                else if (how == "more" && sized) print "int newer; double newer_number; const char *newer_text;"
                inside = 0
            }
            inside { text = text " " $0; if (/;/) { field[++fields] = text; text = "" } next }
            { print }' >"$1/$header.h"
    done
}
compile() {             # HEADERS PROGRAM FLAGS...
    local headers=$1 program=$2
    shift 2
    gcc -std=c11 -O1 -Wall -Werror "$@" -I"$headers" "$here/sizes_example.c" -o "$program" "$build/libunroll.a" \
        -ljansson -larchive -lz -lm -pthread -ldl
}
structs() { grep -c '^ *size_t size;' "$1"; }

copy_headers fewer
copy_headers more
holds "three fields more in each of 34 structs" test "$(cat more/*.h | grep -c newer_number)" -ge 34
holds "a field less in 10" test $(($(cat more/*.h | grep -c ';') - $(cat more/*.h | grep -c newer_number) - $(cat fewer/*.h | grep -c ';'))) = 10
holds "the example compiles" compile "$include" same
same=$(./same) && holds "the example runs: $same" test "$(wc -l <<<"$same")" = 7
for headers in fewer more; do
    holds "the example compiles with $headers fields" compile $headers with_$headers
    ./with_$headers >$headers.txt
    holds "with $headers fields it computes the same: $(diff <(echo "$same") $headers.txt)" test "$(cat $headers.txt)" = "$same"
done
holds "the example sets a newer field" compile more newer -DNEWER
./newer >newer.txt
holds "a newer field is refused: $(cat newer.txt)" grep -q '^model: status 4: unroll_model_config sets a field that this library, version .* does not have: .*; fix: leave' newer.txt
echo "sizes: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
