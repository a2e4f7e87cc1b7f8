#!/bin/bash
# The wheel of a release: it has all libraries inside and fits an old glibc; in clean virtual environments of several
# versions of Python, without a compiler on the PATH, it gives the command and the module; two builds have the same
# bytes; the source distribution builds, too. The wheel for another processor is inspected, and its command runs under
# qemu. Usage: test_wheel.sh BUILD [x86_64|aarch64]
# test: kinds=long-plain; args=$B; needs=$B/unroll $B/libunroll.a; seconds=1200
# test: kinds=long-plain; args=$B aarch64; needs=$B/unroll $B/libunroll.a; seconds=1200
build=$(realpath "$1") passed=0 failed=0 skipped=0
root=$(cd "$(dirname "$0")/../.." && pwd)
arch=${2:-$(uname -m)} python=${PYTHON:-python3}
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
holds() { local name=$1; shift; if "$@" >"$place/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name: $*"; tail -n 5 "$place/log"; fi; }
finish() { echo "wheel: $passed passed, $failed failed, $skipped skipped"; test "$failed" = 0; exit; }

"$root/tools/wheel.sh" "$arch" "$build" >"$place/log" 2>&1
case $? in
    0) ;;
    4) echo "skipped: wheel: $(head -n 1 "$place/log")"; skipped=1; finish ;;
    *) tail -n 20 "$place/log"; failed=1; finish ;;
esac
wheel=$(ls "$build"/wheels/unroll-*-manylinux_2_*_"$arch".whl)
checksum() { (cd "$build/wheels" && sha256sum -c --quiet "$(basename "$wheel").sha256"); }
needs_only_glibc() {        # libraries of the platform, none packed next to it
    ! unzip -l "$wheel" | grep -q '\.libs/' && unzip -q "$wheel" -d "$place/wheel" &&
        test -z "$(readelf -d "$place"/wheel/unroll/_core.abi3.so "$place"/wheel/*.data/scripts/unroll | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
            grep -vE '^(libc|libm|libdl|libpthread|librt|ld-linux[-a-z0-9_]*)\.so')"
}
again() {                   # linked and packed a second time, at another time
    cp "$wheel" "$place/first.whl" && find "$build/wheel-$arch" -name '_core.abi3.so' -delete &&
        "$root/tools/wheel.sh" "$arch" "$build" && cmp "$place/first.whl" "$wheel"
}
holds "it has less than 10 MB" test "$(wc -c <"$wheel")" -lt 10000000
holds "its checksum is right" checksum
holds "it needs glibc alone" needs_only_glibc
holds "auditwheel confirms its tag" grep -qE "manylinux_2_(1[0-9]|2[0-8])_$arch" <("$python" -m auditwheel show "$wheel" 2>&1 | tr '\n' ' ')
holds "the same bytes when it is built again" again
cp "$root/examples/data/co2.csv" "$place"
options="co2.csv --epochs 2 --seed 3 --threads 1 --quiet --out"
(cd "$place" && "$build/unroll" train $options usual) >"$place/log" 2>&1
if [ "$arch" != "$(uname -m)" ]; then
    cd "$place" && chmod +x wheel/*.data/scripts/unroll || exit 2
    emulate=$(command -v "qemu-$arch" "qemu-$arch-static" | head -n 1) libraries=/usr/$arch-linux-gnu
    if [ -z "$emulate" ] || [ ! -d "$libraries" ]; then
        echo "skipped: wheel: no qemu-$arch, or no glibc in $libraries; fix: apt-get install qemu-user libc6-dev-arm64-cross"
        skipped=1
        finish
    fi
    holds "a training under emulation" "$emulate" -L "$libraries" wheel/*.data/scripts/unroll train $options alone
    holds "it trains to the same bytes" cmp usual/model.safetensors alone/model.safetensors
    finish
fi

# Clean environments: the PATH has nothing but the environment's own programs, so that no compiler can help.
"$python" - "$place" <<'END'
import lzma, sys, zipfile
text = open(sys.argv[1] + "/co2.csv", "rb").read()
lzma.open(sys.argv[1] + "/co2.csv.xz", "wb").write(text)
zipfile.ZipFile(sys.argv[1] + "/packed.zip", "w", zipfile.ZIP_DEFLATED).writestr("co2.csv", text)
END
cat >"$place/program.py" <<'END'
import array, sys
sys.modules["numpy"] = None
import unroll
x = memoryview(array.array("f", [0.1] * 60)).cast("B").cast("f", (5, 4, 3))
y = unroll.Model(cell="gru", input=3, hidden=8, layers=2, seed=1).run(x).outputs
assert memoryview(y).shape == (5, 4, 8), memoryview(y).shape
try:
    unroll.load("/nowhere")
except unroll.DataError:
    print("fine")
END
isas() { "$@" devices --json | sed 's/.*"isa":{\([^}]*\)}.*/\1/'; }
bare() { env -i PATH="$place/$venv/bin" HOME="$place/nowhere" LANG=C.UTF-8 "$@"; }
no_compiler() { ! bare "$place/$venv/bin/python" -c 'import shutil, sys; sys.exit(not any(map(shutil.which, ("cc", "gcc", "clang", "make"))))'; }
found=0
for version in 3.9 3.10 3.11 3.12 3.13 3.14; do
    interpreter=$(ls ~/.pyenv/versions/"$version".*/bin/python 2>/dev/null | tail -n 1)
    interpreter=${interpreter:-$(command -v "python$version")}
    [ -n "$interpreter" ] && "$interpreter" -m venv "$place/py$version" 2>/dev/null || continue
    venv=py$version found=$((found + 1))
    holds "Python $version: no compiler on the PATH" no_compiler
    holds "Python $version: installed" bare "$place/$venv/bin/python" -m pip install -q --no-index "$wheel"
    holds "Python $version: the module" bare "$place/$venv/bin/python" -W error "$place/program.py"
    holds "Python $version: the command" bare unroll version
done
if [ "$found" -lt 3 ]; then echo "skipped: only $found versions of Python are here; 3 are wanted"; skipped=$((skipped + 1)); fi
if [ "$found" -gt 0 ]; then
    cd "$place" || exit 2
    holds "the demo" bare unroll demo --for 1s
    holds "xz is unpacked" bare unroll inspect co2.csv.xz
    holds "zip is unpacked" bare unroll inspect packed.zip
    holds "the instruction sets of the ordinary build" test "$(isas bare unroll)" = "$(isas "$build/unroll")"
    holds "a training" bare unroll train $options alone
    holds "it trains to the same bytes" cmp usual/model.safetensors alone/model.safetensors
fi

# The source distribution.
sdist() {
    (cd "$root" && "$python" -c 'import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])' "$place/sdist") &&
        "$python" -m pip wheel -q --no-deps --no-build-isolation --no-index -Cbuild.targets=unroll_python \
            -Ccmake.define.UNROLL_LIBRARY="$build/libunroll.a" -w "$place/sdist" "$place"/sdist/unroll-*.tar.gz && ls "$place"/sdist/*.whl
}
holds "the source distribution builds" sdist
finish
