#!/bin/sh
# Builds one static file for Linux, without shared libraries, by zig (PyPI's ziglang) with its musl; jansson is compiled
# from Debian's source by cmake. Packed data, GPUs and MPI need shared libraries, so the file is built without them
# and without the extensions that use them.
# Usage: static.sh x86_64|aarch64 BUILD_FOLDER       ZIG=COMMAND   writes BUILD_FOLDER/unroll-linux-ARCH and its .sha256
arch=$1 build=$2
root=$(cd "$(dirname "$0")/.." && pwd)
case $arch in x86_64 | aarch64) ;; *) echo "error: static.sh knows x86_64 and aarch64, not '$arch'" >&2; exit 2 ;; esac
. "$root/tools/zig.sh"
mkdir -p "$build/static/$arch" && build=$(cd "$build" && pwd) && work=$build/static
cc="$ZIG cc -target $arch-linux-musl -fno-sanitize=undefined"
jansson_source "$work"
jansson_build "$work/$arch" "$cc" Linux
make -s -C "$root" -j"$(nproc)" CC="$cc" ARCH="$arch" B="$work/$arch/build" JANSSON="$work/$arch" ARCHIVE= CUDA= EXTENSIONS=hardware \
    LIBS="$work/$arch/libjansson.a -lm -s" "$work/$arch/build/unroll" || exit 1
cp "$work/$arch/build/unroll" "$build/unroll-linux-$arch" && cd "$build" && sha256sum "unroll-linux-$arch" | tee "unroll-linux-$arch.sha256"
