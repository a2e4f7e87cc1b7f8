#!/bin/sh
# Builds the command as WebAssembly for browsers and other WASI systems, by zig (PyPI's ziglang): the core without
# extensions, on one thread. jansson is compiled from Debian's source by cmake. src/base/system/wasi.h supplies what
# Linux has and WASI has not.
# Usage: wasm.sh BUILD_FOLDER       ZIG=COMMAND   writes BUILD_FOLDER/demo: unroll.wasm and the page that runs it
build=$1
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tools/zig.sh"
mkdir -p "$build/static/wasm32" && build=$(cd "$build" && pwd) && work=$build/static
cc="$ZIG cc -target wasm32-wasi -fno-sanitize=undefined"
emulated="signal mman process-clocks getpid"
flags="-include $root/src/base/system/wasi.h"
libs="$work/wasm32/libjansson.a -lm -s -Wl,-z,stack-size=1048576"
for part in $emulated; do
    flags="$flags -D_WASI_EMULATED_$(echo "$part" | tr a-z- A-Z_)" libs="$libs -lwasi-emulated-$part"
done
jansson_source "$work"
jansson_build "$work/wasm32" "$cc" WASI
make -s -C "$root" -j"$(nproc)" CC="$cc" ARCH=wasm32 B="$work/wasm32/build" JANSSON="$work/wasm32" ARCHIVE= CUDA= EXTENSIONS= \
    CFLAGS="-O2 $flags" LIBS="$libs" "$work/wasm32/build/unroll" || exit 1
mkdir -p "$build/demo" && cp "$root"/docs/demo/*.* "$build/demo" && cp "$work/wasm32/build/unroll" "$build/demo/unroll.wasm" && ls -l "$build/demo/unroll.wasm"
