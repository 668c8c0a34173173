#!/usr/bin/env bash
# Installs a wheel, or the one in dist/, in an empty environment, outside the repository and without a toolchain,
# and runs a shipped scenario there. Its tag must be true: both binaries need no newer glibc than it promises.
set -euo pipefail
cd "$(dirname "$0")/.."

wheels=("${1:-dist}"/baton_handover-*-cp310-abi3-*.whl)
[[ ${#wheels[@]} == 1 && -f ${wheels[0]} ]] || {
    echo "expected one abi3 wheel in ${1:-dist}, found: $(ls "${1:-dist}" 2>/dev/null | tr '\n' ' ')" >&2
    exit 1
}
wheel=$(realpath "${wheels[0]}") lock=$PWD/requirements/run.lock python=$(scripts/check-tools.sh)

# One that pip has built from source, in a folder of its own, is for this machine and promises nothing.
promised=
if [[ $wheel =~ -manylinux_2_([0-9]+)_ ]]; then
    promised=${BASH_REMATCH[1]}
elif (($# == 0)); then
    echo "$(basename "$wheel") has no manylinux tag: PyPI takes no other for Linux" >&2
    exit 1
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$python" -m venv environment
environment/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --requirement "$lock"
environment/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"

for binary in environment/bin/baton-emulator environment/lib/python*/site-packages/baton/_baton.abi3.so; do
    needed=$(grep -ao 'GLIBC_2\.[0-9]*' "$binary" | sort -t. -k2 -n | tail -1)
    if [[ $promised ]] && ((${needed#GLIBC_2.} > promised)); then
        echo "$(basename "$binary") needs $needed, the wheel's tag promises 2.$promised" >&2
        exit 1
    fi
done

# No Rust, no repository: only the environment and the system's own programs.
export PATH=$folder/environment/bin:/usr/bin:/bin
baton --version
baton-emulator --version
baton list scenarios
baton run wavelan-to-gsm --out result
[[ -s result/report.html ]] || {
    echo "the installed wheel wrote no report" >&2
    exit 1
}
echo "the wheel works: $(basename "$wheel")"
