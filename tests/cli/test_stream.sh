#!/bin/bash
# `unroll stream` from the user's side: the same frames in each format, text, bad input, signals, closed pipes, and the
# benchmark of streams. What steps compute is tested in tests/stream/test_stream.c.
#     tests/cli/test_stream.sh BINARY LIBRARY
# test: args=$B/unroll $B/libunroll.a
set -u
binary=$(realpath "$1") || exit 2
library=$(realpath "$2") || exit 2
root=$(realpath "$(dirname "$0")/../..") || exit 2
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p')

passed=0 failed=0 skipped=0
pass() { passed=$((passed + 1)); }
miss() { failed=$((failed + 1)); echo "FAILED $*"; }
holds() { local name=$1; shift; if "$@"; then pass; else miss "$name"; fi; }
unroll() { "$binary" "$@"; }

# ---- models and frames ----

cat >make.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "model/model.h"

static const char *const tokens[] = { "\n", "\"", "a", "b", "\303\251" };

static void put(FILE *file, unsigned number, int bytes)
{
    for (; bytes-- > 0; number >>= 8)
        putc(number & 255, file);
}

static void save(unroll_model_config spec, const char *path, int of_text)
{
    unroll_model *model;
    if (unroll_model_new(&spec, 1, &model) != UNROLL_OK ||
        (of_text && model_set_vocabulary(model, tokens, 5) != UNROLL_OK) ||
        unroll_model_save(model, path) != UNROLL_OK)
        exit(1);
    unroll_model_free(model);
}

int main(void)
{
    FILE *csv = fopen("frames.csv", "w"), *f32 = fopen("frames.f32", "w"), *wav = fopen("frames.wav", "w");
    unroll_model_config spec = unroll_model_config_default();
    spec.hidden = 9;
    spec.input = 2;
    spec.output = 3;
    save(spec, "frames", 0);
    spec.bidirectional = 1;
    save(spec, "both", 0);
    spec.bidirectional = 0;
    spec.tokens = 1;
    spec.input = spec.output = 5;
    spec.loss = "xent";
    save(spec, "text", 1);
    fwrite("RIFF\0\0\0\0WAVEfmt \20\0\0\0\1\0\2\0@\37\0\0\0}\0\0\4\0\20\0data", 1, 40, wav);
    put(wav, 2 * 2 * 50, 4);
    for (int i = 0; i < 100; i++) {
        int sample = i * 7919 % 65536 - 32768;
        float number = (float)sample / 32768;
        put(wav, (unsigned)sample, 2);
        fwrite(&number, sizeof number, 1, f32);
        fprintf(csv, "%.9g%c", (double)number, i % 2 ? '\n' : ',');
    }
    return 0;
}
END
gcc -Wall -Wextra -Werror -I"$root/include" -I"$root/src" -I"$root" make.c "$library" -ljansson -lm -pthread -o make && ./make || exit 2

# ---- frames ----

# npy SHAPE DESCR: a header of 128 bytes
npy() { printf '\x93NUMPY\1\0\x76\0%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': $1, }"; }
{ npy '(50, 2)' '<f4'; cat frames.f32; } >frames.npy

for format in csv f32 wav npy; do
    unroll stream frames --format $format <frames.$format >out.$format
    holds "$format: 50 lines" test "$(wc -l <out.$format)" -eq 50
    holds "$format: the answers of csv" cmp -s out.csv out.$format
    unroll stream frames --format $format --write f32 <frames.$format >raw.$format
    holds "$format: 3 floats a frame" test "$(stat -c %s raw.$format)" -eq 600
    holds "$format: the floats of csv" cmp -s raw.csv raw.$format
done
holds "three numbers in a line" test "$(grep -cE '^-?[0-9.e-]+,-?[0-9.e-]+,-?[0-9.e-]+$' out.csv)" -eq 50
# One channel: two consecutive samples are a frame, and the last frame is padded with silence.
{ head -c 22 frames.wav; printf '\001\000'; tail -c +25 frames.wav; } >mono.wav
unroll stream frames --format wav <mono.wav >out.mono
holds "wav of one channel: samples in a row" cmp -s out.csv out.mono
{ head -c 40 mono.wav; printf '\306\000\000\000'; tail -c +45 mono.wav | head -c 198; } >odd.wav
{ head -n 49 frames.csv; sed -n '50s/,.*/,0/p' frames.csv; } | unroll stream frames >out.filled
unroll stream frames --format wav <odd.wav >out.odd
holds "the last frame is filled up" cmp -s out.filled out.odd
for isa in $("$binary" devices | grep -oE '\b(scalar|avx2|avx512|avx512_vnni|amx|neon)\b' | sort -u); do
    unroll stream frames --isa $isa <frames.csv >out.isa 2>message || continue
    holds "$isa: the same answers" cmp -s out.csv out.isa
done
for dtype in bf16 int8; do
    unroll stream frames --dtype $dtype <frames.csv >out.$dtype
    holds "$dtype: near fp32, not the same" awk -F, 'NR == FNR { exact[FNR] = $0; next }
        { split(exact[FNR], e); for (i = 1; i <= 3; i++) { d = e[i] - $i; d *= d; if (d > most) most = d } }
        END { exit !(FNR == 50 && most > 0 && most < 1e-3) }' out.csv out.$dtype
done
unroll stream frames </dev/null >none; holds "no frame, no answer" test $? -eq 0 -a ! -s none
{ echo '# two'; echo; tr ',' ' ' <frames.csv | sed 's/ /\t, /; s/$/ \r/'; } | unroll stream frames >out.odd
holds "blanks, comments, line ends" cmp -s out.csv out.odd
tr ',' ' ' <frames.csv | unroll stream frames >out.odd; holds "spaces instead of commas" cmp -s out.csv out.odd
{ printf '\xef\xbb\xbf'; cat frames.csv; } | unroll stream frames >out.odd 2>message
holds "a byte order mark" cmp -s out.csv out.odd
holds "of which nothing is said" test ! -s message
{ printf '\xef\xbb\xbf"left side", right\r\n'; cat frames.csv; } | unroll stream frames >out.odd 2>message
holds "a row of names" cmp -s out.csv out.odd
holds "said once" test "$(grep -c 'first row names the columns and is skipped: "left side", right' message)$(wc -l <message)" = 11

# refuses CODE WORDS INPUT ARGUMENTS...
refuses() {
    local code=$1 words=$2 input=$3 found
    shift 3
    printf "$input" | unroll stream "$@" >output 2>message
    found=$?
    [ $found -eq "$code" ] && grep -qF -- "$words" message && pass ||
        miss "stream $*: exit $found, '$(head -n 1 message)', not '$words'"
}
refuses 3 "fix: use --format wav" 'RIFFxxxxWAVEfmt ' frames
refuses 3 "fix: use --format wav" 'RIFF\44\0\0\0WAVEfmt ' frames
refuses 3 "line 2 holds a zero byte" '1,2\n3,4\0,5\n6,7\n' frames
refuses 3 "line 1 holds a zero byte" '\0\n1,2\n' frames
refuses 3 "line 1 has text after a carriage return" '1,2\r3,4\r' frames
refuses 3 "line 1 has 1 numbers" '1\n' frames
refuses 3 "line 2 holds more than 2 numbers" '1,2\n1,2,3\n' frames
refuses 3 "line 1, number 2: 'x' is not a finite number" '1,x\n' frames
refuses 3 "line 1, number 1: 'nan' is not a finite number" 'nan,1\n' frames
refuses 3 "line 1, number 1: '1e999' is not a finite number" '1e999,1\n' frames
refuses 3 "line 1, number 1: '1x' is not a finite number" '1x,2\n' frames
refuses 3 "line 1, number 1: '0x1' is not a finite number" '0x1,2\n' frames
refuses 3 "line 1, number 2: '' is not a finite number" '1,,2\n' frames
refuses 3 "line 1, number 1: '1e39' is not a finite number" '1e39,2\n' frames
refuses 3 "line 2, number 1: 'x' is not a finite number" 'x,y\nx,y\n1,2\n' frames
refuses 3 "line 2, number 1: 'x' is not a finite number" '1,2\nx,y\n' frames
refuses 3 "line 1, number 1: 'NaN' is not a finite number" 'NaN,inf\n1,2\n' frames
refuses 3 "holds no numbers, only the words 'hello there'" 'hello there\n' frames
refuses 3 "ends in frame 2, after 3 of 8 bytes" 'aaaabbbbccc' frames --format f32
refuses 3 "number 1 is NaN" '\377\377\377\177aaaa' frames --format f32
refuses 3 "is not a wav file" 'RIFFxxxxWAVY' frames --format wav
refuses 3 "the sound ends in its header" 'RIFFxxxxWAVEfmt ' frames --format wav
refuses 3 "6 bytes of samples are not a multiple of 4" 'RIFF\0\0\0\0WAVEfmt \20\0\0\0\1\0\2\0@\37\0\0\0}\0\0\4\0\20\0data\6\0\0\0aabbccLIST' \
    frames --format wav
refuses 3 "is not a NumPy array" 'NUMPYNUMPY' frames --format npy
refuses 3 "the array ends in its header" '\223NUMPY\1\0\166\0{' frames --format npy
head -c 300 frames.npy | unroll stream frames --format npy >output 2>message
holds "an array that is cut off" test $? -eq 3
for wrong in "(25,4) <f4 shape" "(50,2,1) <f4 shape" "(100,) <f4 shape" "() <f4 shape" "(50,2) <f8 floats"; do
    { npy ${wrong% *}; cat frames.f32; } 2>/dev/null | unroll stream frames --format npy >output 2>message
    holds "an array of $wrong" grep -q "${wrong##* }" message
done
unroll run frames frames.npy -o whole.npy >output
holds "run gives the bits of the stream" cmp -s <(tail -c 600 whole.npy) raw.npy
unroll run frames frames.npy -o whole.csv >output
holds "and as a table its lines" cmp -s out.csv whole.csv
{ npy '(25, 2, 2)' '<f4'; cat frames.f32; } >two.npy
unroll run frames two.npy -o two.csv >output 2>message
holds "which have one sequence" test $? -eq 4 -a ! -e two.csv
refuses 2 "the model has no text vocabulary" 'ab' frames --format text
refuses 4 "a bidirectional model cannot be streamed" '' both
refuses 2 "the model reads tokens" 'ab' text --format f32
refuses 3 "99 is not a token id" '99\n' text --format csv
refuses 3 "0.5 is not a token id" '0.5\n' text --format csv
refuses 3 "character 2, 'z', is not among the model's 5 tokens" 'az' text
refuses 3 "character 2 is not UTF-8: it begins with byte 0xff" 'a\377b' text
refuses 3 "character 2 is not UTF-8: it begins with byte 0xc3" 'a\303b' text
refuses 3 "character 2 is not UTF-8: it begins with byte 0xc3" 'a\303' text
refuses 3 "character 1 is not UTF-8: it begins with byte 0xa9" '\251a' text
refuses 3 "character 2 is a zero byte" 'a\0b\0' text
refuses 3 "character 2, '?', is not among" 'a\33[2J' text
head -c 60 frames.wav | unroll stream frames --format wav >output 2>message
holds "a sound that is cut off" test $? -eq 3
holds "it says so" grep -q 'before the end that its header declares' message
holds "and has answered what there was" cmp -s output <(head -n 4 out.csv)

# ---- text ----

printf 'ab\303\251"\n' | unroll stream text >text.csv
holds "a line for each character" test "$(cut -d, -f1 text.csv | tr '\n' ' ')" = '"a" "b" "é" """" "\n" '
holds "the first costs nothing yet" grep -q '^"a",,' text.csv
holds "the others do" test "$(grep -cE ',[0-9]\.[0-9]{4},"[^,]+",0\.[0-9]{4}$' text.csv)" -eq 4
printf '2\n3\n' | unroll stream text --format csv >tokens.csv
holds "probabilities are 1 in all" awk -F, '{ s = 0; for (i = 1; i <= NF; i++) s += $i
    if (s < 0.9999 || s > 1.0001 || NF != 5) bad = 1 } END { exit bad || NR != 2 }' tokens.csv

# ---- streaming input, and its end ----

mkfifo pipe
"$binary" stream frames <pipe >live &
reader=$!
exec 3>pipe
echo 0.5,0.25 >&3
for _ in $(seq 2400); do [ -s live ] && break; sleep 0.05; done
holds "an answer before the next frame" test "$(wc -l <live)" -eq 1
kill -INT $reader
wait $reader
holds "SIGINT ends it cleanly" test $? -eq 0
exec 3>&-
"$binary" stream text <pipe >live 2>message &
reader=$!
exec 3>pipe
printf 'a\303' >&3
for _ in $(seq 2400); do [ -s live ] && break; sleep 0.05; done
kill -INT $reader
wait $reader
holds "SIGINT within a character is no error" test $? -eq 0 -a ! -s message
exec 3>&-
yes 0.5,0.25 | unroll stream frames 2>message | head -n 2 >two
holds "a reader that goes away is no error" test ! -s message -a "$(wc -l <two)" -eq 2
if [ -e /dev/full ]; then
    unroll stream frames <frames.csv >/dev/full 2>message
    holds "a full disk" test $? -eq 5 -a "$(grep -c '^error: ' message)" -eq 1
fi

# ---- bench ----

unroll bench --pass stream --shape 2,1,2,5,20 --seconds 0.05s --json >bench.json
for field in ms ms_median p50_ns p99_ns p999_ns max_ns clock_ns gflops peak_fraction; do
    holds "bench: $field" grep -qE "\"$field\":[0-9.e-]+" bench.json
done
unroll bench --pass stream --dtype int8 --shape 1,1,1,5,20 --seconds 0.05s >bench.int8
holds "bench in int8" grep -q 'stream in int8 on ' bench.int8
holds "bench: percentiles rise" awk -F'[:,]' '{ for (i = 1; i < NF; i++) v[$i] = $(i + 1)
    exit !(v["\"p50_ns\""] <= v["\"p99_ns\""] && v["\"p99_ns\""] <= v["\"p999_ns\""] &&
           v["\"p999_ns\""] <= v["\"max_ns\""]) }' <(tr -d '{}' <bench.json)

echo "stream command: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
