#!/bin/bash
# A run with damaged, mixed or missing files is never silently resumed with other weights or settings. Either it is
# refused and remains unchanged, or it resumes from a complete checkpoint and produces the files of an undamaged run,
# byte for byte. Single files are tested in tests/train/test_corruption.c.
#     tests/cli/test_damage.sh BINARY      CORRUPTIONS=500 for a longer test, SEED=N for others
# test: args=$B/unroll
set -u

binary=$(realpath "$1") || exit 2
corruptions=${CORRUPTIONS:-50}
RANDOM=${SEED:-3}
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p')

passed=0 failed=0
pass() { passed=$((passed + 1)); }
miss() { failed=$((failed + 1)); echo "FAILED $*: $(head -n 2 message | tr '\n' ' ')"; }
# holds NAME COMMAND...: the command succeeds
holds() { local name=$1; shift; if "$@"; then pass; else miss "$name"; fi; }
train() { "$binary" train "$@" --quiet > output 2> message; }
said() { grep -q -- "$1" message; }

for line in $(seq 200); do echo "line $line: $((line * 7 % 31)) ships sail on the deep sea"; done > text.txt
rev text.txt > back.txt            # the better the network fits the text, the worse it predicts the reverse: step 10 is best
settings="--hidden 8 --layers 1 --batch 4 --bptt 8 --threads 1 --seed 5 --schedule constant --lr 0.1 --warmup 0 --keep 3
          --save-every 10 --validate-every 10 --val $place/back.txt"
train "$place/text.txt" $settings --steps 20 --out run || { cat message; exit 2; }
train "$place/text.txt" $settings --steps 20 --out other --lr 0.2 || exit 2
cp -r run whole && train --resume whole --steps 24 || exit 2

# ---- the same training, the same bytes ----

mkdir elsewhere && (cd elsewhere && "$binary" train "$place/text.txt" $settings --steps 20 --out run --quiet)
for file in model.safetensors config.json ckpt; do
    holds "$file of the same training" diff -r run/$file elsewhere/run/$file
done
holds "there are two checkpoints" test "$(ls run/ckpt | tr '\n' ' ')" = "step-10 step-20 "
holds "the first is the best" cmp -s run/model.safetensors run/ckpt/step-10/model.safetensors

# ---- random damage ----

# judge NAME [damaged]: resumes hurt/; if damaged, a message must name the damage
judge() {
    rm -rf before && cp -r hurt before
    train --resume hurt --steps 24
    case $? in
    0)  holds "$1 resumes to the same weights" cmp -s hurt/model.safetensors whole/model.safetensors
        holds "$1 resumes to the same checkpoint" diff -r hurt/ckpt/step-24 whole/ckpt/step-24
        holds "$1 resumes with the same settings" diff hurt/config.json whole/config.json
        [ $# -eq 1 ] || holds "$1 is said" said '^damaged: .*hurt/ckpt/step-20';;
    2|3) holds "$1 changes nothing" diff -r hurt before > /dev/null
        holds "$1 is named" said 'hurt';;
    *)  miss "$1: another exit";;
    esac
}

below() { echo $(((RANDOM * 32768 + RANDOM) % $1)); }
put() { dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
# corrupt KIND FILE
corrupt() {
    local size at byte
    size=$(stat -c %s "$2") at=$(below $(($(stat -c %s "$2") + 1)))
    case $1 in
    flip)   at=$(below "$size") byte=$(od -An -tu1 -j"$at" -N1 "$2")
            printf "\\x$(printf %x $((byte ^ 1 << RANDOM % 8)))" | put "$2" "$at";;
    cut)    truncate -s "$at" "$2";;
    zero)   head -c $((size - at < 64 ? size - at : 64)) /dev/zero | put "$2" "$at";;
    extend) head -c 40 text.txt >> "$2";;
    lose)   rm "$2";;
    swap)   cp "other/${2#hurt/}" "$2" 2> /dev/null || rm "$2";;
    esac
}

kinds=(flip flip flip flip cut zero extend lose swap)
files=($(cd run && find . -type f ! -name 'events*' | sort) $(cd run && echo events*))
for number in $(seq "$corruptions"); do
    rm -rf hurt && cp -r run hurt
    kind=${kinds[RANDOM % ${#kinds[@]}]} file=${files[RANDOM % ${#files[@]}]}
    corrupt "$kind" "hurt/${file#./}"
    judge "corruption $number, $kind of $file" $(case $file in ./ckpt/step-20/*) cmp -s run/$file hurt/$file || echo damaged;; esac)
done

# ---- specific damage ----

hurt() { rm -rf hurt && cp -r run hurt; }
# refused NAME WORDS: resuming hurt/ exits with 3 and a message with WORDS, and changes nothing
refused() {
    rm -rf before && cp -r hurt before
    train --resume hurt --steps 24
    holds "$1: exit 3" test $? -eq 3
    holds "$1: said" said "$2"
    holds "$1: nothing changed" diff -r hurt before
}

hurt; mkdir hurt/ckpt/step-99
judge "an empty checkpoint"
holds "an empty checkpoint is said" said "^damaged: cannot open 'hurt/ckpt/step-99/"
for command in "sample hurt --length 5" "eval hurt text.txt" "inspect hurt" "export hurt --to torch -o exported"; do
    hurt; mkdir hurt/ckpt/step-99
    "$binary" $command > found 2> message; holds "${command%% *} of it" test $? -eq 0
    holds "${command%% *} says so" said "^used instead: 'hurt/ckpt/step-20'"
    "$binary" ${command/hurt/run} > expected 2> message; holds "${command%% *} is the same" cmp -s <(sed 's/\bhurt\b/run/g' found) expected
done

hurt; rm hurt/ckpt/step-10/optim.safetensors; : > hurt/ckpt/step-20/model.safetensors
refused "no checkpoint is whole" "all checkpoints of 'hurt' are damaged"
"$binary" inspect hurt > output 2> message
holds "its last weights are taken" said "^used instead: 'hurt/model.safetensors'"
rm hurt/model.safetensors; "$binary" inspect hurt > output 2> message
holds "without them there are none" test $? -eq 3
hurt; mv hurt/ckpt/step-10 aside; mv hurt/ckpt/step-20 hurt/ckpt/step-10; mv aside hurt/ckpt/step-20
refused "checkpoints with other names" "'hurt/ckpt/step-20' holds the checkpoint of step 10"
hurt; cp hurt/ckpt/step-10/model.safetensors hurt/ckpt/step-20
judge "files of two checkpoints" damaged
hurt; cp hurt/ckpt/step-20/* hurt/ckpt/step-10
refused "the best is another" "^damaged: 'hurt/ckpt/step-10' holds the checkpoint of step 20"
"$binary" inspect hurt > output 2> message
holds "then the newest is taken" said "the newest weights, of step 20"

hurt; rm -r hurt/ckpt
refused "no checkpoints" "the checkpoints of 'hurt' are missing"
hurt; rm -r hurt/ckpt/*
refused "no checkpoints of a run that has ended" "the checkpoints of 'hurt' are missing"
rm hurt/model.safetensors
refused "no checkpoints of a run that had some" "the checkpoints of 'hurt' are missing"
grep -v '"checkpoint"' run/metrics.jsonl > hurt/metrics.jsonl
judge "a run that was killed before its first checkpoint"
holds "it begins again, and says so" said "has no checkpoint yet: it starts again at step 0"

hurt; cp other/config.json hurt
refused_settings() {
    rm -rf before && cp -r hurt before
    train --resume hurt --steps 24; holds "$1: exit" test $? -eq 2
    holds "$1: said" said "base_learning_rate = 0.1, this training has $2"
    holds "$1: nothing changed" diff -r hurt before
}
refused_settings "settings of another run" 0.2
hurt; sed -i 's/"lr": 0.1/"lr": 0.3/' hurt/config.json
refused "another rate in the settings" "hurt/config.json was changed after it was saved"
sed -i '/"checksum"/d' hurt/config.json
refused_settings "another rate without a checksum" 0.3
hurt; sed -i '/"checksum"/d' hurt/config.json; judge "settings without a checksum"
hurt; rm hurt/metrics.jsonl; judge "lost metrics"
holds "which is said" said "has no reports up to step 20"
hurt; sed -i '0,/"val_loss":[0-9]/s//"val_loss":9/' hurt/metrics.jsonl
refused "another number in the metrics" "metrics.jsonl: line [0-9]* is damaged"
holds "no curves of it" test "$("$binary" plot hurt 2>&1 | grep -c 'line [0-9]* is damaged')" -eq 1

# ---- weights that are not finite ----

train "$place/text.txt" --cell rnn-relu --hidden 16 --layers 1 --batch 4 --bptt 16 --threads 1 --opt sgd --lr 100 --clip 0 \
    --warmup 0 --steps 200 --save-every 1 --keep 99 --out diverged
holds "a run diverges" test $? -eq 6
last=$(sed -n "s/^ *last good checkpoint: //p" message)
holds "its newest checkpoint is the last good one" test "$last" = "diverged/ckpt/$(ls diverged/ckpt | sort -V | tail -n 1)"
for checkpoint in diverged/ckpt/*; do
    holds "$checkpoint is finite" "$binary" inspect "$checkpoint" > output 2> message
done

echo "damage: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
