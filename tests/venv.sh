#!/bin/sh
# Prints the Python of the environment shared by all tests, if it has the modules; otherwise prints why not, and fails.
# venv.sh BUILD MODULE... The first caller creates it in BUILD/venv from tests/requirements.txt, the others wait: `make
# test` starts it while the compiler runs. PEERS_PYTHON names another Python that has the modules.
here=$(cd "$(dirname "$0")" && pwd)
build=$1; shift
export KERAS_BACKEND=torch      # otherwise Keras requires TensorFlow
modules=$(echo "$*" | tr ' ' ',')
python=${PEERS_PYTHON:-$build/venv/bin/python}

if [ -z "$PEERS_PYTHON" ]; then
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        { echo "there is no Python 3.11 or newer"; exit 1; }
    mkdir -p "$build"
    exec 9>"$build/venv.lock"
    flock 9
    if ! [ -e "$build/venv/complete" ]; then
        python3 -m venv "$build/venv" >"$build/venv.log" 2>&1 || { echo "python3 -m venv does not work"; exit 1; }
        timeout 300 "$python" -m pip --disable-pip-version-check --timeout 10 --retries 1 install -q --no-compile \
            -r "$here/requirements.txt" >"$build/venv.log" 2>&1 9>&- && : >"$build/venv/complete"
        # Compiles the modules in use once.
        env -u PYTHONDONTWRITEBYTECODE "$python" -c 'import torch._dynamo, keras, onnx, onnxruntime, mypy.main' \
            >>"$build/venv.log" 2>&1 9>&-
    fi
    exec 9>&-
    python=$(cd "$(dirname "$python")" && pwd)/python
fi
[ $# = 0 ] || "$python" -c "import $modules" 2>/dev/null ||
    { echo "what PyPI has for the tests ($modules) could not be installed"; exit 1; }
echo "$python"
