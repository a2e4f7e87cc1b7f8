#!/bin/sh
# make expand: a cell as the compiler reads it has the names that src/nn/cells/README.md lists, and no directive is left.
# Usage: test_expand.sh BUILD
# test: args=$B
build=$1
passed=0 failed=0
holds() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $*"; fi; }
expand() { make -s --no-print-directory "B=$build" expand "$@" 2>&1; }
expand CELL=lstm ISA=avx2 >/dev/null
for name in $(grep -oE '`lstm_[a-z0-9_]+`' src/nn/cells/README.md | tr -d '`' | sort -u); do
    holds grep -q "\b$name\b" "$build/expanded/lstm_avx2.c"
done
holds test "$(grep -oE '`lstm_[a-z0-9_]+`' src/nn/cells/README.md | sort -u | wc -l)" -ge 10
holds test "$(grep -cE '^ *# *(include|define|if|endif)' "$build/expanded/lstm_avx2.c")" = 0
holds test "$(expand CELL=gru_before ISA=scalar)" = "$build/expanded/gru_before_scalar.c"
holds grep -q gru_before_tile_1 "$build/expanded/gru_before_scalar.c"
holds test -n "$(expand CELL=none | grep "there is no cell 'none'; fix: CELL=")"
holds test -n "$(expand ISA=none | grep "there is no instruction set 'none'; fix: ISA=")"
echo "test_expand: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
