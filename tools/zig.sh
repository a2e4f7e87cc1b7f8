# For static.sh and wasm.sh, which read it: ZIG, the command of zig (PyPI's ziglang), and jansson for its targets.
if [ -z "${ZIG:-}" ]; then
    if command -v zig >/dev/null; then ZIG=zig; elif python3 -m ziglang version >/dev/null 2>&1; then ZIG="python3 -m ziglang"; else
        echo "error: there is no zig here; fix: pip install ziglang, or ZIG=COMMAND" >&2
        exit 4
    fi
fi

# Unpacks the source of jansson to FOLDER/jansson, by apt with sources of its own.
jansson_source() {      # FOLDER
    [ ! -d "$1/jansson" ] || return 0
    work=$1
    mkdir -p "$work/lists/partial"
    . /etc/os-release
    echo "deb-src http://deb.debian.org/debian ${VERSION_CODENAME:-stable} main" >"$work/sources.list"
    set -- -qq -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/lists"
    (cd "$work" && apt-get "$@" update && apt-get "$@" source --download-only jansson 2>/dev/null) ||
        { echo "error: the source of jansson cannot be fetched; fix: unpack it as $work/jansson" >&2; exit 4; }
    mkdir -p "$work/unpacked" && tar -xzf "$work"/jansson_*.orig.tar.gz -C "$work/unpacked" --strip-components=1 && mv "$work/unpacked" "$work/jansson"
}

# Builds FOLDER/libjansson.a, with its headers next to it, from FOLDER/../jansson.
jansson_build() {       # FOLDER COMPILER SYSTEM
    [ ! -f "$1/libjansson.a" ] || return 0
    (mkdir -p "$1/jansson" && cd "$1/jansson" || exit 1
    printf '#!/bin/sh\nexec %s "$@"\n' "$2" >cc && chmod +x cc
    cmake -DCMAKE_SYSTEM_NAME="$3" -DCMAKE_C_COMPILER="$PWD/cc" -DCMAKE_AR="$(command -v ar)" -DCMAKE_BUILD_TYPE=Release \
        -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON -DUSE_URANDOM=ON ../../jansson >log 2>&1 &&
        make jansson >>log 2>&1 || { tail -n 20 log; exit 1; }
    cp lib/libjansson.a include/jansson.h include/jansson_config.h ..) || exit 1
}
