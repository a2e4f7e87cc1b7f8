#!/bin/sh
# Evaluates a network with fp32, bf16 and int8 weights on the last tenth of a text, which it was not trained on. Fails
# if bf16 changes the loss by more than 0.05% or int8 by more than 0.5%.
# Usage: bench/weights.sh TEXT [RUN]     RUN: a trained run; default: trains one for SECONDS_OF_TRAINING (120)
# BUILD: the folder of the build (build).
text=$1 run=$2
unroll=${BUILD:-build}/unroll
[ -r "$text" ] || { echo "skipped: no text '$text'"; exit 0; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bytes=$(wc -c <"$text")
iconv -c -f UTF-8 -t UTF-8 <<EOF >"$work/tail" 2>/dev/null
$(tail -c $((bytes / 10)) "$text")
EOF
head -c $((bytes - bytes / 10)) "$text" | iconv -c -f UTF-8 -t UTF-8 >"$work/head"
if [ -z "$run" ]; then
    run=$work/run
    "$unroll" train "$work/head" --val 0 --for "${SECONDS_OF_TRAINING:-120}s" --out "$run" --sample-every 0 --quiet ||
        exit 1
fi
for type in fp32 bf16 int8; do
    nats=$("$unroll" eval "$run" "$work/tail" --dtype $type --json | sed 's/.*"nats":\([0-9.]*\).*/\1/')
    [ -n "$nats" ] || exit 1
    echo "$type $nats"
done | awk '
    BEGIN { most["bf16"] = 0.0005; most["int8"] = 0.005 }
    $1 == "fp32" { exact = $2 }
    { change = $2 / exact - 1
      printf "%s  %.5f nats  %+.4f%%\n", $1, $2, 100 * change
      if ($1 in most && (change > most[$1] || -change > most[$1])) { bad = 1 } }
    END { exit bad || NR != 3 }'
