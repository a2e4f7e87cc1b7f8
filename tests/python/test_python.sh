#!/bin/sh
# Tests the Python binding: builds the wheel, installs it into a folder beside it, and runs tests/python/*.py with the
# Python of all tests (tests/venv.sh), which stays as it is. test_python.sh BUILD [quick|long]. What compares with
# NumPy, PyTorch or mypy is skipped where they can't be had.
# test: args=$B; seconds=110
build=$1 part=${2:-quick}
here=$(dirname "$0")
root=$(cd "$here/../.." && pwd)
objects=$build                  # as make knows it: its dependencies have that name
mkdir -p "$build/python" && build=$(cd "$build" && pwd)

give_up() { echo "skipped: $1"; echo "python: 0 passed, 0 failed, 1 skipped"; exit 0; }
fail() { cat "$build/python/log"; echo "FAILED $1"; echo "python: 0 passed, 1 failed, 0 skipped"; exit 1; }

python=$("$here/../venv.sh" "$objects") || give_up "$python"
[ -f "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] ||
    give_up "there is no Python.h; fix: apt-get install python3-dev"

# The wheel, without the network: what it needs is here.
rm -rf "$build/python/wheel" "$build/python/site"
"$python" -m pip wheel -q --no-index --no-deps --config-settings "build=$objects" -w "$build/python/wheel" \
    "$root/bindings/python" >"$build/python/log" 2>&1 || fail "pip wheel bindings/python"
"$python" -m pip install -q --no-index --no-deps --target "$build/python/site" "$build"/python/wheel/*.whl \
    >"$build/python/log" 2>&1 || fail "pip install of the wheel"

cd "$build/python" || exit 1
PYTHONPATH=$build/python/site PYTHONDONTWRITEBYTECODE=1 exec "$python" "$root/tests/python/run.py" "$part" "$build"
