#!/bin/sh
# Runs the library for 64-bit ARM in an emulator. NEON gives the scalar bits, cell by cell (check_simd, check_fused,
# check_nan) and in training and running (test_cases, test_weights, with the short list of cases). The scalar cells give
# the same bits as on this machine, whose check_simd is an argument. Compiled with -Og, which compiles fast.
# Usage: tests/cells/check_neon.sh PATH_OF_CHECK_SIMD BUILD_FOLDER, from the top folder.
# test: kinds=long-plain; args=$B/tests/cells/check_simd $B/neon; needs=$B/tests/cells/check_simd; seconds=200
cc=aarch64-linux-gnu-gcc
here=$1 build=$2
skip() {
    echo "check_neon: 0 passed, 0 failed, 1 skipped: needs $1"
    exit 0
}
if ! command -v $cc >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
    skip "$cc and qemu-aarch64 (Debian: qemu-user)"
fi
jansson=$build/jansson/usr
[ -e "$jansson/include/jansson.h" ] || tests/cells/jansson_arm64.sh "$build/jansson" ||
    skip "libjansson-dev for arm64, which apt-get could not fetch"

mkdir -p "$build" && log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
programs="cells/check_simd cells/check_fused cells/check_nan cases/test_cases cases/test_weights"
# Without the caller's make flags, which set another build folder and number of jobs.
env -u MAKEFLAGS -u MFLAGS make -j2 $(printf " $build/tests/%s" $programs) B="$build" ARCH=aarch64 CC=$cc \
    CFLAGS="-Og -I$jansson/include -L$jansson/lib/aarch64-linux-gnu -static" >"$log" 2>&1 ||
    { tail -n 40 "$log"; exit 1; }

passed=0 failed=0
run() {     # COMMAND...: its own line of counts is shown
    if qemu-aarch64 "$@" >"$log"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    grep -E 'FAILED|skipped$' "$log"
}
run "$build/tests/cells/check_simd"
bits=$("$here" | grep '^bits') && grep -qx "$bits" "$log" && passed=$((passed + 1)) || failed=$((failed + 1))
run "$build/tests/cells/check_fused" quick
run "$build/tests/cells/check_nan"
run "$build/tests/cases/test_cases" test tests/cases/short.txt
run "$build/tests/cases/test_weights" tests/cases/short.txt
echo "check_neon: $passed passed, $failed failed, 0 skipped"
test $failed = 0
