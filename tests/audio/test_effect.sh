#!/bin/bash
# The task effect: pairs of sounds of a synthetic amplifier are learned, with a delay; predictions and streams are sounds
# with the same bits; bad pairs and devices without the loss are refused. Usage: test_effect.sh UNROLL
# test: kinds=check-plain; args=$B/unroll; seconds=20; if=python3
unroll=$(realpath "$1")
here=$(cd "$(dirname "$0")/../.." && pwd)
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
export UNROLL_CACHE=off PYTHONDONTWRITEBYTECODE=1
passed=0 failed=0
holds() { what=$1; shift; if "$@"; then passed=$((passed + 1)); else echo "FAILED $what"; failed=$((failed + 1)); fi; }
says() { grep -q -- "$1" message && grep -q 'fix: ' message; }
number() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$@"; }
below() { python3 -c 'import sys; sys.exit(not float(sys.argv[1]) < float(sys.argv[2]))' "$@"; }

python3 "$here/bench/make_amp.py" amp --seconds 12 --rate 8000 --delay 37 || exit 2
"$unroll" inspect amp >message 2>&1
holds "a lag is reported: $(cat message)" grep -q 'the target seems to lag by 37 samples, not 0; --delay auto corrects it' message
"$unroll" inspect amp --delay auto >message 2>&1
holds "a lag is found: $(cat message)" grep -q 'the target lags by 37 samples, which is corrected' message
holds "and the task" grep -q '^task     effect' message
"$unroll" inspect amp --delay 37 >message 2>&1
holds "a lag that is given: $(cat message)" test "$(grep -c 'seems to lag' message)" = 0

train() { "$unroll" train "$@" --hidden 8 --batch 8 --bptt 512 --threads 1 --quiet; }
train amp --delay 37 --epochs 60 --out run >message 2>&1
holds "training: $(tail -2 message)" test -e run/model.safetensors
"$unroll" eval run amp --json >eval.json 2>message
holds "the amplifier is learned: $(cat eval.json message)" below "$(number eval.json esr)" .2
holds "the dry sound is worse: $(cat eval.json)" below .3 "$(number eval.json floor)"
train amp --epochs 2 --no-stateful --seed 3 --out reset >message 2>&1
holds "without carried states: $(tail -2 message)" test -e reset/model.safetensors
train amp --delay 37 --steps 20 --out one >message 2>&1
train amp --delay 37 --steps 20 --threads 2 --out two >message 2>&1
holds "the threads do not change the weights" cmp -s one/model.safetensors two/model.safetensors

"$unroll" predict run amp/input.wav -o wet.wav >message 2>&1
holds "a sound is written: $(cat message)" grep -q '^saved wet.wav' message
"$unroll" stream run --format wav <amp/input.wav >live.wav 2>message
holds "a stream has its bits: $(cat message)" cmp -s <(tail -c +59 wet.wav) <(tail -c +59 live.wav)
# The error to signal ratio of the sound is that of eval, which reads pieces with a context.
ratio=$(python3 - <<'END'
import struct
def read(path):
    data = open(path, "rb").read()
    assert data[:4] == b"RIFF" and struct.unpack("<I", data[4:8])[0] == len(data) - 8, path
    begin = data.index(b"data") + 8
    assert struct.unpack("<I", data[begin - 4:begin])[0] == len(data) - begin, path
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])
wet, target = read("wet.wav"), read("amp/target.wav")[37:]
print(sum((y - z) ** 2 for y, z in zip(target, wet)) / sum(y * y for y in target))
END
)
holds "eval and the sound agree: $ratio, $(cat eval.json)" python3 -c 'import sys; a, b = map(float, sys.argv[1:]); sys.exit(not abs(a / b - 1) < .02)' "$ratio" "$(number eval.json esr)"
"$unroll" stream run --format wav --write csv <amp/input.wav 2>message | head -n 1 >line
holds "lines of a stream: $(cat line)" grep -Eq '^-?[0-9.e-]+$' line
tar cf amp.tar amp
"$unroll" eval run amp.tar --json >again.json 2>message
holds "an archive: $(cat message)" cmp -s eval.json again.json

# Several recordings: the states are reset at each
python3 - <<'END'
import os, shutil, struct
os.mkdir("many")
for name, part in (("a", slice(0, 40000)), ("b", slice(40000, 96000))):
    for role in ("input", "target"):
        data = open(f"amp/{role}.wav", "rb").read()
        begin = data.index(b"data") + 8
        body = data[begin:][4 * part.start:4 * part.stop]
        open(f"many/{name}-{role}.wav", "wb").write(data[:begin - 4] + struct.pack("<I", len(body)) + body)
END
train many --delay 37 --epochs 3 --out several >message 2>&1
holds "several pairs: $(tail -2 message)" test -e several/model.safetensors

# Bad pairs
python3 - <<'END'
import math, os, struct, wave
def write(path, samples, rate=8000, channels=1):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with wave.open(path, "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(b"".join(struct.pack("<h", round(20000 * x)) for x in samples))
tone = [math.sin(t * t / 30000) for t in range(4000)]
write("lengths/input.wav", tone), write("lengths/target.wav", tone[:3900])
write("little/input.wav", tone), write("little/target.wav", tone[:3990])
write("rates/input.wav", tone), write("rates/target.wav", tone, 16000)
write("silence/input.wav", tone), write("silence/target.wav", [0] * 4000)
write("alone/x-input.wav", tone)
write("twice/input.wav", tone), write("twice/target.wav", tone), write("twice/output.wav", tone)
write("stereo/input.wav", [x for s in tone for x in (s, s)], channels=2), write("stereo/target.wav", tone)
write("short/input.wav", tone[:100]), write("short/target.wav", tone[:100])
write("fast/in.wav", tone, 16000)
END
refuses() {
    what=$1 text=$2
    shift 2
    "$unroll" "$@" >out 2>message
    status=$?
    holds "$what is refused: $(cat message)" test $status != 0
    holds "$what: $(cat message)" says "$text"
}
refuses "another length" "the input has 4000 samples and the target 3900, which differ by more than 1%" inspect lengths
"$unroll" inspect little >message 2>&1
holds "a little longer: $(cat message)" grep -q 'the input has 10 samples more, which are not used' message
refuses "another rate" "'rates/target.wav' has 16000 samples a second, not 8000" inspect rates
refuses silence "'silence/target.wav' is silent" inspect silence
refuses "one file" "has 'x-input' without 'x-target'" inspect alone
refuses "two targets" "is a second target of the same pair" inspect twice
refuses stereo "'stereo/input.wav' has 2 channels" inspect stereo
"$unroll" inspect stereo --channels first >message 2>&1
holds "the first channel: $(cat message)" grep -q '^task     effect' message
refuses "a short sound" "samples, too few for batch 32 x bptt 1024" train short --steps 1 --out no
refuses "a wrong delay" "auto, or samples from -2000 to 2000" inspect amp --delay much
refuses "a sound of another rate" "has 16000 samples a second, and the model was trained with 8000" predict run fast/in.wav -o no.wav
refuses "a sound of two channels" "the sound has 2 channels" predict run stereo/input.wav -o no.wav
refuses "no file for the sound" "-o out.wav" predict run amp/input.wav
python3 -c 'print("x,y,target", *(f"{i % 7},{i % 5},{i % 7 + .25}" for i in range(60)), sep="\n")' >table.csv
"$unroll" train table.csv --task regress --target target --hidden 4 --steps 2 --val 0 --quiet --out table >message 2>&1
holds "training on a table: $(tail -2 message)" test -e table/model.safetensors
refuses "a model without a sound" "does not read one number a step" predict table amp/input.wav -o no.wav
refuses "a GPU" "on the CPU only" train amp --device xla --steps 1 --out no
refuses "another loss" "is not supported by the task effect" train amp --loss xent --steps 1 --out no
refuses "both directions" "bidirectional" train amp --bidirectional --steps 1 --out no
holds "nothing is written" test ! -e no -a ! -e no.wav
echo "test_effect: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
