#!/bin/sh
# Builds one static file for Linux, without shared libraries, by zig (PyPI's ziglang) with its musl; jansson is compiled
# from Debian's source by cmake. Packed data, GPUs and MPI need shared libraries, so the file is built without them
# and without the extensions that use them.
# Usage: static.sh x86_64|aarch64 BUILD_FOLDER       ZIG=COMMAND   writes BUILD_FOLDER/unroll-linux-ARCH and its .sha256
arch=$1 build=$2
root=$(cd "$(dirname "$0")/.." && pwd)
case $arch in x86_64 | aarch64) ;; *) echo "error: static.sh knows x86_64 and aarch64, not '$arch'" >&2; exit 2 ;; esac
if [ -z "${ZIG:-}" ]; then
    if command -v zig >/dev/null; then ZIG=zig; elif python3 -m ziglang version >/dev/null 2>&1; then ZIG="python3 -m ziglang"; else
        echo "error: there is no zig here; fix: pip install ziglang, or ZIG=COMMAND" >&2
        exit 4
    fi
fi
mkdir -p "$build/static/$arch" && build=$(cd "$build" && pwd) && work=$build/static
cc="$ZIG cc -target $arch-linux-musl -fno-sanitize=undefined"

# The source, by apt with sources of its own.
if [ ! -d "$work/jansson" ]; then
    mkdir -p "$work/lists/partial"
    . /etc/os-release
    echo "deb-src http://deb.debian.org/debian ${VERSION_CODENAME:-stable} main" >"$work/sources.list"
    set -- -qq -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/lists"
    (cd "$work" && apt-get "$@" update && apt-get "$@" source --download-only jansson 2>/dev/null) ||
        { echo "error: the source of jansson cannot be fetched; fix: unpack it as $work/jansson" >&2; exit 4; }
    mkdir "$work/unpacked" && tar -xzf "$work"/jansson_*.orig.tar.gz -C "$work/unpacked" --strip-components=1 && mv "$work/unpacked" "$work/jansson"
fi
if [ ! -f "$work/$arch/libjansson.a" ]; then
    mkdir -p "$work/$arch/jansson" && cd "$work/$arch/jansson" || exit 1
    printf '#!/bin/sh\nexec %s "$@"\n' "$cc" >cc && chmod +x cc
    cmake -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_C_COMPILER="$PWD/cc" -DCMAKE_AR="$(command -v ar)" -DCMAKE_BUILD_TYPE=Release \
        -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON -DUSE_URANDOM=ON "$work/jansson" >log 2>&1 &&
        make jansson >>log 2>&1 || { tail -n 20 log; exit 1; }
    cp lib/libjansson.a include/jansson.h include/jansson_config.h ..
fi
make -s -C "$root" -j"$(nproc)" CC="$cc" ARCH="$arch" B="$work/$arch/build" JANSSON="$work/$arch" ARCHIVE= CUDA= EXTENSIONS=hardware \
    LIBS="$work/$arch/libjansson.a -lm -s" "$work/$arch/build/unroll" || exit 1
cp "$work/$arch/build/unroll" "$build/unroll-linux-$arch" && cd "$build" && sha256sum "unroll-linux-$arch" | tee "unroll-linux-$arch.sha256"
