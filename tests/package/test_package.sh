#!/bin/bash
# The package from the user's side: installed into an empty place, inspected, compiled against, removed.
#     tests/package/test_package.sh BUILD_FOLDER
# Changes nothing outside of a temporary folder, except with CI=true or TEST_DEB=1, which also install the Debian
# package on this machine and remove it.
# test: kinds=ci-plain; args=$B; seconds=60
set -u
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p')
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR PREFIX BINDIR LIBDIR INCLUDEDIR DATADIR PKG_CONFIG_LIBDIR

build=${1:-build}
place=$(mktemp -d) || exit 2
place=$(realpath "$place")
trap 'rm -rf "$place"' EXIT
prefix=$place/prefix
header=$(echo include/*.h)
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); }
miss() { failed=$((failed + 1)); echo "FAILED $*"; [ ! -s "$place/log" ] || tail -n 5 "$place/log"; }
skip() { skipped=$((skipped + 1)); echo "skipped: $*"; }
there() { command -v "$1" >/dev/null; }
# holds NAME COMMAND...: the command succeeds; its output is shown only on failure
holds() { local name=$1; shift; if "$@" >"$place/log" 2>&1; then pass; else miss "$name: $*"; fi; }
finish() { echo "package: $passed passed, $failed failed, $skipped skipped"; test "$failed" = 0; exit; }

build() { make -s --no-print-directory B="$build" "$@"; }

# ---- installing ---------------------------------------------------------------------------

holds "make install" build install PREFIX="$prefix"
[ "$failed" = 0 ] || finish
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
version=$("$prefix/bin/unroll" version | cut -d ' ' -f 2)
shared=$prefix/lib/libunroll.so.$version

# ---- the libraries' symbols ---------------------------------------------------------------

declared() { sed -E 's/^UNROLL_DEFAULT\(([a-z_]+)\)/UNROLL_API void \1_begin(/' $header | tr '\n' ' ' | grep -oE 'UNROLL_API [^(]*\(' | sed -nE 's/.*[ *](unroll_[a-z_0-9]+)\($/\1/p' | sort; }
shown() { nm --defined-only --format=posix "$@" | awk 'NF >= 2 && $2 ~ /[A-Z]/ {print $1}' | sort; }
shows_the_header() { diff <(declared) <(shown "$@"); }
soname() { readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'; }
at_most() { [ "$(stat -c %s "$1")" -le "$2" ]; }
stripped() { ! readelf -S "$1" | grep -q '\.symtab\|\.debug'; }

holds "the header declares functions" test "$(declared | wc -l)" -gt 40
holds "the shared library shows what the header declares" shows_the_header -D "$shared"
holds "the static library shows what the header declares" shows_the_header -g "$prefix/lib/libunroll.a"
holds "SONAME" test "$(soname "$shared")" = "libunroll.so.${version%%.*}"
holds "link for the loader" test "$(realpath "$prefix/lib/libunroll.so.${version%%.*}")" = "$shared"
holds "link for the linker" test "$(realpath "$prefix/lib/libunroll.so")" = "$shared"
# Optional libraries are loaded at run time: only these are linked.
needs_only_its_own() {  # FILE...
    local file
    for file in "$@"; do
        test -z "$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libjansson|libarchive|libz|libwebsockets|libssl|libcrypto|libm|libc|libpthread|libdl|ld-linux[-a-z0-9_]*)\.so')" || return
    done
}
plain_link() { ${CC:-gcc} -I"$prefix/include" examples/train_tiny.c -o "$place/plain" "$prefix/lib/libunroll.a" -ljansson -lm -pthread; }
holds "a program is linked with jansson, libm and threads alone" plain_link
holds "what is linked" needs_only_its_own "$shared" "$prefix/bin/unroll" "$place/plain"
holds "the command is stripped" stripped "$prefix/bin/unroll"
holds "the command is at most 5.5 MB, and 3 MB of kernels for GPUs" at_most "$prefix/bin/unroll" 8500000

# ---- programs against it ------------------------------------------------------------------

STRICT="-std=c11 -O2 -Wall -Wextra -Wpedantic -Werror"

# The loss of train_tiny falls below a hundredth of the initial one; own_loss learns where the noise is; then
# step_by_step predicts the wave on its own.
examples_run() {        # FOLDER with the two programs
    (cd "$1" && ./train_tiny >losses && ./own_loss >scores && ./ragged >epochs && ./own_data >described && grep -q '"label"' described && [ -s ragged.safetensors ] && ./step_by_step tiny.safetensors >steps && ./step_by_step >none &&
        ./stream | grep -q 'layer "voice" 0\.[0-9]*$' && ./stream tiny.safetensors | grep -q "heard, copied, saved: the same answer" &&
        ./integers tiny.safetensors | grep -q "differ by at most 0.0" &&
        ./callback tiny.safetensors | grep -q "150 blocks played, 1 refused, 1 change of network" &&
        { [ ! -e embed ] || ./embed tiny.safetensors | grep -q "4 of 4 threads: the answers of the whole"; }) &&
        awk '$1 == "update" {if (!n++) first = $4; last = $4} END {exit !(last > 0 && last < first / 100)}' \
            "$1/losses" &&
        awk '$1 == "update" {if (!n++) first = $4; last = $4; small = $9; large = $11}
            END {exit !(n == 4 && last < first / 3 && large > 1.5 * small)}' "$1/scores" &&
        awk '$1 == "epoch" {if (!n++) first = $6; last = $6} END {exit !(n == 4 && last > 0 && last < first / 2)}' \
            "$1/epochs" &&
        awk '$5 == "alone" {d = $3 - $4; if (d * d > 0.04) bad = 1; n++} END {exit bad || n != 20}' "$1/steps"
}

compile_examples() {    # FOLDER FLAGS...
    local folder=$1 example
    shift
    mkdir -p "$folder"
    for example in train_tiny own_loss ragged step_by_step stream callback own_data integers; do
        ${CC:-gcc} $STRICT "examples/$example.c" -o "$folder/$example" "$@" -lm || return
    done
    ! there "${CXX:-g++}" ||
        ${CXX:-g++} -std=c++17 -O2 -Wall -Wextra -Wpedantic -Werror examples/embed.cpp -o "$folder/embed" "$@"
}

uses() { ldd "$1" 2>/dev/null | grep -q "$2"; }
uses_not() { ! uses "$@"; }

if there pkg-config; then
    holds "pkg-config's version" test "$(pkg-config --modversion unroll)" = "$version"
    holds "examples, shared library" compile_examples "$place/so" $(pkg-config --cflags --libs unroll)
    export LD_LIBRARY_PATH=$prefix/lib
    holds "they use the shared library" uses "$place/so/train_tiny" "$prefix/lib/libunroll.so"
    holds "they run" examples_run "$place/so"
    unset LD_LIBRARY_PATH
    holds "examples, static" compile_examples "$place/a" -static $(pkg-config --static --cflags --libs unroll)
    holds "they use no library" uses_not "$place/a/train_tiny" "=>"
    holds "they run" examples_run "$place/a"
    holds "the same losses" cmp "$place/so/losses" "$place/a/losses"
else
    skip "examples through pkg-config: there is no pkg-config"
fi

with_cmake() {          # FOLDER TARGET
    cmake -S examples -B "$1" -DCMAKE_PREFIX_PATH="$prefix" -DUNROLL="$2" -DCMAKE_BUILD_TYPE=Release &&
        cmake --build "$1"
}
refuses_other_versions() {
    sed 's/unroll 0.2 REQUIRED/unroll 0.3 REQUIRED/' examples/CMakeLists.txt >"$place/other/CMakeLists.txt"
    ! cmake -S "$place/other" -B "$place/other" -DCMAKE_PREFIX_PATH="$prefix" >"$place/other/log" 2>&1 &&
        grep -q "version: $version" "$place/other/log"      # what it found and refused
}
if there cmake; then
    holds "examples with CMake, shared library" with_cmake "$place/cmake" unroll::unroll
    holds "they use the shared library" uses "$place/cmake/train_tiny" "$prefix/lib/libunroll.so"
    holds "they run" examples_run "$place/cmake"
    holds "examples with CMake, static library" with_cmake "$place/cmake-a" unroll::unroll_static
    holds "they do not use the shared library" uses_not "$place/cmake-a/train_tiny" libunroll
    holds "they run" examples_run "$place/cmake-a"
    mkdir "$place/other"
    holds "CMake refuses another version" refuses_other_versions
else
    skip "examples through CMake: there is no cmake"
fi

# C++ finds the functions by their C names. The program has its own fail(), as the library has internally.
cpp_program() {
    printf '%s\n' '#include <unroll_advanced.h>' '#include <cstdio>' 'int fail() { return 0; }' \
        'int main() { std::puts(unroll_version()); return fail(); }' >"$place/version.cpp"
    ${CXX:-g++} -std=c++11 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" "$place/version.cpp" \
        "$prefix/lib/libunroll.a" -ljansson -lm -pthread -o "$place/version" &&
        test "$("$place/version")" = "$version"
}
if there "${CXX:-g++}"; then
    holds "a C++ program" cpp_program
else
    skip "a C++ program: there is no g++"
fi

# ---- manual page and completion -----------------------------------------------------------

renders() {             # without a warning, into a page of some length
    groff -man -Tutf8 -ww -rLL=100n "$prefix/share/man/man1/unroll.1" >"$place/page" 2>"$place/warnings" &&
        test ! -s "$place/warnings" && test "$(wc -l <"$place/page")" -gt 50 && return
    cat "$place/warnings"
    return 1
}
if there groff; then
    holds "the manual page renders" renders
else
    skip "the manual page: there is no groff"
fi

completes() {           # EXPECTED WORDS...: bash completes the last of the words to EXPECTED
    local expected=$1
    shift
    bash -c 'source "$1" && shift && complete -p unroll >/dev/null || exit
             COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _unroll && echo "${COMPREPLY[*]}"' - \
        "$prefix/share/bash-completion/completions/unroll" "$@" | grep -qxF -e "$expected"
}
holds "a command is completed" completes "train" unroll tr
holds "a value is completed" completes "gru gru-before" unroll train --cell gru
holds "zsh's script" grep -q '^#compdef unroll$' "$prefix/share/zsh/site-functions/_unroll"
holds "fish's script" grep -q '^complete -c unroll ' "$prefix/share/fish/vendor_completions.d/unroll.fish"

# ---- documents ----------------------------------------------------------------------------

documents_are_there() { # files that README and the manual page refer to
    local name
    for name in $(grep -oh 'docs/[a-z/-]*\.md' README.md "$prefix/share/man/man1/unroll.1" | sort -u); do
        test -s "$prefix/share/doc/unroll/$name" || { echo "there is no $name"; return 1; }
    done
}
holds "the documents that are named" documents_are_there

# ---- removing -----------------------------------------------------------------------------

left() { find "$1" ! -type d; find "$1" -type d -name unroll; }

touch "$prefix/bin/other"
holds "make uninstall" build uninstall PREFIX="$prefix"
holds "nothing but what others put there is left" test "$(left "$prefix")" = "$prefix/bin/other"

# ---- the Debian package -------------------------------------------------------------------

FILES="bin/unroll include/unroll.h include/unroll_stream.h include/unroll_network.h include/unroll_data.h include/unroll_train.h include/unroll_ranks.h
    include/unroll_advanced.h include/unroll.hpp share/man/man1/unroll.1.gz
    share/bash-completion/completions/unroll share/zsh/vendor-completions/_unroll share/fish/vendor_completions.d/unroll.fish
    share/doc/unroll/docs/reference/formats.md lib/.*/libunroll.a lib/.*/libunroll.so.$version
    lib/.*/pkgconfig/unroll.pc lib/.*/cmake/unroll/unroll-config.cmake"

deb_holds_everything() {
    local file
    for file in $FILES; do
        dpkg-deb -c "$deb" | grep -qE "root/root .* \./usr/$file\$" || { echo "there is no $file"; return 1; }
    done
}
deb_field() { dpkg-deb -f "$deb" "$1"; }

# Into a folder with its own package database, which has no libc, hence --force-depends.
dpkg_aside() {
    dpkg --root="$place/root" --log="$place/dpkg.log" --force-depends --force-not-root --force-bad-path "$@"
}
prepare_root() {
    mkdir -p "$place"/root/var/lib/dpkg/{info,updates,triggers} && touch "$place/root/var/lib/dpkg/status"
}

on_this_machine() {
    dpkg -i "$deb" && test "$(/usr/bin/unroll version)" = "unroll $version" &&
        ldconfig -p | grep -q "$(soname "$build/package/libunroll.so.$version")"
}
nothing_left() {        # ROOT
    dpkg-deb -c "$deb" | awk '/^[-l]/ {sub(/^\./, "", $6); print $6}' >"$place/names"
    local name
    while read -r name; do test ! -e "$1$name" || { echo "$1$name is left"; return 1; }; done <"$place/names"
    test ! -e "$1/usr/include/unroll.h"
}

if ! there dpkg-deb; then
    skip "the Debian package: there is no dpkg-deb"
    finish
fi
holds "make deb" build deb CUDA=
deb=$(ls "$build"/unroll_"$version"_*.deb)
holds "it holds everything" deb_holds_everything
holds "its version" test "$(deb_field Version)" = "$version"
holds "its architecture" test "$(deb_field Architecture)" = "$(dpkg --print-architecture)"
holds "what it depends on" grep -qE '^libc6 \(>= 2\.[0-9]+\), libjansson4' <(deb_field Depends)
holds "its pkg-config file" grep -q '^prefix=/usr$' "$build"/package/deb/usr/lib/*/pkgconfig/unroll.pc
holds "a database of its own" prepare_root
holds "it installs in a folder" dpkg_aside -i "$deb"
holds "the command there runs" "$place/root/usr/bin/unroll" version
holds "it is removed from there" dpkg_aside -P unroll
holds "nothing is left there" nothing_left "$place/root"

if [ "${CI:-}" != true ] && [ "${TEST_DEB:-}" != 1 ]; then
    skip "installing the package here: it changes the machine; set TEST_DEB=1 to do it"
elif [ "$(id -u)" != 0 ]; then
    skip "installing the package here: not root"
elif ! nothing_left "" >/dev/null; then
    skip "installing the package here: there is an Unroll already"
elif ! dpkg-query -W libjansson4 >/dev/null 2>&1; then
    skip "installing the package here: libjansson4 is not of this Debian"
else
    holds "it installs here" on_this_machine
    holds "it is removed from here" dpkg -P unroll
    holds "nothing is left here" nothing_left ""
fi
finish
