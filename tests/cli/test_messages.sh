#!/bin/bash
# The most likely mistakes of users (mistakes.txt) and what the command prints for each (messages.txt, for review).
#     tests/cli/test_messages.sh BINARY       with UPDATE=1: rewrites messages.txt
# Lines about data and weights that precede an error are omitted. Each mistake is refused with a line that names the
# cause and a line with a fix, and leaves no files.
# test: args=$B/unroll; seconds=15
set -u
binary=$(realpath "$1") || exit 2
here=$(realpath "$(dirname "$0")")
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p')
passed=0 failed=0

holds() {               # NAME COMMAND...
    local name=$1; shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name"; fi
}
mkdir bin work && ln -s "$binary" bin/unroll && PATH=$place/bin:$PATH && cd work || exit 2

# ---- material ----

awk 'BEGIN {
    n = split("the quick brown fox jumps over a lazy dog while seven wizards boil green soup", w, " ")
    for (s = 1; i < 1500; i++) {
        s = (s * 110351 + 12345) % 2147483648
        printf "%s%s", w[int(s / 65536) % n + 1], i % 9 == 8 ? ".\n" : " "
    }
}' >book.txt
awk 'BEGIN { print "day,sold"; for (i = 0; i < 150; i++) printf "%d,%.3f\n", i, 20 + 3 * sin(i * 0.8976) + i % 3 }' >sales.csv
mkdir folder empty-folder full && echo 1 >full/notes.txt
: >empty.txt
printf 'short' >short.txt
printf 'text\0text' >binary.bin
printf 'line\ncaf\351 au lait\n' >latin1.txt
printf 'the quick ~ fox\n' >foreign.txt
echo '{"hidden": 8, "layers": 1' >broken.json
echo '{"hiden": 8}' >unknown.json
echo '{"hidden": "8"}' >kind.json
{ head -n 20 sales.csv; echo '20,1,2,3'; } >ragged.csv
echo 'day,sold' >header.csv
{ echo 'size,color'; for i in 1 2 3 4 5 6 7 8; do echo "$i,red"; echo "big,blue"; done; } >words.csv
{ echo 'size,color'; for i in 1 2 3 4 5 6 7 8; do echo "$i,red"; done; } >one-class.csv
printf '{"a": 1}\n{"a": \n' >broken.jsonl
printf 'PK\3\4\0\0 x.npy' >broken.npz
printf 'PK\3\4\24\0\6\0xl/workbook.xml' >table.xlsx
printf 'PK\3\4\0\0 data.pkl' >model.pt
printf '\211HDF\r\n\032\n' >model.h5
printf '\070\0\0\0\0\0\0\0{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  \0\0\0\0' >foreign.safetensors
printf '\060\0\0\0\0\0\0\0{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' >damaged.safetensors
printf "\\223NUMPY\\1\\0\\166\\0%-117s\\n%040d" "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 1, 2), }" 0 >x.npy
sed 's/sold/units/' sales.csv >renamed.csv
head -n 4 sales.csv >short.csv
tiny="--hidden 8 --layers 1 --threads 1 --quiet"
unroll train book.txt $tiny --steps 4 --out runs/book || exit 2
unroll train sales.csv --task forecast --target sold --horizon 7 $tiny --steps 4 --out runs/sales || exit 2

# ---- the mistakes ----

ls -R >before
while read -r line; do
    case $line in '#'*) printf '\n%s\n' "$line"; continue ;; esac
    timeout 20 bash -c "$line" >output 2>message </dev/null
    printf '\n$ %s\n[%d]\n' "$line" $?
    sed -e "s|$place/work|HERE|g" -e '/^[a-z\/]*: the \(best\|newest\) weights, of step /d' -e '/^note: /d' -e '/^task /d' -e '/^\(data\|rows\|columns\|order\|missing\): /d' message
done <"$here/mistakes.txt" >found
rm -f output message
ls -R | sed '/^found$/d' >after
if [ "${UPDATE:-}" ]; then cp found "$here/messages.txt"; fi
count=$(grep -c '^\$ ' found)
holds "there are 120 mistakes or more ($count)" test "$count" -ge 120
holds "each is refused: $(grep -B1 -x '\[0\]' found)" test "$(grep -cE '^\[[1-7]\]$' found)" = "$count"
holds "each has one error" test "$(grep -c '^error: ' found)" = "$count"
holds "and one fix" test "$(grep -c '^  fix: ' found)" = "$count"
holds "nothing was written: $(diff before after | head -n 3)" cmp -s before <(grep -v '^after$' after)
holds "the messages are those of messages.txt: $(diff "$here/messages.txt" found | head -n 5)" cmp -s found "$here/messages.txt"
echo "messages: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
