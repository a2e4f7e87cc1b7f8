#!/bin/sh
# Breaks one operation of one cell at a time; the gradient check must fail every time. Then breaks a declaration; the
# compiler must refuse it. All cells take minutes, so the usual test breaks one.
# Usage: tests/cells/mutate.sh [CELL...], from the top folder. A break that is detected counts as passed.
# test: args=rnn; seconds=10
cc=${CC:-gcc}
cells=${*:-lstm gru gru_before rnn rnn_relu mingru minlstm sru indrnn paragru paralstm}
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
flags="-std=c11 -O0 -ffp-contract=off -D_GNU_SOURCE -I$work/src"
mutants=0 survivors=0

# change FILE LINE EDIT: false if the edit changes nothing
change() {
    rm -rf "$work"/* && mkdir -p "$work/src" "$work/tests" || exit 1
    cp -r src/base src/nn "$work/src" && cp -r tests/cells tests/check.h "$work/tests" || exit 1
    sed -i "$2$3" "$work/$1"
    ! cmp -s "$1" "$work/$1"
}

survives() {
    survivors=$((survivors + 1))
    echo "FAILED not noticed: $*"
}

# try CELL_FILE LINE EDIT
try() {
    change "$@" || return
    (cd "$work/tests/cells" && $cc $flags ../../src/nn/cells/cell.c ../../src/nn/cells/activation.c ../../src/base/number.c \
        ../../src/nn/cells/isa/cells_f64.c toys_f64.c check_gradient.c -o "$work/check" -lm) || exit 1
    mutants=$((mutants + 1))
    ! "$work/check" >/dev/null || survives "$@"
}

# refuse CELL_FILE EDIT
refuse() {
    change "$1" '' "$2" || { echo "$1: '$2' changes nothing"; exit 1; }
    mutants=$((mutants + 1))
    ! $cc $flags -fsyntax-only "$work/src/nn/cells/isa/cells_f64.c" 2>/dev/null || survives "$@"
}

for cell in $cells; do
    file=src/nn/cells/$cell.h
    for line in $(grep -nE '    .*(v_|CLIP\(|SLOPE\(|PEEP\().*;' $file | cut -d: -f1); do
        for edit in s/v_mul/v_add/ s/v_sub/v_add/ s/v_fma/v_mix/ s/v_mix/v_fma/ s/CLIP// s/d_c,/d_h,/ \
                    s/v_tanh_slope/v_sigmoid_slope/ s/v_sigmoid_slope/v_tanh_slope/ \
                    s/TANH_SLOPE/v_tanh_slope/ s/SIGMOID_SLOPE/v_sigmoid_slope/; do
            try $file $line $edit
        done
    done
done

# An unused saved value, and an input without x before one with x.
refuse src/nn/cells/rnn.h 's/define SAVED(VALUE).*/define SAVED(VALUE) VALUE(a) VALUE(b)/'
refuse src/nn/cells/gru_before.h 's/define SAVED(VALUE).*/define SAVED(VALUE) VALUE(r) VALUE(s)/'
refuse src/nn/cells/gru.h 's/INPUT(r, FROM_X | FROM_H)/INPUT(r, FROM_H)/'

echo "mutate: $((mutants - survivors)) passed, $survivors failed, 0 skipped"
test $survivors = 0
