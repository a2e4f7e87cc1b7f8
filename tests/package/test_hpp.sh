#!/bin/bash
# unroll.hpp with g++ and clang++, as C++17 and C++20, with warnings as errors; and the program at its top.
#     tests/package/test_hpp.sh LIBRARY_FOLDER
# test: args=$B; seconds=20
set -u
build=$(realpath "$1") || exit 2
root=$(realpath "$(dirname "$0")/../..")
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
passed=0 failed=0 skipped=0
holds() {               # NAME COMMAND...
    local name=$1; shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name"; fi
}
compile() {             # COMPILER STANDARD SOURCE
    "$1" -std="$2" -O1 -Wall -Wextra -Wpedantic -Werror -I"$root/include" "$3" -o program "$build/libunroll.a" -ljansson \
        -larchive -lz -lm -pthread -ldl
}

{ printf '#include "unroll.hpp"\n#include <cstdio>\nint main()\n{\n'
  sed -n '1,/\*\//s/^ \*     //p' "$root/include/unroll.hpp"; echo '}'; } >top.cpp
cat >model.cpp <<'END'
#include "unroll.hpp"
int main()
{
    unroll_model_config network = unroll_model_config_default();
    network.hidden = 16, network.input = 40, network.output = 8;
    unroll::Model(network).save("model.safetensors");
}
END
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { skipped=$((skipped + 1)); echo "skipped: there is no $compiler"; continue; }
    for standard in c++17 c++20; do
        holds "$compiler $standard: the example compiles" compile $compiler $standard "$root/tests/package/hpp_example.cpp"
        holds "$compiler $standard: the example runs" ./program
    done
    holds "$compiler: a model" compile $compiler c++17 model.cpp && ./program
    holds "$compiler: the program at the top compiles" compile $compiler c++17 top.cpp
    ./program >shown
    holds "$compiler: it prints two outputs: $(cat shown)" grep -qxE -- '-?0\.[0-9]{4} -?0\.[0-9]{4}' shown
    rm -f program model.safetensors
done
holds "at most 250 lines" test "$(wc -l <"$root/include/unroll.hpp")" -le 250
echo "hpp: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
