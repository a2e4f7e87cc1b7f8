#!/bin/sh
# The files of RTNeural, AIDA-X, GuitarML and Neural Amp Modeler in both directions: test_amp.sh UNROLL [BUILD]. With
# BUILD also compares with Neural Amp Modeler itself, if it can be installed (tests/venv.sh).
# test: kinds=plain; args=$B/unroll; seconds=15; if=python3
# test: kinds=ci-plain; args=$B/unroll $B; seconds=30; if=python3
here=$(cd "$(dirname "$0")" && pwd)
python=python3
if [ $# -gt 1 ]; then
    python=$("$here/../venv.sh" "$2" torch nam) || { echo "skipped: $python"; echo "amp: 0 passed, 0 failed, 1 skipped"; exit 0; }
fi
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/check_amp.py" "$(realpath "$1")"
