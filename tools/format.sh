#!/bin/sh
# Formats C and CUDA files with .clang-format. --check changes nothing and lists the files that would change.
# Usage: format.sh [--check]
cd "$(dirname "$0")/.." || exit 2
command -v clang-format-22 >/dev/null || { echo 'there is no clang-format-22; fix: apt-get install clang-format-22'; exit 77; }
how=-i
[ "${1:-}" != --check ] || how='--dry-run -Werror'
find src extensions cli include bindings tests \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' \) ! -name dlpack.h |
    xargs -P "$(nproc)" -n 40 clang-format-22 $how
