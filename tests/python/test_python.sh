#!/bin/sh
# Tests the Python binding: builds the wheel, installs it into a folder next to it, and runs tests/python/*.py with the
# Python of all tests (tests/venv.sh), which is not modified. test_python.sh BUILD [quick|long]. Comparisons with NumPy,
# PyTorch or mypy are skipped if they cannot be installed.
# test: args=$B; needs=$B/unroll $B/tests/python/doors; seconds=200
build=$1 part=${2:-quick}
here=$(dirname "$0")
root=$(cd "$here/../.." && pwd)
objects=$build                  # as in make, whose dependencies have that name
mkdir -p "$build/python" && build=$(cd "$build" && pwd)

give_up() { echo "skipped: $1"; echo "python: 0 passed, 0 failed, 1 skipped"; exit 0; }
fail() { cat "$build/python/log"; echo "FAILED $1"; echo "python: 0 passed, 1 failed, 0 skipped"; exit 1; }

python=$("$here/../venv.sh" "$objects" scikit_build_core) || give_up "$python"
command -v cmake >/dev/null || give_up "there is no cmake; fix: apt-get install cmake"
[ -f "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] ||
    give_up "there is no Python.h; fix: apt-get install python3-dev"

# Builds the wheel without the network: its requirements are installed.
rm -rf "$build/python/wheel" "$build/python/site"
"$python" -m pip wheel -q --no-index --no-deps --no-build-isolation -Cbuild-dir="$build/python/cmake" -Cbuild.targets=unroll_python \
    -Ccmake.define.UNROLL_LIBRARY="$build/libunroll.a" -w "$build/python/wheel" "$root" >"$build/python/log" 2>&1 || fail "pip wheel ."
"$python" -m pip install -q --no-index --no-deps --target "$build/python/site" "$build"/python/wheel/*.whl \
    >"$build/python/log" 2>&1 || fail "pip install of the wheel"

cd "$build/python" || exit 1
PYTHONPATH=$build/python/site${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1 exec "$python" "$root/tests/python/run.py" "$part" "$build"
