#!/bin/sh
# Unpacks Debian's libjansson-dev for arm64 into a folder, with package lists of its own: the lists, architectures and
# packages of the system do not change. Usage: tests/cells/jansson_arm64.sh FOLDER
command -v apt-get >/dev/null && command -v dpkg >/dev/null || exit 1
work=$(mktemp -d) && mkdir -p "$work/lists/partial" "$work/archives/partial" && : >"$work/status" || exit 1
trap 'rm -r "$work"' EXIT
get="timeout 60 apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State=$work
     -o Dir::State::status=$work/status -o Dir::State::lists=$work/lists -o Dir::Cache=$work
     -o APT::Sandbox::User=$(id -un) -o Acquire::Languages=none"
folder=$(mkdir -p "$1" && cd "$1" && pwd) && cd "$work" || exit 1
$get update >/dev/null 2>&1
$get download libjansson-dev >/dev/null 2>&1 && dpkg -x libjansson-dev_*_arm64.deb "$folder"
