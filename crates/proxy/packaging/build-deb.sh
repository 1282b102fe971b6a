#!/bin/sh
# Packs the programs of a folder ($1, default target/release) as a Debian package in $2 (default target): for debhelper and help2man.
set -e
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../..
binaries=${1:-target/release}
out=${2:-target}
version=$("$binaries/ackclock-proxy" --version | cut -d ' ' -f 2)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/build"
cp -r "$here/debian" "$here/proxy.toml" "$here/grafana.json" "$here/alerts.yml" "$root/CHANGELOG.md" "$binaries/ackclock-proxy" "$binaries/ackclock-torture" \
    "$binaries/ackclock-kernel" "$folder/build"
# Pages lie as in the repository, with those that they lead to.
for page in how-to/run-the-proxy how-to/appliances how-to/controllers-in-the-kernel reference/proxy explanation/proxy \
    notebook/2026-11-proxy notebook/2026-11-proxy-bench; do
    install -D --mode=644 "$root/docs/$page.md" "$folder/build/$page.md"
done
cat > "$folder/build/debian/changelog" <<END
ackclock-proxy ($version-1) unstable; urgency=medium

  * Version $version; what has changed is in the changelog of ackclock.

 -- The ackclock authors <ackclock@localhost>  $(date -R -d "@${SOURCE_DATE_EPOCH:-$(stat -c %Y "$root/CHANGELOG.md")}")
END
(cd "$folder/build" && dpkg-buildpackage --build=binary --no-sign --no-check-builddeps)
cp "$folder"/*.deb "$out"
