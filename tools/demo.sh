#!/bin/sh
# A minute of training on text that every Debian has: its licences. Then what the network writes, its curve,
# and how to go on. Small batches and a high rate, because a minute has room for few steps.
# Usage: demo.sh BUILD_FOLDER
build=${1:-build}
text=$build/demo.txt
run=$build/demo
find /usr/share/common-licenses -type f -exec cat {} + 2>/dev/null | tr -s ' \t' ' ' | cat -s >"$text"
if [ "$(wc -c <"$text")" -lt 100000 ]; then         # no Debian: our own sources and documents
    find README.md docs include src -type f \( -name '*.md' -o -name '*.[ch]' \) -exec cat {} + >"$text"
fi
rm -rf "$run"

show() { echo; echo "\$ $*"; "$@"; }

echo "A network that has never seen a word reads $text ($(($(wc -c <"$text") / 1000)) kB, licences) and writes"
echo "every few seconds what it has learnt so far. It stops after ${DEMO_SECONDS:-60} s; Ctrl-C saves and stops it earlier."
show "$build/unroll" train "$text" --hidden 128 --batch 16 --bptt 32 --lr 0.008 --warmup 80 \
    --for "${DEMO_SECONDS:-60}s" --sample-every 6s --out "$run"
code=$?
[ $code -eq 75 ] && exit 0          # stopped and saved
[ $code -eq 0 ] || exit $code
show "$build/unroll" sample "$run" --prompt License --length 400 --temperature 0.6
show "$build/unroll" plot "$run"
echo
echo "Now with a text of yours:  $build/unroll train FILE --for 5m"
echo "Until 'make install', the command is $build/unroll; '$build/unroll help' lists what it can do."
