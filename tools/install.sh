#!/bin/sh
# Installs the missing packages with the package manager of this system. PACKAGE is a Debian name.
#     tools/install.sh [--optional] PACKAGE...
# Needs root. Without root, with INSTALL=0 or if the installation fails, it prints what to install and how, and exits
# with 2. With --optional it prints one line and exits with 0, because the tests that need these packages are skipped.
optional=
if [ "$1" = --optional ]; then optional=1; shift; fi

manager=
for candidate in apt-get dnf apk pacman brew; do
    command -v $candidate >/dev/null 2>&1 && manager=$candidate && break
done

# Prints the name of a Debian package in another package manager; - if the base system has it.
name_of() {             # MANAGER PACKAGE
    [ "$1" = apt-get ] && { echo "$2"; return; }
    # Debian         dnf              apk           pacman      brew
    while read -r debian dnf apk pacman brew; do
        [ "$debian" = "$2" ] || continue
        case $1 in dnf) echo "$dnf" ;; apk) echo "$apk" ;; pacman) echo "$pacman" ;; brew) echo "$brew" ;; esac
        return
    done <<LIST
gcc              gcc              gcc           gcc         gcc
make             make             make          make        make
libc6-dev        glibc-devel      musl-dev      glibc       -
libjansson-dev   jansson-devel    jansson-dev   jansson     jansson
libarchive-dev   libarchive-devel libarchive-dev libarchive libarchive
zlib1g-dev       zlib-devel       zlib-dev      zlib        zlib
libwebsockets-dev libwebsockets-devel libwebsockets-dev libwebsockets libwebsockets
libzstd-dev      libzstd-devel    zstd-dev      zstd        zstd
liblzma-dev      xz-devel         xz-dev        xz          xz
LIST
}
is_installed() {        # NAME
    case $manager in
        apt-get) dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed' ;;
        dnf)     rpm -q "$1" >/dev/null 2>&1 ;;
        apk)     apk info -e "$1" >/dev/null 2>&1 ;;
        pacman)  pacman -Q "$1" >/dev/null 2>&1 ;;
        brew)    brew list "$1" >/dev/null 2>&1 || { [ "$1" = make ] || [ "$1" = gcc ]; } && command -v "$1" >/dev/null ;;
        *)       return 1 ;;
    esac
}
command_of() {          # MANAGER
    case $1 in
        apt-get) echo "apt-get install -y --no-install-recommends" ;;
        dnf)     echo "dnf install -y" ;;
        apk)     echo "apk add" ;;
        pacman)  echo "pacman -S --noconfirm --needed" ;;
        brew)    echo "brew install" ;;
    esac
}

missing=                # Debian's names
for package in "$@"; do
    name=$(name_of "${manager:-apt-get}" "$package")
    [ "$name" = - ] && continue
    { [ -n "$name" ] && is_installed "$name"; } || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

names_of() {            # MANAGER: prints the missing packages that have a name there
    for package in $missing; do name_of "$1" "$package"; done | grep -vx -e - | tr '\n' ' ' | sed 's/ $//'
}
give_up() {             # WHY
    if [ -n "$optional" ]; then
        echo "not installed ($1), so some tests are skipped:$missing" >&2
        exit 0
    fi
    echo "error: these packages are missing and cannot be installed here:$missing ($1)" >&2
    echo "  fix: run one of these as root, then try again:" >&2
    for known in ${manager:-apt-get dnf apk pacman brew}; do
        echo "    $(command_of $known | sed 's/apt-get/apt/; s/ -y.*//; s/ --no.*//') $(names_of $known)" >&2
    done
    exit 2
}

[ "${INSTALL:-1}" = 0 ] && give_up "INSTALL=0"
[ -n "$manager" ] || give_up "no known package manager"
[ "$(id -u)" = 0 ] || give_up "not root"
[ "$manager" = brew ] && give_up "brew does not run as root"

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
install() { $(command_of $manager) $(names_of $manager) >"$log" 2>&1; }
# Drops packages that this release lacks, so that the others can be installed.
drop_unknown() {
    known=
    for package in $missing; do
        if apt-cache show "$package" >/dev/null 2>&1; then known="$known $package"
        else echo "not in the package lists of this system: $package" >&2; fi
    done
    missing=$known
}
echo "installing$missing" >&2
install && exit 0
if [ $manager = apt-get ]; then
    apt-get -qq -o Acquire::Retries=1 -o Acquire::http::Timeout=30 update >"$log" 2>&1
    [ -n "$optional" ] && drop_unknown
    [ -z "$missing" ] && exit 0
    install && exit 0
fi
# Reports the cause and not its consequences: apt ends with advice that does not help without a network.
why=$(grep -m 1 -oE 'Temporary failure resolving.*|Could not (resolve|connect).*|No space left.*' "$log")
[ -n "$why" ] || why=$(grep -E '^(E|W|error|ERROR): ?' "$log" | tail -n 1 | sed -E 's/^[A-Za-z]+: *//')
give_up "${why:-$(tail -n 1 "$log")}"
