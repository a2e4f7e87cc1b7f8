#!/bin/sh
# Import and export beside PyTorch and Keras themselves: test_interchange.sh BINARY BUILD. Where they can't be had
# (tests/venv.sh) it is skipped.
# test: args=$B/unroll $B; seconds=60
binary=$(realpath "$1") || exit 2
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../venv.sh" "${2:-build}" torch keras safetensors h5py) ||
    { echo "skipped: $python"; echo "interchange: 0 passed, 0 failed, 1 skipped"; exit 0; }
PYTHONDONTWRITEBYTECODE=1 KERAS_BACKEND=torch exec "$python" "$here/check_interchange.py" "$binary"
