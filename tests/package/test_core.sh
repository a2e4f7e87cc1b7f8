#!/bin/sh
# Checks the core without extensions: it builds without warnings, trains, names missing extensions, and installs. An
# extension also builds the extensions that it needs. The command stays small: without a limit, code that is instantiated
# for each cell, instruction set and size of tiles grows unnoticed. Usage: test_core.sh BUILD
# test: kinds=ci-plain; args=$B; seconds=60
build=$1/core
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
passed=0 failed=0
check() { if "$@" >"$place/output" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $*"; tail -n 5 "$place/output"; fi; }
core() { make -s --no-print-directory "B=$build" EXTENSIONS= CUDA= "$@"; }
refused() { "$build/unroll" "$@" >"$place/said" 2>&1; test $? = 4; }

# The flags of a source do not depend on the extensions: objects that stand are taken over.
rm -rf "$build" && mkdir -p "$build" && cp -a "$1/src" "$1/cli" "$build" &&
    find "$build" -name '*.d' -exec sed -i "s#$1/#$build/#" {} + || exit 2
check core all
check test ! -d "$build/extensions"
check test "$(nm "$build/libunroll.a" 2>/dev/null | grep -cE ' [TtDd] .*(cuda|opencl|verilog|policy_|several)')" = 0
# Stripped, for x86-64 by gcc without CFLAGS of the caller. Other compilers and processors have other sizes.
if [ "$(uname -m)" = x86_64 ] && [ -z "${CFLAGS-}" ] && ${CC:-gcc} --version | grep -qi 'gcc\|GCC'; then
    strip -o "$place/stripped" "$build/unroll"
    check test "$(stat -c %s "$place/stripped")" -le 6900000
fi
for case in 'cuda plan --device cuda' 'cluster plan --device cpu,cpu' 'cluster launch --ranks 2 train x' 'serve bench --serve http://127.0.0.1:9/v2/models/x' 'hardware export --to verilog x y'; do
    check refused ${case#* }
    check grep -q "built without the extension '${case%% *}'" "$place/said"
    check grep -q "make EXTENSIONS=${case%% *}" "$place/said"
done
head -c 3000 README.md >"$place/text"
check "$build/unroll" train "$place/text" --steps 3 --hidden 8 --out "$place/run"
check core install "DESTDIR=$place/root"
check test -x "$place/root/usr/local/bin/unroll"
make -n --no-print-directory "B=$place/none" EXTENSIONS=cuda all >"$place/said" 2>&1
check grep -q extensions/gpu/gpu_run.c "$place/said"
check test "$(grep -c extensions/xla/ "$place/said")" = 0
make -n EXTENSIONS=strange all >"$place/said" 2>&1
check grep -q "there is no extension 'strange'; fix: " "$place/said"
echo "test_core: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
