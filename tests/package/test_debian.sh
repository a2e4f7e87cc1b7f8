#!/bin/sh
# The Debian source package (packaging/debian): it builds, lintian reports nothing, and the packages have the files of
# `make install`. Objects of the build are taken over. Usage: test_debian.sh BUILD
# test: kinds=ci-plain; args=$B; needs=$B/unroll; seconds=120
build=$(realpath "$1") passed=0 failed=0
cd "$(dirname "$0")/../.." || exit 2
give_up() { echo "skipped: debian: $1"; echo "debian: 0 passed, 0 failed, 1 skipped"; exit 0; }
for tool in dpkg-buildpackage dh lintian; do command -v $tool >/dev/null || give_up "there is no $tool; fix: apt-get install debhelper lintian"; done
[ -d .git ] || [ -f .git ] || give_up "the files are not in git"
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
check() { if "$@" >"$place/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $*"; tail -n 15 "$place/log"; fi; }
version=$(sed -n 's/^unroll (\(.*\)-.*/\1/p' packaging/debian/changelog)
tree=$place/unroll-$version
mkdir "$tree" && git ls-files -z | xargs -0 cp -a --parents -t "$tree" || exit 2
rm -rf "$tree/.git" && tar -C "$place" -czf "$place/unroll_$version.orig.tar.gz" "unroll-$version" && cp -r "$tree/packaging/debian" "$tree" || exit 2
mkdir "$tree/build" && for part in src cli extensions text cuda; do [ ! -d "$build/$part" ] || cp -a "$build/$part" "$tree/build"; done
cp -a "$build"/extension_* "$tree/build"
find "$tree/build" -name '*.d' -exec sed -i "s#$1/#build/#g" {} +

check test "$version" = "$(sed -n 's/^.define UNROLL_VERSION_[A-Z]* *//p' include/unroll.h | paste -sd.)"
package() { cd "$tree" && DEB_KEEP_OBJECTS=1 DEB_BUILD_OPTIONS=nocheck dpkg-buildpackage -us -uc -d --source-option=--extend-diff-ignore='^build/'; }
check package
check lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$place"/*.changes
holds_files() {             # PACKAGE FILES: the package has them
    dpkg-deb -c "$place/$1"_*.deb | awk '{ print $6 }' >"$place/files" || return
    shift
    for file; do grep -qE "^\./usr/$file\$" "$place/files" || { echo "there is no $file"; return 1; }; done
}
check holds_files unroll bin/unroll share/man/man1/unroll.1.gz share/bash-completion/completions/unroll share/doc/unroll/copyright
check holds_files libunroll0 "lib/.*/libunroll.so.$version" "lib/.*/libunroll.so.${version%%.*}"
check holds_files libunroll-dev include/unroll.h 'lib/.*/libunroll.a' 'lib/.*/libunroll.so' 'lib/.*/pkgconfig/unroll.pc'
check test "$(ls "$place"/*.dsc | wc -l)" = 1
echo "debian: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
