#!/bin/sh
# Compares import and export with PyTorch and Keras: test_interchange.sh BINARY BUILD. Skipped if they cannot be
# installed (tests/venv.sh).
# test: kinds=ci-plain; args=$B/unroll $B; seconds=60
binary=$(realpath "$1") || exit 2
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../venv.sh" "${2:-build}" torch keras safetensors h5py) ||
    { echo "skipped: $python"; echo "interchange: 0 passed, 0 failed, 1 skipped"; exit 0; }
PYTHONDONTWRITEBYTECODE=1 KERAS_BACKEND=torch exec "$python" "$here/check_interchange.py" "$binary"
