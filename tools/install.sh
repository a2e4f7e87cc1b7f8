#!/bin/sh
# Installs the Debian packages that are missing. Usage: install.sh [--optional] PACKAGE...
# --optional: what can't be installed is only said; the tests that want it say "skipped".
optional=
if [ "$1" = --optional ]; then optional=1; shift; fi
missing=
for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null; then
    echo "install: this is no Debian; please install what these packages hold:$missing" >&2
    test -n "$optional"; exit
fi
if [ "$(id -u)" != 0 ]; then
    echo "install: not root; please run: apt-get install$missing" >&2
    test -n "$optional"; exit
fi
echo "installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
{ apt-get -qq install -y --no-install-recommends $missing ||
  { apt-get -qq update && apt-get -qq install -y --no-install-recommends $missing; }; } >/dev/null 2>&1 && exit 0
echo "install: could not install$missing" >&2
test -n "$optional"
