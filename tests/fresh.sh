#!/bin/bash
# Runs the commands of the README on a fresh Debian: a root file system with only git and certificates, into which the
# last commit is cloned. Run as root by .ci/run; not a part of `make test`, which it runs itself.
#     tests/fresh.sh              demo, README, make check, the first message without root, packages of the tests
#     tests/fresh.sh demo check   only these parts
# FRESH_CACHE=FOLDER keeps the root and the packages between runs (~/.cache/unroll-fresh). FRESH_WITHOUT=PACKAGE removes
# a package from the lists of the clone, which must make a part fail.
# test: kinds=ci-plain; seconds=200; needs=
set -u
root=$(realpath "$(dirname "$0")/..") || exit 2
cache=${FRESH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/unroll-fresh}
parts=${*:-user demo readme check packages}
passed=0 failed=0 skipped=0
finish() {
    echo "fresh: $passed passed, $failed failed, $skipped skipped"
    exit $((failed > 0))
}
skip() {
    skipped=$((skipped + 1))
    echo "skipped: fresh Debian: $1"
    finish
}

# ---- requirements -------------------------------------------------------------------------

[ "$(id -u)" = 0 ] || skip "needs root"
unshare --mount --pid --fork true 2>/dev/null || skip "this kernel allows no namespaces here"
command -v mmdebstrap >/dev/null || "$root/tools/install.sh" --optional mmdebstrap
command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap"
sources=$(grep -lsE '^(deb |Types:)' /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources)
[ -n "$sources" ] || skip "this is no Debian or Ubuntu with package sources of its own"

work=$(mktemp -d) || exit 2
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 143' INT TERM
fresh=$work/root log=$work/log
mkdir -p "$cache/archives/partial" "$fresh"

# ---- the root -----------------------------------------------------------------------------

settings=$(grep -lsE '^ *Acquire::' /etc/apt/apt.conf /etc/apt/apt.conf.d/*)
# One for each set of sources; created again after a week, because old lists name packages that are no longer served.
tar=$cache/$(cat $sources $settings | cksum | tr ' ' -).tar
make_root() {
    [ -n "$(find "$tar" -mtime -7 2>/dev/null)" ] && return
    rm -f "$cache"/*.tar
    mmdebstrap --quiet --variant=apt --include=git,ca-certificates --format=tar --dpkgopt=force-unsafe-io \
        --aptopt='Acquire::Languages "none"' $(printf -- '--aptopt=%s ' $settings) "" "$tar.new" $sources >"$log" 2>&1 && mv "$tar.new" "$tar"
}
make_root || { tail -n 5 "$log"; skip "the root file system could not be made: $(tail -n 1 "$log")"; }
tar -xf "$tar" -C "$fresh" || exit 2
for file in /etc/resolv.conf /etc/hosts $settings; do cp --parents -L "$file" "$fresh"; done
cp -rL /etc/ssl/certs "$fresh/etc/ssl/" 2>/dev/null
# Packages that this machine has already downloaded.
find /var/cache/apt/archives -maxdepth 1 -name '*.deb' -exec cp -ln -t "$cache/archives" {} + 2>/dev/null
git -C "$root" bundle create -q "$fresh/unroll.bundle" HEAD || exit 2

# inside COMMAND: as root in the fresh system, with its own processes and mounts, which end with the command
inside() {
    unshare --mount --pid --fork --kill-child sh -c '
        cd "$1" && mount --rbind /dev dev && mount -t proc proc proc && mount --rbind /sys sys && mount --bind "$2" var/cache/apt/archives || exit 99
        [ -z "$4" ] || mount -t tmpfs -o mode=1777 tmpfs dev/shm
        exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEMO_SECONDS=2 \
            chroot . sh -c "cd /unroll 2>/dev/null; $3"' sh "$fresh" "$cache/archives" "$1" shm >"$log" 2>&1 </dev/null
}
check() {               # check WHAT STATUS COMMAND
    local began=$SECONDS status
    inside "$3"
    status=$?
    if [ $status = "$2" ]; then
        passed=$((passed + 1))
        echo "$1 ($((SECONDS - began)) s)"
    else
        failed=$((failed + 1))
        echo "FAILED $1: ends with $status, not $2 ($((SECONDS - began)) s)"
        tail -n 25 "$log"
    fi
}
says() {                # says WHAT PATTERN: the last command printed it
    if grep -qE -- "$2" "$log"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAILED $1: not printed: $2"
        tail -n 25 "$log"
    fi
}

# A test for each package of the tests: C, CUDA with g++, Python, other processors, hardware, shells, MPI, packages.
kinds='data/test_csv|device/test_fake_cuda|bits/test_bits|cells/check_neon|export/test_formal|export/test_verilog|cli/test_completion|'
kinds=$kinds'mpi/test_lists|mpi/test_simulate|package/test_package|stream/test_rtsan|cli/test_plot'

# ---- the parts ----------------------------------------------------------------------------

check "git clone" 0 'git clone -q /unroll.bundle /unroll'
[ -z "${FRESH_WITHOUT:-}" ] ||
    sed -i -E "/^(NEEDED|DEMO_DATA|TEST_PACKAGES)/,/[^\\\\]\$/s/(^| )$FRESH_WITHOUT( |\$)/ /" "$fresh/unroll/Makefile" "$fresh/unroll/tests/tests.mk"
for part in $parts; do
    case $part in
        user)
            check "./demo without root ends with 2" 2 'chown -R nobody . && setpriv --reuid nobody --clear-groups ./demo; code=$?; chown -R root .; exit $code'
            for package in $(sed -n 's/^NEEDED *= *//p' "$root/Makefile"); do says "./demo without root" "^    apt install.* $package( |\$)"; done ;;
        demo)
            check "./demo" 0 ./demo
            says "./demo" '^build/demo.languages: '
            check "data that gzip packed" 0 'gzip -kf examples/data/co2.csv && build/unroll inspect examples/data/co2.csv.gz'
            check "data in an archive" 0 'tar -czf co2.tgz examples/data/co2.csv && build/unroll inspect co2.tgz' ;;
        readme) check "the commands of the README" 0 'tests/docs/test_pages.sh build/unroll build/libunroll.a README.md' ;;
        check) check "make check" 0 'make check' ;;
        packages)
            check "the installation of make test" 0 'tools/install.sh make && make test-packages'
            check "one test of each kind" 0 "./test INSTALL=0 LEVEL=ci T='^plain/($kinds)( |\$)'"
            # Missing packages are not the cause: PyPI may not be served here, and installing the package is requested
            # elsewhere.
            skips=$(grep '^skipped: ' "$log" | grep -vE 'PyPI|TEST_DEB|processor|machine')
            if [ -z "$skips" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED none of them is skipped: $skips"; fi ;;
        *) echo "fresh.sh: no part '$part'"; exit 2 ;;
    esac
done
finish
