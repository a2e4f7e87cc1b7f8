#!/bin/sh
# The files of RTNeural, AIDA-X, GuitarML and Neural Amp Modeler in both directions: test_amp.sh UNROLL. Also compares
# with Neural Amp Modeler itself, if the Python that PEERS_PYTHON names (default: python3) has it.
# test: kinds=plain; args=$B/unroll; seconds=15; if=python3
here=$(cd "$(dirname "$0")" && pwd)
PYTHONDONTWRITEBYTECODE=1 exec "${PEERS_PYTHON:-python3}" "$here/check_amp.py" "$(realpath "$1")"
