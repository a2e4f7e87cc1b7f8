#!/bin/sh
# Breaks the pieces of time in one place at a time: test_pieces must notice each. Nothing else is built anew than the
# recurrence of the CPU in floats. Usage: tests/session/mutate_pieces.sh BUILD, from the top folder.
build=$1 cc=${CC:-gcc}
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
flags="-std=c11 -O1 -ffp-contract=off -D_GNU_SOURCE -I$work/src -Iinclude -Isrc"
mutants=0 survivors=0

# try FILE EDIT
try() {
    rm -rf "$work/src" && mkdir -p "$work/src/device/cpu" || exit 1
    sed "$2" "src/device/cpu/$1" >"$work/src/device/cpu/$1"
    mutants=$((mutants + 1))
    if cmp -s "src/device/cpu/$1" "$work/src/device/cpu/$1"; then
        survivors=$((survivors + 1))
        echo "FAILED '$2' changes nothing"
        return
    fi
    $cc $flags -c src/device/cpu/rnn_f32.c -o "$work/rnn.o" &&
        $cc "$build/tests/session/test_pieces.o" "$work/rnn.o" "$build/libunroll.a" -ljansson -lm -pthread -ldl \
            -o "$work/test" || exit 1
    timeout 60 "$work/test" >"$work/log" 2>&1 || return # a broken loop may run for ever
    survivors=$((survivors + 1))
    echo "FAILED not noticed: $1, '$2'"
}

try rnn_pieces.h 's/if (changed \&\& /if (false \&\& changed \&\& /'                    # a round less
try rnn_pieces.h 's/wants\[i\] = i != first_piece(p);/wants[i] = false;/'               # no repairs
try rnn_pieces.h 's/if (differ(state, /if (false \&\& differ(state, /'                  # met without a look
try rnn_pieces.h 's/p->ends, piece_before(p, i));/p->ends, i);/'                        # from a state that is not true
try rnn_pieces.h 's/p->ends, piece, p->ends, piece_before(p, piece));/p->ends, piece, p->ends, piece);/'
try rnn_pieces.h 's/RNN_S0, p->ends, last_piece(p), 1);/RNN_S0, p->ends, first_piece(p), 1);/'
try rnn_pieces.h 's/ += steps)/ += 2 * steps)/'                                         # every other stretch
try rnn_forward.h 's/\.keeps_sums = .*,/.keeps_sums = false,/'                          # sums wait where sums are read again
try rnn_backward.h 's/present(r, RNN_SAVED) ? .* : step/false ? NULL : step/'
try rnn_pieces_back.h 's/wants\[i\] = i != last_piece(p);/wants[i] = false;/'
try rnn_pieces_back.h 's/p->ends, piece_after(p, i));/p->ends, i);/'
echo "mutate_pieces: $((mutants - survivors)) passed, $survivors failed, 0 skipped"
[ $survivors -eq 0 ]
