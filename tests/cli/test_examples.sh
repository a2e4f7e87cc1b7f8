#!/bin/bash
# Runs the examples at the end of each command's help, as printed, in a folder with the files they name. The help of
# train fits on a screen; other groups of its options are printed on request.
#     tests/cli/test_examples.sh BINARY VECTORS
# test: args=$B/unroll tests/vectors; seconds=20
set -u
binary=$(realpath "$1") || exit 2
vectors=$(realpath "$2") || exit 2
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p')
passed=0 failed=0 skipped=0

holds() {               # NAME COMMAND...
    local name=$1; shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name: $*"; fi
}
mkdir bin && ln -s "$binary" bin/unroll && PATH=$place/bin:$PATH

# ---- the screen ----

unroll train --help >screen
unroll train --help all >everything
lines=$(wc -l <screen) columns=$(wc -L <screen)
holds "the help of train has at most 45 lines of 100 columns ($lines, $columns)" test "$lines" -le 45 -a "$columns" -le 100
holds "it has 20 options" test "$(grep -c '^  --' screen)" = 20
holds "all options are more" test "$(grep -c '^  --' everything)" -gt 100
groups=$(sed -n "/--help GROUP/ { n; s/,//g; p }" screen)
holds "groups are listed" test "$(wc -w <<<"$groups")" -ge 8
for group in $groups; do unroll train --help "$group" | grep '^  --'; done | sort >of_groups
holds "the groups have all options together" cmp -s of_groups <(grep '^  --' everything | sort)
unroll train --help=network >a; unroll help train Network >b; unroll train -h network >c
holds "the same group in other words" eval 'cmp -s a b && cmp -s a c'
unroll train --help netwrok >output 2>message
holds "an unknown group" test $? = 2 -a "$(head -n 1 message)" = "error: train has no group of options 'netwrok'"
holds "a fix for it" grep -q '^  fix: choose one of all, data, task, network' message

# ---- material ----

awk 'BEGIN {
    n = split("the quick brown fox jumps over a lazy dog while seven wizards boil green soup", w, " ")
    for (s = 1; i < 1500; i++) {
        s = (s * 110351 + 12345) % 2147483648
        printf "%s%s", w[int(s / 65536) % n + 1], i % 9 == 8 ? ".\n" : " "
    }
}' >book.txt
head -n 40 book.txt >other.txt
awk 'BEGIN { print "day,sold"; for (i = 0; i < 150; i++) printf "%d,%.3f\n", i, 20 + 3 * sin(i * 0.8976) + i % 3 }' >sales.csv
cp "$vectors/import/half.safetensors" torch.safetensors
cp "$vectors/import/half.npz" x.npz

# ---- examples: trainings are shortened, the rest is verbatim ----

export UNROLL_HIDDEN=16 UNROLL_LAYERS=1 UNROLL_THREADS=1 HOME=$place
run() {                 # COMMAND NUMBER
    local line
    line=$(unroll "$1" --help | sed '1,/^Examples:/d' | grep '^  [^ ]' | sed -n "$2p")
    [ "$line" ] || { failed=$((failed + 1)); echo "FAILED $1 has no example $2"; return; }
    bash -c "${line#  }" >output 2>message </dev/null ||
        { failed=$((failed + 1)); echo "FAILED $line: $(cat message)"; return; }
    passed=$((passed + 1))
}
both() { run "$1" 1; run "$1" 2; }
both train
holds "a run of the text" test -f runs/book/model.safetensors
holds "a run of the table" test -f runs/sales/model.safetensors
holds "another one to compare" unroll train book.txt --cell gru --steps 3 --out runs/gru --quiet
for command in eval predict; do
    both $command
    holds "$command prints JSON" grep -q '^{' output
done
holds "seven predictions" test "$(wc -l <next.csv)" = 8
both sample
both export
both import
width=$(unroll inspect lstm.safetensors --json | tail -n 1 | grep -oE '"input": ?[0-9]+' | grep -oE '[0-9]+')
awk -v n="$width" 'BEGIN { for (t = 0; t < 5; t++) for (i = 1; i <= n; i++) printf "%.2f%s", i / (t + 2), i < n ? "," : "\n" }' >frames.csv
both stream
serves() {              # NUMBER: starts, listens, stops in order
    local line server
    line=$(unroll serve --help | sed '1,/^Examples:/d' | grep '^  [^ ]' | sed -n "$1p")
    UNROLL_PORT=0 ${line#  } 2>message & server=$!
    until grep -q -e 'listening on' -e 'has no server' message || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
    kill -TERM $server 2>/dev/null; wait $server
    local status=$?
    grep -q 'has no server' message || holds "${line#  } ends in order ($(cat message))" test $status = 0
}
serves 1; serves 2
holds "outputs of a stream" test -s outputs.f32
both plot
holds "a picture" grep -q '^<svg' curves.svg
for command in run plan inspect check bench devices completion version help man; do both $command; done
if command -v mpirun >/dev/null && mpirun --version >/dev/null 2>&1; then
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 both launch
    holds "two ranks trained" test -f runs/two/model.safetensors
else
    skipped=$((skipped + 1)); echo "skipped: there is no mpirun for the examples of launch"
fi

# Every command's help, and the manual page, ends with two examples.
for command in $(unroll help | sed -n '/^usage:/,/^unroll COMMAND/ s/^  \([a-z]*\)  .*/\1/p'); do
    holds "$command has two examples" test "$(unroll $command --help | sed '1,/^Examples:/d' | grep -c '^  [^ ]')" = 2
    holds "the manual page has them" grep -qF "$(unroll $command --help | sed '1,/^Examples:/d; s/^  //; s/-/\\-/g' | head -n 1)" <(unroll man)
done
echo "examples: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
