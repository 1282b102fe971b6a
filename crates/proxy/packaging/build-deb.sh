#!/bin/sh
# Packs the binaries of a folder ($1, default target/release) as a Debian package in $2 (default target): no more than dpkg-deb is needed.
set -e
here=$(cd "$(dirname "$0")" && pwd)
binaries=${1:-target/release}
out=${2:-target}
version=$("$binaries/ackclock-proxy" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
install -D -m 755 "$binaries/ackclock-proxy" "$folder/usr/bin/ackclock-proxy"
install -D -m 755 "$binaries/ackclock-torture" "$folder/usr/bin/ackclock-torture"
# What records and what loads controllers; the proxy carries without it.
[ ! -x "$binaries/ackclock-kernel" ] || install -D -m 755 "$binaries/ackclock-kernel" "$folder/usr/bin/ackclock-kernel"
strip "$folder"/usr/bin/*
install -D -m 644 "$here/ackclock-proxy.service" "$folder/lib/systemd/system/ackclock-proxy.service"
install -D -m 644 "$here/proxy.toml" "$folder/etc/ackclock-proxy/proxy.toml"
for page in how-to/run-the-proxy reference/proxy explanation/proxy; do
    install -D -m 644 "$here/../../../docs/$page.md" "$folder/usr/share/doc/ackclock-proxy/$(basename "$(dirname "$page")")-$(basename "$page").md"
done
mv "$folder/usr/share/doc/ackclock-proxy/how-to-run-the-proxy.md" "$folder/usr/share/doc/ackclock-proxy/run-the-proxy.md"
install -m 644 "$here/../LICENSE-MIT" "$folder/usr/share/doc/ackclock-proxy/copyright"
mkdir -p "$folder/DEBIAN"
echo /etc/ackclock-proxy/proxy.toml > "$folder/DEBIAN/conffiles"
# The oldest glibc that has every symbol these binaries ask for.
libc=$(objdump -T "$folder"/usr/bin/* | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | cut -d _ -f 2)
cat > "$folder/DEBIAN/control" <<END
Package: ackclock-proxy
Version: $version
Architecture: $architecture
Maintainer: The ackclock authors <ackclock@localhost>
Depends: libc6 (>= $libc)
Recommends: nftables, iproute2
Section: net
Priority: optional
Description: TCP proxy with bounded latency and congestion control by side
 Ends TCP connections and carries them on with the congestion control and the
 buffers that each side is given, transparently or not.
END
dpkg-deb --root-owner-group --build "$folder" "$out/ackclock-proxy_${version}_$architecture.deb"
