#!/usr/bin/env bash
# Makes batond's container image and asks the program there, where podman or docker can. It says so where they cannot.
set -euo pipefail
cd "$(dirname "$0")/.."

engine=$(command -v podman || command -v docker) && "$engine" info >/dev/null 2>&1 || {
    echo "image: there is neither podman nor docker with a daemon: nobody made the image"
    exit 0
}
for base in $(sed -n 's/^FROM \([^ ]*\).*/\1/p' packaging/Containerfile); do
    timeout 300 "$engine" pull --quiet "$base" >/dev/null 2>&1 || {
        echo "image: $base is out of reach: nobody made the image"
        exit 0
    }
done
make image
[[ $("$engine" run --rm batond --version) == "batond "* ]] || {
    echo "image: the program in it does not tell its version" >&2
    exit 1
}
echo "image: it works"
