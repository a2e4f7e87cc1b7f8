#!/bin/sh
# Breaks the pieces of time in one place at a time: test_pieces or test_time_ranks must fail. Also damages a state once
# while it is being repaired: that must be detected and repaired, so that both still pass. Only the CPU's recurrence in
# floats is rebuilt. Usage: tests/session/mutate_pieces.sh BUILD, from the top folder.
# test: kinds=long-plain; args=$B; needs=$B/libunroll.a $B/tests/session/test_pieces; seconds=200
build=$1 cc=${CC:-gcc}
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
flags="-std=c11 -O1 -ffp-contract=off -D_GNU_SOURCE -I$work/src -Iinclude -Isrc"
mutants=0 wrong=0

# edit FILE EDIT: 0 if both tests pass with the edit
edit() {
    rm -rf "$work/src" && mkdir -p "$work/src/device/cpu/recurrent" || exit 1
    sed "$2" "src/device/cpu/recurrent/$1" >"$work/src/device/cpu/recurrent/$1"
    mutants=$((mutants + 1))
    if cmp -s "src/device/cpu/recurrent/$1" "$work/src/device/cpu/recurrent/$1"; then
        wrong=$((wrong + 1))
        echo "FAILED '$2' changes nothing"
        return 2
    fi
    $cc $flags -c src/device/cpu/recurrent/rnn_f32.c -o "$work/rnn.o" || exit 1
    for test in test_pieces test_time_ranks; do
        $cc "$build/tests/session/$test.o" "$work/rnn.o" "$build/libunroll.a" -ljansson -lm -pthread -ldl \
            -o "$work/test" || exit 1
        timeout 60 "$work/test" >"$work/log" 2>&1 || return 1 # a broken loop may run forever
    done
}

# try FILE EDIT: the break is detected
try() {
    edit "$@"
    [ $? -ne 0 ] && return
    wrong=$((wrong + 1))
    echo "FAILED not noticed: $1, '$2'"
}

# heal FILE EDIT: the damage is repaired, possibly in an additional round
heal() {
    edit "$@"
    [ $? -ne 1 ] && return
    grep FAILED "$work/log" | grep -q -v 'counts.rounds == pieces - 1' || return 0
    wrong=$((wrong + 1))
    echo "FAILED not repaired: $1, '$2'"
    tail -n 3 "$work/log"
}

once='static atomic_int harm; if (p->me == 0 \&\& atomic_fetch_add(\&harm, 1) % 7 == 0)'

try rnn_pieces.h 's/while (find_wanting(p, wants))/if (find_wanting(p, wants))/'       # one round less
try rnn_pieces.h 's/wants\[i\] = p->left\[i\] > 0 &&.*/wants[i] = false;/'              # no repairs
try rnn_pieces.h 's/if (differ(state, /if (false \&\& differ(state, /'                  # accepted without comparison
try rnn_pieces.h 's/entering, i, source_plane(p, i), source_piece(p, i));/entering, i, source_plane(p, i), i);/'
try rnn_pieces.h 's/if (p->left\[piece\] == 0)/if (false)/'                             # states passed on by ended rows
try rnn_pieces.h 's/RNN_S0, p->ends, last, 1);/RNN_S0, p->ends, first_piece(p), 1);/'
try rnn_pieces.h 's/ += steps)/ += 2 * steps)/'                                         # every other stretch
try rnn_pieces.h 's/round, is_final));/round, true));/'                                 # a guess as the final result
try rnn_pieces.h 's/give_states(p, p->given, i, RNN_H0, RNN_S0);/(void)0;/'             # entering states are not passed on
try rnn_pieces.h 's/TRY(share_last(p, 1, p->told, first, rows));/(void)0;/'
try rnn_forward.h 's/\.keeps_sums = .*,/.keeps_sums = false,/'                          # sums are overwritten before they are read again
try rnn_backward.h 's/present(r, RNN_SAVED) ? .* : step/false ? NULL : step/'
try rnn_pieces_back.h 's/while (find_wanting_back(p, wants))/if (find_wanting_back(p, wants))/'
try rnn_pieces_back.h 's/wants\[i\] = p->left\[i\] > 0 &&.*/wants[i] = false;/'
try rnn_pieces_back.h 's/entering, i, end_plane(p, i), end_piece(p, i));/entering, i, end_plane(p, i), i);/'
try rnn_pieces_back.h 's/    TRY(give_last(p));$/    (void)0;/'
try rnn_time_ranks.h 's/|| note->sum != .*)$/)/'                                        # damage in transit
heal rnn_pieces.h "s/^\( *\)copy_states(p, p->began, i, p->entering, i);/\1{ $once at_piece(p, p->entering, i)[0] += 1; } &/"
heal rnn_pieces.h "s/^    read_ends(p);/    { $once at_piece(p, p->ends, 0)[0] += 1; } &/"
echo "mutate_pieces: $((mutants - wrong)) passed, $wrong failed, 0 skipped"
[ $wrong -eq 0 ]
