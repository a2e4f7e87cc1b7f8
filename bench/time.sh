#!/bin/sh
# Measures the gain of pieces of time, and of ranks along time: the tables of docs/internals/time.md, one line per
# network. One piece, several pieces and two ranks run in turns, and the fastest of all turns counts. Usage:
# bench/time.sh UNROLL [TURNS [SECONDS]]. It needs mpirun for the column of ranks, and a quiet machine: it prints the
# load at its beginning and end.
unroll=${1:?usage: bench/time.sh UNROLL [TURNS [SECONDS]]} turns=${2:-3} seconds=${3:-1}
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# field NAME <JSON: prints a number of bench's result
field() { sed -n "s/.*\"$1\": *\\([-+.0-9e]*\\).*/\\1/p" | head -n 1; }

# measure COLUMN COMMAND..: keeps the smallest ms of a column
measure() {
    column=$1
    shift
    "$@" --seconds "$seconds" --json >"$work/json" 2>"$work/log" || {
        echo "failed: $*" >&2
        cat "$work/log" >&2
        exit 1
    }
    ms=$(field ms <"$work/json")
    cp "$work/json" "$work/$column.json"
    if [ ! -f "$work/$column" ] || [ "$(echo "$ms $(cat "$work/$column")" | awk '{ print ($1 < $2) }')" = 1 ]; then
        echo "$ms" >"$work/$column"
    fi
}

# line PASS THREADS PIECES CELL SHAPE
line() {
    rm -f "$work"/one "$work"/pieces "$work"/ranks
    bench="bench --pass $1 --threads $2 --cell $4 --shape $5"
    for turn in $(seq "$turns"); do
        # shellcheck disable=SC2086 # words of a command
        {
            measure one "$unroll" $bench
            measure pieces "$unroll" $bench --pieces "$3"
            if command -v mpirun >"$work/log"; then
                measure ranks mpirun -n 2 --oversubscribe "$unroll" $bench --split time=2
            fi
        }
    done
    [ -f "$work/ranks" ] || echo none >"$work/ranks"
    paste "$work/one" "$work/pieces" "$work/ranks" | awk -v what="$1 $4 $5" -v threads="$2" -v pieces="$3" \
        -v off="$(field off <"$work/pieces.json")" -v steps="$(field repaired_steps <"$work/pieces.json")" '{
        printf "| %s | %d | %.1f | %d: %.1f | %.2f | %.0f | %g |", what, threads, $1, pieces, $2, $1 / $2, steps, off
        if ($3 == "none") print " no mpirun | |"; else printf " %.1f | %.2f |\n", $3, $1 / $3 }'
}

echo "load $(cut -d' ' -f1-3 /proc/loadavg), $turns turns of $seconds s"
echo "| pass, cell, shape | threads (of each rank) | one piece, ms | pieces: ms | gain | steps repaired | off | 2 ranks, ms | gain |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
line infer 1 8 lstm 1,16384,1,256,256
line infer 1 16 lstm 1,16384,1,256,512
line infer 1 16 gru 1,16384,1,256,256
line infer 1 8 paragru 1,16384,1,256,256
line infer 1 8 minlstm 1,16384,1,256,256
line infer 2 16 lstm 1,16384,1,256,256
line infer 2 16 lstm 1,16384,1,256,512
line infer 2 16 paragru 1,16384,1,256,256
line train 1 8 lstm 1,16384,1,256,256
line train 2 16 lstm 1,16384,1,256,256
echo "load $(cut -d' ' -f1-3 /proc/loadavg)"
