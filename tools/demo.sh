#!/bin/sh
# Three tasks, each in seconds: CO2 of the next twelve months; the language of a word, from Debian's dictionaries
# (skipped if they are not installed: no network, no root); and text generation from Debian's licenses. Ctrl-C saves and
# stops training.
# Usage: demo.sh BUILD_FOLDER       DEMO_SECONDS=N: N seconds for each task
build=${1:-build}
folder=$build/demo.data
text=$folder/licenses.txt
limit=${DEMO_SECONDS:+--for ${DEMO_SECONDS}s}
mkdir -p "$folder/languages"
trap : INT                          # Ctrl-C stops only the training; this script prints what to do next
show() { echo; echo "\$ $*"; "$@"; }

train() {                           # RUN OPTIONS...
    run=$1
    shift
    show "$build/unroll" train "$@" $limit --out "$run" --overwrite
    code=$?
    if [ $code -eq 75 ]; then       # stopped and saved
        echo "in this folder: $build/unroll train --resume $run"
        exit 0
    fi
    [ $code -eq 0 ] || exit $code
}

show "$build/unroll" demo $limit --out "$build/demo.co2"
code=$?
[ $code -eq 75 ] && exit 0              # stopped and saved
[ $code -eq 0 ] || exit $code
echo

# Takes 3,000 evenly spaced words of each dictionary: one file per language, one word per line.
words_of() {                        # LANGUAGE DICTIONARY [ENCODING]
    rm -f "$folder/languages/$1.txt"
    [ -f "/usr/share/dict/$2" ] || return
    iconv -f "${3:-UTF-8}" -t UTF-8 "/usr/share/dict/$2" | awk 'length($0) > 3 && !/\x27/' >"$folder/all"
    awk -v step="$(($(wc -l <"$folder/all") / 3000))" 'NR % step == 0' "$folder/all" | head -n 3000 >"$folder/languages/$1.txt"
    rm "$folder/all"
}
words_of english american-english-small
words_of french french
words_of german ngerman
words_of italian italian
words_of spanish spanish
words_of swedish swedish LATIN1

if [ "$(find "$folder/languages" -name '*.txt' | wc -l)" -gt 1 ]; then
    echo "Which language is a word of? 3,000 words of each, a tenth of them for a test."
    train "$build/demo.languages" "$folder/languages" --test 0.1
    printf '%s\n' Kartoffelsalat squelettique chiacchierare caballero thoughtful sjukhuset >"$folder/words.txt"
    echo
    echo "\$ $build/unroll predict $build/demo.languages $folder/words.txt | sed 1d | paste $folder/words.txt -"
    "$build/unroll" predict "$build/demo.languages" "$folder/words.txt" | sed 1d | paste "$folder/words.txt" -
fi

find /usr/share/common-licenses -type f 2>/dev/null | LC_ALL=C sort | xargs -r cat | tr -s ' \t' ' ' | cat -s >"$text"
if [ "$(wc -c <"$text")" -lt 100000 ]; then         # not Debian: our own sources and documents
    find README.md docs include src -type f \( -name '*.md' -o -name '*.[ch]' \) -exec cat {} + >"$text"
fi

# Small batches, a high rate and dropout, because the text is short. The number of epochs is limited to those that still
# improve the model: with a time limit, a fast machine would go on at a high rate and memorize the text.
echo
echo "A network that has never seen a word reads $text ($(($(wc -c <"$text") / 1000)) kB) and learns to write."
train "$build/demo" "$text" --cell gru --hidden 192 --dropout 0.4 --batch 16 --bptt 32 --lr 0.006 --warmup 80 \
    $([ "$limit" ] || echo --epochs 8) --patience 10 --sample-every 3s
show "$build/unroll" sample "$build/demo" --prompt License --length 400 --temperature 0.6
show "$build/unroll" plot "$build/demo"
echo
echo "Now with your data:  $build/unroll inspect FILE  prints what is in it and the command that trains on it."
echo "Until 'make install', the command is $build/unroll; '$build/unroll help' lists what it can do."
