#!/bin/sh
# The library with CMake: as a part of another project (add_subdirectory and FetchContent), and installed (find_package
# and pkg-config), static and shared. The programs train, and may have a function fail() of their own. The library of
# the build is taken over; what CMake would compile is compared with what make compiles. Usage: test_cmake.sh BUILD
# test: kinds=ci-plain; args=$B; needs=$B/unroll $B/libunroll.a; if=cmake; seconds=60
build=$(realpath "$1") passed=0 failed=0
cd "$(dirname "$0")/../.." || exit 2
root=$PWD
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
check() { if "$@" >"$place/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $*"; tail -n 15 "$place/log"; fi; }

# ---- a project that uses it -----------------------------------------------------------------
mkdir "$place/uses"
cat >"$place/uses/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(uses C)
if(WAY STREQUAL add)
    add_subdirectory($root unroll)
elseif(WAY STREQUAL fetch)
    include(FetchContent)
    FetchContent_Declare(unroll SOURCE_DIR $root)
    FetchContent_MakeAvailable(unroll)
else()
    find_package(unroll 0.2 REQUIRED)
endif()
add_executable(train $root/examples/train_tiny.c fail.c)
target_link_libraries(train PRIVATE unroll::unroll m)
END
echo 'int fail(void); int fail(void) { return 3; }' >"$place/uses/fail.c"
uses() {                    # NAME OPTIONS: configures, builds and runs the project; its losses fall
    name=$1
    shift
    cmake -S "$place/uses" -B "$place/$name" -DUNROLL_LIBRARY="$build/libunroll.a" "$@" && cmake --build "$place/$name" &&
        (cd "$place/$name" && ./train) >"$place/$name/losses" && grep -q '^update .* loss' "$place/$name/losses"
}
installs() {                # NAME OPTIONS
    name=$1
    shift
    cmake -S . -B "$place/build-$name" -DUNROLL_LIBRARY="$build/libunroll.a" -DCMAKE_INSTALL_PREFIX="$place/$name" "$@" &&
        cmake --build "$place/build-$name" && cmake --install "$place/build-$name"
}
check uses add -DWAY=add
check uses fetch -DWAY=fetch -DBUILD_SHARED_LIBS=ON
check installs static
check installs shared -DBUILD_SHARED_LIBS=ON
check uses found -DWAY=find -DCMAKE_PREFIX_PATH="$place/static"
check uses found-shared -DWAY=find -DCMAKE_PREFIX_PATH="$place/shared"
for name in fetch found found-shared; do check cmp "$place/add/losses" "$place/$name/losses"; done
check sh -c "ldd '$place/found-shared/train' | grep -q '$place/shared/lib.*/libunroll.so'"
check test "$(nm -g --defined-only "$place"/static/lib*/libunroll.a "$place"/static/lib/*/libunroll.a 2>/dev/null | grep ' [A-Z] ' | grep -vc ' unroll_')" = 0
refuses() { ! cmake -S "$place/uses" -B "$place/other" -DWAY=find -DCMAKE_PREFIX_PATH="$place/static" >"$place/said" 2>&1; }
sed -i 's/unroll 0.2/unroll 0.3/' "$place/uses/CMakeLists.txt"
check refuses

# ---- what CMake compiles --------------------------------------------------------------------
check cmake -S . -B "$place/all" -DUNROLL_EXTENSIONS="gpu;cuda;opencl;xla;hardware;cluster;simulation"
for file in "$build"/text/*.inc; do
    case $file in */page.inc | */integers.inc) continue ;; esac       # of the extension serve, which make builds
    check cmp "$file" "$place/all/made/text/$(basename "$file")"
done
objects=$place/all/CMakeFiles/unroll_objects.dir
make -n --no-print-directory B="$place/none" CUDA= EXTENSIONS="cuda opencl xla hardware simulation" "$place/none/libunroll.a" >"$place/commands" 2>&1
sed -n 's|^CMakeFiles/unroll_objects.dir/\(.*\.c\)\.o: .*|\1|p' "$objects/build.make" | grep -v '^made' | sort -u >"$place/cmake-files"
tr ' ' '\n' <"$place/commands" | sed -nE "s,^$place/none/((src|extensions)/.*)\.o\$,\1.c,p" | grep -v '/images.c$' | sort -u >"$place/make-files"
# The instruction sets of a file: FILE -mFLAG...
sed -n 's|.*unroll_objects.dir/\(.*\.c\)\.o_OPTIONS = |\1 |p' "$objects/flags.make" | tr ';' ' ' | sort >"$place/cmake-isas"
sed -n 's|.* -c \([^ ]*\) -o .*|\1 &|p' "$place/commands" | awk '{ flags = ""; for (i = 2; i <= NF; i++) if ($i ~ /^-m/) flags = flags " " $i; if (flags) print $1 flags }' | sort >"$place/make-isas"
check diff "$place/make-isas" "$place/cmake-isas"
check test "$(wc -l <"$place/make-isas")" -gt 5
check test "$(wc -l <"$place/make-files")" -gt 300
check diff "$place/make-files" "$place/cmake-files"
not_there() { ! cmake -S . -B "$place/wrong" -DUNROLL_EXTENSIONS=strange >"$place/said" 2>&1 && grep -q "there is no extension 'strange'; fix: " "$place/said"; }
check not_there
echo "cmake: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
