#!/bin/sh
# Builds the static libraries that a release is linked with, by zig (PyPI's ziglang), from Debian's sources: jansson,
# and libarchive with zlib, xz, bzip2 and zstd for packed files (only what unpacks).
# Usage: dependencies.sh TARGET BUILD_FOLDER     ZIG=COMMAND    SOURCES=FOLDER of unpacked sources
# TARGET is one of zig, such as x86_64-linux-musl or aarch64-linux-gnu.2.28. Writes BUILD_FOLDER/static/TARGET: cc (the
# compiler for the target), lib/ and include/. Exit code 4: zig, cmake or the sources are missing.
target=$1 build=$2
if [ -z "${ZIG:-}" ]; then
    if command -v zig >/dev/null; then ZIG=zig; elif python3 -m ziglang version >/dev/null 2>&1; then ZIG="python3 -m ziglang"; else
        echo "error: there is no zig here; fix: pip install ziglang, or ZIG=COMMAND" >&2
        exit 4
    fi
fi
command -v cmake >/dev/null || { echo "error: there is no cmake here; fix: apt-get install cmake" >&2; exit 4; }
mkdir -p "$build/static/$target" && work=$(cd "$build/static" && pwd) && out=$work/$target
[ ! -e "$out/complete" ] || exit 0
sources=${SOURCES:-$work/sources}
mkdir -p "$out/lib" "$out/include" "$out/objects"
printf '#!/bin/sh\nexec %s cc -target %s -fno-sanitize=undefined -g0 "$@"\n' "$ZIG" "$target" >"$out/cc" && chmod +x "$out/cc"
for tool in ar ranlib; do printf '#!/bin/sh\nexec %s %s "$@"\n' "$ZIG" $tool >"$out/$tool" && chmod +x "$out/$tool"; done

# The sources, by apt with sources of its own.
packages="jansson libarchive zlib xz-utils bzip2 libzstd"
fetch() {
    mkdir -p "$work/packed/lists/partial" && . /etc/os-release
    echo "deb-src http://deb.debian.org/debian ${VERSION_CODENAME:-stable} main" >"$work/packed/sources.list"
    set -- -qq -o Dir::Etc::sourcelist="$work/packed/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/packed/lists"
    (cd "$work/packed" && apt-get "$@" update && apt-get "$@" source --download-only $packages 2>/dev/null) || return
    for name in $packages; do
        mkdir -p "$sources/$name" && tar -xf "$(ls "$work/packed/$name"_*.orig.tar.?z*)" -C "$sources/$name" --strip-components=1 || return
    done
    : >"$sources/complete"
}
[ -n "${SOURCES:-}" ] || [ -e "$sources/complete" ] || fetch >"$out/log" 2>&1 ||
    { echo "error: the sources of $packages cannot be fetched; fix: unpack each in a folder of that name, SOURCES=FOLDER" >&2; exit 4; }

exec 3>&2
give_up() { tail -n 20 "$out/log" >&3; echo "error: $1 does not build; the log is $out/log" >&3; exit 1; }
# Compiles files without a build system: archive NAME FLAGS -- FILES
archive() {
    name=$1 flags=
    shift
    while [ "$1" != -- ]; do flags="$flags $1"; shift; done
    shift
    mkdir -p "$out/objects/$name"
    printf 'exec "%s" -O2 -fPIC -w %s -c "$1" -o "%s/$(basename "$1" .c).o"\n' "$out/cc" "$flags" "$out/objects/$name" >"$out/objects/$name.sh"
    printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 sh "$out/objects/$name.sh" &&
        rm -f "$out/lib/lib$name.a" && "$out/ar" rcsD "$out/lib/lib$name.a" "$out/objects/$name"/*.o
}
# Compiles one target with CMake: with_cmake FOLDER TARGET OPTIONS
with_cmake() {
    folder=$1 goal=$2
    shift 2
    cmake -S "$folder" -B "$out/objects/$goal" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="${target%%-*}" -DCMAKE_C_COMPILER="$out/cc" \
        -DCMAKE_AR="$out/ar" -DCMAKE_RANLIB="$out/ranlib" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O2 -DBUILD_SHARED_LIBS=OFF \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_FIND_ROOT_PATH="$out" -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY \
        -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY "$@" && cmake --build "$out/objects/$goal" --target "$goal" -j "$(nproc)"
}
{
    with_cmake "$sources/jansson" jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON -DUSE_URANDOM=ON || give_up jansson
    cp "$out/objects/jansson/lib/libjansson.a" "$out/lib" && cp "$out/objects/jansson/include"/*.h "$out/include" || give_up jansson
    archive z -DHAVE_UNISTD_H -- "$sources/zlib"/*.c || give_up zlib
    cp "$sources/zlib/zlib.h" "$sources/zlib/zconf.h" "$out/include"
    (cd "$sources/bzip2" && archive bz2 -D_FILE_OFFSET_BITS=64 -- blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c) || give_up bzip2
    cp "$sources/bzip2/bzlib.h" "$out/include"
    archive zstd -DZSTD_DISABLE_ASM -DXXH_NAMESPACE=ZSTD_ -- "$sources/libzstd/lib/common"/*.c "$sources/libzstd/lib/decompress"/*.c || give_up zstd
    cp "$sources/libzstd/lib"/*.h "$out/include"
    with_cmake "$sources/xz-utils" liblzma || give_up xz
    cp "$out/objects/liblzma/liblzma.a" "$out/lib" && cp -r "$sources/xz-utils/src/liblzma/api"/lzma* "$out/include" || give_up xz
    # Its configuration for Linux is part of the source: hundreds of checks by zig would take minutes.
    from=$sources/libarchive
    archive archive "-DPLATFORM_CONFIG_H='\"linux_host.h\"' -D__LIBARCHIVE_CONFIG_H_INCLUDED -DHAVE_LZMA_H=1 -DHAVE_BZLIB_H=1 -DHAVE_LIBBZ2=1 -DHAVE_ZSTD_H=1 -DHAVE_LIBZSTD=1" -I"$from/contrib/android/config" -I"$out/include" -- \
        $(ls "$from"/libarchive/*.c | grep -vE '/archive_(write|disk|read_disk|read_extract|match)|windows') || give_up libarchive
    cp "$from/libarchive/archive.h" "$from/libarchive/archive_entry.h" "$out/include" || give_up libarchive
} >>"$out/log" 2>&1
rm -rf "$out/objects" && : >"$out/complete"
