#!/bin/bash
# The command with sounds: training on a folder of classes, evaluation and prediction of folders, archives and lone
# files, and streams of wav files and pipes, which have the bits of the prediction. Usage: test_audio.sh UNROLL
# test: kinds=check-plain; args=$B/unroll; seconds=20; if=python3
unroll=$(realpath "$1")
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
export UNROLL_CACHE=off
passed=0 failed=0
holds() { what=$1; shift; if "$@"; then passed=$((passed + 1)); else echo "FAILED $what"; failed=$((failed + 1)); fi; }
says() { grep -q -- "$1" message && grep -q 'fix: ' message; }

# Rising and falling tones with noise, 0.3 s each, 16-bit integers at 8 kHz
python3 - <<'END'
import math, os, random, struct, wave
random.seed(1)
def write(path, samples, rate=8000, channels=1):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with wave.open(path, "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(b"".join(struct.pack("<h", max(-32768, min(32767, round(32767 * x)))) for x in samples))
def sweep(begin, end, n=2400, rate=8000):
    phase, all = 0, []
    for i in range(n):
        phase += 2 * math.pi * (begin + (end - begin) * i / n) / rate
        all.append(0.3 * math.sin(phase) + 0.02 * random.gauss(0, 1))
    return all
for i in range(30):
    low = 300 + 20 * i
    write(f"tones/up/{i}.wav", sweep(low, low + 900))
    write(f"tones/down/{i}.wav", sweep(low + 900, low))
one = sweep(500, 1400)
write("up.wav", one)
write("stereo.wav", [x for s in one for x in (s, s)], channels=2)
write("fast.wav", sweep(500, 1400, 4800, 16000), 16000)
END

"$unroll" train tones --streaming --hidden 16 --epochs 20 --threads 1 --quiet --out run >message 2>&1
code=$?
holds "training: $(tail -2 message)" test $code = 0
"$unroll" inspect tones >message 2>&1
holds "rate and features of the data: $(cat message)" grep -q '8000 samples a second (--sample-rate), mfcc:13,25ms,10ms (--features)$' message
accuracy=$("$unroll" eval run tones --json 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["accuracy"])')
holds "accuracy $accuracy" python3 -c "import sys; sys.exit(not float(sys.argv[1]) > .9)" "${accuracy:-0}"
"$unroll" predict run up.wav >out 2>message
holds "a lone file: $(cat out message)" grep -q up out
# ---- transcripts: next to each sound, in LibriSpeech's layout, in a table ----
python3 - <<'END'
import os, shutil
os.makedirs("adjacent"), os.makedirs("libri/1/2"), os.makedirs("libri/1/3"), os.makedirs("table")
rows, lines = ["path,text"], {2: [], 3: []}
for i in range(24):
    way, book = ("up", "down")[i % 2], 2 + i % 2
    source, said = f"tones/{way}/{i}.wav", f"go {way}"
    shutil.copy(source, f"adjacent/{i}.wav")
    with open(f"adjacent/{i}.txt", "wb") as file:
        file.write(b"\xef\xbb\xbf" * (i == 4) + said.encode() + b"\r\n" * (i % 3 == 0))
    shutil.copy(source, f"libri/1/{book}/1-{i}.wav")
    lines[book].append(f"1-{i} {said}")
    shutil.copy(source, f"table/s{i}.wav")
    rows.append(f's{i}.wav,"{said}"' if i == 5 else f"s{i}.wav,{said}")
for book in lines:
    with open(f"libri/1/{book}/1-{book}.trans.txt", "w") as file:
        file.write("\n".join(lines[book]) + "\n")
with open("table/metadata.csv", "w") as file:
    file.write("\n".join(rows) + "\n")
END
for layout in adjacent libri table; do
    "$unroll" inspect $layout >message 2>&1
    holds "texts of $layout: $(tail -3 message)" grep -q "text  *tokens of each example, unaligned, chars, [0-9]* distinct: o 36, " message
    holds "task of $layout" grep -q "^command  unroll train $layout --task transcribe" message
done
"$unroll" train adjacent --layers 1 --hidden 16 --epochs 120 --threads 1 --quiet --out said >message 2>&1
code=$?
holds "training with transcripts: $(tail -2 message)" test $code = 0
"$unroll" eval said adjacent --json >out 2>message
holds "the texts are learned: $(cat out)" python3 -c 'import json; assert json.load(open("out"))["wer"] < .1'
"$unroll" predict said up.wav >out 2>message
holds "a lone sound has a text: $(cat out message)" grep -q "^go" out
cp up.wav adjacent/more.wav
"$unroll" eval said adjacent >out 2>message
holds "a sound without a transcript" grep -q "note: 1 of 25 sounds have no transcript and are left out" message
printf 'path,text\n3.wav,go up\n' >adjacent/more.csv
"$unroll" inspect adjacent >out 2>message
holds "two transcripts of a sound: $(cat message)" says "has two transcripts of"
rm -r adjacent/more.*
tar czf tones.tar.gz tones
"$unroll" predict run tones --json >folder 2>/dev/null
"$unroll" predict run tones.tar.gz --json >archive 2>/dev/null
holds "an archive has the predictions of its folder" test "$(sort folder | md5sum)" = "$(sort archive | md5sum)"
holds "60 predictions" test "$(wc -l <folder)" = 60

# The last step of a stream has the probabilities of the whole sound, to the last bit
"$unroll" stream run --format wav <up.wav >steps 2>message
holds "30 steps of 10 ms: $(cat message)" test "$(wc -l <steps)" = 30
cat up.wav | "$unroll" stream run >piped
holds "wav is the usual format of such a model" cmp -s steps piped
{ head -c 40 up.wav; printf '\377\377\377\377'; tail -c +45 up.wav; printf 'odd'; } | "$unroll" stream run >endless
holds "a sound of unknown length" cmp -s steps endless
probability=$("$unroll" predict run up.wav 2>/dev/null | sed -n 's/^up,//p')
last=$(tail -1 steps | cut -d, -f2)
python3 -c 'import sys; sys.exit(not (len(sys.argv[1]) > 4 and f"{float(sys.argv[2]):.6g}" == f"{float(sys.argv[1]):.6g}"))' "$probability" "$last"
holds "the stream ends with the prediction" test $? = 0
"$unroll" stream run <stereo.wav >mixed
holds "two equal channels are mixed" cmp -s steps mixed
"$unroll" stream run <fast.wav >/dev/null 2>message
holds "another rate" says "16000 samples a second, the model reads 8000"
head -c 3000 up.wav | "$unroll" stream run >/dev/null 2>message
holds "a cut stream" says "the input ends in frame 19, after 76 of 160 bytes"
echo hello | "$unroll" stream run >/dev/null 2>message
holds "a stream of text" says "not a wav file"
"$unroll" train tones --features log-mel:500 --out other >message 2>&1
holds "too many filters" says "filters are empty"
"$unroll" inspect fast.wav --sample-rate 8000 --features mfcc:5 >out 2>message
holds "another rate: $(cat out)" grep -q 'width 5' out

# A wake word: heard where it ends in a stream of other sounds, once each time
"$unroll" train tones --wake up --val 0.2 --test 12 --epochs 40 --threads 1 --json --quiet --out waking >scores 2>message
code=$?
holds "training a wake word: $(cat message)" test $code = 0
holds "misses, false accepts and how long was listened: $(cat scores)" python3 -c '
import json
test = json.load(open("scores"))["test"]
assert test["misses"] < .4 and test["floor"] == 1 and test["examples"] == 12, test
assert abs(test["hours"] - 6 * .3 / 3600) < 1e-5 and test["false_accepts"] * test["hours"] < 3, test'
"$unroll" eval waking tones >out 2>message
holds "little to listen to: $(cat message)" grep -q "note: 0.003 hours of other sounds are less than one: up to 1200 " message
python3 - <<'END'
import wave
order = ["down/0", "down/9", "up/3", "down/4", "down/11", "down/6", "down/20", "up/12", "down/8"]
with wave.open("talk.wav", "wb") as file:
    file.setparams((1, 2, 8000, 0, "NONE", ""))
    for name in order:
        file.writeframes(wave.open(f"tones/{name}.wav").readframes(2400))
END
"$unroll" stream waking <talk.wav >heard 2>message
holds "two words: $(cat heard message)" python3 -c '
heard = [line.strip().split(",") for line in open("heard")]
assert [word for _, word, _ in heard] == ["up", "up"], heard
assert .6 < float(heard[0][0]) < 1.2 and 2.1 < float(heard[1][0]) < 2.7, heard'
"$unroll" stream waking --write f32 <talk.wav >values
holds "or the probabilities of each step" test "$(wc -c <values)" = $((8 * 270))
"$unroll" predict waking tones/up/7.wav >out 2>message
holds "a lone word: $(cat out)" grep -q "^up,0" out
"$unroll" train tones --wake left --out never >message 2>&1
holds "no such class: $(cat message)" says "no class is named 'left'"
printf 'text,label\na,up\nb,down\n' >words.csv
"$unroll" train words.csv --task classify --wake up --out never >message 2>&1
holds "no sounds: $(cat message)" says "'words.csv' has no sounds"

# Labels of frames: tones in noise, whose times are in files as Audacity writes them
python3 - <<'END'
import math, os, random, struct, wave
random.seed(2)
for name in [f"calls/{i}" for i in range(24)] + ["new/24", "new/25"]:
    os.makedirs(os.path.dirname(name), exist_ok=True)
    begin = random.randrange(1000, 8000)
    end = begin + random.randrange(2000, 6000)
    x = [0.05 * random.gauss(0, 1) + (0.2 * math.sin(0.9 * t) if begin <= t < end else 0) for t in range(16000)]
    with wave.open(name + ".wav", "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(b"".join(struct.pack("<h", round(32767 * max(-1, min(1, v)))) for v in x))
    open(name + ".txt", "w").write(f"{begin / 8000:.6f}\t{end / 8000:.6f}\tcall\n")
END
"$unroll" train calls --streaming --hidden 16 --epochs 30 --threads 1 --quiet --out calling >message 2>&1
code=$?
holds "training on labels of frames: $(tail -2 message)" test $code = 0
"$unroll" eval calling new --json >scores 2>/dev/null
holds "frame F1 and AUC: $(cat scores)" python3 -c '
import json
s = json.load(open("scores"))
assert s["frame_f1"] > .9 and s["auc"] > .98 and s["auc"] <= 1, s'
"$unroll" predict calling new/24.wav 2>/dev/null >tags
holds "a tag for each frame" test "$(grep -cE '^(call|none),' tags)" = 200

# Label files: read again, they give the frames' labels after a median filter of five; bursts of a few frames need it
python3 - <<'END'
import math, os, random, struct, wave
random.seed(3)
os.makedirs("long/a")
bursts, at = [], 1000
for i in range(60):
    bursts.append((at, at + 80 * (1 + i % 7)))
    at = bursts[-1][1] + 80 * (1 + i % 11)
for name, spans in (("long/a/bursts", bursts), ("long/noise", []), ("long/whole", [(0, 32000)])):
    on = [0] * 40000
    for begin, end in spans:
        on[begin:end] = [0.2] * (end - begin)
    x = [0.05 * random.gauss(0, 1) + on[t] * math.sin(0.9 * t) for t in range(32000)]
    with wave.open(name + ".wav", "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(b"".join(struct.pack("<h", round(32767 * max(-1, min(1, v)))) for v in x))
END
"$unroll" predict calling long --keep file --json >tags 2>/dev/null
"$unroll" predict calling long --write labels >out 2>message
code=$?
holds "label files: $(cat message)" test $code = 0 -a ! -s out
holds "a sound without labels has an empty file" test -f long/noise.txt -a ! -s long/noise.txt
holds "a label until the end: $(cat long/whole.txt)" test "$(tail -1 long/whole.txt | cut -f 2,3)" = "4.000000	call"
"$unroll" predict calling long --keep file --json >again 2>message
holds "label files are read again" python3 -c '
import json
tags = {a["kept"]["file"]: a["tags"] for a in map(json.loads, open("tags"))}
read = {a["kept"]["file"]: a["truth"] for a in map(json.loads, open("again"))}
assert set(tags) == {"a/bursts.wav", "noise.wav", "whole.wav"} and set(read["noise.wav"]) == {None}
def median(t, i):
    around = [t[max(0, min(len(t) - 1, k))] for k in range(i - 2, i + 3)]
    return "call" if around.count("call") > 2 else "none"
for name in "a/bursts.wav", "whole.wav":
    t = tags[name]
    smooth = [median(t, i) for i in range(len(t))]
    assert read[name] == smooth, (name, [i for i in range(len(t)) if read[name][i] != smooth[i]])
    assert name == "whole.wav" or len(t) > sum(a != b for a, b in zip(t, smooth)) > 0
'
cp long/whole.wav lone.wav
"$unroll" predict calling lone.wav --write labels >out 2>message
holds "labels next to a lone sound: $(cat message)" cmp -s lone.txt long/whole.txt
"$unroll" predict calling long --write labels -o marks >out 2>message
holds "labels in a folder: $(cat message)" cmp -s marks/bursts.txt long/a/bursts.txt
echo mine >marks/noise.txt
rm marks/bursts.txt
"$unroll" predict calling long --write labels -o marks >out 2>message
holds "a file of labels is not replaced: $(cat message)" says "'marks/[a-z]*.txt' exists and is not replaced"
holds "and no other one is written" test "$(cat marks/noise.txt)" = mine -a ! -f marks/bursts.txt
tar czf long.tar.gz long
"$unroll" predict calling long.tar.gz --write labels >out 2>message
holds "an archive: $(cat message)" says "is in no folder"
"$unroll" predict calling long.tar.gz --write labels -o unpacked >out 2>message
holds "an archive has the labels of its folder: $(cat message)" cmp -s unpacked/bursts.txt long/a/bursts.txt
mkdir -p twice/a twice/b
cp lone.wav twice/a/one.wav
cp lone.wav twice/b/one.wav
"$unroll" predict calling twice --write labels -o two >out 2>message
holds "two sounds of one name: $(cat message)" says "two sounds have the label file 'two/one.txt'"
holds "nothing is written" test ! -e two
"$unroll" predict calling lone.wav --write labels -o lone.wav >out 2>message
holds "the folder is a file: $(cat message)" says "is the input file"
"$unroll" predict calling lone.wav --write labels -o marks/noise.txt >out 2>message
holds "the folder is another file: $(cat message)" says "-o marks/noise.txt is a file"
"$unroll" predict run tones --write labels >out 2>message
holds "a model of whole sounds: $(cat message)" says "needs a model that predicts a label for each frame of sounds"
printf 'a,label\n1,x\n2,y\n' >table.csv
"$unroll" predict calling table.csv --write labels >out 2>message
holds "data that are not sounds: $(cat message)" says "'table.csv': the input is not a wav file"
for words in --json '--keep file'; do
    "$unroll" predict calling lone.wav --write labels $words >out 2>message
    holds "with $words: $(cat message)" says "--write labels has no ${words% *}"
done
"$unroll" predict calling lone.wav --write f32 >out 2>message
holds "raw floats: $(cat message)" says "--write f32 is for stream"
"$unroll" stream calling --write labels <lone.wav >out 2>message
holds "labels of a stream: $(cat message)" says "--write labels is for predict"

# mean=sound removes the mean of each value, so that louder sounds, whose logarithms differ by a constant, are equal
python3 - <<'END'
import math, os, random, struct, wave
random.seed(4)
for i in range(24):
    folder = f"colors/{('low', 'high')[i % 2]}"
    os.makedirs(folder, exist_ok=True)
    for path, gain in ((f"{folder}/{i}.wav", 1),) + (((f"loud.wav", 3),) if i == 0 else ()):
        random.seed(i)
        x = [0.1 * random.gauss(0, 1) + 0.1 * math.sin((0.3 + 0.5 * (i % 2)) * t * (1 + t / 4000)) for t in range(4000)]
        with wave.open(path, "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            file.writeframes(b"".join(struct.pack("<h", gain * round(5000 * v)) for v in x))
END
for mean in '' ,mean=sound; do
    "$unroll" train colors --features "log-mel:12,25ms,10ms$mean" --hidden 8 --epochs 2 --threads 1 --quiet --out "colored$mean" >message 2>&1
    code=$?
    holds "training with features$mean: $(tail -2 message)" test $code = 0
    for sound in colors/low/0.wav loud.wav; do "$unroll" predict "colored$mean" $sound --json 2>/dev/null; done >"heard$mean"
done
holds "mean=sound ignores the level: $(cat heard heard,mean=sound)" python3 -c '
import json
def apart(name):
    quiet, loud = (json.loads(line)["probability"] for line in open(name))
    return abs(quiet - loud)
assert apart("heard,mean=sound") < 1e-4 < 1e-3 < apart("heard"), (apart("heard,mean=sound"), apart("heard"))
'
"$unroll" stream colored,mean=sound <loud.wav >out 2>message
holds "a stream has no mean of the whole sound: $(cat message)" says "mean"
echo "test_audio: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
