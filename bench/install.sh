#!/bin/sh
# Installs the peers: oneDNN 2 from Debian, the others from PyPI into a virtual environment. Installed peers stay as
# they are. Usage: install.sh FOLDER
folder=$1
here=$(dirname "$0")
"$here"/../tools/install.sh libdnnl-dev python3-venv || {
    echo "bench-peers: Debian's libdnnl-dev is one of the peers and can't be installed; fix: go online, as root" >&2
    exit 1
}
cmp -s "$here"/requirements.txt "$folder"/installed.txt && exit 0
echo "installing the peers into $folder/venv (1.4 GB)" >&2
mkdir -p "$folder" && python3 -m venv "$folder"/venv || exit 1
"$folder"/venv/bin/pip install -q --disable-pip-version-check --retries 1 -r "$here"/requirements.txt \
    >"$folder"/install.log 2>&1 || {
    tail -n 3 "$folder"/install.log >&2
    echo "bench-peers: the peers of bench/requirements.txt can't be installed from PyPI; fix: go online" >&2
    exit 1
}
cp "$here"/requirements.txt "$folder"/installed.txt
