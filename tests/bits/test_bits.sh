#!/bin/bash
# Bits of training, running, sampling and conversion, recorded in recorded.txt before the redesign; they must not
# change. The test does not show that the recorded bits are right: other tests do.
# Usage: test_bits.sh BINARY        with RECORD=1: prints the table again, after a change of the contract on numbers
# test: kinds=check-plain; args=$B/unroll
set -u
export LC_ALL=C
unroll=$(realpath "$1") here=$(realpath "$(dirname "$0")")
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p')

awk 'BEGIN { for (i = 1; i <= 300; i++) printf "%d: line of text %d, nothing new\n", i, i * 7919 % 1000 }' >text
# 40 steps of 3 rows, int32, values 0 to 19. The header of the .npy has 128 bytes.
{ printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<i4', 'fortran_order': False, 'shape': (40, 3), }"
  awk 'BEGIN { for (i = 0; i < 120; i++) printf "%c%c%c%c", i * 7 % 19 + 1, 0, 0, 0 }'; } >tokens.npy

# Prints what follows the header of a safetensors file, because the header may gain entries.
tensors() { tail -c +$((9 + $(od -An -tu8 -N8 "$1"))) "$1"; }
digest() { sha256sum | cut -c1-16; }
# All instruction sets give the same bits, except amx. A machine that does not support the listed one uses another.
available="$("$unroll" devices | awk '$2 == "yes" && $1 != "amx" { printf " %s", $1 }') "
isa() {                 # ARGUMENTS: the option for the last --isa that they name
    local wanted=${*##*--isa }
    case $available in *" ${wanted%% *} "*) echo "${wanted%% *}";; *) echo "${available% }" | sed 's/.* //';; esac
}

measure() {             # KIND NAME ARGUMENTS...: prints a digest
    local kind=$1 name=$2 last; shift 2
    last=$name/ckpt/step-6/model.safetensors
    case $kind in
    train)  "$unroll" train text --quiet --out "$name" --schedule constant --val 0.2 --batch 8 --bptt 16 --steps 6 \
                --seed 7 "$@" --isa "$(isa "$@")" >log 2>&1 || { cat log; return 1; }
            tensors "$last" | digest;;
    resume) mkdir -p "$name" && cp -r "$here/$name" . && "$unroll" train --resume "$name" --steps 9 --quiet >log 2>&1 ||
                { cat log; return 1; }
            tensors "$name/ckpt/step-9/model.safetensors" | digest;;
    run)    "$unroll" run "$last" tokens.npy -o y.npy "$@" --isa "$(isa "$@")" >log 2>&1 || { cat log; return 1; }
            tail -c +129 y.npy | digest;;
    sample) "$unroll" sample "$last" --length 200 --seed 5 "$@" 2>log | digest;;
    convert) local format=$1; shift
            "$unroll" export "$last" --to "$format" -o "converted.$format" "$@" >log 2>&1 &&
            "$unroll" import "converted.$format" -o converted.safetensors >log 2>&1 || { cat log; return 1; }
            tensors converted.safetensors | digest;;
    import) "$unroll" import "$here/../vectors/$name" -o imported.safetensors "$@" >log 2>&1 || { cat log; return 1; }
            tensors imported.safetensors | digest;;
    esac
}

if [ "${RECORD:-}" ]; then
    while read -r digest line; do
        case $digest in '#'*|'') echo "$digest $line";; *) echo "$(measure $line) $line";; esac
    done <"$here/recorded.txt"
    exit
fi

passed=0 failed=0
while read -r digest line; do
    case $digest in '#'*|'') continue;; esac
    found=$(measure $line)
    if [ "$found" = "$digest" ]; then passed=$((passed + 1))
    else failed=$((failed + 1)); echo "FAILED $line: $found, recorded $digest"; fi
done <"$here/recorded.txt"
echo "test_bits: $passed passed, $failed failed, 0 skipped"
test $failed = 0
