#!/bin/bash
# Everyday jobs with the command, from raw files: description, training without options, evaluation, predictions in the
# user's labels, plots; and how parts of the data are kept apart. Small generated data, one thread.
#     tests/cli/test_tasks.sh BINARY
# test: args=$B/unroll
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
# holds NAME COMMAND...: the command succeeds
holds() { local name=$1; shift; if "$@" > held 2>&1; then pass; else miss "$name: $*: $(tail -n 2 held)"; fi; }
unroll() { "$binary" "$@"; }
quietly() { "$binary" "$@" --threads 1 --quiet; }
# refuses NAME CODE TEXT ARGUMENTS...: exits with the code and a message that contains the text
refuses() {
    local name=$1 code=$2 text=$3
    shift 3
    unroll "$@" > output 2> message < /dev/null
    local found=$?
    if [ $found = "$code" ] && grep -qF -- "$text" message; then pass
    else miss "$name: exit $found: $(tr '\n' ' ' < message)"; fi
}
number() { sed -n "s/.*\"$1\": *{[^}]*\"$2\": *\([-0-9.e]*\).*/\1/p" "$3"; }
above() { awk "BEGIN { exit !($1 > $2) }"; }

# Some hundred words of vowels or of consonants, each with a label.
awk 'BEGIN { srand(3); print "word,sort"; split("a e i o u", v, " "); split("b c d f g h k l m n", c, " ")
    for (i = 0; i < 450; i++) { w = ""; k = i % 3 == 0
        for (n = 3 + int(rand() * 5); n > 0; n--) w = w (k ? v[1 + int(rand() * 5)] : c[1 + int(rand() * 10)])
        print w "," (k ? "open" : "closed") } }' > words.csv
sed -n '1p;200,$p' words.csv > rest.csv

# ---- the description of a file ----
unroll inspect words.csv > output 2> message
holds "inspect: the column" grep -q 'sort *category of each example, 2 distinct: closed 300, open 150' output
holds "inspect: the task" grep -q "^task     classify: labels in 'sort'" output
holds "inspect: the command" grep -q '^command  unroll train words.csv --task classify$' output
holds "inspect --json" sh -c "'$binary' inspect words.csv --json | grep -q '\"task\":\"classify\"'"
unroll inspect words.csv --column sort=ignore > output 2> message
holds "an ignored column" sh -c '! grep -q sort.*category output'

# ---- training without options ----
quietly train words.csv --epochs 4 --val 30 --test 30 --out run --json > result 2> message || miss "train: $(cat message)"
holds "val is counted" [ "$(number val examples result)" = 30 ]
holds "test is counted" [ "$(number test examples result)" = 30 ]
holds "it learns" above "$(number test accuracy result)" 0.9
holds "the floor" above "$(number test accuracy result)" "$(number test floor result)"
holds "details are kept" grep -q '"confusion"' run/details.json
holds "the task is said" sh -c "'$binary' train words.csv --epochs 0.1 --threads 1 --dry-run 2>&1 | grep -q \"task classify: labels in 'sort'.*--task chooses another\""
quietly train words.csv --epochs 4 --val 30 --test rest.csv --out file --json > result 2> message || miss "a test file: $(cat message)"
holds "a file to test on" [ "$(number test examples result)" = 252 ]
quietly train words.csv --steps 20 --val 0 --out none --json > result 2> message
holds "no val, no test" sh -c '! grep -q "\"val\"\|\"test\"" result'
holds "patience is off with --steps" grep -q '"patience": 0' none/config.json
holds "and on with epochs" grep -q '"patience": [1-9]' run/config.json
refuses "a share above a half" 2 "neither a share nor a count" train words.csv --val 0.7
refuses "all is held out" 3 "fix: " train words.csv --val 450

# Options that a task does not accept or would not use are refused before training.
refuses "a loss of numbers for labels" 2 "fix: use xent" train words.csv --loss mse --out never
refuses "levels of a loss that has none" 2 "fix: " train words.csv --loss xent:0.5 --out never
refuses "any loss of a text" 2 "fix: use xent" train words.csv --task lm --loss foo --out never
refuses "a pool of a text" 2 "leave --pool out" train words.csv --task lm --pool last --out never
refuses "tokens of a text's batch" 2 "does not use it" train words.csv --task lm --batch 300-tokens --out never
awk 'BEGIN { print "t,load,town,odd"; for (i = 0; i < 200; i++)
    printf "2024-%02d-%02d,%.3f,%s,%d\n", 1 + int(i / 28), 1 + i % 28, 10 + sin(i), i % 3 ? "Ulm" : "Bonn", i % 40 == 7 }' > towns.csv
refuses "a pool of a forecast" 2 "leave --pool out" train towns.csv --task forecast --pool max --out never
refuses "a label that labels nothing" 3 "marks each step as an anomaly" train towns.csv --task anomaly --label town --out never
refuses "the time as a label" 3 "orders the rows" train towns.csv --task anomaly --label t --out never
refuses "a bptt that cuts nothing" 2 "does not use it" train towns.csv --task regress --target load --bptt 5 --out never
holds "nothing was begun" [ ! -e never ]
quietly train towns.csv --task anomaly --label odd --steps 2 --val 60 --out labeled
holds "a label of steps" [ -f labeled/model.safetensors ]
refuses "a checkpoint of a file" 2 "is a file" inspect labeled/model.safetensors --checkpoint newest
refuses "a checkpoint of data" 2 "is data" inspect towns.csv --checkpoint 9999
refuses "a tolerance of no comparison" 2 "does nothing without --compare" run labeled x.npz --tolerance 0.1 -o y.npz
refuses "a tolerance of no pieces" 2 "does nothing without --pieces" run labeled x.npz --time-tolerance 0.1 -o y.npz
for words in "--ranks 1 train words.csv --help" "--ranks 1 train words.csv -h" "train --help"; do
    unroll launch $words > output 2> message
    holds "launch $words" sh -c "[ $? = 0 ] && grep -q '^usage: unroll train' output"
done

# One short series does not prevent the predictions of the others.
awk 'BEGIN { print "store,day,sales"; for (s = 0; s < 3; s++) for (i = 0; i < (s == 1 ? 3 : 150); i++)
    printf "S%d,%d,%.3f\n", s, i, 10 + s + sin(i) }' > unequal.csv
quietly train unequal.csv --task forecast --group store --time day --season 7 --horizon 4 --steps 5 --val 0 --out unequal
unroll predict unequal unequal.csv > output 2> message
holds "the others are predicted" [ "$(cut -d, -f1 output | sort | uniq -c | tr -s ' \n' ' ')" = " 4 S0 4 S2 1 store " ]
holds "the short one is named" grep -q "^note: no prediction: .*series 'S1' has 3 steps" message
sed -n '1p;/S1/p' unequal.csv > short.csv
refuses "short ones alone" 3 "series 'S1' has 3 steps" predict unequal short.csv

unroll predict unequal unequal.csv -o saved.csv > output 2> message
holds "a table of forecasts" [ "$(head -n 1 saved.csv) $(sed 1d saved.csv | cut -d, -f1 | tr '\n' ' ')" = "store,day,sales,sales_0.1,sales_0.9 S0 S0 S0 S0 S2 S2 S2 S2 " ]
awk 'BEGIN { print "text,kind"; for (i = 0; i < 60; i++) print "word" i % 2 "," (i % 2 ? "\"a, \"\"b\"\"\"" : "plain") }' > quoted.csv
quietly train quoted.csv --task classify --steps 3 --val 0 --out quoted
unroll predict quoted quoted.csv -o saved.csv > output 2> message
holds "quoted labels are read back" python3 -c 'import csv
rows = list(csv.DictReader(open("saved.csv", newline="")))
assert len(rows) == 60 and {row["truth"] for row in rows} == {"plain", "a, \"b\""}'

# Derived columns: the steps to the end of each series, and those of another table; the next data may end anywhere.
awk 'BEGIN { srand(3); print "unit,cycle,heat"; for (u = 1; u <= 6; u++) for (c = 1; c <= 20 + 9 * u; c++)
    printf "%d,%d,%.3f\n", u, c, (c / (20 + 9 * u)) ^ 3 + rand() / 9 }' > engines.csv
awk 'BEGIN { print "unit,maker,age"; for (u = 6; u >= 1; u--) print u ",m" u % 2 "," 10 * u }' > makers.csv
derived="--group unit --time cycle --countdown rul=30 --static makers.csv --key unit"
unroll inspect engines.csv $derived --json > output 2> message
holds "derived columns" python3 -c 'import json
found = json.load(open("output"))
columns = {c["name"]: c for c in found["columns"]}
assert columns["rul"]["max"] == 30 and columns["rul"]["min"] == 0 and columns["rul"]["missing"] == 0
left = [min(30, 20 + 9 * u - c) for u in range(1, 7) for c in range(1, 21 + 9 * u)]
assert abs(columns["rul"]["mean"] - sum(left) / len(left)) < 1e-4
assert columns["maker"]["most_frequent"] == {"m0": sum(20 + 9 * u for u in (2, 4, 6)), "m1": sum(20 + 9 * u for u in (1, 3, 5))}
assert found["first"][0] == {"unit": "1", "cycle": "1", "heat": found["first"][0]["heat"], "rul": 28, "maker": "m1", "age": 10}'
quietly train engines.csv $derived --task regress --target rul --window 16 --context 8 --steps 5 --val 0 --out rul
quietly train engines.csv $derived --task regress --target rul --steps 5 --val 0 --out unwindowed
holds "windows are kept" sh -c "! cmp -s rul/model.safetensors unwindowed/model.safetensors"
(cd / && "$binary" predict "$place/rul" "$place/engines.csv") > output 2> message
holds "a prediction for each step, without the truth" [ "$(grep -cE '^[1-6].[0-9]+.-?[0-9.]+$' output)" = 309 ]
holds "the time has its name in the data" [ "$(head -n 1 output)" = unit,cycle,rul ]
awk -F, -v OFS=, '{ print $0, (NR == 1 ? "state" : ($2 > 20) ? "old" : "new") }' engines.csv > states.csv
quietly train states.csv --group unit --time cycle --task tag --target state --window 16 --context 4 --steps 3 --val 0 --out states
unroll predict states states.csv --keep cycle,heat > output 2> message
holds "kept columns of windows" [ "$(awk -F, '{ print $1, $2, $3 + 0 }' output)" = "$(awk -F, '{ print $1, $2, $3 + 0 }' engines.csv)" ]
refuses "an end that is not known" 3 'if each series is complete, --countdown rul=30' eval rul engines.csv
unroll eval rul engines.csv --countdown rul=30 > output 2> message
holds "a countdown of later data" grep -q '^MAE [0-9.]* .*, 309 examples$' output
holds "a countdown is noted" grep -q "^note: 'rul' counts the remaining steps" message
awk -F, -v OFS=, '{ print $0, NR == 1 ? "rul" : 30 - (n[$1] = $1 == last ? n[$1] + 1 : 0) % 30; last = $1 }' engines.csv > known.csv
for more in "" "--countdown rul=30"; do unroll eval rul known.csv $more 2> message; done > output
holds "a column of the data is read instead" [ "$(sort -u output | wc -l) $(wc -l < output)" = "1 2" ]
refuses "another countdown" 2 'the model was trained with rul=30' eval rul engines.csv --countdown rul=9
refuses "a countdown that the model lacks" 2 "the model has no column 'rul'" eval unequal unequal.csv --countdown rul
unroll train engines.csv $derived --task regress --target rul --steps 5 --val engines.csv --test engines.csv --out later > output 2>&1
holds "a countdown of files that are held out" grep -q '^  test MAE .*, 309 examples$' output
sed 2d makers.csv > fewer.csv
refuses "a key without a row" 3 "no row for '6' of 'unit'" inspect engines.csv --static fewer.csv --key unit
{ cat makers.csv; sed -n 2p makers.csv; } > twice.csv
refuses "a key with two rows" 3 "has two rows for '6'" inspect engines.csv --static twice.csv --key unit
refuses "a table without a key" 2 "fix: name it with --key" inspect engines.csv --static makers.csv
refuses "a column that is none" 2 "has no column 'unity', which --key names" train engines.csv --static makers.csv --key unity --out never
refuses "a countdown of nothing" 2 "it must be NAME or NAME=N" train engines.csv --countdown =3 --out never
awk 'BEGIN { for (i = 0; i < 40; i++) printf "{\"x\": [%d, 2], \"y\": %d.5}\n", i, i }' > pairs.jsonl
refuses "a window of examples" 2 "are for series" train pairs.jsonl --task regress --window 9 --out never

# Events of a log: the least expected one of each line.
awk 'BEGIN { for (i = 0; i < 300; i++) { s = "open"; for (k = 1 + i * i % 7 % 4; k > 0; k--) s = s " read 1" i; print s, "close" } }' > sessions.log
quietly train sessions.log --task events --tokens blanks --mask numbers --hidden 16 --batch 4 --epochs 30 --out events
printf 'open read 7 close\n\nopen read 8 read 99 read 5\nopen close read 3 close\nopen read 4' > today.log
unroll predict events today.log --json > output 2> message
holds "the least expected event" python3 -c 'import json
lines = [json.loads(line) for line in open("output")]
assert [line["line"] for line in lines] == [1, 3, 4, 5], lines
assert [line["text"] for line in lines] == [line for line in open("today.log").read().split("\n") if line], lines
assert [line["anomaly"] for line in lines] == [False, True, True, False], lines
assert (lines[1]["event"], lines[1]["step"]) == ("end of line", 8) and lines[2]["event"] == "close" and lines[2]["step"] == 2, lines'
holds "the line of the file" sh -c "'$binary' predict events today.log 2> message | sed -n 4p | cut -d, -f1,3- | grep -qx '4,true,2,close,open close read 3 close'"
holds "as a table" sh -c "'$binary' predict events today.log -o today.csv 2> message && grep -q '^4,.*,open close read 3 close$' today.csv"
gzip -k today.log
holds "of a packed log as the model reads it" sh -c "'$binary' predict events today.log.gz --json 2> message | sed -n 3p | grep -q '\"open close read 0 close\"'"
holds "how many lines are anomalies" sh -c "'$binary' eval events today.log 2> message | grep -q '0.5000 of the lines are anomalies'"
refuses "events of letters" 3 "fix: use --tokens blanks" train sessions.log --task events --out never
quietly train sessions.log --task events --tokens blanks --batch 4 --steps 2 --val 0 --out untaught
refuses "what no validation has taught" 2 "train it with a validation" predict untaught today.log

# Intervals learned from a calm series do not cover a wild one.
awk 'BEGIN { srand(2); print "day,sales"; for (i = 0; i < 200; i++) printf "%d,%.3f\n", i, sin(i) + rand() / 50 }' > calm.csv
awk 'BEGIN { srand(2); print "day,sales"; for (i = 0; i < 200; i++) printf "%d,%.3f\n", i, sin(i) + 4 * rand() }' > wild.csv
quietly train calm.csv --task forecast --time day --season 7 --horizon 4 --steps 60 --val 0 --out calm
unroll eval calm wild.csv > output 2> message
holds "an interval that does not hold is reported" grep -qE '^note: the interval of 80% covers [0-9]+% of the truth here' message

# Whole groups of a table of units are held out and named; the validation line names the deciding metric.
awk 'BEGIN { srand(4); print "unit,cycle,heat,rul"; for (u = 1; u <= 10; u++) { n = 40 + 3 * u
    for (c = 1; c <= n; c++) printf "u%d,%d,%.3f,%d\n", u, c, c / n + rand() / 9, n - c } }' > engines.csv
unroll train engines.csv --task regress --group unit --target rul --epochs 3 --threads 1 --out engines --json > result 2> message
holds "whole groups by themselves" grep -qE '^validation: 2 of 10 series: u[0-9]+, u[0-9]+ \(--val\)$' message
holds "the metric is in the line" grep -qE '^step .*  val mae [0-9.]+ best  ' message
holds "no line is longer than a terminal" awk '/^step / && length > 80 { exit 1 }' message
holds "the best by that metric" python3 -c 'import json
r = json.load(open("result")); lines = [json.loads(l) for l in open("engines/metrics.jsonl")]
best = min((l["val_metric"], l["step"]) for l in lines if l["val_metric"] is not None)
assert r["best_metric"]["name"] == "mae" and r["best_metric"]["step"] == best[1] == [l["step"] for l in lines if l.get("best")][-1]
assert abs(r["best_metric"]["value"] - best[0]) < 1e-6'
unroll train engines.csv --task regress --group unit --target rul --epochs 1 --threads 1 --val groups:3 --test groups:0.2 --out three > output 2>&1
holds "a number and a share of groups" [ "$(grep -cE '^(validation: 3|test: 1) of 10 series: ' output)" = 2 ]
unroll train engines.csv --task regress --group unit --target rul --epochs 1 --threads 1 --val 10 --out ends > output 2>&1
holds "the ends of all" grep -q '^validation: the last steps of each of 10 series, 100 of 565 (--val)' output
refuses "groups and ends" 2 "groups for both" train engines.csv --task regress --group unit --target rul --val groups --test 0.1
refuses "groups of forecasts" 4 "not whole groups" train engines.csv --task forecast --group unit --target heat --val groups
refuses "groups of no number" 2 "neither a share nor a count of groups" train engines.csv --group unit --val groups:many

# Columns that the model does not know are kept next to predictions, and labels that it does not know are measured by.
(echo id,text,kind; for i in $(seq 60); do echo "00$i,word$((i % 2)),k$((i % 2))"; done) > ids.csv
quietly train ids.csv --task classify --target kind --column id=ignore --val 0 --steps 3 --out ids
unroll predict ids ids.csv --keep id > output 2> message
holds "ids are kept" [ "$(head -n 1 output) $(sed 1d output | cut -d, -f1 | head -n 3 | tr '\n' ' ')" = "id,label,probability,truth 001 002 003 " ]
refuses "no such column" 3 "has no column 'idd'" predict ids ids.csv --keep id,idd
refuses "a text is not kept" 3 "cut into tokens" predict ids ids.csv --keep text
unroll predict engines engines.csv --keep heat,cycle > output 2> message
holds "inputs are kept" [ "$(cut -d, -f1-3 output | sed -n '1p;42p' | tr '\n' ' ')" = "unit,cycle,heat u1,41,$(sed -n '42p' engines.csv | cut -d, -f3 | sed 's/0*$//') " ]
awk 'BEGIN { print "day,promo,slogan,sales"; for (i = 1; i <= 60; i++) print i "," i % 9 % 2 ",s" i "," (i > 57 ? "" : 10 + i % 7) }' > promo.csv
quietly train promo.csv --task forecast --time day --target sales --column slogan=ignore --season 7 --horizon 4 --steps 5 --val 0 --out promo
unroll predict promo promo.csv --keep slogan,promo > output 2> message
holds "columns of the future are kept: $(cat output)" [ "$(cut -d, -f1-3 output | tr '\n' ' ')" = "day,promo,slogan 58,0,s58 59,1,s59 60,0,s60 61,, " ]
awk 'BEGIN { srand(6); print "load,odd"; for (i = 0; i < 400; i++) print sin(i / 4) + rand() / 20 + (i % 90 == 80 ? 4 : 0) "," (i % 90 == 80) }' > odd.csv
quietly train odd.csv --task anomaly --target load --column odd=ignore --season 25 --steps 60 --hidden 8 --val 100 --out judge
unroll eval judge odd.csv > output 2> message
holds "no label, no score of alarms" sh -c '! grep -q auc output'
unroll eval judge odd.csv --label odd > output 2> message
holds "a label that the training did not have" grep -qE 'auc (0\.[89]|1)' output

# inspect of a run says what it is for and what to type next; of data it prints the whole command.
unroll inspect engines > output 2> message
for words in '^task  *regress$' '^ .*rul number, predicted$' '^group  *unit$' '^validation  *mae [0-9.]* at step [0-9]*$' \
    '^next  *unroll predict engines .*/engines.csv -o predictions.csv$'; do
    holds "inspect engines: $words" grep -q "$words" output
done
holds "which can be pasted" sh -c "unroll() { '$binary' \"\$@\"; }; $(sed -n 's/^next  *//p' output) 2> message && [ \$(wc -l < predictions.csv) = 566 ]"
unroll inspect three > output 2> message
holds "inspect has the test" grep -qE '^test  *MAE [0-9.]+ \(mean [0-9.]+\)' output
awk 'BEGIN { srand(8); print "session_id,timestamp,item_id"; for (i = 0; i < 240; i++) print "s" int(i / 4) "," 1700000000 + 60 * i ",item" int(9 * rand()) }' > clicks.csv
holds "inspect suggests groups of items" sh -c "'$binary' inspect clicks.csv 2> message | grep -q '^command  unroll train clicks.csv --group session_id --task recommend$'"

quietly train clicks.csv --group session_id --task recommend --hidden 8 --steps 5 --val 0 --out clicks
unroll predict clicks clicks.csv --keep timestamp --top-k 1 > output 2> message
holds "a session keeps its last row" [ "$(cut -d, -f1,2 output | head -n 3 | tr '\n' ' ')" = "session_id,timestamp s0,2023-11-14 22:16:20 s1,2023-11-14 22:20:20 " ]
refuses "the task is in the model" 2 "fix: leave out --task" predict clicks clicks.csv --task recommend
printf 'open read close\nopen write close\n%.0s' $(seq 30) > events.log
refuses "events are a task of their own" 3 "fix: for logs and other texts use --task events" train events.log --task anomaly --tokens blanks

# Rows of categories alone are examples, too.
awk 'BEGIN { srand(4); print "color,smell,class"; for (i = 0; i < 300; i++) { r = rand() < .5; f = rand() < .5
    print (r ? "red" : "green") "," (f ? "foul" : "sweet") "," (r && f ? "bad" : "good") } }' > mushrooms.csv
quietly train mushrooms.csv --target class --layout examples --val 0 --steps 80 --hidden 16 --lr 0.02 --out mushrooms
unroll eval mushrooms mushrooms.csv > output 2> message
holds "examples of categories: $(cat output message)" grep -q '^accuracy 1\.0000 (majority 0\.7' output
unroll predict mushrooms mushrooms.csv > output 2> message
holds "one prediction a row" [ "$(wc -l < output)" = 301 ]

# Numbers have as many digits as needed, and keys next to them.
awk 'BEGIN { print "month,population"; for (i = 0; i < 150; i++)
    printf "%d-%02d-01,%d\n", 1990 + int(i / 12), 1 + i % 12, 333424012 + 50000 * sin(i / 2) }' > large.csv
quietly train large.csv --task forecast --season 12 --horizon 4 --steps 5 --val 0 --out large
unroll predict large large.csv > output 2> message
holds "all digits of large numbers" sh -c "sed 1d output | cut -d, -f2 | grep -qv e && sed 1d output | grep -cE '^[-0-9]+,333[0-9]{6}' | grep -qx 4"
holds "all digits as JSON" sh -c "'$binary' predict large large.csv --json 2> message | grep -qE '333[0-9]{6}\.[0-9]'"
awk 'BEGIN { print "t,x,y"; for (i = 99; i >= 0; i--) printf "2024-01-%02d %02d:00:00,%d,%.2f\n", 1 + int(i / 24), i % 24, i % 7, 3 * (i % 7) }' > backward.csv
quietly train backward.csv --task regress --target y --steps 5 --val 0 --out backward
unroll predict backward backward.csv > output 2> message
holds "the time next to a prediction" grep -qE "^2024-01-01 00:00:00,-?[0-9.]+,[0-9.]+$" output
holds "a prediction for each row" [ "$(wc -l < output)" = 101 ]

# Pictures have legends, times at the axis, the words predicted and true, and no path of a directory.
quietly train large.csv --task forecast --season 12 --horizon 4 --steps 5 --val 0 --test 12 --out "$place/pictured" 2> message
unroll plot "$place/pictured" --what answers -o forecast.svg 2> message
for words in past true predicted interval; do holds "the legend has $words" grep -q ">$words</text>" forecast.svg; done
holds "times at the axis" [ "$(grep -cE '>20[0-9][0-9]-[0-9]{2}-01</text>' forecast.svg)" -ge 2 ]
holds "no path" sh -c "! grep -qF '$place' forecast.svg"
quietly train odd.csv --task anomaly --target load --label odd --season 25 --steps 60 --hidden 8 --val 100 --test 100 --out drawn
unroll plot drawn --what answers -o odd.svg 2> message
holds "the score and its threshold" grep -q 'score, with the threshold [0-9.]' odd.svg
holds "flagged rows" grep -q '<circle class="s"' odd.svg
unroll plot run --what answers > output 2> message
holds "a matrix on the terminal" sh -c "grep -A2 -E '^true +closed +open$' output | tail -n 2 | awk 'NF != 3 { bad++ } END { exit bad > 0 || NR != 2 }'"

# With several labels, an empty cell is not an empty set.
awk 'BEGIN { srand(5); print "text,labels"; for (i = 0; i < 120; i++) { a = rand() < .5; b = rand() < .5
    print (a ? "apple " : "") (b ? "bread " : "") "now," (a ? "A" : "") (a && b ? "|" : "") (b ? "B" : "") (a + b ? "" : "|") } }' > sets.csv
quietly train sets.csv --column labels=set --steps 60 --val 0 --out sets
unroll eval sets sets.csv > all 2> message
sed -n '2,$s/,.*/,/p' sets.csv | cat sets.csv - > unlabeled.csv
unroll eval sets unlabeled.csv > output 2> message
holds "unlabeled rows change no score" cmp all output
holds "they are counted" grep -q "^note: 120 of 240 examples have no 'labels' and do not count" message

# ---- bits ----
quietly train words.csv --steps 24 --val 0 --out whole
quietly train words.csv --steps 13 --schedule-steps 24 --val 0 --out parts
quietly train --resume parts --steps 24
holds "a resumed run has the same bits" cmp whole/model.safetensors parts/model.safetensors
quietly train words.csv --steps 24 --val 0 --augment shift=1,mask=2 --out changed
quietly train words.csv --steps 13 --schedule-steps 24 --val 0 --augment shift=1,mask=2 --out again
quietly train --resume again --steps 24
holds "changed examples are the same when they come again" cmp changed/model.safetensors again/model.safetensors
holds "they are others" sh -c '! cmp -s changed/model.safetensors whole/model.safetensors'
refuses "no such change" 2 "its options are noise, shift, mask" train words.csv --augment blur=1 --out never
refuses "no examples" 4 "has no examples to change" train words.csv --task lm --augment noise=1 --out never
quietly train words.csv --steps 24 --val 0 --batch 200-tokens --out budget
holds "batches by steps" [ -f budget/model.safetensors ]
quietly train words.csv --epochs 2 --val 0 --batch 8 --accumulate 4 --out sums --json > result
holds "updates of several batches" grep -q '"steps":30,' result

# ---- predictions ----
printf 'aeiou\nbcdfg\n' > new.txt
unroll predict run new.txt > output 2> message
holds "answers to lines" [ "$(cut -d , -f 1 output | tr '\n' ' ')" = "label open closed " ]
printf 'word\nuuaa\n' | unroll predict run - --json > output 2> message
holds "answers as JSON" grep -q '^{"label":"open","probability":0.*"probabilities":{' output
printf 'word\nuuaa\n' | unroll predict run - --json --top-k 1 > output 2> message
holds "the likeliest" grep -qE '"top":\[\["open",0\.[0-9]+\]\]' output
holds "a table of one column and one row" [ "$(wc -l < output)" = 1 ]
unroll predict run words.csv > by_name 2> message
unroll predict run - < words.csv > output 2> message
holds "a table on standard input" cmp by_name output
unroll predict run words.csv -o saved.csv > output 2> message
holds "predictions as a table" [ "$(head -n 1 saved.csv) $(wc -l < saved.csv)" = "label,probability,truth 451" ]
unroll predict run words.csv > output 2> message
holds "the table is what is printed" cmp saved.csv output
refuses "a table as JSON" 2 "give one of them" predict run words.csv -o saved.csv --json
refuses "a table over the data" 2 "is the input file" predict run words.csv -o words.csv
refuses "a table nowhere" 5 "write to another place" predict run words.csv -o nowhere/saved.csv
unroll predict run new.txt --top-k 2 > output 2> message
holds "the likeliest two" [ "$(head -n 1 output) $(sed 1d output | cut -d, -f1,3 | tr '\n' ' ')" = "label_1,probability_1,label_2,probability_2 open,closed closed,open " ]
unroll eval run words.csv > output 2> message
holds "eval prints its floor" grep -qE '^accuracy [01]\.[0-9]+ \(majority 0\.6667\), macro F1' output
holds "eval --json has details" sh -c "'$binary' eval run words.csv --json 2> message | grep -q '\"details\":{\"labels\":\[\"closed\",\"open\"\]'"
awk 'BEGIN { print "who,x,label"; for (i = 0; i < 120; i++) print "p" i % 12 "," i % 7 "," (i % 12 < 6 ? "low" : "high") }' > who.csv
quietly train who.csv --group who --task classify --steps 5 --hidden 8 --val 0 --out groups
unroll predict groups who.csv --json > output 2> message
holds "answers name their group" [ "$(grep -o '"group_name":"who","group":"p[0-9]*"' output | sort -u | wc -l)" = 12 ]
sed '3~2s/,.*/,/' words.csv > half.csv; sed '2,$s/,.*/,/' words.csv > bare.csv
unroll eval run half.csv > output 2> message
holds "what has no label does not count" grep -q ', 225 examples$' output
refuses "no label at all" 3 "no targets to compare predictions with" eval run bare.csv
refuses "no such checkpoint" 3 "has no checkpoint of step 7" predict run new.txt --checkpoint 7
unroll predict run new.txt --checkpoint newest > output 2> message
holds "the newest" grep -q 'the newest weights' message
refuses "what can't stream says why" 4 "--streaming" stream run
quietly train words.csv --steps 5 --streaming --val 0 --out streams
holds "one direction" sh -c "'$binary' inspect streams 2> message | grep -q '^bidirectional *false'"

# Streams read and print numbers in the units of the data, as predict does.
awk 'BEGIN { srand(3); print "a,b,y"; for (i = 0; i < 300; i++) { a = 1000 + 50 * rand(); b = rand() / 100
    print a "," b "," 5e4 + 7 * a + 1e6 * b } }' > units.csv
quietly train units.csv --task regress --target y --steps 40 --hidden 8 --val 0 --out units
unroll predict units units.csv > output 2> message
sed 1d output | cut -d, -f1 > printed
sed 1d units.csv | cut -d, -f1,2 | unroll stream units > streamed 2> message
holds "streams are in units" awk 'NR == FNR { y[NR] = $1; next } { n++; d = $1 - y[FNR]; if (d * d > 1) exit 1 }
    END { exit n != 300 }' printed streamed

# run does, too; with --raw they are those of the network.
sed 1d units.csv | cut -d, -f1,2 | python3 -c 'import array, sys
rows = [float(v) for line in sys.stdin for v in line.split(",")]
header = b"{'"'descr': '<f4', 'fortran_order': False, 'shape': (%d, 1, 2), }"'" % (len(rows) // 2)
header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
sys.stdout.buffer.write(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + array.array("f", rows).tobytes())' > units.npy
unroll run units units.npy -o units-run.csv > output2 2> message
holds "run is in units" awk 'NR == FNR { y[NR] = $1; next } { n++; d = $1 - y[FNR]; if (d * d > 1) exit 1 }
    END { exit n != 300 }' printed units-run.csv
unroll run units units.npy --raw -o units-raw.csv > output2 2> message
holds "raw is not" awk '{ n++; if ($1 > 1e3) exit 1 } END { exit n != 300 }' units-raw.csv

# A forecast reads one period in a step, and a model has the scale of one series. Exported C gives the same.
awk 'BEGIN { srand(3); print "store,load"; for (s = 0; s < 2; s++) for (i = 0; i < 300; i++)
    printf "%s,%.3f\n", s ? "south" : "north", (s ? 30 : 3000) * (1 + sin(i * 6.2831853 / 12) / 20 + rand() / 100) }' > stores.csv
quietly train stores.csv --task forecast --group store --season 12 --horizon 4 --loss huber --steps 40 --hidden 8 --val 0 --out stores
unroll predict stores stores.csv > output 2> message
awk -F, '/south/ { row[n++] = $2 } END { for (i = n % 12; i < n; i++) printf "%s%s", row[i], (i - n % 12) % 12 == 11 ? "\n" : "," }' stores.csv |
    tail -n 12 > frames
holds "a period of the data" [ "$(awk -F, '{ print NF }' frames | sort -u)" = 12 ]
unroll stream stores --series south < frames > streamed 2> message
holds "a forecast's stream is in units" sh -c "awk -F, '/south/ { print \$NF }' output | tail -n 4 | paste -sd, > wanted
    tail -n 1 streamed | paste -d, wanted - | awk -F, '{ for (i = 1; i <= 4; i++) { d = \$i - \$(i + 4); if (d * d > 1e-6) exit 1 } exit NF != 8 }'"
refuses "a stream is one series" 2 "--series" stream stores
refuses "weights too coarse for differences" 4 "are too coarse" stream stores --series south --dtype bf16
holds "a forecast as C" "$binary" export stores --to c99 --series south --prefix south -o south.c
quietly train stores.csv --task anomaly --group store --season 12 --steps 40 --hidden 8 --val 60 --out odd
unroll predict odd stores.csv > output 2> message
holds "an anomaly names its group" [ "$(head -n 1 output)" = store,row,score,anomaly,column ]
unroll stream odd --series north < frames > streamed 2> message
holds "anomalies' streams say what comes next" [ "$(grep -c '^[-0-9.e]*$' streamed)" = 12 ]

# A classifier reads the characters of lines and prints the label so far after each; the last one equals predict's.
awk 'BEGIN { print "text,label"; for (i = 0; i < 200; i++) print "ab" i ",good\ncd" i ",bad" }' > chars.csv
quietly train chars.csv --tokens chars --streaming --steps 30 --hidden 8 --val 0 --out chars
printf 'ab7\nQd12\n' | unroll stream chars > streamed 2> message
printf 'text,label\nab7,good\nQd12,bad\n' > two.csv
unroll predict chars two.csv > output 2> message
holds "a stream of text has labels" [ "$(sed -n '3p;7p' streamed | cut -d, -f2,3 | tr -d '"' | tr , ' ')" = "$(sed 1d output | awk -F, '{ printf "%s %.4f\n", $1, $2 }')" ]
holds "unknown characters are streamed" grep -q '^"Q",' streamed

# ---- divided ----
# Two shares of exact sums are those of two ranks, which test_mpi.sh compares.
awk 'BEGIN { srand(2); print "text,label,site"; for (i = 0; i < 120; i++) { t = ""; n = 1 + int(rand() * 30)
    for (k = 0; k < n; k++) t = t (i % 3 ? "ab " : "cd "); print t "," (i % 3 ? "yes" : "no") ",s" i % 4 } }' > sites.csv
seq 3000 > prose.txt
divided=(sites.csv --tokens chars --target label --hidden 4 --batch 8 --val 0 --exact 2 --threads 1 --quiet)
for how in length stratified site; do
    unroll train "${divided[@]}" --divide-by $how --steps 26 --out whole --overwrite
    unroll train "${divided[@]}" --divide-by $how --steps 26 --schedule-steps 26 --save-every 9 --keep 9 --out cut --overwrite
    mv cut/ckpt/step-18 middle; rm -r cut/ckpt/* cut/model.safetensors; mv middle cut/ckpt/step-18
    unroll train --resume cut --quiet > output 2> message
    holds "divided by $how a run resumes in the middle of its second epoch" cmp whole/model.safetensors cut/model.safetensors
done
sed 's/s[0-9]$/s0/' sites.csv > site.csv
refuses "one site for two" 3 "fewer values than 2 ranks" train site.csv "${divided[@]:1}" --divide-by site --steps 1 --out town
refuses "a column that is none" 3 "has no column 'town'" train "${divided[@]}" --divide-by town --steps 1 --out town
refuses "a text has no sequences to divide" 4 "no sequences of its own" train prose.txt --divide-by length --steps 1 --out town

# ---- sets ----
awk 'BEGIN { for (i = 0; i < 200; i++) print (i % 3) + 40, (i % 5) + 50 }' > sets.txt
unroll train sets.txt --task lm --tokens sets --steps 2 --hidden 4 --val 0.2 --threads 1 --json > output 2> message
holds "losses of sets have one unit" awk -F'"(train_loss|val_loss)":' '/train_loss/ { t = $2 + 0; v = $3 + 0 }
    END { exit !(t > v / 2 && t < 2 * v) }' output
awk 'BEGIN { print "text,genres"; for (i = 0; i < 90; i++)
    print (i % 3 == 0 ? "red car " i ",fast|loud" : i % 3 == 1 ? "blue sea " i ",wet" : "gray wall " i ",|") }' > genres.csv
quietly train genres.csv --task classify --tokens chars --steps 150 --hidden 16 --val 0 --lr 0.01 --out genres
unroll predict genres genres.csv > output 2> message
holds "sets without a label are learned as such" [ "$(sed 1d output | sed -n '3~3p' | cut -d, -f1 | sort | uniq -c | tr -d ' ')" = 30 ]
sed 's/,|$/,/' genres.csv > gaps.csv
unroll train gaps.csv --task classify --tokens chars --steps 1 --hidden 4 --val 0 --out gaps > output 2> message
holds "missing sets are said" grep -q "^note: 'genres' is missing in 30 of 90 rows; none of the labels is written |" message
grep -v '|$' genres.csv > whole.csv
scores() { unroll eval genres "$1" 2> message | sed 's/, loss.*//'; }
holds "rows without labels do not count" test "$(scores gaps.csv)" = "$(scores whole.csv)"

# ---- fine-tuning ----
quietly train rest.csv --init run --steps 2 --val 0 --out tuned
holds "fine-tuning has its network" sh -c "'$binary' inspect tuned --json 2> message | grep -q '\"parameters\":' && grep -q '\"hidden\": 128' tuned/config.json"
unroll train rest.csv --init run --hidden 7 --steps 2 --threads 1 --val 0 --out part > output 2> message
holds "what does not fit starts from random weights" grep -q '^run: transferred: 2 of .* parameters; new: rnn.weight_ih_l0' message

# ---- plots ----
unroll plot run --what answers > output 2> message
holds "classes on the terminal" grep -q '^open *[01]\.' output
unroll plot run --what answers -o answers.svg 2> message
holds "classes as a picture" grep -q '</svg>' answers.svg
refuses "answers of two runs" 2 "draws one run" plot run file --what answers
refuses "a run without answers" 3 "has no predictions to draw" plot none --what answers

echo "tasks of the command: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
