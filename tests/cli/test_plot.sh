#!/bin/bash
# Progress of a training: TensorBoard events, unroll plot, and the schedule and the first report of a run with --for.
#     tests/cli/test_plot.sh BINARY [BUILD]   with UPDATE=1: rewrites golden/errors-plot.txt and the goldens
# How the pictures look is not tested.
# test: args=$B/unroll $B; seconds=20
set -u
shopt -s lastpipe       # what stands at the end of a pipe counts, too

binary=$(realpath "$1") || exit 2
here=$(realpath "$(dirname "$0")")
golden=$here/golden
build=$(realpath -m "${2:-$(dirname "$1")}")
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p') NO_COLOR LC_ALL
export LC_CTYPE=C.UTF-8

passed=0 failed=0 skipped=0
: > transcript

pass() { passed=$((passed + 1)); }
miss() { failed=$((failed + 1)); echo "FAILED $*"; }
skip() { skipped=$((skipped + 1)); echo "skipped: $*"; }
# holds NAME COMMAND...: the command succeeds
holds() { local name=$1; shift; if "$@"; then pass; else miss "$name: $*"; fi; }
unroll() { "$binary" "$@"; }

same_as_golden() {      # FILE: compares standard input with golden/FILE
    if [ "${UPDATE:-}" ]; then cat > "$golden/$1"; pass; return; fi
    if diff "$golden/$1" - > difference 2>&1; then pass; else miss "golden/$1: $(sed -n 2p difference)"; fi
}

# refuses NAME CODE ARGUMENTS...: the exit code is CODE and the message that of golden/errors-plot.txt
refuses() {
    local name=$1 code=$2
    shift 2
    unroll "$@" > output 2> message < /dev/null
    judge "$name" "$code" $?
}

judge() {               # NAME CODE FOUND, with the message in its file
    { echo "== $1: exit $2"; sed -e "s|$place|HERE|g" -e 's/tfevents\.[^'\'']*/tfevents.X/' message; } > block
    cat block >> transcript
    [ "$2" -eq "$3" ] || { miss "$1: exit $3, expected $2: $(head -n 1 message)"; return; }
    if [ "${UPDATE:-}" ]; then pass; return; fi
    awk -v begin="== $1: exit $2" '$0 == begin {on = 1; print; next} /^== / {on = 0} on' \
        "$golden/errors-plot.txt" > expected
    if cmp -s block expected; then pass; return; fi
    miss "$1: $(diff expected block | sed -n 2,3p | tr '\n' ' ')"
}

# ---- material ----

for line in $(seq 300); do
    echo "line $line: the sea is wide, the sea is deep, and $((line * 7 % 31)) ships sail"
done > text.txt
small="--hidden 12 --layers 1 --batch 4 --bptt 16 --threads 1 --quiet"
# A run with simple numbers: 40 reports, a validation with every tenth.
mkdir known
awk 'BEGIN { for (i = 1; i <= 40; i++)
    printf "{\"step\":%d,\"epoch\":%.2f,\"loss\":%.4f,\"val_loss\":%s,\"norm\":%.2f,\"lr\":%.4f,%s}\n",
        25 * i, i / 10, 1 + 3 / i, i % 10 ? "null" : 1.2 + 4 / i, 0.5 + 1 / i, 0.002 * (1 - i / 50),
        "\"items_per_second\":" (70000 + 100 * (i % 7)) ",\"seconds\":" i
    }' > known/metrics.jsonl

# ---- TensorBoard ----

unroll train text.txt $small --steps 60 --validate-every 20 --out run
holds "a run has events" test "$(ls run | grep -c '^events.out.tfevents.[0-9]\{10\}\..*\.[0-9]*\.0$')" -eq 1
unroll train --resume run --quiet
holds "nothing to do, no new events" test "$(ls run | grep -c '^events')" -eq 1
unroll train --resume run --steps 80 --quiet
holds "a resumed run has another file" test "$(ls run | grep -c '^events')" -eq 2

# Prints the metrics in the format of the events.
expected_scalars() {
    sed -E 's/[{}"]//g; s/,/ /g' "$1/metrics.jsonl" | awk '{
        for (i = 1; i <= NF; i++) { split($i, pair, ":"); of[pair[1]] = pair[2] }
        print "loss/train", of["step"]; print "norm", of["step"]; print "learning_rate", of["step"]
        print "items_per_second", of["step"]
        if (of["val_loss"] != "null") printf "loss/validation %s %.5g\n", of["step"], of["val_loss"] }' | sort
}
# found_scalars READER: the same from the reader's output
found_scalars() { awk '{ print $1, $2, $1 == "loss/validation" ? $3 : "" }' | sed 's/ $//' | sort; }

# wait_for COMMAND...: until it succeeds
wait_for() { for _ in $(seq 2400); do "$@" && return; sleep 0.05; done; miss "timed out: $*"; }
lines_are() { [ "$(wc -l < "$1")" -ge "$2" ]; }
files_are() { [ "$(ls "$1" | grep -c "$2")" -ge "$3" ]; }

# A killed run that is resumed: the events after its checkpoint are written twice.
never="--val 0 --validate-every 900000000"
"$binary" train text.txt $small $never --steps 900000000 --out killed > output 2> message &
child=$!
wait_for test -s killed/metrics.jsonl
kill -USR1 $child
wait_for grep -q '^resume' message
wait_for lines_are killed/metrics.jsonl 4
kill -KILL $child; wait $child 2> /dev/null
saved=$(ls killed/ckpt | sed 's/step-//')
unroll train --resume killed --steps $((saved + 50)) --quiet

if command -v python3 > /dev/null; then
    for run in run killed; do
        holds "events can be read" python3 "$here/read_events.py" $run > scalars
        found_scalars < scalars > found; expected_scalars $run > expected
        holds "events of $run are the metrics" cmp found expected
    done
    cp -r run damaged
    for file in damaged/events*; do printf 'x' | dd of="$file" bs=1 seek=30 conv=notrunc 2> message; done
    python3 "$here/read_events.py" damaged 2> message
    holds "the reader notices damage" grep -q 'Error: a sum is wrong' message
else
    skip "no python3 to read the events"
fi

if python=$("$here/../venv.sh" "$build" tensorboard); then
    for run in run killed; do
        "$python" "$here/read_tensorboard.py" $run 2> message | found_scalars > found
        expected_scalars $run > expected
        holds "TensorBoard reads $run" cmp found expected
    done
else
    skip "$python; only our own reader has read the events"
fi

if command -v prlimit > /dev/null; then
    # In this run only the events are written.
    unroll train text.txt $small $never --steps 20 --out full
    ln -sf /dev/null full/metrics.jsonl
    "$binary" train --resume full --steps 4000000 --quiet 2> >(cat > pipe) > output &
    child=$!    # its messages go through a pipe: the limit applies to files
    wait_for files_are full '^events' 2
    prlimit --pid $child --fsize=10
    wait $child
    found=$?
    wait_for grep -q '^error' pipe; grep -m 1 '^error' pipe > message
    judge "disk is full for events" 5 $found
else
    skip "no prlimit to make the events too large"
fi

# ---- curves on the terminal ----

unroll plot --help all | same_as_golden help-plot.txt
unroll plot known | same_as_golden plot-loss.txt
unroll plot known/ known/metrics.jsonl --metric all --axis epoch | same_as_golden plot-all.txt
LC_CTYPE=C unroll plot known > output
holds "ASCII where there is no UTF-8" test -z "$(tr -d '[:print:]\n' < output)"
unroll plot known --json --metric all | same_as_golden plot-json.txt
unroll plot run killed > output
holds "runs of different length" test "$(wc -l < output)" -eq 3

# ---- pictures ----

well_formed() { python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' "$1"; }
runs=$(for i in $(seq 20); do echo known; done)
mkdir -p 'odd & <"name">'$'\351\033' && cp known/metrics.jsonl odd*/
head -n 1 known/metrics.jsonl > one.jsonl
for i in $(seq 30000); do echo "{\"step\":$i,\"loss\":$((i * 7919 % 1000)).5}"; done > long.jsonl
unroll plot known -o known.svg 2> message
holds "says what was written" grep -q '^wrote known.svg' message
unroll plot known -o - > a.svg; holds "picture on standard output" cmp -s a.svg known.svg
unroll plot $runs -o many.svg --metric all 2> message
unroll plot odd* -o odd.svg 2> message
unroll plot one.jsonl -o one.svg --axis seconds 2> message
unroll plot long.jsonl -o long.svg --smooth 0 2> message
unroll plot run -o wide.svg --metric val_loss --axis epoch --smooth 1 2> message
holds "a long run makes a light picture" test "$(wc -c < long.svg)" -lt 60000
holds "20 runs have 20 lines of the table" test "$(grep -c '>known</text>' many.svg)" -eq 20
holds "all metrics are 4 panels" test "$(grep -c '<clipPath' many.svg)" -eq 4
for picture in known many odd one long wide; do
    grep -iE '[ "ML](-?nan|-?inf)[ "A-Z]' $picture.svg > found
    holds "$picture.svg has numbers only" test ! -s found
    if command -v python3 > /dev/null; then holds "$picture.svg is XML" well_formed $picture.svg; fi
done
holds "light and dark" grep -q 'prefers-color-scheme:dark' known.svg
holds "the best validation is filled" grep -q '<circle class="best"[^>]*><title>1.3000 at 1000<' known.svg
if command -v rsvg-convert > /dev/null; then
    holds "the picture can be drawn" rsvg-convert -o known.png known.svg
else
    skip "no rsvg-convert to draw the picture"
fi
unroll plot known -o - > /dev/full 2> message
judge "full disk behind a picture" 5 $?
echo old > kept.svg; mkdir kept.svg.tmp
refuses "picture can't be written" 5 plot known -o kept.svg
holds "the old picture stays" grep -q old kept.svg

# ---- predictions next to the truth ----

awk 'BEGIN { srand(9); print "session,item"; for (i = 0; i < 600; i++) { if (i % 3 == 0) a = int(9 * rand()); print "s" int(i / 3) ",i" (a + i % 3) % 9 } }' > clicks.csv
unroll train clicks.csv --task recommend --group session --item item --val 0.1 --epochs 12 --threads 1 --quiet --out clicks 2> message
holds "a recommendation shows its sessions" test "$(unroll plot clicks --what answers | grep -cE '^s[0-9]+: after i[0-8], i[0-8]: predicted i[0-8] [01]\.[0-9]+, .*\(true: i[0-8]\)$')" = 8
holds "the best item is the true one" test "$(unroll plot clicks --what answers | grep -cE 'predicted (i[0-8]) .*\(true: \1\)$')" = 8
mkdir drawn && cat > drawn/details.json <<'END'
{"sentences": [{"words": ["a", "dog"], "tags": ["DT", "JJ"], "truth": ["DT", "NN"]}],
 "pairs": {"truth": [1, 2], "answer": [1.5, 2]},
 "sessions": [{"session": "s<1", "past": ["milk"], "truth": "jam",
               "items": [{"item": "bread", "probability": 0.5}, {"item": "jam", "probability": 0.25}]}]}
END
unroll plot drawn --what answers -o drawn.svg 2> message
for words in "predicted, but wrong:" "the true tag is below" ">predicted<" "predicted and true" "s&lt;1" "true: jam" '>0.500<'; do
    holds "the picture has '$words'" grep -qF -e "$words" drawn.svg
done

# ---- what cannot be drawn ----

mkdir empty none words && : > empty/metrics.jsonl
printf '%s\n{"step":30,"lo' "$(head -n 3 known/metrics.jsonl)" > killed.jsonl
printf '%s\nno JSON\n' "$(cat known/metrics.jsonl)" > middle.jsonl
printf '{"step":30,"loss":1}\n{"step":20,"loss":1}\n' > back.jsonl
printf '{"step":30,"loss":"1"}\n' > words/metrics.jsonl
printf '{"loss":1}\n' > stepless.jsonl
printf '[1]\n' > list.jsonl
head -c 100000 /dev/zero > binary.jsonl
refuses "no run" 2 plot
refuses "run is missing" 3 plot nothing
refuses "directory of no run" 3 plot none
refuses "run without a report" 3 plot empty
refuses "report that is no JSON" 3 plot known middle.jsonl
refuses "report that goes back" 3 plot back.jsonl
refuses "report with words" 3 plot words
refuses "report without step" 3 plot stepless.jsonl
refuses "report that is a list" 3 plot list.jsonl
refuses "binary metrics" 3 plot binary.jsonl
refuses "last line is unfinished" 0 plot killed.jsonl
refuses "21 runs" 2 plot $runs known
refuses "picture of another kind" 2 plot known -o curves.png
refuses "picture without name" 2 plot known -o
refuses "unknown letter" 2 plot known -x
refuses "unknown metric" 2 plot known --metric los
refuses "JSON in a picture" 2 plot known -o - --json

# ---- the clock ----

last_of() { tail -n 1 "$2/metrics.jsonl" | sed -E "s/.*\"$1\":([^,}]*).*/\1/"; }
# The rate follows a cosine over the seconds of --for, also while the process is stopped, as on a slow machine. At the
# end a twentieth of 0.01 is left. Busy machines may write the last line late.
"$binary" train text.txt $small --lr 0.01 --warmup 5 --for 2.4s --out slow &
child=$!
wait_for test -s slow/metrics.jsonl; kill -STOP $child; sleep 1.2; kill -CONT $child; wait $child
holds "the schedule ends with the time" awk -v lr="$(last_of lr slow)" -v s="$(last_of seconds slow)" 'BEGIN {
    part = s < 2.4 ? s / 2.4 : 1
    expected = 0.01 * (0.05 + 0.95 * (1 + cos(3.14159265 * part)) / 2)
    print lr, expected; exit !(s >= 1.2 && lr < expected + 0.002 && lr > expected - 0.002) }'
unroll train text.txt $small --for 2s --schedule-steps 5 --warmup 0 --lr 0.01 --out told
holds "a schedule that is told does not follow the clock" grep -q '"schedule-steps": 5' told/config.json
holds "and ends where it is told" awk -v lr="$(last_of lr told)" 'BEGIN { exit !(lr == 0.0005) }'
if [ "${UPDATE:-}" ]; then cp transcript "$golden/errors-plot.txt"; fi
echo "plot: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
