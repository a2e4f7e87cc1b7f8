#!/bin/sh
# Writes the code of one cell for one instruction set as the compiler reads it: expanded, without what vector headers and
# the system define, and formatted if clang-format-22 is found. Usage: expand.sh CELL ISA TO [FLAG...]
cell=$1 isa=$2 to=$3
shift 3
table=src/nn/cells/isa/cells_$isa.c
test -f "$table" || { echo "there is no instruction set '$isa'; fix: ISA=$(ls src/nn/cells/isa | sed 's/cells_//; s/\.c//' | paste -sd' ')" >&2; exit 2; }
test -f "src/nn/cells/$cell.h" && grep -q "^#define CELL  *$cell\$" "src/nn/cells/$cell.h" ||
    { echo "there is no cell '$cell'; fix: CELL=$(sed -n "s/^#define CELL  *//p" $(ls src/nn/cells/*.h | grep -v variants) | paste -sd' ')" >&2; exit 2; }
{ echo "/* $cell for $isa, expanded by tools/expand.sh. */"
  sed -e "s|nn/cells/cell_table.h|nn/cells/$cell.h|" -e '/^#define KERNELS/,$d' "$table" |
    ${CC:-cc} -x c -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -I. "$@" -E - |
    awk '/^# [0-9]+ "/ { shown = $3 ~ /nn\/cells\// && $3 !~ /cells\/(cell|cell_source|activation)\.h/; next } shown && NF'
} >"$to"
! command -v clang-format-22 >/dev/null || clang-format-22 -i "$to"
echo "$to"
