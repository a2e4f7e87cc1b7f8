#!/bin/sh
# The rules of the design, from the table in docs/internals/design.md. A module includes only what its row allows, and
# modules have no cyclic dependencies. No file is longer than 700 lines, and no two files have the same name. The
# command, a binding or an example calls each public function. Terms of docs/reference/glossary.md are used, and C files
# are formatted. Usage: test_rules.sh ROOT [BROKEN]
# BROKEN: an additional line "FILE HEADER", as if FILE included HEADER, or the name of an additional public function
# test: kinds=check-plain; args=.; seconds=10
cd "$1" || exit 2
broken=${2:-}
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
files() { find src extensions cli include bindings -name '*.[chS]' -o -name '*.cu' -o -name '*.cl' -o -name '*.cuh' -o -name '*.cc' -o -name '*.inc'; }

# MODULE and a module that it may use, one pair per line
sed -n 's/^| `\([a-z/_.]*\)` |.*| *\([^|]*\) *|$/\1 \2/p' docs/internals/design.md | tr -d ',`' |
    awk '{ room = $1; sub("^src/", "", room); print room, room; for (i = 2; i <= NF; i++) if ($i != "nothing") print room, $i }' >"$place/allowed"
# FILE HEADER, one pair for each #include "..."; headers without a folder are the file's own, or unroll.h
{ files | xargs grep -nE '^ *# *include "[^"]+"' | sed -E 's/^([^:]+):[0-9]+: *# *include "([^"]+)".*/\1 \2/'
  case $broken in *' '*) echo "$broken" ;; esac; } >"$place/includes"

awk -v place="$place" '
    # The innermost module of a path: the longest row of the table that is a prefix.
    function room_of(path,   room) {
        for (room = path; room != ""; ) {
            if (room in modules) return room
            if (!sub("/[^/]*$", "", room)) return ""
        }
        return ""
    }
    FILENAME == place "/allowed" { modules[$1]; modules[$2]; may[$1, $2]; uses[$1] = uses[$1] " " $2; next }
    {
        from = $1; sub("^src/", "", from); own = room_of(from)
        header = $2
        if (header ~ /^unroll[a-z_]*\.h$/) to = "include"
        else if (header !~ "/") next
        else to = room_of(header)
        if (to == header && !((own, to) in may)) { sub("/[^/]*$", "", to) }         # a header with a row of its own
        if (own == "") { print "FAILED " $1 ": its module has no row in docs/internals/design.md"; bad++ }
        else if (to != "" && !((own, to) in may)) { print "FAILED " $1 " includes " header ": " own " may not use " to; bad++ }
        else good++
    }
    # Removes modules whose dependencies have all been removed; what remains is a cycle.
    END {
        do {
            changed = 0
            for (room in uses) if (!(room in done)) {
                open = 0; n = split(uses[room], list, " ")
                for (i = 1; i <= n; i++) if (list[i] != room && (list[i] in uses) && !(list[i] in done)) open = 1
                if (!open) { done[room]; changed = 1 }
            }
        } while (changed)
        for (room in uses) if (!(room in done)) { print "FAILED " room ": its row in docs/internals/design.md is part of a cycle"; bad++ }
        print good + 0, bad + 0
    }' "$place/allowed" "$place/includes" >"$place/found"
set -- $(tail -n 1 "$place/found")
passed=1 failed=$2
[ "$1" -gt 500 ] || { echo "FAILED only $1 includes were found"; failed=$((failed + 1)); }
grep FAILED "$place/found"
for file in $(files | xargs wc -l | awk '$1 > 700 && $2 != "total" { print $2 }'); do
    echo "FAILED $file is longer than 700 lines"; failed=$((failed + 1))
done
# Folders of at most 24 units, a .c with its .h being one.
wide() { find "$@" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cl' -o -name '*.inc' -o -name '*.v' \) | sed -E 's/\.[a-z]+$//' | sort -u | sed 's|/[^/]*$||' | uniq -c | awk '$1 > 24 { print $2 }'; }
for folder in $(wide src extensions cli); do
    echo "FAILED $folder has more than 24 units; fix: divide it"; failed=$((failed + 1))
done
mkdir "$place/wide" && for i in $(seq 25); do : >"$place/wide/$i.c"; done
[ "$(wide "$place/wide")" = "$place/wide" ] || { echo "FAILED a wide folder is not found"; failed=$((failed + 1)); }
# Lines are a budget: what is saved is not spent again. A change that needs more names its reason here.
budget() {              # NAME MAX FOLDER...
    name=$1 max=$2
    shift 2
    lines=$(find "$@" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cl' -o -name '*.inc' \) -exec cat {} + | wc -l)
    [ "$lines" -le "$max" ] || { echo "FAILED $name has $lines lines, more than $max; fix: delete what is dead"; failed=$((failed + 1)); }
}
budget "src + cli + include" 95868 src cli include
budget extensions 33970 extensions
for name in $(files | sed 's|.*/||' | sort | uniq -d); do
    echo "FAILED two files have the name $name"; failed=$((failed + 1))
done
# Terms that the field has other words for must not return.
private='foretells?|foretold|learnt|(is|are) put out|put out by|mean surprise|thirds|keep_error|receipts?|walkers?|quanta|sum_rows|pick_grad'
private="$private|unroll_rates|unroll_division|unroll_divide|unroll_symbol_kind|loss_every|RNN_(PACE|DIVISION|NCCL|CUBLASLT|CUDA_[A-Z]+|XLA_UNROLL|ISA_SEED)"
private_words() { grep -rnwE "$private" "$@"; }
if private_words src extensions cli include bindings docs README.md CONTRIBUTING.md >"$place/words"; then
    echo "FAILED $(wc -l <"$place/words") private words (docs/reference/glossary.md): $(head -n 3 "$place/words")"; failed=$((failed + 1))
fi
echo 'a walker foretold it' >"$place/page"
private_words "$place/page" >/dev/null || { echo "FAILED private words are not found"; failed=$((failed + 1)); }
# 77: the formatter is not installed. It reads all files, once.
skipped=0
[ -n "$broken" ] || tools/format.sh --check >"$place/format" 2>&1
case $? in
0) passed=$((passed + 1)) ;;
77) echo "skipped: the format of C files: $(cat "$place/format")"; skipped=1 ;;
*) echo "FAILED not as .clang-format says, fix: make format: $(grep -oE '^[^: ]+:' "$place/format" | sort -u | head -n 5 | tr '\n' ' ')"; failed=$((failed + 1)) ;;
esac
# Public functions: declarations and calls may span lines. Inline functions of the headers call those that write to a
# struct of the caller's size.
{ cat include/*.h | tr '\n' ' ' | grep -oE 'UNROLL_API [^(]*\(' | sed -E 's/.*[ *]([a-z_0-9]+)\($/\1/' | grep ^unroll_ | grep -vE '_begin$|_describe(_layer|_spec)?$'
  case $broken in *' '*) ;; *) echo "$broken" ;; esac; } | sort -u | grep . >"$place/public"
find cli bindings examples -name '*.[ch]' -o -name '*.cpp' | xargs grep -ohE '\bunroll_[a-z_0-9]+\b' | sort -u >"$place/called"
for name in $(comm -23 "$place/public" "$place/called"); do
    echo "FAILED $name: neither the command nor a binding nor an example calls it"; failed=$((failed + 1))
done
[ "$(wc -l <"$place/public")" -gt 100 ] || { echo "FAILED few public functions were found"; failed=$((failed + 1)); }
# Messages of the library name `fields`; the command maps them to options (cli/options/field_names.c).
grep -rnE '"[^"]*--[a-z][^"]*"' src extensions --exclude-dir=cli --include='*.[ch]' --include='*.inc' --include='*.cu' --include='*.cuh' >"$place/options"
if [ -s "$place/options" ]; then
    echo "FAILED options in sentences of the library: $(cat "$place/options")"; failed=$((failed + 1))
fi
# Public structs begin with their size, except parts of others, which never change (docs/reference/api-stability.md).
parts="unroll_metric unroll_split unroll_held_out"
for name in $(awk '/^typedef struct [a-z_]+ \{/ { name = $3; getline; if ($0 !~ /size_t +size;/) print name }' include/*.h); do
    case " $parts " in *" $name "*) ;; *) echo "FAILED $name does not begin with its size"; failed=$((failed + 1)) ;; esac
done
# Kernels are given pointers, sizes and strides (device/cpu/kernels/kernel.h), and include neither plan nor model.
cc -Iinclude -Isrc -I. -MM src/device/cpu/isa/kernels_scalar.c src/device/cpu/recurrent/rnn_f32.c src/device/cpu/executor/exchange.c |
    grep -o 'src/plan/ir/plan.h\|src/model/[a-z_]*.h' | sort -u >"$place/seen"
if [ -s "$place/seen" ]; then
    echo "FAILED kernels include $(cat "$place/seen")"; failed=$((failed + 1))
fi
# Each program or script named like a test has a header, and each header is one or more tests.
for file in $(find tests -name 'test_*.c' -o -name 'check_*.c' -o -name 'test_*.cc' -o -name 'test_*.cu' -o -name 'test_*.sh'); do
    case $file in tests/cases/test_curve.c | tests/export/test_gates.c) continue ;; esac      # other scripts run these
    head -n 40 "$file" | grep -qE '^(#|/\*) test: ' || { echo "FAILED $file has no line 'test: ...' (tests/README.md)"; failed=$((failed + 1)); }
done
find tests -name '*.c' -o -name '*.cc' -o -name '*.cu' -o -name '*.sh' -o -name '*.py' | xargs grep -hE '^(#|/\*) test: ' |
    grep -vc 'kinds=none' >"$place/headers"
{ tests/list.sh tests build long; tests/list.sh tests build ci; tests/list.sh tests build timed; } | sort -u | wc -l >"$place/listed"
[ "$(cat "$place/listed")" -ge "$(cat "$place/headers")" ] ||
    { echo "FAILED $(cat "$place/headers") headers, but $(cat "$place/listed") tests are listed"; failed=$((failed + 1)); }
# The rules can fail: each violation is detected.
if [ -z "$broken" ]; then
    for broken in unroll_nobody "src/base/memory.c plan/ir/plan.h" "cli/main.c base/json.h" "src/nn/cells/cell.c device/device.h" "src/strange/x.c base/json.h" "src/session/session.c extensions/gpu/gpu_run.h"; do
        if "$0" . "$broken" >/dev/null; then echo "FAILED not found: $broken"; failed=$((failed + 1)); else passed=$((passed + 1)); fi
    done
fi
echo "test_rules: $passed passed, $failed failed, $skipped skipped"
test "$failed" = 0
