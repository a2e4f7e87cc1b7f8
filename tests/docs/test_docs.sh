#!/bin/bash
# Checks the documents: the command parses the command lines, quoted sources and links are looked up, and the reference
# is printed again. Names are checked in test_names.py. Commands are run in test_pages.sh.
#     tests/docs/test_docs.sh BINARY
# test: args=$B/unroll; seconds=10
set -u
binary=$(realpath "$1") || exit 2
root=$(realpath "$(dirname "$0")/../..") || exit 2
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$root" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p') MAKEFLAGS MAKELEVEL MFLAGS

passed=0 failed=0 skipped=0
pass() { passed=$((passed + 1)); }
miss() { failed=$((failed + 1)); echo "FAILED $*"; }
# holds NAME COMMAND...: the command succeeds
holds() { local name=$1; shift; if "$@"; then pass; else miss "$name"; fi; }

documents=$(find * -name '*.md' -not -path 'build/*' | sort)
pages="README.md CONTRIBUTING.md examples/README.md bindings/python/README.md $(ls docs/*.md docs/*/*.md | grep -v '/unroll-\|/commands.md')"
# Blocks of these kinds are not run: console (commands, some with output), sh (commands). Lists each page that has some,
# and why.
not_run="
    examples/README.md              an installed library: tests/package/test_package.sh
    bindings/python/README.md       pip: tests/python
    docs/guide/gallery.md           data sets that are downloaded; bench/gallery.py writes the page
    docs/guide/recipes.md           MPI, of one block: tests/mpi
    docs/howto/python.md            pip; tests/python runs its programs
    docs/howto/embedding.md         an installed library: tests/package
    docs/howto/from-keras.md        test_programs.sh runs them, with Keras
    docs/howto/from-pytorch.md      test_programs.sh runs them, with PyTorch
    docs/howto/serving.md           a server: tests/serve
    docs/howto/cuda.md              a GPU, or the fake driver: tests/device
    docs/howto/opencl.md            an OpenCL driver: tests/device/check_opencl.sh
    docs/howto/xla.md               a plugin from PyPI: tests/device/check_xla.sh
    docs/howto/devices.md           an OpenCL driver: tests/device/test_several.c
    docs/howto/fpga.md              data of UEA, yosys, minutes of simulation: tests/export
    docs/howto/parallel.md          MPI: tests/mpi
    docs/howto/workers.md           MPI: tests/mpi
    docs/howto/launch.md            MPI, etcd, kills: tests/mpi
    docs/internals/policies.md      network namespaces, minutes: bench/policies.sh
    docs/internals/time.md          seconds of measuring, MPI: tests/session, tests/mpi
"

# ---- pieces of a document ----

# fences FILE KIND: the text of all fenced blocks of a kind ('' for none); %% ends each
fences() {
    awk -v kind="$2" '/^```/ { if (inside) { if (wanted) print "%%"; inside = 0 }
                               else { inside = 1; wanted = substr($0, 4) == kind }; next }
                      inside && wanted' "$1"
}
# fence FILE KIND N: the Nth of them
fence() { fences "$1" "$2" | awk -v n="$3" '/^%%$/ { at++; next } at == n - 1'; }

# ---- quoted sources ----

# quotes FILE N SOURCE: the Nth C block occurs verbatim in the source
quotes() {
    local block text
    block=$(fence "$1" c "$2") text=$(<"$3")
    [ -n "$block" ] && [[ $text == *"$block"* ]]
}
holds "docs/internals/adding.md quotes the minGRU" quotes docs/internals/adding.md 1 src/nn/cells/mingru.h
holds "docs/internals/adding.md quotes an adjoint" quotes docs/internals/adding.md 2 tests/plan/test_toy.c
holds "docs/internals/adding.md quotes an optimizer" quotes docs/internals/adding.md 3 src/nn/optim/momentum.h
holds "docs/howto/embedding.md quotes a specification" quotes docs/howto/embedding.md 1 examples/stream.c
holds "docs/howto/embedding.md quotes the change of networks" quotes docs/howto/embedding.md 2 examples/callback.c

# ---- command lines ----

prose() { awk '/^```/ { inside = !inside } !inside' "$1"; }

# Commands after "$ " in a block, and those in `...`; wrapped sentences are joined first.
commands_of() {
    local variables='([A-Z_]+=[^ `]+ )*' path='(build/)?'
    { fences "$1" ''; fences "$1" console; } | sed -n 's/^\$ //p' | sed -E 's/^mpirun .* (unroll (train|bench))/\1/' |
        grep -E "^([a-z]+ [^|]*\| |timeout [^|]* |$variables)*${path}unroll "
    prose "$1" | tr '\n' ' ' | grep -oE "\`$variables${path}unroll [^\`]*\`" | tr -d '`'
}

# Stand-ins for the commands of a document. With --help at its end, a command parses every option, value and choice and
# does nothing.
unroll() { "$binary" "$@" --help >/dev/null 2>>message || echo refused >>message; }
timeout() { shift 3; "$@"; }            # timeout -s INT 8 unroll ...

is_option() { grep -qE -- "^  --$1( |\$)" "$root"/docs/reference/unroll-*.md; }
variables_are_options() {               # LINE
    local name option
    for name in $(grep -oE '\bUNROLL_[A-Z_]+' <<<"$1"); do
        option=${name#UNROLL_} option=${option,,}
        is_option "${option//_/-}" || { echo "there is no variable $name"; return 1; }
    done
}
# A refused command must be shown as refused in its document, with the message.
is_known() {            # DOCUMENT LINE
    : >message
    eval "${2//build\/unroll/unroll}" >/dev/null 2>>message </dev/null
    variables_are_options "$2" || return
    ! grep -q '^refused$' message || grep -qF -- "$(grep -m 1 '^error: ' message)" "$root/$1" ||
        { cat message; return 1; }
}

mkdir "$place/work" && cd "$place/work" && touch JSB_Chorales.valid.txt mnist.npz GunPoint_TEST.ts dev.tsv || exit 2      # files that pages name
count=0
for document in $pages; do
    while read -r line; do
        holds "$document: $line" is_known $document "$line"
        count=$((count + 1))
    done < <(commands_of "$root/$document")
done
holds "there are commands in the documents ($count)" test $count -ge 150

cd "$root" || exit 2

# ---- blocks that are not run, links ----

links() {
    grep -oE '\]\([^)#][^)]*\)' "$1" | sed -E 's/^\]\(//; s/\)$//; s/#.*//' |
        grep -vE '^[a-z]+:|^\.\./\.\./actions/' | sort -u        # GitHub's page of the workflow is not a file
}
for document in $pages; do
    blocks=$({ fences "$document" console; fences "$document" sh; } | grep -c '^%%$')
    listed=$(grep -c "^ *$document " <<<"$not_run")
    holds "$document: $blocks blocks that are not run, $listed lines in not_run" test $((blocks > 0)) = "$listed"
    holds "$document: a block of a kind that no test knows: text, console, sh, c, json, python, cmake (tests/package), or none" \
        test -z "$(awk '/^```/ { if (!inside && $0 !~ /^```(text|console|sh|c|json|python|cmake)?$/) print; inside = !inside }' "$document")"
done
for document in $documents; do
    for link in $(links "$document"); do
        holds "$document links to $link" test -e "$(dirname "$document")/$link"
    done
done

# ---- the reference ----

reference() {
    local page
    tools/reference.sh "$(dirname "$binary")" "$place/reference" || return
    test "$(cd docs/reference && ls api.md api-unroll*.md commands.md unroll-*.md)" = "$(ls "$place/reference")" || { echo "other pages"; return 1; }
    for page in "$place"/reference/*; do
        diff "docs/reference/$(basename "$page")" "$page" >"$place/difference" || { head -n 5 "$place/difference"; return 1; }
    done
}
holds "docs/reference is what the command prints; fix: make reference" reference
holds "the reference has every command" test "$(grep -c '^| .`unroll ' docs/reference/commands.md)" -ge 12

echo "docs: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
