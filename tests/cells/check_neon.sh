#!/bin/sh
# check_simd, check_fused and check_nan for 64-bit ARM under an emulator: NEON gives the scalar bits, and the
# scalar cells give the bits that they give here, whose check_simd is the argument.
# Usage: tests/cells/check_neon.sh PATH_OF_CHECK_SIMD, from the top folder.
cc=aarch64-linux-gnu-gcc
if ! command -v $cc >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
    echo "check_neon: 0 passed, 0 failed, 1 skipped: needs $cc and qemu-aarch64 (Debian: qemu-user)"
    exit 0
fi
objects=
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
flags="-std=c11 -O2 -Wall -Wextra -Wpedantic -ffp-contract=off -D_GNU_SOURCE -Isrc -static"
kernels="src/cells/cell.c src/cells/cells_scalar.c src/cells/cells_neon.c
         tests/cells/toys_scalar.c tests/cells/toys_neon.c"
records="src/cells/record.c src/cells/record_cells.c tests/cells/toy_records.c"
for source in $kernels $records; do
    object="$work/$(basename "$source" .c).o"
    $cc $flags -c "$source" -o "$object" || exit 1
    objects="$objects $object"
done
for check in simd fused nan; do
    $cc $flags tests/cells/check_$check.c $objects -lm -o "$work/check_$check" || exit 1
done
qemu-aarch64 "$work/check_simd" >"$work/log"; simd=$?
qemu-aarch64 "$work/check_fused"; fused=$?
qemu-aarch64 "$work/check_nan"; nan=$?
cat "$work/log"
bits=$("$1" | grep '^bits') && grep -qx "$bits" "$work/log"; same=$?
failed=$(((simd != 0) + (fused != 0) + (nan != 0) + (same != 0)))
echo "check_neon: $((4 - failed)) passed, $failed failed, 0 skipped"
test $failed = 0
