#!/bin/sh
# Runs everyday tasks from raw files with the defaults: scores, CPU seconds, and epochs compared with PyTorch
# (bench/tasks.py).
# Usage: bench/tasks.sh DATA [--json] [--only NAME,..] [--unroll build/unroll] [--python PYTHON_WITH_TORCH]
exec python3 "$(dirname "$(realpath "$0")")/tasks.py" "$@"
