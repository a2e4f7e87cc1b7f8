#!/bin/sh
# Training on text that every Debian has: its licences. Then what the best weights write, the curve, and how to go on.
# Small batches, a high rate and dropout, because the text is short; as many epochs as still make it better: by the clock a
# fast machine would go on at a high rate and learn the text by heart.
# Usage: demo.sh BUILD_FOLDER       DEMO_SECONDS=N: for N seconds
build=${1:-build}
text=$build/demo.txt
run=$build/demo
find /usr/share/common-licenses -type f 2>/dev/null | LC_ALL=C sort | xargs -r cat | tr -s ' \t' ' ' | cat -s >"$text"
if [ "$(wc -c <"$text")" -lt 100000 ]; then         # no Debian: our own sources and documents
    find README.md docs include src -type f \( -name '*.md' -o -name '*.[ch]' \) -exec cat {} + >"$text"
fi

length='--epochs 8'
[ -z "${DEMO_SECONDS:-}" ] || length="--for ${DEMO_SECONDS}s"
trap : INT                          # Ctrl-C is for the training; what comes after it is still said
show() { echo; echo "\$ $*"; "$@"; }

echo "A network that has never seen a word reads $text ($(($(wc -c <"$text") / 1000)) kB, licences) and writes"
echo "every few seconds what it has learned so far. That takes ten seconds to a minute; Ctrl-C saves and stops it earlier."
show "$build/unroll" train "$text" --cell gru --hidden 192 --dropout 0.4 --batch 16 --bptt 32 --lr 0.006 --warmup 80 \
    $length --patience 10 --sample-every 3s --out "$run" --overwrite
code=$?
if [ $code -eq 75 ]; then           # stopped and saved
    echo "in this folder: $build/unroll train --resume $run"
    exit 0
fi
[ $code -eq 0 ] || exit $code
show "$build/unroll" sample "$run" --prompt License --length 400 --temperature 0.6
show "$build/unroll" plot "$run"
echo
echo "Now with a text of yours:  $build/unroll train FILE --for 5m"
echo "Until 'make install', the command is $build/unroll; '$build/unroll help' lists what it can do."
