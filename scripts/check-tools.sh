#!/usr/bin/env bash
# Names what is missing to build Baton, and how to get it. Prints the Python to use on standard output.
set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit

while read -r key _ value; do
    [[ $key == rust-version ]] && needed=${value//\"/}
done <Cargo.toml
IFS=. read -r _ needed_minor _ <<<"$needed"

missing=0
lacks() {
    printf 'baton: %s\n' "$1" >&2
    missing=1
}

if ! command -v cargo >/dev/null; then
    lacks "cargo is not installed. Get Rust $needed or newer from https://rustup.rs"
elif ! version=$(rustc --version 2>&1); then
    lacks "rustc does not run: $version. Get Rust $needed or newer from https://rustup.rs"
else
    read -r _ version _ <<<"$version"
    IFS=. read -r major minor _ <<<"$version"
    if ((major == 1 && minor < needed_minor)); then
        lacks "Rust $version is too old: $needed or newer is needed. Run \`rustup update stable\`"
    fi
fi

command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null ||
    lacks "no C compiler (Rust links with it). Debian, Ubuntu: apt install gcc. Fedora: dnf install gcc"

python=
seen=
for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
    found=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
    seen="$seen $candidate is $found;"
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
        python=$candidate
        break
    fi
done
if [[ -z $python ]]; then
    lacks "no Python 3.10 or newer (${seen:-none found}). Debian, Ubuntu: apt install python3 python3-venv. Or name one: make PYTHON=/path/to/python3"
elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    lacks "$python has no venv module. Debian, Ubuntu: apt install python3-venv. Fedora has it in python3"
fi

((missing)) && exit 1
printf '%s\n' "$python"
