#!/bin/bash
# Losses of whole sequences with the command: tags whose moves follow a scheme, from raw files; what is refused.
#     tests/cli/test_sequences.sh BINARY
# test: args=$B/unroll; seconds=20
set -u
binary=$(realpath "$1") || exit 2
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p')
export LC_ALL=C.UTF-8

passed=0 failed=0
pass() { passed=$((passed + 1)); }
miss() { failed=$((failed + 1)); echo "FAILED $*"; }
holds() { local name=$1; shift; if "$@" > held 2>&1; then pass; else miss "$name: $*: $(tail -n 2 held)"; fi; }
quietly() { "$binary" "$@" --threads 1 --quiet; }
# refuses NAME CODE TEXT ARGUMENTS...: exits with the code and a message that contains the text and a fix
refuses() {
    local name=$1 code=$2 text=$3
    shift 3
    "$binary" "$@" > output 2> message < /dev/null
    local found=$?
    if [ $found = "$code" ] && grep -qF -- "$text" message && grep -q 'fix: ' message; then pass
    else miss "$name: exit $found: $(tr '\n' ' ' < message)"; fi
}
number() { sed -n "s/.*\"$1\": *{[^}]*\"$2\": *\([-0-9.e]*\).*/\1/p" "$3"; }
above() { awk "BEGIN { exit !($1 > $2) }"; }

# ---- tags of names and places ----
# Names of one or two words and places of one or two; the second word decides what the first one is.
awk 'BEGIN { srand(5)
    split("anna bert carla dora emil fritz gina hugo", first, " "); split("adler bauer conrad dorn ernst falk", last, " ")
    split("rome oslo bern paris lima", town, " "); split("visits sees knows leaves", verb, " ")
    for (i = 0; i < 300; i++) {
        for (n = 1 + int(rand() * 2); n > 0; n--) {
            if (rand() < .5) print "saint\tB-PER\n" first[1 + int(rand() * 8)] "\tI-PER"; else print first[1 + int(rand() * 8)] "\tB-PER"
            if (rand() < .5) print last[1 + int(rand() * 6)] "\tI-PER"
            print verb[1 + int(rand() * 4)] "\tO"
            if (rand() < .5) print "saint\tB-LOC\n" town[1 + int(rand() * 5)] "\tI-LOC"; else print town[1 + int(rand() * 5)] "\tB-LOC"
            print (n > 1 ? "and\tO" : ".\tO")
        }
        print ""
    } }' > names.tsv
awk 'BEGIN { RS = ""; ORS = "\n\n" } NR > 240' names.tsv > test.tsv
awk 'BEGIN { RS = ""; ORS = "\n\n" } NR <= 240' names.tsv > train.tsv
for loss in crf xent; do
    quietly train train.tsv --loss $loss --hidden 16 --epochs 5 --val 0 --test test.tsv --out $loss --json > $loss.json 2> message || miss "train: $(cat message)"
done
holds "spans are learned" above "$(number test span_f1 crf.json)" 0.9
holds "moves help" above "$(number test span_f1 crf.json)" "$(number test span_f1 xent.json)"
"$binary" predict crf test.tsv --json > tags.json 2> message
holds "no forbidden move" sh -c "! grep -qE '\"O\", ?\"I-|\"B-PER\", ?\"I-LOC|\"B-LOC\", ?\"I-PER|\\[\"I-' tags.json"
holds "probabilities" sh -c "grep -q '\"probabilities\":\\[0\\.' tags.json"
"$binary" inspect crf > output
for name in transitions start_transitions end_transitions; do holds "$name" grep -q "^crf.$name " output; done
quietly train --resume crf --epochs 6 > message 2>&1 || miss "resume: $(cat message)"
"$binary" eval crf test.tsv --threads 2 --json > again.json 2> message
"$binary" eval crf test.tsv --threads 1 --json > once.json 2> message
holds "threads change nothing" cmp again.json once.json

# ---- bad input ----
sed '2s/\t.*/\t/' train.tsv > gap.tsv
refuses "a tag is missing" 3 "step 2 of sequence 1 has no 'tag'" train gap.tsv --loss crf --steps 1 --out no
awk 'BEGIN { RS = ""; ORS = "\n\n" } NR % 40 == 0 { $0 = $0 "\nrome\tI-LOC" } { print }' train.tsv > broken.tsv
"$binary" train broken.tsv --loss crf --hidden 16 --epochs 2 --val 40 --out broken --threads 1 --json > broken.json 2> message || miss "broken: $(cat message)"
holds "moves of the data are allowed" above 10 "$(number val loss broken.json)"
holds "broken sequences of the training part" grep -qx 'note: 5 of 200 sequences of the training part break BIO, such as sequence 40: I-LOC after O' message
holds "broken sequences of the validation part" grep -q '^note: 1 of 40 sequences of the validation part break BIO' message
"$binary" eval broken broken.tsv > output 2> message
holds "broken sequences of other data" grep -q '^note: 6 of 240 sequences break BIO' message
"$binary" eval broken train.tsv > output 2> message
holds "nothing to note" sh -c '! grep -q break message'
sed -E 's/\tB-/\tS-/; $ s/^$/end\tB-PER\n/' train.tsv > ends.tsv
"$binary" train ends.tsv --loss crf --hidden 16 --steps 1 --val 0 --out ends > output 2> message
holds "spans without an end" grep -q '^note: [0-9]* of 240 sequences.* break IOBES, such as sequence [0-9]*: I-[A-Z]* after S-' message
for sentence in 200 7; do
    awk -v n=$sentence 'BEGIN { RS = ""; ORS = "\n\n" } NR == n { $0 = $0 "\nacme\tB-ORG" } { print }' train.tsv > rare.tsv
    "$binary" train rare.tsv --loss crf --hidden 16 --steps 1 --val 0 --test 100 --out rare$sentence > output 2> message
    grep -cx "note: the training part lacks 1 of 6 labels of the test part, such as 'B-ORG'" message >> lacks
done
holds "a label of the test part alone" [ "$(paste -sd, lacks)" = 1,0 ]     # printed once
awk 'BEGIN { print "load,state"; for (i = 0; i < 600; i++) print i % 7 "," (i % 7 > 3 ? "high" : "low") }' > series.csv
refuses "series" 2 "--loss 'crf' is not supported" train series.csv --task tag --loss crf --steps 1 --out no
refuses "smoothing" 2 "label_smoothing" train train.tsv --loss crf --label-smoothing 0.1 --steps 1 --out no
refuses "balanced classes" 2 "classification loss" train train.tsv --loss crf --class-weights auto --steps 1 --out no
quietly train train.tsv --loss crf --hidden 16 --streaming --steps 2 --out one > message 2>&1 || miss "streaming: $(cat message)"
refuses "one step at a time" 4 "labels all steps of a sequence together" stream one
refuses "an export" 4 "moves from label to label" export crf --to onnx -o crf.onnx
refuses "a GPU" 4 "on the CPU only" train train.tsv --loss crf --device xla --steps 1 --out no

# ---- texts of sequences ----
# Two or three steps for each character, none for a text that is longer than its steps.
awk -v rows=500 'BEGIN { srand(8); split("no yes one two", w, " ")
    for (i = 0; i < rows; i++) {
        text = w[1 + int(4 * rand())]; if (rand() < .5) text = text " " w[1 + int(4 * rand())]
        x = ""
        for (c = 1; c <= length(text); c++) for (n = 2 + int(2 * rand()); n > 0; n--) {
            k = index("noyestw ", substr(text, c, 1))
            x = x sprintf("%s[%.2f,%.2f]", x ? "," : "", cos(k) + .2 * rand(), sin(k) + .2 * rand())
        }
        printf "{\"x\":[%s],\"text\":\"%s\"}\n", x, text
    } }' > spoken.jsonl
head -n 450 spoken.jsonl > hear.jsonl
tail -n 50 spoken.jsonl > later.jsonl
quietly train hear.jsonl --unaligned text --layers 1 --hidden 24 --epochs 40 --val 0 --test later.jsonl --out hear --json > hear.json 2> message || miss "train: $(cat message)"
holds "texts are learned" above 0.1 "$(number test wer hear.json)"
holds "characters, too" above 0.1 "$(number test cer hear.json)"
"$binary" predict hear later.jsonl > texts.csv 2> message
holds "a text for each sequence" [ "$(wc -l < texts.csv)" = 51 ]
sed 's/,"text".*/}/' later.jsonl > silent.jsonl
"$binary" predict hear silent.jsonl > silent.csv 2> message
holds "without transcripts" sh -c 'cut -d, -f1 texts.csv | cmp - silent.csv'
{ head -n 3 later.jsonl; echo '{"x":[[0,0],[1,1]],"text":"no yes"}'; echo '{"x":[[0,0],[1,1]],"text":""}'; echo '{"x":[[0,0],[1,1]],"text":" "}'
  echo '{"x":[[0,0],[1,1],[2,2]],"text":"nox"}'; } > odd.jsonl
"$binary" eval hear odd.jsonl --json > odd.json 2> message || miss "eval: $(cat message)"
holds "a text without steps" grep -q 'note: 1 of 7 transcripts are longer than their steps allow' message
holds "an unknown character" grep -q 'note: 1 of 7 transcripts have characters that the model does not know' message
holds "an empty text" grep -q '"examples": *6' odd.json
printf '\357\273\277' > crlf.jsonl; head -n 3 later.jsonl | sed 's/$/\r/' >> crlf.jsonl
head -n 3 later.jsonl > lf.jsonl
"$binary" eval hear crlf.jsonl --json > crlf.json 2> message || miss "CRLF: $(cat message)"
"$binary" eval hear lf.jsonl --json > lf.json 2> message
holds "CRLF and a byte order mark" cmp crlf.json lf.json
quietly train hear.jsonl --unaligned text --layers 1 --hidden 24 --steps 40 --chunks 3 --checkpoint-time 8 --out chunks --json > chunks.json 2> message || miss "chunks: $(cat message)"
quietly train hear.jsonl --unaligned text --layers 1 --hidden 24 --steps 40 --out whole --json > whole.json 2> message
holds "chunks of time change nothing" cmp chunks/model.safetensors whole/model.safetensors
refuses "another loss" 2 "--loss 'mse' is not supported by the task transcribe" train hear.jsonl --unaligned text --loss mse --steps 1 --out no
refuses "no transcript" 3 "needs a text with its own length" train hear.jsonl --task transcribe --steps 1 --out no
refuses "a GPU for texts" 4 "on the CPU only" train hear.jsonl --unaligned text --device xla --steps 1 --out no

echo "sequences: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
