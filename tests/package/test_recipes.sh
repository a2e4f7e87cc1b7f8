#!/bin/bash
# The recipes in packaging/: their syntax by the tools that are here, their versions, `conan create` where PyPI's conan is
# installed, the steps of the AUR recipe and of the Dockerfile, and the bill of materials. Usage: test_recipes.sh BUILD
# test: kinds=ci-plain; args=$B; needs=$B/unroll $B/libunroll.a; seconds=60
build=$(realpath "$1") passed=0 failed=0 skipped=0
cd "$(dirname "$0")/../.." || exit 2
root=$PWD python=${PYTHON:-python3}
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
check() { if "$@" >"$place/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $*"; tail -n 15 "$place/log"; fi; }
skip() { skipped=$((skipped + 1)); echo "skipped: recipes: $*"; }
version=$(sed -n 's/^.define UNROLL_VERSION_[A-Z]* *//p' include/unroll.h | paste -sd.)

states_version() { sed -nE 's/.*([ "-=v])([0-9]+\.[0-9]+\.[0-9]+)([-".].*|$)/\2/p' "packaging/$1" | head -n 1 | grep -qxF "$version"; }
for file in debian/changelog homebrew/unroll.rb conda/recipe.yaml vcpkg/vcpkg.json nix/default.nix aur/PKGBUILD; do check states_version $file; done

check "$python" -m json.tool packaging/vcpkg/vcpkg.json "$place/json"
check bash -n packaging/aur/PKGBUILD
check "$python" -m py_compile packaging/conan/conanfile.py packaging/conan/test_package/conanfile.py
if command -v ruby >/dev/null; then check ruby -c packaging/homebrew/unroll.rb; else skip "there is no ruby for the Homebrew formula"; fi
if command -v nix-instantiate >/dev/null; then check nix-instantiate --parse packaging/nix/default.nix; else skip "there is no nix-instantiate"; fi
if "$python" -c 'import yaml' 2>/dev/null; then
    check "$python" -c 'import sys, yaml
recipe = yaml.safe_load(open(sys.argv[1]))
assert {"schema_version", "package", "source", "build", "requirements", "tests", "about"} <= set(recipe), recipe
workflow = yaml.safe_load(open(sys.argv[2]))
assert all("steps" in job for job in workflow["jobs"].values())' packaging/conda/recipe.yaml .github/workflows/release.yml
else
    skip "there is no yaml in Python for the conda recipe"
fi

# The package step of the AUR recipe, with the build that is here.
aur() (
    local pkgdir=$place/aur srcdir=$place/aur-source
    mkdir -p "$srcdir" && ln -s "$root" "$srcdir/unroll-$version" && cd "$srcdir" && . "$root/packaging/aur/PKGBUILD" &&
        export MAKEFLAGS="B=$build" && package && test "$("$pkgdir/usr/bin/unroll" version)" = "unroll $pkgver" &&
        test -s "$pkgdir/usr/share/licenses/unroll/LICENSE"
)
check aur
# What the Dockerfile copies is what make static writes.
check grep -q "unroll-linux-\$arch" tools/static.sh
check grep -qF 'COPY unroll-linux-${ARCH} /unroll' packaging/Dockerfile

if ! "$python" -c 'import conan' 2>/dev/null || ! command -v cmake >/dev/null; then
    skip "there is no conan or cmake; fix: pip install conan"
else
    unset CC CXX        # Conan detects a compiler of a plain name
    export CONAN_HOME=$place/conan UNROLL_LIBRARY=$build/libunroll.a
    conan() { "$python" -c 'import sys; from conans.conan import run; sys.argv[0] = "conan"; run()' "$@"; }
    check conan profile detect
    creates() { conan create packaging/conan --no-remote 2>&1 | tee "$place/created" | tail -n 15 && grep -q "^unroll $version\$" "$place/created"; }
    check creates
fi

mkdir "$place/sources" && for name in jansson/src libarchive/libarchive zlib xz-utils/src/liblzma/api/lzma bzip2 libzstd/lib; do mkdir -p "$place/sources/$name"; done
echo '#define JANSSON_VERSION "2.14"' >"$place/sources/jansson/src/jansson.h"
echo '#define	ARCHIVE_VERSION_ONLY_STRING "3.6.2"' >"$place/sources/libarchive/libarchive/archive.h"
echo '#define ZLIB_VERSION "1.2.13"' >"$place/sources/zlib/zlib.h"
printf '#define LZMA_VERSION_%s\n' 'MAJOR 5' 'MINOR 4' 'PATCH 1' >"$place/sources/xz-utils/src/liblzma/api/lzma/version.h"
echo '#define BZ_VERSION  "1.0.8, 13-Jul-2019"' >"$place/sources/bzip2/bzlib_private.h"
printf '#define ZSTD_VERSION_%s\n' 'MAJOR    1' 'MINOR    5' 'RELEASE  4' >"$place/sources/libzstd/lib/zstd.h"
bill() { SOURCE_DATE_EPOCH=1700000000 tools/sbom.py "$place/sources" LICENSE >"$place/$1"; }
check bill a.json
check bill b.json
check cmp "$place/a.json" "$place/b.json"
check grep -q "$(sha256sum LICENSE | cut -d ' ' -f 1)" "$place/a.json"
check test "$(grep -o '"versionInfo": "[0-9.]*"' "$place/a.json" | tr -dc '0-9.\n' | paste -sd ' ')" = "$version 2.14 3.6.2 1.2.13 5.4.1 1.0.8 1.5.4"
rm "$place/sources/zlib/zlib.h" && : >"$place/sources/zlib/zlib.h"
no_version() { ! bill c.json 2>"$place/said" && grep -q 'has no version; fix: ' "$place/said"; }
check no_version
if "$python" -c 'import spdx_tools' 2>/dev/null; then
    cp "$place/a.json" "$place/a.spdx.json"
    check "$python" -c 'import sys; from spdx_tools.spdx.clitools.pyspdxtools import main; main()' --infile "$place/a.spdx.json"
else
    skip "there is no spdx-tools of PyPI to check the bill of materials"
fi
echo "recipes: $passed passed, $failed failed, $skipped skipped"
test "$failed" = 0
