#!/usr/bin/env bash
# Makes batond's Debian package, installs it in an empty root, and tries what is there: the program, its manual pages, its units and
# its removal. Without dpkg there is nothing to try; a program that only looks is named where it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v dpkg-deb >/dev/null || {
    echo "deb: there is no dpkg-deb: nobody made or tried the package"
    exit 0
}
make --quiet deb >/dev/null

packages=(dist/batond_*.deb)
package=${packages[0]}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
fail() {
    echo "deb: $1" >&2
    exit 1
}

version=$(sed -n '/^\[workspace.package\]/,/^version/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
[[ $(dpkg-deb --field "$package" Version) == "$version" ]] || fail "the package is not of version $version"
dpkg-deb --info "$package" | sed -n 's/^ \(Package\|Version\|Architecture\|Depends\|Installed-Size\)/deb: \1/p'

# dpkg of this root only, whose scripts see by DPKG_ROOT that no service manager is theirs.
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
touch "$root/var/lib/dpkg/status"
own_dpkg() {
    dpkg --root="$root" --log=/dev/null --force-script-chrootless --force-depends --force-not-root "$@" >"$root/log" 2>&1 ||
        fail "dpkg $1: $(cat "$root/log")"
}
own_dpkg --install "$package"

for file in usr/bin/batond usr/lib/systemd/system/batond-{gateway,home-agent,mobile-router}.service \
    usr/share/doc/batond/{copyright,changelog.gz,batond.md,examples/{gateway,home-agent,mobile-router}.toml}; do
    [[ -s $root/$file ]] || fail "/$file is not in the package"
done
[[ $("$root/usr/bin/batond" --version) == "batond $version" ]] || fail "the installed program does not tell its version"
libraries=$(ldd "$root/usr/bin/batond" | sed -n 's/^\t\([^ ]*\) => .*/\1/p' | grep -v '^lib\(c\|m\|gcc_s\)\.so' || true)
[[ -z $libraries ]] || fail "the package does not depend on $libraries"

# A page for each command that the program has, and no other.
commands=$("$root/usr/bin/batond" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/batond-\1/p' | grep -v -- -help)
pages=$(cd "$root/usr/share/man/man1" && ls batond-*.1.gz | sed 's/\.1\.gz//')
[[ $(sort <<<"$commands") == $(sort <<<"$pages") ]] || fail "manual pages: $pages; commands: $commands"
if command -v groff >/dev/null; then
    for page in "$root"/usr/share/man/man1/*.gz; do
        warnings=$(gzip -dc "$page" | groff -man -Tascii -P-cbou -ww 2>&1 >"$root/page")
        [[ -z $warnings ]] || fail "$(basename "$page"): $warnings"
        grep -q SYNOPSIS "$root/page" || fail "$(basename "$page") has no synopsis"
    done
else
    echo "deb: there is no groff: nobody rendered the manual pages"
fi

if command -v systemd-analyze >/dev/null; then
    # The system's own units, and the program by which they are reloaded, are not in the root.
    install -D /bin/true "$root/bin/kill"
    cp -a /usr/lib/systemd/system/{network,multi-user,sysinit,basic,shutdown}.target "$root/usr/lib/systemd/system/" 2>/dev/null || true
    for unit in batond-gateway.service batond-home-agent.service batond-mobile-router.service; do
        systemd-analyze verify --man=no --root="$root" "$unit" || fail "systemd-analyze verify $unit"
        # Ten times the exposure, of 100.
        systemd-analyze security --offline=true --root="$root" --threshold=25 --no-pager "$unit" >"$root/security" ||
            fail "$unit is exposed by more than 2.5: $(tail -1 "$root/security")"
        tail -1 "$root/security" | sed 's/^[^[:alnum:]]*/deb: /'
    done
else
    echo "deb: there is no systemd-analyze: nobody verified the units"
fi

# What an operator has written stays.
touch "$root/etc/baton/home-agent.toml"
own_dpkg --remove batond
[[ ! -e $root/usr/bin/batond && -e $root/etc/baton/home-agent.toml ]] || fail "removal leaves the program, or takes a configuration"
echo "deb: the package works: $(basename "$package")"
