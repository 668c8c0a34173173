#!/usr/bin/env bash
# Holds the code to the `rust-version` of Cargo.toml: compiles it with that Rust where rustup has it or can get it.
# Elsewhere it says so, and looks at what the dependencies ask for; clippy's incompatible_msrv, in `make lint`, looks at ours.
set -euo pipefail
cd "$(dirname "$0")/.."

needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)

if command -v rustup >/dev/null && timeout 300 rustup toolchain install "$needed" --profile minimal --no-self-update >/dev/null 2>&1; then
    export PYO3_PYTHON=${PYO3_PYTHON:-$(scripts/check-tools.sh)}
    cargo "+$needed" check --workspace --locked --quiet --target-dir target/msrv
    echo "msrv: Rust $needed compiles it"
    exit
fi
echo "msrv: Rust $needed cannot be had here (no rustup, or its server is out of reach): nothing was compiled with it"
cargo metadata --locked --format-version 1 | python3 -c '
import json, sys
needed = tuple(map(int, sys.argv[1].split(".")))
newer = [
    each["name"] + " " + each["version"] + " needs Rust " + each["rust_version"]
    for each in json.load(sys.stdin)["packages"]
    if each["rust_version"] and tuple(map(int, each["rust_version"].split(".")[:2])) > needed
]
sys.exit("\n".join(newer) or print("msrv: no dependency asks for a newer one"))
' "$needed"
