#!/bin/bash
# The command from the user's side: help, errors, settings, and a tiny training with everything around it.
#     tests/cli/test_cli.sh BINARY       with UPDATE=1: rewrites the golden files, to be reviewed before a commit
# Each error case compares exit code and message with golden/errors.txt. The quality of training is not tested.
# test: kinds=check-plain; args=$B/unroll; seconds=30
set -u
shopt -s lastpipe       # what stands at the end of a pipe counts, too
shopt -s inherit_errexit 2>/dev/null

binary=$(realpath "$1") || exit 2
golden=$(realpath "$(dirname "$0")")/golden
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p') NO_COLOR

passed=0 failed=0 skipped=0
transcript=$place/transcript
: > "$transcript"

pass() { passed=$((passed + 1)); }
miss() { failed=$((failed + 1)); echo "FAILED $*"; }
skip() { skipped=$((skipped + 1)); echo "skipped: $*"; }
# holds NAME COMMAND...: the command succeeds
holds() { local name=$1; shift; if "$@"; then pass; else miss "$name: $*"; fi; }

unroll() { "$binary" "$@"; }

# has EXTENSION: the build has it. The golden help names what all extensions add.
has() { "$binary" devices | grep -q "^extensions .*$1"; }
whole=$(has 'gpu cuda opencl xla hardware cluster simulation' && echo yes)

# ---- golden files ----

same_as_golden() {      # FILE: compares standard input with golden/FILE
    if [ "${UPDATE:-}" ]; then cat > "$golden/$1"; pass; return; fi
    if diff "$golden/$1" - > difference 2>&1; then pass
    elif [ ! "$whole" ] && [ "${1#help}" != "$1" ]; then skip "$1 names extensions that are left out"
    else miss "golden/$1: $(sed -n 2p difference)"; fi
}

# Prints the message without the parts that depend on the machine.
neutral() {
    sed -e "s|$place|HERE|g" -e 's/\.tmp\.[0-9]*/.tmp.PID/g' -e 's/need [0-9.]* MB/need SIZE MB/' \
        -e '/^[a-z]*: the \(best\|newest\) weights, of step /d' message
}

# refuses NAME CODE ARGUMENTS...: the exit code is CODE and the message that of golden/errors.txt
refuses() {
    local name=$1 code=$2 found
    shift 2
    unroll "$@" > output 2> message < /dev/null
    found=$?
    judge "$name" "$code" "$found"
}

judge() {               # NAME CODE FOUND, with the message in its file
    { echo "== $1: exit $2"; neutral; } > block
    cat block >> "$transcript"
    [ "$2" -eq "$3" ] || { miss "$1: exit $3, expected $2: $(head -n 1 message)"; return; }
    if ! grep -q '^error: ' message; then miss "$1: no error message"; return; fi
    if [ "${UPDATE:-}" ]; then pass; return; fi
    awk -v begin="== $1: exit $2" '$0 == begin {on = 1; print; next} /^== / {on = 0} on' \
        "$golden/errors.txt" > expected
    if cmp -s block expected; then pass; return; fi
    miss "$1: $(diff expected block | sed -n 2,3p | tr '\n' ' ')"
}

# ---- material ----

words="the quick brown fox jumps over a lazy dog while seven wizards boil green soup"
awk -v words="$words" 'BEGIN {
    n = split(words, w, " ")
    for (s = 1; i < 1500; i++) {
        s = (s * 110351 + 12345) % 2147483648
        printf "%s%s", w[int(s / 65536) % n + 1], i % 9 == 8 ? ".\n" : " "
    }
}' > text.txt
small="--hidden 16 --layers 2 --batch 4 --bptt 16 --dropout 0.2 --threads 1 --seed 3"

: > empty.txt
printf 'text\0text' > binary.txt
printf 'line\ncaf\351 au lait\n' > latin1.txt
printf 'short' > short.txt
printf 't' > letter.txt
printf 'the fox ~ dog\n' > foreign.txt
mkdir directory full && echo 1 > full/file
echo '{"hidden": 8, "layers": 1' > broken.json
echo '{"hiden": 8}' > unknown.json
echo '{"hidden": "8"}' > kind.json
echo '{"hidden": 8, "hidden": 9}' > twice.json
echo '[1]' > list.json
echo '{"hidden": 0}' > range.json
echo '{"resume": "run"}' > line.json
echo '{"hidden": 12, "lr": 0.01, "cell": "gru", "for": "9s"}' > good.json
echo 'no safetensors at all, only words' > words.safetensors
printf '\060\0\0\0\0\0\0\0{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' > header.safetensors
printf '\070\0\0\0\0\0\0\0{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  \0\0\0\0' > foreign.safetensors

# ---- help ----

for command in train eval sample stream run import export plan inspect check bench devices completion version help; do
    unroll $command --help all 2>&1 | same_as_golden "help-$command.txt"
done
unroll train --help 2>&1 | same_as_golden help-train-screen.txt
unroll help 2>&1 | same_as_golden help.txt
unroll --help > a; unroll help > b; holds "--help is help" cmp -s a b
unroll help train > a; unroll train -h > b; holds "help train is train -h" cmp -s a b
unroll train text.txt --hidden 3 --help > b; holds "--help anywhere" cmp -s a b
holds "version" test "$(unroll --version)" = "$(unroll version)"
unroll man > unroll.1
holds "manual has every option" test "$(grep -c '^\.B \\-\\-' unroll.1)" -ge 40
if command -v groff > /dev/null; then
    holds "manual is sound roff" test -z "$(groff -man -Tutf8 -ww unroll.1 2>&1 > /dev/null)"
else
    skip "no groff to read the manual"
fi
unroll devices > devices.txt; has cuda && holds "devices" grep -q '^cuda   ' devices.txt
holds "optional libraries" test "$(grep -cE '^       (Open MPI|MPICH|CUDA driver|cuBLASLt|NCCL|PJRT for (TPUs|CUDA|CPUs)) +(yes: .*, .|no: .*; fix: )' devices.txt)" = 8
UNROLL_NCCL=libm.so.6 unroll devices --json > b; holds "a library that the user names" grep -q '"NCCL":{"file":"[^"]*/libm.so.6"' b

# ---- errors before anything is read ----

refuses "no command" 2
refuses "misspelt command" 2 trian
refuses "unknown command" 2 zzzzzzzz
refuses "misspelt option" 2 train text.txt --hiden 8
refuses "unknown option" 2 train text.txt --zzzzzzzz 8
refuses "option of another command" 2 sample run --hidden 8
refuses "short option" 2 train text.txt -q
refuses "no value at the end" 2 train text.txt --hidden
refuses "no value before an option" 2 train text.txt --hidden --layers 2
refuses "word for a number" 2 train text.txt --hidden many
refuses "number below range" 2 train text.txt --hidden 0
refuses "number above range" 2 train text.txt --layers=65
refuses "fraction for a whole number" 2 train text.txt --hidden 1.5
refuses "number that is too long" 2 train text.txt --seed 99999999999999999999
refuses "probability of one" 2 train text.txt --dropout 1
refuses "rate is nan" 2 train text.txt --lr nan
refuses "rate is negative" 2 train text.txt --lr -1
refuses "misspelt choice" 2 train text.txt --cell lstn
refuses "unknown choice" 2 train text.txt --opt zzzzzzzz
refuses "no time" 2 train text.txt --for soon
refuses "time of nothing" 2 train text.txt --for 0s
refuses "too much validation" 2 train text.txt --val 0.6
refuses "switch with a word" 2 train text.txt --tied=maybe
refuses "set without value" 2 train text.txt --set hidden
refuses "set of an unknown name" 2 train text.txt --set hiden=8
refuses "set out of range" 2 train text.txt --set hidden=-8
refuses "empty name" 2 train ""
refuses "word too many" 2 train text.txt other.txt
refuses "two ends" 2 train text.txt --epochs 1 --steps 2
refuses "bidirectional" 4 train text.txt --bidirectional
refuses "unknown task" 2 train text.txt --task words
refuses "bidirectional words" 4 train text.txt --tokens words --bidirectional
refuses "momentum of an optimizer that has none" 2 train text.txt --momentum 0.5
refuses "a vocabulary of sets" 2 train text.txt --tokens sets --vocab 50
refuses "length of a constant schedule" 2 train text.txt --schedule constant --schedule-steps 5
refuses "vocabulary of one" 2 train text.txt --tokens words --vocab 1
refuses "part for the steps of a piece" 2 train text.txt --bptt ful
refuses "plan of a whole piece" 2 plan --bptt full
refuses "size that is none" 2 train text.txt --memory much
refuses "size below range" 2 train text.txt --memory 5k
refuses "shape of two" 2 bench --shape 1,2
refuses "shape of no layers" 2 bench --shape 0,1,1,1,1
refuses "streaming bench of many steps" 2 bench --pass stream
refuses "streaming bench of both directions" 4 bench --pass stream --shape 1,1,1,8,8 --bidirectional
refuses "bench of training with narrow weights" 4 bench --dtype int8
refuses "training with narrow weights" 2 train text.txt --dtype bf16
refuses "type of weights that is none" 2 bench --dtype fp8
refuses "no data" 2 train
refuses "eval without text" 2 eval run
refuses "sample without model" 2 sample
refuses "shell that we don't know" 2 completion tcsh
refuses "help of an unknown command" 2 help sampel
refuses "split of nothing" 2 plan --split two
refuses "split of an unknown axis" 2 plan --split width=2
refuses "split of an axis twice" 2 plan --split batch=2,layer=2,batch=3
refuses "split of a layer by itself" 4 plan --split head:hidden=4,batch=4
refuses "a planner without a cluster" 2 plan --auto --hosts 4
refuses "a cluster without a planner" 2 plan --network net.json
refuses "a planner whose cut is given" 2 plan --auto --hosts 4 --network net.json --split batch=2
refuses "a planner whose cut is along time" 2 plan --auto --hosts 4 --network net.json --split time=2
refuses "a planner of no hosts" 2 plan --auto --hosts none --network net.json
has cluster && refuses "a planner of a cluster that is not there" 3 plan --auto --hosts 4 --network nowhere.json
printf '{"name":"a","levels":[]}' > net.json
has cluster && refuses "a planner of half a cluster" 3 plan --auto --hosts 4 --network net.json
refuses "a batch of fewer shards than ranks" 4 plan --split batch=8 --exact 4
refuses "more shards than rows" 2 plan --batch 32 --exact 40
refuses "checkpoints nowhere" 2 plan --checkpoint-time often
refuses "checkpoints too near" 4 plan --bptt 128 --checkpoint-time 1
refuses "projection of a gru" 4 plan --cell gru --projection 8
refuses "tied without embedding" 2 plan --tied

# ---- settings ----

refuses "config is missing" 3 train text.txt --config nothing.json
refuses "config is a directory" 3 train text.txt --config directory
refuses "config is no JSON" 3 train text.txt --config broken.json
refuses "config with an unknown key" 2 train text.txt --config unknown.json
refuses "config with a wrong kind" 2 train text.txt --config kind.json
refuses "config with a key twice" 3 train text.txt --config twice.json
refuses "config is a list" 3 train text.txt --config list.json
refuses "config out of range" 2 train text.txt --config range.json
refuses "config with resume" 2 train text.txt --config line.json
UNROLL_HIDEN=8 refuses "misspelt variable" 2 train text.txt
UNROLL_HOME=/opt unroll version > output 2> message; holds "a variable of others stops nothing" test $? -eq 0
holds "but is named" grep -qx "note: the environment variable UNROLL_HOME is not a setting and is ignored" message
UNROLL_HOME=/opt unroll train text.txt --dry-run --quiet > output 2> message; holds "not with --quiet" test $? -eq 0 -a ! -s message
UNROLL_MPI=mpich unroll version > output 2> message; holds "the library's variable is none of the command's" test $? -eq 0 -a ! -s message
UNROLL_HIDDEN=x refuses "variable with a word" 2 train text.txt

setting() { unroll train text.txt --dry-run "${@:2}" 2> message | sed -n "s/^  \"$1\": \(.*[^,]\),*$/\1/p"; }
holds "default" test "$(setting hidden)" = 256
holds "file over default" test "$(setting hidden --config good.json)" = 12
holds "variable over file" test "$(UNROLL_HIDDEN=13 setting hidden --config good.json)" = 13
holds "option over variable" test "$(UNROLL_HIDDEN=13 setting hidden --config good.json --hidden 14)" = 14
holds "set is an option" test "$(UNROLL_HIDDEN=13 setting hidden --set hidden=14)" = 14
holds "time in a file" test "$(setting for --config good.json)" = 9.0
holds "option over another end" test "$(setting steps --config good.json --steps 7)" = 7
holds "switch off" test "$(setting peephole --peephole --no-peephole)" = false
unroll train text.txt $small --dry-run > a 2> message
unroll train --config a --dry-run > b 2> message
holds "settings are read again" cmp -s a b
holds "dry run writes nothing" test ! -e runs
unroll train --config a --dry-run --json > b 2> message
holds "a dry run's JSON is one line" test "$(grep -c '^{.*}$' b)" -eq 1
holds "a config is read from a pipe" test "$(setting hidden --config <(cat good.json))" = 12

# ---- data ----

refuses "text is missing" 3 train nothing.txt
refuses "text is empty" 3 train empty.txt
refuses "text is binary" 3 train binary.txt
printf '\x93NUMPY\1\0' > array.npy; printf 'PK\3\4\0\0 x.npy' > array.npz; printf 'RIFF\0\0\0\0WAVE' > sound.wav
printf '\37\213\10\0' > text.gz; printf '\377\376t\0' > utf16.txt
for file in array.npy array.npz sound.wav text.gz utf16.txt; do refuses "text is $file" 3 train $file; done
refuses "text is not UTF-8" 3 train latin1.txt
refuses "text is a directory" 3 train directory
refuses "text is too short" 3 train short.txt
refuses "text is too short for the batch" 3 train text.txt --batch 60000
refuses "text is too short for batch and bptt" 3 train foreign.txt --val 0
refuses "text is too short for bptt" 3 train foreign.txt --val 0 --batch 2
refuses "standard input is empty" 3 train -
refuses "validation text is missing" 2 train text.txt --val nothing.txt
refuses "validation text is empty" 3 train text.txt --val empty.txt
refuses "validation text has another character" 3 train text.txt --val foreign.txt
refuses "validation text is one character" 3 train text.txt --val letter.txt
refuses "memory limit below the forecast" 5 train text.txt --bptt full --memory 20M
refuses "out is a file" 2 train text.txt --out text.txt
refuses "out holds something else" 2 train text.txt --out full
refuses "out is below a file" 5 train text.txt $small --quiet --out text.txt/run
ln -s nowhere dangling
refuses "out is a link to nothing" 5 train text.txt $small --quiet --out dangling/run
refuses "out cannot be written" 5 train text.txt $small --quiet --out /proc/unroll
refuses "no run to resume" 3 train --resume directory
case $(uname -m) in
    x86_64) refuses "instruction set of another machine" 4 train text.txt $small --quiet --isa neon ;;
    *) skip "the message about a foreign instruction set is that of x86_64" ;;
esac

# Every ISA of the table, if forced, trains to the same weights, or is refused if the machine does not have it.
for isa in $(unroll devices --json | sed 's/.*"isa":{\([^}]*\)}.*/\1/' | tr -d '"' | tr ',' ' '); do
    name=${isa%:*}
    unroll train text.txt $small --steps 2 --quiet --isa "$name" --out "isa-$name" > output 2> message
    case $?$isa in
        0*:true) holds "--isa $name has the bits of scalar" \
                     cmp -s isa-scalar/model.safetensors "isa-$name/model.safetensors" ;;
        4*:false) holds "--isa $name is refused" grep -qx "error: this machine, this build or UNROLL_ISA_LIMIT does not allow '$name'" message ;;
        *) miss "--isa $isa: $(head -n 1 message)" ;;
    esac
    # 32 rows: with few rows, amx uses the products of avx512_vnni, which then runs.
    unroll bench --shape 1,4,32,16,16 --seconds 0.01 --threads 1 --json --isa "$name" > output 2> message
    case $?$isa in
        0*:true) holds "bench runs on $name" grep -q "\"isa\":\"$name\"" output ;;
        4*:false) holds "bench refuses $name" grep -q "does not allow '$name'" message ;;
        *) miss "bench --isa $isa: $(head -n 1 message)" ;;
    esac
done

# ---- a run ----

unroll train text.txt $small --steps 30 --out run --json > result.json 2> message
holds "train" test $? -eq 0
for key in steps epochs train_loss val_loss best_val_loss items_per_second seconds out; do
    holds "result has $key" grep -q "^{.*\"$key\":.*}\$" <(tail -n 1 result.json)
done
holds "no terminal, no escapes" test "$(tr -d '[:print:]\n' < message | wc -c)" -eq 0
for file in config.json metrics.jsonl model.safetensors ckpt/step-30/optim.safetensors; do
    holds "a run has $file" test -f "run/$file"
done
for key in step epoch loss val_loss norm lr items_per_second seconds; do
    holds "metrics have $key" grep -q "\"$key\":" run/metrics.jsonl
done
holds "weights are those of the checkpoint" cmp -s run/model.safetensors run/ckpt/step-30/model.safetensors
unroll train text.txt $small --steps 30 --quiet > output 2> message
holds "quiet" test ! -s message -a ! -s output
holds "default out" cmp -s run/model.safetensors runs/text/model.safetensors
unroll train - $small --steps 2 --quiet < text.txt; unroll train - $small --steps 2 --quiet < text.txt
holds "standard input, numbered out" cmp -s runs/stdin/model.safetensors runs/stdin-2/model.safetensors

unroll eval run text.txt > output
holds "eval" grep -Eq '^[0-9.]+ nats \(unigrams [0-9.]+\), [0-9.]+ bits per character, perplexity [0-9.]+, [0-9]+ characters$' output
unroll eval run/model.safetensors - --json < text.txt > output
holds "eval --json" grep -q '^{"loss":.*"floor":.*"nats":.*"bits_per_character":.*"perplexity":.*"characters":' output
# Enough rows and units for other kinds of products (bf16x3 splits, steps with packed weights of their own).
head -c 3000 text.txt > valid.txt
unroll train text.txt --val valid.txt --hidden 256 --layers 2 --batch 32 --bptt 4 --steps 4 --validate-every 2 --threads 1 \
    --seed 3 --out wide --json > result.json 2> message
unroll eval wide valid.txt --json > output
number() { sed -n "s/.*\"$1\":\([0-9.]*\),.*/\1/p" "$2" | tail -n 1 | cut -c 1-9; }
holds "eval has the validation loss of the training" test "$(number val_loss result.json)" = "$(number nats output)"
unroll sample run --length 40 --seed 5 > a; unroll sample run/ckpt/step-30 --length 40 --seed 5 > b
holds "same seed, same text" cmp -s a b
unroll sample run --length 40 --prompt "the fox" > b; holds "prompt comes first" grep -q '^the fox' b
holds "no sample is empty" test "$(wc -c < a)" -ge 41
unroll inspect run > output; holds "inspect" grep -q '^rnn.weight_hh_l1 *F32 *64 x 16$' output
unroll inspect run --json > output; holds "inspect --json" grep -q '^{"specification":{"cell":"lstm"' output
unroll plan --config run/config.json --json > output; holds "plan --json" grep -q '^{' output
unroll plan --hidden 16 --split batch=2,layer=2 --chunks 2 > output; holds "plan --split" test -s output
(ulimit -v 1000000; unroll plan --hidden 16384 --layers 64 > output)
holds "a plan makes no weights" grep -q '^memory:  PARAM 545.5 GB ' output
if has cuda; then
UNROLL_CUDA_DRIVER=/nowhere unroll plan --device cuda --precision bf16 --hidden 512 --batch 1 --bptt 16 > output
holds "plan --device cuda" grep -q 'rnn_back g.l0 .* a grid: 1 x .* blocks, each of ' output
UNROLL_CUDA_DRIVER=/nowhere unroll plan --device cuda --cell mingru --json > output
holds "plan --device cuda --json" grep -q '"gpu":"an H200 that is not here",.*"way":"walk"' output
fi
printf '{"name":"a","rank":{"gflops":100,"recurrent_gflops":50,"memory_bandwidth":1e10},"levels":[{"name":"net","latency":1e-6,"bandwidth":1e10}]}' > net.json
if has cluster; then
unroll plan --auto --hosts 4 --network net.json --hidden 64 --bptt 16 --sync every --compress none > output
holds "plan --auto" grep -q '^best for time: batch=.*computes* for' output
unroll plan --auto --hosts 4 --network net.json --hidden 64 --bptt 16 --goal memory --json > output
holds "plan --auto --json" grep -q '"goal":"memory".*"ways":\[{"' output
fi
unroll plan --hidden 16 --checkpoint-time auto > output
holds "plan --checkpoint-time" grep -q '^checkpoints: 8 segments; STEP needs .*, without checkpoints ' output
holds "one direction keeps nothing" grep -q '^kept for all steps: nothing$' output
unroll plan --hidden 16 --bidirectional --checkpoint-time 8 > output
holds "two directions keep outputs" grep -q '^kept for all steps: .*y.l0, .*d.y.l0' output
unroll plan --checkpoint-time auto --json > output
holds "plan --checkpoint-time --json" grep -q '"checkpoints":{"kept":\[\],"segments":8,"step_bytes_without":' output
unroll train text.txt $small --steps 20 --quiet --out all
unroll train text.txt $small --steps 12 --checkpoint-time 4 --quiet --out again
unroll train --resume again --steps 20 --checkpoint-time auto --quiet
holds "checkpoints in time, and others after a stop, do not change a bit" cmp -s all/model.safetensors again/model.safetensors
holds "auto is saved" grep -q '"checkpoint-time": "auto"' again/config.json

# ---- words, validation files, whole pieces, speed ----

head -n 20 text.txt > part.txt; echo "the zebra jumps ~ over" >> part.txt
unroll train text.txt $small --tokens words --vocab 15 --steps 40 --val part.txt --out words --json \
    > result.json 2> message
holds "train words" test $? -eq 0
holds "words per second" grep -q ' words/s ' message
holds "perplexity of words" grep -Eq '^  loss .*, best val perplexity [0-9.]+ at step' message
holds "bits of characters" grep -Eq '^  loss .*, best val [0-9.]+ bits per character at step' \
    <(unroll train text.txt $small --steps 2 --out characters 2>&1)
holds "words have an embedding" grep -q '"embed": 16,' words/config.json
holds "a validation file is kept by its path" grep -q "\"val\": \"$place/part.txt\"" words/config.json
unroll eval words part.txt > output
holds "eval of words" grep -Eq '^[0-9.]+ nats \(unigrams [0-9.]+\), [0-9.]+ bits per word, perplexity [0-9.]+, [0-9]+ words$' output
unroll eval words part.txt --json > output
holds "eval of words --json" grep -q '^{"loss":.*"floor":.*"nats":.*"bits_per_word":.*"perplexity":.*"words":' output
unroll sample words --prompt "the zebra" --length 200 > output
holds "no unknown word is written" test "$(grep -c '<unk>' output)" -eq 0
holds "words are separated" grep -q '^the zebra .* .*' <(tr '\n' ' ' < output)
unroll inspect words > output; holds "inspect of words" grep -q '^words *15: "<unk>" ' output
(cd full && unroll train --resume ../words --steps 50 --quiet)
holds "a resumed run finds its validation file" test -d words/ckpt/step-50
unroll train text.txt $small --tokens words --vocab 15 --steps 50 --val part.txt --quiet --out words-2
holds "words go on as if there had been no stop" cmp -s words/model.safetensors words-2/model.safetensors
cp part.txt val.txt
unroll train text.txt $small --tokens words --vocab 15 --steps 4 --val val.txt --quiet --out changed
echo "more" >> val.txt
refuses "resume with another validation text" 2 train --resume changed --steps 8 --quiet

unroll train text.txt $small --bptt full --epochs 2 --warmup 1 --out pieces --json > output 2> message
holds "a step is said once" test "$(grep -c '^step 1 ' message)" -eq 1
holds "--bptt full is a step an epoch" grep -q '"steps":2,"epochs":2.0,' output
holds "--bptt full is saved" grep -q '"bptt": "full"' pieces/config.json
unroll train --resume pieces --epochs 3 --json --quiet > output
holds "--bptt full continues" grep -q '"steps":3,' output
(ulimit -v 400000; unroll train text.txt --hidden 1024 --bptt full --batch 1 --out none --quiet) 2> message
judge "memory of the shell below the forecast" 5 $?
holds "nothing was written" test ! -e none
(ulimit -v 400000; unroll bench --shape 1,1,1,1,8192) > output 2> message
judge "weights beyond the memory of the shell" 5 $?

speed="--shape 1,16,4,8,16 --seconds 0.05 --threads 1 --json"
for request in "--pass infer" "--pass forward --cell gru" "--pass train --ragged --bidirectional --cell rnn"; do
    unroll bench $speed $request > output
    holds "bench $request" grep -Eq '"ms":[0-9.e-]+,"ms_median":[0-9.e-]+,"gflops":[0-9.e-]+,"peak_gflops":[0-9.e+]+,"peak_fraction":[0-9.e-]+}$' output
done
unroll bench $speed --pass train --profile > output
holds "a profile names the operations of both passes" grep -Eq '"operations":\[\{"name":"gemm g.l0","ms":[0-9.e-]+,"ms_mean":[0-9.e-]+,"runs":[1-9][0-9]*,"gflops":[0-9.e-]+,"peak_fraction":[0-9.e-]+\}, ?\{"name":"rnn g.l0",.*"name":"rnn_back g.l0",.*"name":"gemm_dw d.rnn.weight_hh_l0"' output
unroll bench $speed --pass infer > output
holds "no profile where none is asked for" test -z "$(grep -o '"operations"' output)"
unroll bench $speed --isa scalar > output; holds "bench of an ISA" grep -q '"isa":"scalar","threads":1,' output

# ---- files that are not models, and what they lack ----

head -c 300 run/model.safetensors > truncated.safetensors
refuses "model is missing" 3 sample nothing.safetensors
refuses "model is words" 3 sample words.safetensors
refuses "model has a damaged header" 3 inspect header.safetensors
refuses "model is foreign" 3 eval foreign.safetensors text.txt
refuses "model is truncated" 3 inspect truncated.safetensors
refuses "model is empty" 3 inspect empty.txt
truncate -s 3G sparse.safetensors
(ulimit -v 1000000; unroll inspect sparse.safetensors) > output 2> message
judge "model is three gigabytes of nothing" 3 $?
refuses "directory without model" 3 sample directory
refuses "text has another character" 3 eval run foreign.txt
refuses "prompt has another character" 3 sample run --prompt "the ~"
refuses "temperature below zero" 2 sample run --temperature -1
refuses "out is a run" 2 train text.txt --out run

# ---- models of other tools ----

refuses "import of nothing" 2 import
refuses "import of a missing file" 3 import nothing.safetensors
refuses "import of words" 3 import text.txt
printf '\200\002}q' > model.pt
refuses "import of a pickled file" 3 import model.pt
refuses "import to standard output" 2 import header.safetensors -o -
refuses "import of three words" 2 import torch a b
refuses "import of an unknown format" 2 import tensorflow header.safetensors
refuses "import with a damaged header" 3 import torch header.safetensors
refuses "import of an unknown tensor" 4 import foreign.safetensors
refuses "import of our own model" 2 import run/model.safetensors
refuses "import over its source" 2 import foreign.safetensors -o foreign.safetensors
[ ! "$whole" ] || refuses "export without a format" 2 export run -o exported
[ ! "$whole" ] || refuses "export to an unknown format" 2 export run --to keras -o exported
refuses "export in int8" 2 export run --to torch --dtype int8 -o exported
refuses "export to no folder" 5 export run --to torch -o gone/exported
refuses "run of no arrays" 3 run run text.txt -o y.npy
refuses "run without a target" 2 run run text.txt
refuses "export without a target" 2 export run --to torch
refuses "export to onnx with a prefix" 4 export run --to onnx --prefix net. -o exported
refuses "export to onnx in int8" 4 export run --to onnx --dtype int8 -o exported
! has xla || refuses "export to stablehlo in fp16" 4 export run --to stablehlo --dtype fp16 -o exported
refuses "export to torch with a calibration" 4 export run --to torch --calibrate text.txt -o exported
refuses "export to torch of a program" 4 export run --to torch --program 3,2 -o exported
holds "a refused export leaves no file" test ! -e exported
refuses "export named as a word of C" 2 export run --to c99 --prefix int -o exported
cp run/model.safetensors read.safetensors; cp read.safetensors kept.safetensors; ln -s read.safetensors link
refuses "export over its model" 2 export read.safetensors --to torch -o link
refuses "export over the weights of its run" 2 export run --to torch -o run/model.safetensors
refuses "run over its model" 2 run read.safetensors text.txt -o read.safetensors
refuses "run over its arrays" 2 run read.safetensors text.txt -o text.txt
holds "what is read is not written over" cmp -s read.safetensors kept.safetensors
if has xla; then
unroll export run --to stablehlo -o program.mlir --program 3,2 > output 2>&1
holds "a program is exported" grep -q '^saved program.mlir$' output
holds "the program has its loop" test "$(grep -c stablehlo.while program.mlir)" -ge 1
holds "the program names its arguments" grep -q '^// argument 0: ' program.mlir
refuses "a program of no steps" 2 export run --to stablehlo -o gone.mlir --program 0,2
refuses "a program of words" 2 export run --to stablehlo -o gone.mlir --program few
holds "a refused program leaves no file" test ! -e gone.mlir
fi
unroll export run --to torch -o exported --prefix net. > output 2>&1
holds "an export says what it saved" grep -q '^saved exported$' output
holds "and says it in JSON" test "$(unroll export run --to torch -o exported --prefix net. --json)" = \
    '{"report":[],"saved":"exported"}'
holds "with what the format reports" grep -q '^{"prefix":"unroll_model",.*,"saved":"c99"}$' \
    <(unroll export run --to c99 -o c99 --json)
unroll import exported --prefix net -o imported > output 2>&1
holds "an export is imported" grep -q '^saved imported$' output
unroll inspect run --json > a; unroll inspect imported --json > b
holds "an export and its import have the same tensors" \
    test "$(sed 's/.*"tensors"//' a)" = "$(sed 's/.*"tensors"//' b)"
holds "import prints JSON" test "$(unroll import exported --prefix net --json | grep -c '"parameters"')" -eq 1
for command in version "eval run text.txt" "sample run --length 9" "inspect run" "plan --hidden 8"; do
    unroll $command > /dev/full 2> message
    judge "full disk behind ${command%% *}" 5 $?
done

# ---- resuming ----

refuses "resume with another width" 2 train --resume run --hidden 8
UNROLL_BATCH=8 refuses "resume with another batch by variable" 2 train --resume run
tac text.txt > backwards.txt
refuses "resume with another text" 2 train backwards.txt --resume run --steps 40 --quiet
head -n 30 text.txt > shorter.txt
refuses "resume with a shorter text" 2 train shorter.txt --resume run --steps 40 --quiet
refuses "resume with another part to validate on" 2 train --resume run --steps 40 --val 0.2 --quiet
cp run/config.json before.json
refuses "resume to a step that is past" 2 train --resume run --steps 29 --quiet
refuses "resume to an epoch that is past" 2 train --resume run --epochs 0.01 --quiet
holds "a refused end changes nothing" cmp -s run/config.json before.json
refuses "out and resume" 2 train --resume run --out other
refuses "resume as a trial" 2 train --resume run --dry-run
unroll train --resume run --quiet --json > output
holds "resume of what is done" grep -q '"steps":30' output
unroll train --resume run 2> output
holds "what is done is said without a speed" grep -qE '^done: 30 steps, [0-9.]+ epochs, [0-9:]+$' output
holds "same value is no change" unroll train --resume run --hidden 16 --quiet
cp -r run further; unroll train --resume further --steps 31 2> message
holds "a run of one step says it once" test "$(grep -c '^step 31 ' message)" -eq 1
grep '"step":31,' further/metrics.jsonl > output
holds "and reports it once" test "$(wc -l < output)$(grep -c '"val_loss":[0-9]' output)" = 11

cp -r run damaged && head -c 500 run/ckpt/step-30/optim.safetensors > damaged/ckpt/step-30/optim.safetensors
refuses "checkpoint is damaged" 3 train --resume damaged --steps 40 --quiet
cp -r run lines && echo 'no JSON' > lines/metrics.jsonl
refuses "metrics are damaged" 3 train --resume lines --steps 40 --quiet
cp -r run other && sed -i 's/"hidden": 16/"hidden": 17/; /"checksum"/d' other/config.json
refuses "settings are not the checkpoint's" 2 train --resume other --steps 40 --quiet
cp -r run disk && ln -sf /dev/full disk/metrics.jsonl
refuses "disk is full for metrics" 5 train --resume disk --steps 40 --quiet
holds "nothing lost" test -d disk/ckpt/step-31 -o -d disk/ckpt/step-30
(trap '' XFSZ; ulimit -f 30; unroll train text.txt $small --steps 40 --out large --quiet) > output 2> message
judge "file is too large for a checkpoint" 5 $?
holds "no half checkpoint" test -z "$(ls large/ckpt)"
unroll train text.txt --cell rnn-relu --hidden 16 --layers 1 --batch 4 --bptt 16 --threads 1 --opt sgd --lr 100 \
    --clip 0 --warmup 0 --steps 200 --save-every 1 --out diverged --quiet > output 2> message
judge "diverged" 6 $?

# ---- the best weights, patience, starting over ----

# A network that overfits: its best weights are not its last.
heart="--hidden 48 --layers 1 --cell gru --batch 4 --bptt 16 --threads 1 --lr 0.02 --schedule constant --val 0.5
       --epochs 30"
unroll train text.txt $heart --patience 3 --out heart --json > output 2> message
best=$(sed -n 's/.*best val .* at step \([0-9]*\)$/\1/p' message) last=$(sed 's/^{"steps":\([0-9]*\),.*/\1/' output)
epoch=$(unroll train text.txt $heart --epochs 1 --quiet --out epoch --json | sed 's/^{"steps":\([0-9]*\),.*/\1/')
holds "three validations after the best it ends" test "$last" -eq $((best + 3 * epoch))
holds "before its 30 epochs" test "$last" -lt $((30 * epoch))
holds "and says so" grep -q '^3 validations without improvement' message
holds "with the command that resumes" grep -q '^  unroll train --resume heart --patience 0$' message
holds "the best is the lowest of the metrics" test "$best" = "$(grep -v '"val_loss":null' heart/metrics.jsonl |
    sed 's/.*"step":\([0-9]*\),.*"val_loss":\([0-9.]*\),.*/\2 \1/' | sort -g | sed -n '1s/.* //p')"
holds "a run ends with its best weights" cmp -s heart/model.safetensors heart/ckpt/step-"$best"/model.safetensors
holds "which are not the newest" test "$(ls heart/ckpt | sort -V | tr '\n' ' ')" = "step-$best step-$last "
unroll eval heart text.txt > a 2> message; unroll eval heart/model.safetensors text.txt > b
holds "a run is measured with its best weights" cmp -s a b
holds "and says which" grep -qE "^heart: the best weights, of step $best\$" message
holds "the best loss is the result's" \
    test "$(sed 's/.*"best_val_loss":\([0-9.]*\),.*/\1/' output)" = "$(grep "\"step\":$best," heart/metrics.jsonl |
        sed 's/.*"val_loss":\([0-9.]*\),.*/\1/')"
unroll train text.txt $heart --patience 2 --out stopped --quiet
holds "two are less" test -d stopped/ckpt/step-$((best + 2 * epoch))
unroll train --resume stopped --patience 3 --quiet
holds "a resumed run has as much patience left" test "$(ls stopped/ckpt | sort -V | tr '\n' ' ')" = "$(ls heart/ckpt | sort -V | tr '\n' ' ')"
holds "and the same best weights" cmp -s heart/model.safetensors stopped/model.safetensors
cp -r heart impatient; unroll train --resume impatient --quiet
holds "a run without patience does nothing more" test "$(ls impatient/ckpt | wc -l)" -eq 2 -a -d impatient/ckpt/step-"$last"
unroll train --resume impatient --patience 0 --steps $((last + 2)) --quiet
holds "without a limit it resumes from its newest weights" test -d impatient/ckpt/step-$((last + 2))
holds "the best stays" cmp -s impatient/model.safetensors heart/model.safetensors
refuses "patience without a validation" 2 train text.txt --patience 3 --val 0

refuses "overwriting nothing" 2 train text.txt --overwrite
refuses "overwriting what is no run" 2 train text.txt --out full --overwrite
mkdir begun && echo '{}' > begun/config.json
refuses "out is a run without a checkpoint" 2 train text.txt --out begun
unroll train text.txt $small --steps 4 --val 0 --quiet --out restarted
echo mine > heart/notes
unroll train text.txt $small --steps 4 --val 0 --quiet --overwrite --out heart
holds "a run is started again" cmp -s heart/model.safetensors restarted/model.safetensors
holds "and nothing is left of the one before" test "$(cd heart && find . -type f ! -name 'events*' | sort | tr '\n' ' ')" = \
    "./ckpt/step-4/model.safetensors ./ckpt/step-4/optim.safetensors ./config.json ./metrics.jsonl ./model.safetensors ./notes "
holds "its curve is that of the new one" test "$(ls heart/events.* | wc -l) $(grep -c '"step":1,' heart/metrics.jsonl)" = "1 1"

# Extending a finished schedule raises the learning rate again.
unroll train text.txt $small --steps 150 --quiet --out risen
unroll train --resume risen --steps 160 2> message
holds "a rate that rises is said" grep -qE '^the learning rate rises from 0.0001 to [0-9.]+: .*; --schedule-steps 150 keeps it low$' message
holds "the progress has the rate" grep -qE '^step 160 .*  lr 0.0001 ' message
cp -r risen low; unroll train --resume low --steps 200 --schedule-steps 150 2> message
holds "and is kept low" test "$(grep -c 'rises' message) $(grep -cE '^step 200 .*  lr 0.0001 ' message)" = "0 1"

# Files must not get the numbers of closed standard streams: messages would be written into them.
unroll train text.txt $small --steps 30 --out closed 2>&-
holds "train without standard error" test $? -eq 0
holds "no message is among the metrics" test -z "$(grep -v '^{.*}$' closed/metrics.jsonl)"
unroll train --resume closed --steps 40 --quiet > output 2> message; holds "and it resumes" test $? -eq 0
unroll sample run --length 5 2> message >&-; judge "no standard output" 5 $?
unroll eval run - 2> message <&-; judge "no standard input" 3 $?

unroll train text.txt $small --steps 2 --out "it's a run" > output 2> message
sed -n "s/^ *unroll \(sample .*\)$/\1 --length 3/p" message > command
(eval "unroll $(cat command)") > output 2> message; holds "a command to copy has quotes" test $? -eq 0

# wait_for FILE: until it is not empty
wait_for() { for _ in $(seq 2400); do [ -s "$1" ] && return; sleep 0.05; done; miss "$1 did not come"; }
# begin DIR: a training in the background, to be stopped after its first step
begin() {
    "$binary" train text.txt $small --steps 4000 --save-every 50 --out "$1" > child.output 2> child.message &
    child=$!
    wait_for "$1/metrics.jsonl"
}

unroll train text.txt $small --steps 4000 --quiet --out straight
begin term
kill -TERM $child; wait $child; holds "SIGTERM exits with 75" test $? -eq 75
holds "resume line" grep -q '^resume: unroll train --resume term$' child.message
unroll train --resume term --quiet --json > output
holds "resume after SIGTERM is bit-exact" cmp -s term/model.safetensors straight/model.safetensors
holds "result after resume" grep -q '"steps":4000' output
holds "metrics have no step twice" test -z "$(sed 's/,.*//' term/metrics.jsonl | sort | uniq -d)"

begin killed
refuses "run is still training" 2 train --resume killed --quiet
sleep 0.05; kill -KILL $child; wait $child 2> /dev/null
unroll train --resume killed --quiet
holds "resume after SIGKILL is bit-exact" cmp -s killed/model.safetensors straight/model.safetensors
unroll train text.txt --hidden 8 --batch 4 --bptt 8 --steps 40 --save-every 5 --keep 4 --val 0 --quiet --out kept \
    >log 2>&1
holds "the four newest are kept" test "$(ls kept/ckpt | tr '\n' ' ')" = "step-25 step-30 step-35 step-40 "
holds "newest and best are kept" test "$(ls killed/ckpt | wc -l)" -le 2

begin asked
kill -USR1 $child
for _ in $(seq 12000); do grep -q '^resume:' child.message && break; sleep 0.01; done
kill -INT $child; wait $child; holds "SIGINT exits with 75" test $? -eq 75
holds "SIGUSR1 saves and continues" test "$(grep -c '^resume:' child.message)" -eq 2
unroll train --resume asked --quiet
holds "resume after SIGINT is bit-exact" cmp -s asked/model.safetensors straight/model.safetensors

# A signal is handled within a validation that takes many seconds.
head -c 800000 /dev/zero | tr '\0' 'a' | sed 's/.\{40\}/& the end\n/g' > long.txt
"$binary" train long.txt --hidden 256 --layers 2 --batch 4 --bptt 8 --validate-every 1 --val 0.5 --threads 1 \
    --out looking > child.output 2> child.message &
child=$!
wait_for looking/config.json
for _ in $(seq 2400); do [ "$(awk '{ print $14 + $15 }' /proc/$child/stat)" -ge 100 ] && break; sleep 0.05; done # a second of CPU time
kill -INT $child; wait $child; holds "SIGINT within a validation exits with 75" test $? -eq 75
newest=$(ls looking/ckpt | sed 's/step-//' | sort -n | tail -n 1)
holds "what was trained before is saved" test -n "$newest"
holds "a validation ends early" test "$(grep -c '"val_loss":[0-9]' looking/metrics.jsonl)" -lt "${newest:-0}"

unroll train text.txt $small --for 1.5s --sample-every 0.1s --out timed 2> message
holds "--for ends" grep -q '^done: ' message
holds "a sample is shown when asked for" grep -q '^  "' message
unroll train text.txt $small --for 0.001s --out at-once --json > output 2> message
holds "the shortest time is one update" grep -q '"steps":[1-9].*"train_loss":[0-9]' output
holds "whose loss is known" test "$(grep -c nan message)" -eq 0
unroll train text.txt $small --steps 2 --out -run > output 2> message
holds "a folder like an option" test $? -eq 0
holds "is named as a word of a command" test "$(grep -cE '^  unroll (sample|plot|train --resume) \./-run' message)" -eq 3
holds "which is taken" test -n "$(unroll sample ./-run --length 3 2> message)"
unroll train text.txt $small --steps 20 --val 0 --json --quiet --out blind > output
holds "no validation" grep -q '"val_loss":null' output

if command -v script > /dev/null; then
    # A time limit, not a number of steps: a fast machine makes many steps before the line is redrawn.
    live="'$binary' train text.txt $small --for 2s --sample-every 0.1s --out"
    TERM=xterm script -qec "$live live" typescript > /dev/null 2>&1
    holds "live line on a terminal" grep -q '% -*\.* step ' typescript
    TERM=xterm NO_COLOR=1 script -qec "$live plain" typescript > /dev/null 2>&1
    holds "NO_COLOR" test "$(grep -c "$(printf '\033')\[2m" typescript)" -eq 0
else
    skip "no script(1) to play a terminal"
fi

if [ "${UPDATE:-}" ]; then cp "$transcript" "$golden/errors.txt"; fi
# Each error has a fix, except those with the system's reason or a position in a file.
without_fix=$(awk '/^== / { if (name && !fix) print name; name = $0; fix = 0 }
                   /fix: |did you mean|: (Not a directory|No space left on device|File too large|Bad file descriptor)$|near end of file$/ { fix = 1 }
                   END { if (name && !fix) print name }' "$transcript")
holds "errors say what to do: $without_fix" test -z "$without_fix"
echo "cli: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
