#!/usr/bin/env bash
# Installs the wheel in dist/ in an empty environment, outside the repository and without a toolchain,
# and runs a shipped scenario there.
set -euo pipefail
cd "$(dirname "$0")/.."

wheels=(dist/baton-*-cp310-abi3-*.whl)
[[ ${#wheels[@]} == 1 && -f ${wheels[0]} ]] || {
    echo "expected one abi3 wheel in dist/, found: $(ls dist 2>/dev/null | tr '\n' ' ')" >&2
    exit 1
}
wheel=$PWD/${wheels[0]} lock=$PWD/requirements/run.lock python=$(scripts/check-tools.sh)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$python" -m venv environment
environment/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --requirement "$lock"
environment/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"

# No Rust, no repository: only the environment and the system's own programs.
export PATH=$folder/environment/bin:/usr/bin:/bin
baton --version
batond --version
baton list scenarios
baton run wavelan-to-gsm --out result
[[ -s result/report.html ]] || {
    echo "the installed wheel wrote no report" >&2
    exit 1
}
echo "the wheel works: $(basename "$wheel")"
