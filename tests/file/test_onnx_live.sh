#!/bin/sh
# Compares ONNX export and import with onnx.checker and ONNX Runtime: test_onnx_live.sh BINARY BUILD [SECONDS [SEED]],
# where SECONDS and SEED are for random graphs. Skipped if they cannot be installed (tests/venv.sh).
# test: args=$B/unroll $B; seconds=60
# test: kinds=long-plain; args=$B/unroll $B 60; seconds=60
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../venv.sh" "$2" numpy onnx onnxruntime) ||
    { echo "skipped: $python"; echo "onnx live: 0 passed, 0 failed, 1 skipped"; exit 0; }
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/check_onnx_live.py" "$1" ${3:-} ${4:-}
