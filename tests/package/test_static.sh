#!/bin/sh
# The static file of `make static`: it needs no library, offers the instruction sets that the ordinary build offers, and
# trains to the same bytes in a root file system that has nothing else. test_static.sh BUILD
# test: kinds=long-plain; args=$B; seconds=300
build=$(realpath "$1") passed=0 failed=0
root=$(cd "$(dirname "$0")/../.." && pwd)
arch=$(uname -m)
give_up() { echo "skipped: static: $1"; echo "static: 0 passed, 0 failed, 1 skipped"; exit 0; }
holds() { if [ "$2" = 1 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $1"; fi; }
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT

"$root/tools/static.sh" "$arch" "$build" >"$place/log" 2>&1
case $? in
    0) ;;
    4) give_up "$(head -n 1 "$place/log")" ;;
    *) tail -n 20 "$place/log"; holds "the static file is built" 0; echo "static: 0 passed, 1 failed, 0 skipped"; exit 1 ;;
esac
static=$build/unroll-linux-$arch
holds "it has no shared libraries" "$(file -b "$static" | grep -c 'statically linked')"
holds "it has less than 8 MB" "$(($(wc -c <"$static") < 8000000))"
(cd "$build" && sha256sum -c --quiet "unroll-linux-$arch.sha256")
holds "its checksum is right" $((! $?))
isas() { "$1" devices --json | sed 's/.*"isa":{\([^}]*\)}.*/\1/'; }
holds "it has the instruction sets of the ordinary build" "$([ "$(isas "$static")" = "$(isas "$build/unroll")" ] && echo 1)"

mkdir "$place/root" && cp "$static" "$place/root/unroll" && cp "$root/examples/data/co2.csv" "$place/root"
options="co2.csv --epochs 2 --seed 3 --threads 1 --quiet --out"
(cd "$place/root" && "$build/unroll" train $options usual) >"$place/log" 2>&1
if [ "$(id -u)" = 0 ]; then chroot "$place/root" /unroll train $options alone; else (cd "$place/root" && ./unroll train $options alone); fi >>"$place/log" 2>&1
cmp "$place/root/usual/model.safetensors" "$place/root/alone/model.safetensors" >>"$place/log" 2>&1
holds "it trains to the same bytes: $(cat "$place/log")" $((! $?))
echo "static: $passed passed, $failed failed, 0 skipped"
test $failed = 0
