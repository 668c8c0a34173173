#!/usr/bin/env bash
# Builds a wheel from the source package in dist/, outside the repository, and tries it. Only the crates of other
# projects are shared with the repository's build.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(dist/baton_handover-*.tar.gz)
[[ ${#packages[@]} == 1 && -f ${packages[0]} ]] || {
    echo "expected one source package in dist/, found: $(ls dist 2>/dev/null | tr '\n' ' ')" >&2
    exit 1
}
python=$(scripts/check-tools.sh)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/environment"
pip=("$folder/environment/bin/python" -m pip)
"${pip[@]}" install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --requirement requirements/build.lock
PATH=$folder/environment/bin:$PATH CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target} \
    "${pip[@]}" wheel --quiet --disable-pip-version-check --no-index --no-build-isolation --no-deps \
    --wheel-dir "$folder/wheel" "${packages[0]}"
scripts/check-wheel.sh "$folder/wheel"
