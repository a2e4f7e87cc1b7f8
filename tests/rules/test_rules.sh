#!/bin/sh
# The rules of the design, from the table in docs/internals/design.md: a module includes what its row allows and nothing else,
# no module uses itself over others, no file is longer than 700 lines, each public function is called by the command, a
# binding or an example, no two files have one name, words of docs/reference/glossary.md stay, C files are formatted. Not a test of
# what the code does. Usage: test_rules.sh ROOT [BROKEN]
# BROKEN: a line "FILE HEADER" more, as if FILE included HEADER, or the name of one more public function
# test: kinds=check-plain; args=.; seconds=10
cd "$1" || exit 2
broken=${2:-}
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
files() { find src cli include bindings -name '*.[chS]' -o -name '*.cu' -o -name '*.cl' -o -name '*.cuh' -o -name '*.cc' -o -name '*.inc'; }

# MODULE and the modules that it may use, a pair a line
sed -n 's/^| `\([a-z/_.]*\)` |.*| *\([^|]*\) *|$/\1 \2/p' docs/internals/design.md | tr -d ',`' |
    awk '{ room = $1; sub("^src/", "", room); print room, room; for (i = 2; i <= NF; i++) if ($i != "nothing") print room, $i }' >"$place/allowed"
# FILE HEADER, a pair for each #include "..."; headers without a folder are of the file's own, or unroll.h
{ files | xargs grep -nE '^ *# *include "[^"]+"' | sed -E 's/^([^:]+):[0-9]+: *# *include "([^"]+)".*/\1 \2/'
  case $broken in *' '*) echo "$broken" ;; esac; } >"$place/includes"

awk -v place="$place" '
    # The innermost module of a path: the longest row of the table that begins it.
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
    # Rooms whose uses are all done are done; what is left at the end is a cycle.
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
for name in $(files | sed 's|.*/||' | sort | uniq -d); do
    echo "FAILED two files have the name $name"; failed=$((failed + 1))
done
# Words that the field has others for stay gone: those that mean nothing else.
private='foretells?|foretold|learnt|(is|are) put out|put out by|mean surprise|thirds|keep_error|receipts?|walkers?|quanta|sum_rows|pick_grad'
private="$private|unroll_rates|unroll_division|unroll_divide|unroll_symbol_kind|loss_every|RNN_(PACE|DIVISION|NCCL|CUBLASLT|CUDA_[A-Z]+|XLA_UNROLL|ISA_SEED)"
private_words() { grep -rnwE "$private" "$@"; }
if private_words src cli include bindings docs README.md CONTRIBUTING.md >"$place/words"; then
    echo "FAILED $(wc -l <"$place/words") private words (docs/reference/glossary.md): $(head -n 3 "$place/words")"; failed=$((failed + 1))
fi
echo 'a walker foretold it' >"$place/page"
private_words "$place/page" >/dev/null || { echo "FAILED private words are not found"; failed=$((failed + 1)); }
# 77: the formatter is not here. It reads all files, once.
skipped=0
[ -n "$broken" ] || tools/format.sh --check >"$place/format" 2>&1
case $? in
0) passed=$((passed + 1)) ;;
77) echo "skipped: the format of C files: $(cat "$place/format")"; skipped=1 ;;
*) echo "FAILED not as .clang-format says, fix: make format: $(grep -oE '^[^: ]+:' "$place/format" | sort -u | head -n 5 | tr '\n' ' ')"; failed=$((failed + 1)) ;;
esac
# Public functions: declarations may go over lines, and so may calls. The inline functions of the headers call those that
# write to a struct of the caller's size.
{ cat include/*.h | tr '\n' ' ' | grep -oE 'UNROLL_API [^(]*\(' | sed -E 's/.*[ *]([a-z_0-9]+)\($/\1/' | grep ^unroll_ | grep -vE '_begin$|_describe(_layer|_spec)?$'
  case $broken in *' '*) ;; *) echo "$broken" ;; esac; } | sort -u | grep . >"$place/public"
find cli bindings examples -name '*.[ch]' -o -name '*.cpp' | xargs grep -ohE '\bunroll_[a-z_0-9]+\b' | sort -u >"$place/called"
for name in $(comm -23 "$place/public" "$place/called"); do
    echo "FAILED $name: neither the command nor a binding nor an example calls it"; failed=$((failed + 1))
done
[ "$(wc -l <"$place/public")" -gt 100 ] || { echo "FAILED few public functions were found"; failed=$((failed + 1)); }
# The library's sentences name `fields`; which options these are the command says (cli/field_names.c).
grep -rnE '"[^"]*--[a-z][^"]*"' src --include='*.[ch]' --include='*.inc' --include='*.cu' --include='*.cuh' >"$place/options"
if [ -s "$place/options" ]; then
    echo "FAILED options in sentences of the library: $(cat "$place/options")"; failed=$((failed + 1))
fi
# Public structs begin with their size, but those that the library alone fills and what is part of another.
filled="unroll_parameter unroll_operation unroll_metric unroll_evaluation unroll_hyperparameter unroll_split unroll_held_out unroll_option"
for name in $(awk '/^typedef struct [a-z_]+ \{/ { name = $3; getline; if ($0 !~ /size_t +size;/) print name }' include/*.h); do
    case " $filled " in *" $name "*) ;; *) echo "FAILED $name does not begin with its size"; failed=$((failed + 1)) ;; esac
done
# Kernels are given pointers, sizes and strides (device/cpu/kernel.h): they see neither plan nor model.
cc -Iinclude -Isrc -MM src/device/cpu/kernels_scalar.c src/device/cpu/rnn_f32.c |
    grep -o 'src/plan/plan.h\|src/model/[a-z_]*.h' | sort -u >"$place/seen"
if [ -s "$place/seen" ]; then
    echo "FAILED kernels include $(cat "$place/seen")"; failed=$((failed + 1))
fi
# Each program or script that is called a test has a header, and each header is one test or more.
for file in $(find tests -name 'test_*.c' -o -name 'check_*.c' -o -name 'test_*.cc' -o -name 'test_*.cu' -o -name 'test_*.sh'); do
    case $file in tests/cases/test_curve.c | tests/export/test_gates.c) continue ;; esac      # other scripts run these
    head -n 40 "$file" | grep -qE '^(#|/\*) test: ' || { echo "FAILED $file has no line 'test: ...' (tests/README.md)"; failed=$((failed + 1)); }
done
find tests -name '*.c' -o -name '*.cc' -o -name '*.cu' -o -name '*.sh' -o -name '*.py' | xargs grep -hE '^(#|/\*) test: ' |
    grep -vc 'kinds=none' >"$place/headers"
{ tests/list.sh tests build long; tests/list.sh tests build ci; tests/list.sh tests build timed; } | sort -u | wc -l >"$place/listed"
[ "$(cat "$place/listed")" -ge "$(cat "$place/headers")" ] ||
    { echo "FAILED $(cat "$place/headers") headers, but $(cat "$place/listed") tests are listed"; failed=$((failed + 1)); }
# The rules can fail: what each forbids is found when it is there.
if [ -z "$broken" ]; then
    for broken in unroll_nobody "src/base/memory.c plan/plan.h" "cli/main.c base/json.h" "src/cells/cell.c device/device.h" "src/strange/x.c base/json.h"; do
        if "$0" . "$broken" >/dev/null; then echo "FAILED not found: $broken"; failed=$((failed + 1)); else passed=$((passed + 1)); fi
    done
fi
echo "test_rules: $passed passed, $failed failed, $skipped skipped"
test "$failed" = 0
