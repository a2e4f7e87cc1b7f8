#!/bin/sh
# Tests the Python binding: builds the wheel, installs it into a venv of its own under BUILD/python, runs
# tests/python/*.py there. test_python.sh BUILD [quick|long]. NumPy, PyTorch and mypy are installed for the
# tests that compare with them, and those are skipped where they can't be had.
build=$1 part=${2:-quick}
here=$(dirname "$0")
root=$(cd "$here/../.." && pwd)
objects=$build                  # as make knows it: its dependencies have that name
mkdir -p "$build/python" && build=$(cd "$build" && pwd)
venv=$build/python/venv

give_up() { echo "skipped: $1"; echo "python: 0 passed, 0 failed, 1 skipped"; exit 0; }
fail() { cat "$build/python/log"; echo "FAILED $1"; echo "python: 0 passed, 1 failed, 0 skipped"; exit 1; }

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    give_up "there is no Python 3.11 or newer"
[ -f "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] ||
    give_up "there is no Python.h; fix: apt-get install python3-dev"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv" >"$build/python/log" 2>&1 ||
    give_up "python3 -m venv does not work"

# The wheel, without the network: what it needs is here.
rm -rf "$build/python/wheel"
"$venv/bin/pip" wheel -q --no-index --no-deps --config-settings "build=$objects" -w "$build/python/wheel" \
    "$root/bindings/python" >"$build/python/log" 2>&1 || fail "pip wheel bindings/python"
"$venv/bin/pip" install -q --no-index --no-deps --force-reinstall "$build"/python/wheel/*.whl \
    >"$build/python/log" 2>&1 || fail "pip install of the wheel"

"$venv/bin/python" -c 'import numpy, torch, mypy' 2>/dev/null ||
    "$venv/bin/pip" install -q -r "$here/requirements.txt" >"$build/python/log" 2>&1 || true

cd "$build/python" || exit 1
PYTHONDONTWRITEBYTECODE=1 exec "$venv/bin/python" "$root/tests/python/run.py" "$part" "$build"
