#!/bin/sh
# Streams with clang's real-time sanitizer, if available: clang 20 or later and its runtime.
# Usage: tests/stream/test_rtsan.sh LIBRARY, from the top folder.
# test: args=$B/libunroll.a
library=$1
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
FLAGS="-fsanitize=realtime -std=c11 -O1 -g -D_GNU_SOURCE -Iinclude -Itests"
echo 'int main(void) { return 0; }' >"$work/empty.c"
for cc in ${CLANG:-clang-22 clang-21 clang-20 clang}; do
    "$cc" $FLAGS "$work/empty.c" -o "$work/empty" 2>/dev/null && break
    cc=
done
if [ -z "$cc" ]; then
    echo "rtsan: 0 passed, 0 failed, 1 skipped: needs clang 20 or later" \
        "(Debian: clang-22, libclang-rt-22-dev)"
    exit 0
fi
if ! "$cc" $FLAGS tests/stream/realtime_sanitizer.c "$library" -ljansson -lm -pthread -o "$work/program" \
    >"$work/log" 2>&1; then
    cat "$work/log"
    echo "rtsan: 0 passed, 1 failed, 0 skipped"
    exit 1
fi
# The error must be found, or the other results are meaningless.
if "$work/program" wrong >"$work/log" 2>&1 ||
    ! grep -q 'RealtimeSanitizer: unsafe-library-call' "$work/log"; then
    cat "$work/log"
    echo "FAILED an allocation in a nonblocking function is not found"
    echo "rtsan: 0 passed, 1 failed, 0 skipped"
    exit 1
fi
"$work/program"
