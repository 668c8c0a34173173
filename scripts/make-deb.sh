#!/usr/bin/env bash
# Makes the Debian package of batond in dist/, from a build of it and of the program that writes its manual pages:
#     scripts/make-deb.sh [FOLDER OF THE BUILD]
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-${CARGO_TARGET_DIR:-target}/release}
version=$("$build/batond" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

documentation=$root/usr/share/doc/batond
install -d "$root/etc/baton" "$documentation/examples" "$root/usr/share/man/man1" "$root/DEBIAN"
install -D -s "$build/batond" "$root/usr/bin/batond"
install -D -m 644 -t "$root/usr/lib/systemd/system" packaging/systemd/*.service
install -m 644 -t "$documentation/examples" packaging/examples/*.toml
install -m 644 -t "$documentation" docs/batond.md docs/how-to/keep-a-vehicle-connected.md docs/how-to/upgrade-batond.md LICENSE-APACHE LICENSE-MIT
python3 scripts/linked_licences.py baton-daemon >"$documentation/copyright"
gzip -9n <CHANGELOG.md >"$documentation/changelog.gz"
"$build/examples/manual" "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*
install -m 755 -t "$root/DEBIAN" packaging/debian/*

# The newest symbols of the C library that it asks for say the oldest one that it runs with.
c_library=$(grep -ao 'GLIBC_2\.[0-9]*' "$root/usr/bin/batond" | sort -t . -k 2 -n | tail -1)
cat >"$root/DEBIAN/control" <<CONTROL
Package: batond
Version: $version
Architecture: $architecture
Maintainer: The Baton developers
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: libc6 (>= ${c_library#GLIBC_}), libgcc-s1
Recommends: procps
Section: net
Priority: optional
Description: mobile router, home agent and AeroTP gateway over encrypted tunnels
 Keeps a vehicle's networks reachable while it changes its uplink: connections
 are carried through an encrypted tunnel to a home agent on the ground, and the
 tunnel moves from uplink to uplink (Mobile IPv6, NEMO). A pair of gateways
 carries TCP and UDP across bad links by AeroTP.
CONTROL

mkdir -p dist
rm -f dist/batond_*.deb
dpkg-deb --root-owner-group --build "$root" "dist/batond_${version}_$architecture.deb"
