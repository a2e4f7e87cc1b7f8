#!/bin/bash
# Nothing is lost: a training that is repeatedly killed with SIGKILL and resumed ends with the same weights, byte for
# byte, as one that was never interrupted. The moments are random but seeded.
#     tests/cli/test_crash.sh BINARY      KILLS=200 for a longer test, SEED=N for other moments
# Then a disk that fills up during a checkpoint. Signals that can be caught are not tested here.
# test: args=$B/unroll; seconds=30
set -u

binary=$(realpath "$1") || exit 2
kills=${KILLS:-24}
RANDOM=${SEED:-7}
place=$(mktemp -d) || exit 2
trap 'umount "$place/disk" 2> /dev/null; rm -rf "$place"' EXIT
cd "$place" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p')

passed=0 failed=0 skipped=0
pass() { passed=$((passed + 1)); }
miss() { failed=$((failed + 1)); echo "FAILED $*"; }
skip() { skipped=$((skipped + 1)); echo "skipped: $*"; }
# holds NAME COMMAND...: the command succeeds
holds() { local name=$1; shift; if "$@"; then pass; else miss "$name: $*"; fi; }

for line in $(seq 300); do
    echo "line $line: the sea is wide, the sea is deep, and $((line * 7 % 31)) ships sail"
done > text.txt
# Every second step is saved, so that most of the time is spent on checkpoints.
settings="--hidden 12 --layers 2 --batch 4 --bptt 16 --dropout 0.2 --threads 1 --seed 5 --schedule plateau
          --validate-every 50 --save-every 2 --steps 400 --quiet"
"$binary" train text.txt $settings --out straight || exit 2

same_weights() { holds "weights of $1" cmp -s "$1/model.safetensors" straight/model.safetensors; }
leftovers() { find "$1" -name '*.tmp' -o -name '*.tmp.*' -o -name '*.old' | wc -l; }

# ---- killed again and again ----

# go: starts or resumes the run in the background
go() {
    if [ -e run/config.json ]; then
        "$binary" train --resume run --quiet > output 2> message &
    else
        "$binary" train text.txt $settings --out run > output 2> message &
    fi
    child=$!
}

killed=0 inside=0
while [ "$killed" -lt "$kills" ]; do
    go
    sleep "0.$(printf '%03d' $((RANDOM % 150)))"
    kill -KILL $child 2> /dev/null
    wait $child 2> /dev/null
    status=$?
    if [ $status -eq 137 ]; then
        killed=$((killed + 1))
        [ ! -e run ] || [ "$(leftovers run)" -eq 0 ] || inside=$((inside + 1))
    elif [ $status -eq 0 ]; then        # finished: another run for the remaining kills
        same_weights run
        rm -rf run
    else
        miss "a killed run does not go on: exit $status: $(head -n 1 message)"
        break
    fi
done
go
wait $child
holds "the run comes to its end after $killed kills" test $? -eq 0
same_weights run
holds "nothing unfinished is left" test "$(leftovers run)" -eq 0
holds "kills were inside writes" test "$inside" -gt 0
echo "$killed kills, $inside of them left an unfinished write"

# ---- leftovers of dead processes ----

mkdir run/ckpt/step-7.tmp.99999 && echo part > run/ckpt/step-7.tmp.99999/model.safetensors
echo part | tee run/.model.safetensors.tmp.99999 > run/config.json.tmp
"$binary" train --resume run --quiet
holds "the next run cleans up" test "$(leftovers run)" -eq 0
mkdir -p begun/ckpt && : > begun/metrics.jsonl && echo '{' > begun/config.json.tmp
holds "a run that was killed at its very beginning can begin" \
    "$binary" train text.txt $settings --out begun
same_weights begun

# ---- a full disk ----

# fills NAME: the run exits with 5 and the reason, keeps only complete checkpoints, and resumes when there is space
fills() {
    holds "$1 is a failure of resources" test "$2" -eq 5
    holds "$1 has a message" grep -q "^error: cannot write '.*': $3" message
    holds "$1 leaves nothing unfinished" test "$(leftovers "$4")" -eq 0
}

mkdir disk
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=96k unroll-test disk 2> /dev/null; then
    "$binary" train text.txt $settings --out disk/run > output 2> message
    fills "a full disk" $? "No space left on device" disk/run
    holds "a full disk keeps the newest checkpoint" \
        "$binary" inspect disk/run/ckpt/"$(ls disk/run/ckpt | sort -V | tail -n 1)" > output
    mount -o remount,size=10m disk
    "$binary" train --resume disk/run --quiet
    same_weights disk/run
else
    skip "no small disk can be mounted: the limit of file sizes stands for it"
fi
(ulimit -f 8; exec "$binary" train text.txt $settings --out limit > output 2> message)
fills "a limit of file sizes" $? "File too large" limit
"$binary" train --resume limit --quiet
same_weights limit

echo "crash: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
