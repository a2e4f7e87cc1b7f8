#!/bin/bash
# Runs the pages: each command of a plain block, from top to bottom, must print the output shown after it. A block of C
# or JSON is the file named in the text before it: it is written or, if the sources contain the file, must be a part of
# it. In a page "..." stands for any lines, and progress lines may be omitted.
#     tests/docs/test_pages.sh BINARY LIBRARY [PAGE...|headers]       SHOW=1: prints what the commands print, to update a page
# What depends on the machine may differ: times, rates, the instruction set, threads and memory. Everything else is
# exact if the machine has the page's bits: the same licenses, and no AMX, whose sums have bits of their own. Otherwise
# numbers may differ by 30% (and by 0.09), because trainings with other bits diverge and another validation may be the
# best. Words, and so the labels, are exact. Samples are not compared then.
# test: args=$B/unroll $B/libunroll.a; seconds=30
# test: kinds=long-plain; args=$B/unroll $B/libunroll.a docs/howto/microcontrollers.md; seconds=30
set -u
binary=$(realpath "$1") || exit 2
library=$(realpath "$2") || exit 2
root=$(realpath "$(dirname "$0")/../..") || exit 2
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p') MAKEFLAGS MAKELEVEL MFLAGS
export LC_ALL=C.UTF-8
path=$PATH

passed=0 failed=0 skipped=0
pass() { passed=$((passed + 1)); }
miss() { failed=$((failed + 1)); echo "FAILED $*"; }

# ---- does this machine have the page's bits? ----

licenses=/usr/share/common-licenses
tolerance=0                             # relative
"$binary" devices | grep -q '^ *amx  *yes' && tolerance=0.3
[ "$(cat $licenses/* 2>/dev/null | cksum)" = "1064720355 303076" ] || tolerance=0.3
others_bits() { [ $tolerance != 0 ]; }
# Replaces what depends on the machine by #. Curves have one report per second, one of which is the lowest.
neutral() {
    sed -E -e 's/[0-9.]+[kM]? (char|words|steps|items)\/s/# \1\/s/' -e 's/ETA [0-9:]+/ETA #/' \
        -e 's/epochs, [0-9:]+ at/epochs, # at/' \
        -e 's/\| [a-z0-9_]+, [0-9]+ threads? \| plan: [0-9.]+ [kMG]B/| ISA, # threads | plan: #/' \
        -e 's/^(saved .*\/ckpt\/step-)[0-9]+$/\1#/' \
        -e 's/ on [a-z0-9_]+, [0-9]+ threads?: .*/ on ISA: #/' \
        -e 's/[▁▂▃▄▅▆▇█]+( +[0-9.]+) +[0-9.]+/#\1 #/' -e 's/^[0-9]+ (ticks a step)$/# \1/' \
        -e 's/^[0-9]+ (passed, 0 failed)$/# \1/' |
        if others_bits; then
            sed -E 's/grad [0-9.e-]+/grad #/; s/plan: [0-9.]+ .B/plan: #/; s/  best$//; s/(first bad value: ).*/\1#/'
        else cat; fi
}

# compare SHOWN PRINTED: prints the first line that differs
compare() {
    neutral <"$1" >"$place/one" && neutral <"$2" >"$place/two"
    awk -v tolerance=$tolerance '
        # Returns the next number of a text; sets rest to what follows it and head to what precedes it.
        function number(text,    found) {
            if (!match(text, /[0-9][0-9,]*(\.[0-9]+)?(e[-+]?[0-9]+)?/)) { head = text; rest = ""; return "" }
            found = substr(text, RSTART, RLENGTH)
            head = substr(text, 1, RSTART - 1)
            rest = substr(text, RSTART + RLENGTH)
            return found
        }
        function near(a, b,    most) {
            gsub(",", "", a); gsub(",", "", b)
            a += 0; b += 0
            most = a > b ? a : b
            return (a > b ? a - b : b - a) <= tolerance * (most + 0.3)
        }
        function same(a, b,    x, y, before) {
            while (a != "" || b != "") {
                if (a == b) return 1
                x = number(a); before = head; a = rest
                y = number(b); b = rest
                if (before != head || (x == "") != (y == "") || (x != y && !near(x, y))) return 0
            }
            return 1
        }
        # True for a printed line that a page may omit.
        function progress(text) { return text ~ /^step .*  ETA #/ }
        NR == FNR { shown[++lines] = $0; next }
        { printed[++count] = $0 }
        END {                   # ends[i, j]: the lines from i on are those printed from j on
            for (j = count + 1; j > 0; j--)
                ends[lines + 1, j] = j > count || (progress(printed[j]) && ends[lines + 1, j + 1])
            for (i = lines; i > 0; i--)
                for (j = count + 1; j > 0; j--)
                    if (shown[i] == "...")
                        ends[i, j] = ends[i + 1, j] || (j <= count && ends[i, j + 1])
                    else if (tolerance && progress(shown[i]) && ends[i + 1, j])
                        ends[i, j] = 1  # trainings with other bits may skip some validations
                    else if (j <= count)
                        ends[i, j] = (ends[i + 1, j + 1] && same(shown[i], printed[j])) || (progress(printed[j]) && ends[i, j + 1])
            if (ends[1, 1]) exit 0
            for (i = j = 1; i <= lines && shown[i] != "..." && (same(shown[i], printed[j]) || progress(printed[j])) && j <= count; j++)
                i += same(shown[i], printed[j])
            print "shown: " (i <= lines ? shown[i] : "the end")
            print "found: " (j <= count ? printed[j] : "the end")
            exit 1
        }' "$place/one" "$place/two"
}

# ---- replacements for commands of a page ----

# Everything is built and installed already. The demo trains for two seconds instead of its epochs, and samples from the
# best weights.
demo() {
    DEMO_SECONDS=2 "$root/tools/demo.sh" build >"$place/demo" 2>&1 && grep -q '^step .*  val .* best  ' "$place/demo" &&
        grep -q 'best val .* at step ' "$place/demo" &&
        grep -q '^build/demo: the best weights, of step ' "$place/demo" || tail -n 5 "$place/demo"
}
./demo() { [ -x "$root/demo" ] && demo; }
make() {
    case ${1:-all} in
        demo) demo ;;
        all) grep -q "^all:" "$root/Makefile" ;;
    esac
}
sudo() { grep -qxF "NEEDED = ${*:3}" "$root/Makefile"; }
command -v mawk >/dev/null && awk() { command mawk "$@"; }   # random numbers differ between kinds of awk
gcc() { command gcc -Wall -Wextra -Werror "$@"; }
# Machines are not equally fast: presses Ctrl-C as soon as there is a progress line.
timeout() {
    "${@:4}" >"$place/pressed" 2>&1 &
    until grep -q '^step ' "$place/pressed" || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
    kill "-$2" $! 2>/dev/null
    wait $!
    local status=$?
    cat "$place/pressed"
    [ $status -eq 75 ]
}

# ---- a page ----

# Finds the file named in the text before a block: the last `NAME.ENDING`.
take_file() {           # KIND, the block is in the file block
    local name=$(grep -oE '`[a-zA-Z0-9_./-]+\.'"$1"'`' "$place/prose" | tail -n 1 | tr -d '`')
    if [ -z "$name" ]; then miss "$page: a block of $1 has no name before it"
    elif [ ! -e "$root/$name" ]; then cp "$place/block" "$name"; pass
    elif [[ "$(<"$root/$name")" == *"$(<"$place/block")"* ]]; then pass
    else miss "$page: $name does not hold what is quoted"; fi
}

# Runs the command in `command`; the expected output is in the file shown.
run_command() {
    eval "$command" >"$place/printed" 2>&1 </dev/null
    local status=$?
    [ -z "${SHOW:-}" ] || { echo "\$ $command"; cat "$place/printed"; }
    if [ $status -ne 0 ] && ! grep -q '^error: ' "$place/shown"; then
        miss "$page: $command: exit $status: $(tail -n 1 "$place/printed")"
    elif others_bits && [[ $command == *"unroll sample "* ]]; then pass
    elif compare "$place/shown" "$place/printed" >"$place/difference"; then pass
    else miss "$page: $command"; cat "$place/difference"; fi
}

take_session() {        # the block is in the file block
    local line command=
    [[ $(head -c 2 "$place/block") == '$ ' ]] || { miss "$page: a block is no session: $(head -n 1 "$place/block")"; return; }
    while IFS= read -r line <&3; do
        if [[ $line == '$ '* ]]; then
            [ -z "$command" ] || run_command
            command=${line#'$ '}
            : >"$place/shown"
        else
            printf '%s\n' "$line" >>"$place/shown"
        fi
    done 3<"$place/block"
    run_command
}

run_page() {            # PAGE, in a folder of its own
    local page=$1 line kind= inside= entry
    mkdir -p "$place/$page/build" && cd "$place/$page" || exit 2
    for entry in $(ls -A "$root"); do [ "$entry" = build ] || ln -s "$root/$entry" .; done
    ln -s "$binary" "$library" build/
    PATH=$place/$page/build:$path
    : >"$place/prose"
    while IFS= read -r line <&4; do
        if [[ $line != '```'* ]]; then
            printf '%s\n' "$line" >>"$place/${inside:-prose}"
        elif [ -z "$inside" ]; then
            inside=block kind=${line#'```'}
            : >"$place/block"
        else
            inside=
            case $kind in
                '') take_session ;;
                c|json) take_file "$kind" ;;
            esac
        fi
    done 4<"$root/$page"
    # pictures that a page shows and draws
    for entry in *.svg; do
        others_bits || [ ! -e "$root/docs/guide/gallery/$entry" ] || cmp -s "$entry" "$root/docs/guide/gallery/$entry" ||
            miss "$page: docs/guide/gallery/$entry is not what the page draws; fix: copy $entry there"
    done
    cd "$root" || exit 2
}

# Requirements of a page that may be missing: Debian's licenses, a compiler for boards, an emulator.
lacks() {
    local needed
    for needed in $(grep -oE '^\$ (qemu|arm-none)[a-z-]*|/usr/share/common-licenses' "$root/$1" | tr -d '$ ' | sort -u); do
        [ -e "$needed" ] || command -v "$needed" >/dev/null || { echo "$needed"; return; }
    done
}

# ---- the headers' examples ----

# The code at the top of a header is the body of a main, which is run and must print expected/.
write_example() {       # HEADER
    printf '#include "%s"\n#include <stdlib.h>\nint main(void)\n{\n' "$1"
    sed -n '1,/\*\//s/^ \*     //p' "$root/include/$1"
    printf 'return 0;\n}\n'
}
# Writes the input of the examples: a book, a model of 40 inputs and 8 outputs, and 3 steps of its inputs.
write_their_files() {
    for i in 1 2 3 4; do cat "$root/LICENSE"; done >book.txt
    { printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1, 40), }"
      head -c 480 /dev/zero; } >x.npy
    cat >files.c <<'END'
#include "unroll_network.h"
int main(void)
{
    unroll_model *model;
    unroll_model_config spec = unroll_model_config_default();
    spec.hidden = 16, spec.input = 40, spec.output = 8;
    return unroll_model_new(&spec, 1, &model) || unroll_model_save(model, "model.safetensors");
}
END
    compiled files && ./files
}
compiled() { gcc -std=c11 -I"$root/include" "$1.c" "$library" -ljansson -lm -pthread -ldl -o "$1"; }
run_header() {          # HEADER
    local page=$1
    write_example "$1" >example.c && compiled example || { miss "$page: its example does not compile"; return; }
    command="./example" && cp "$root/tests/docs/expected/${1%.h}.txt" "$place/shown" && run_command
}
run_headers() {
    local header
    mkdir -p "$place/headers" && cd "$place/headers" || exit 2
    write_their_files || miss "the files of the headers' examples are not written"
    for header in "$root"/include/*.h; do run_header "$(basename "$header")"; done
    cd "$root" || exit 2
}

# Pages with plain blocks, which are run. The page on microcontrollers needs an emulator and has a test line of its own.
pages_to_run() {
    local page
    for page in README.md examples/README.md docs/*/*.md; do
        case $page in docs/howto/microcontrollers.md|docs/reference/unroll-*|docs/reference/commands.md) continue ;; esac
        awk '/^```/ { if (!inside && $0 == "```") found = 1; inside = !inside } END { exit !found }' "$page" && echo "$page"
    done
}
[ $# -gt 2 ] || set -- "$1" "$2" headers $(cd "$root" && pages_to_run)
for page in "${@:3}"; do
    if [ "$page" = headers ]; then run_headers; continue; fi
    missing=$(lacks "$page")
    if [ -z "$missing" ]; then run_page "$page"
    else skipped=$((skipped + 1)); echo "skipped: $page: there is no $missing"; fi
done

echo "pages: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
