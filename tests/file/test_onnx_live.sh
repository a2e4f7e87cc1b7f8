#!/bin/sh
# ONNX export and import beside onnx.checker and ONNX Runtime: test_onnx_live.sh BINARY BUILD [SECONDS [SEED]], which are
# of random graphs. Where they can't be had (tests/venv.sh) it is skipped.
# test: args=$B/unroll $B; seconds=60
# test: kinds=long-plain; args=$B/unroll $B 60; seconds=60
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../venv.sh" "$2" numpy onnx onnxruntime) ||
    { echo "skipped: $python"; echo "onnx live: 0 passed, 0 failed, 1 skipped"; exit 0; }
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/check_onnx_live.py" "$1" ${3:-} ${4:-}
