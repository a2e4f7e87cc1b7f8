#!/bin/sh
# Import and export beside PyTorch and Keras themselves: test_interchange.sh BINARY BUILD. They are installed
# into a venv of their own under BUILD/interchange; what can't be had is skipped. PEERS_PYTHON names a Python
# that has them.
binary=$(realpath "$1") || exit 2
here=$(cd "$(dirname "$0")" && pwd)
place=${2:-build}/interchange
python=${PEERS_PYTHON:-$place/bin/python}

if [ -z "$PEERS_PYTHON" ]; then
    mkdir -p "$(dirname "$place")"
    [ -x "$python" ] || python3 -m venv "$place" >/dev/null 2>&1 ||
        { echo "skipped: python3 -m venv does not work"
          echo "interchange: 0 passed, 0 failed, 1 skipped"; exit 0; }
    "$python" -c 'import torch, keras, safetensors' 2>/dev/null ||
        timeout 240 "$place/bin/pip" --timeout 10 --retries 0 install -q \
            -r "$here/requirements.txt" >/dev/null 2>&1
fi
PYTHONDONTWRITEBYTECODE=1 KERAS_BACKEND=torch exec "$python" "$here/check_interchange.py" "$binary"
