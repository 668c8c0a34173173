#!/usr/bin/env bash
# Writes requirements/*.lock from pyproject.toml: versions and hashes for every Python from 3.10 on, no index.
# Needs `uv` (pip install uv). Run it after a change of the dependencies; remove a lock file first to take newer versions.
set -euo pipefail
cd "$(dirname "$0")/.."

compile() { # name of the lock file, extras…
    local lock=requirements/$1.lock extras=()
    shift
    for extra in "$@"; do extras+=(--extra "$extra"); done
    uv pip compile pyproject.toml "${extras[@]}" --quiet --universal --python-version 3.10 \
        --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
        --only-binary :all: --no-emit-build-options --no-emit-package baton-handover --output-file "$lock"
}

compile run
compile build build
compile dev build plot dask docs dev
