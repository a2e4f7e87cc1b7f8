#!/bin/sh
# A minute of training on text that every Debian has: its licences. Shows what the network has learnt.
# Usage: demo.sh BUILD_FOLDER
build=${1:-build}
text=$build/demo.txt
run=$build/demo
find /usr/share/common-licenses -type f -exec cat {} + >"$text" 2>/dev/null
if [ "$(wc -c <"$text")" -lt 100000 ]; then         # no Debian: our own sources and documents
    find README.md docs include src -type f \( -name '*.md' -o -name '*.[ch]' \) -exec cat {} + >"$text"
fi
rm -rf "$run"
echo "training on $text: $(wc -c <"$text") bytes"
"$build/unroll" train "$text" --cell lstm --layers 2 --hidden 128 --lr 0.004 --for "${DEMO_SECONDS:-60}s" \
    --sample-every 8 --out "$run" || exit
echo
echo "what it has learnt, from 'This License ':"
"$build/unroll" sample "$run" --prompt 'This License ' --length 400 --temperature 0.6 --seed 1
