#!/bin/sh
# ONNX export beside onnx.checker and ONNX Runtime: test_onnx_live.sh BINARY BUILD. Where they can't be had
# (tests/venv.sh) it is skipped.
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../venv.sh" "$2" numpy onnx onnxruntime) ||
    { echo "skipped: $python"; echo "onnx live: 0 passed, 0 failed, 1 skipped"; exit 0; }
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/check_onnx_live.py" "$1"
