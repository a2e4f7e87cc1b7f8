#!/bin/sh
# Two builds in different folders give the same bytes: each object, the library and the command; and no object holds the
# name of the folder that it was built in. Usage: test_reproducible.sh
# test: kinds=long-plain; needs=; seconds=600
cd "$(dirname "$0")/../.." || exit 2
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
passed=0 failed=0
check() { if "$@" >"$place/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $*"; tail -n 5 "$place/log"; fi; }
unset MAKEFLAGS MAKELEVEL MFLAGS
export CCACHE_DISABLE=1         # what a cache returns proves nothing
targets=${*:-build/unroll}      # other targets, such as objects, for a quick look
for folder in one "a longer name/two"; do
    mkdir -p "$place/$folder" && cp -r Makefile include src cli extensions tools tests bench examples "$place/$folder" || exit 2
    check make -s -j"$(nproc)" -C "$place/$folder" CUDA= EXTENSIONS= $targets
done
cd "$place/one" && find build -name '*.[oa]' -o -name unroll -type f >"$place/files" && cd .. || exit 2
check test -s "$place/files"
while read -r file; do check cmp "$place/one/$file" "$place/a longer name/two/$file"; done <"$place/files"
check sh -c "! grep -rlq '$place' '$place/one/build' --include='*.o' --include='*.a' --include=unroll"
echo "reproducible: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
