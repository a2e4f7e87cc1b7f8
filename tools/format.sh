#!/bin/sh
# Formats C and CUDA files as .clang-format says; with --check it names those that are not so, and changes none.
# Usage: format.sh [--check]
cd "$(dirname "$0")/.." || exit 2
command -v clang-format-22 >/dev/null || { echo 'there is no clang-format-22; fix: apt-get install clang-format-22'; exit 77; }
how=-i
[ "${1:-}" != --check ] || how='--dry-run -Werror'
find src cli include bindings tests \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' \) ! -name dlpack.h |
    xargs -P "$(nproc)" -n 40 clang-format-22 $how
