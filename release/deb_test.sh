#!/bin/sh
# Installs, starts, upgrades and removes the Debian package $1 as an administrator would, in a booted container of Debian, which is made in
# $2 (default target/deb-root) at the first call. Needs root, mmdebstrap, systemd-nspawn, and BTF for controllers.
set -eu
package=$(realpath "$1")
root=${2:-target/deb-root}
[ -d "$root" ] || mmdebstrap --variant=minbase --include=systemd-sysv,dbus,python3-minimal bookworm "$root"
say() { echo "ok: $*"; }
refuse() { if "$@"; then echo "FAILED: $*" >&2; exit 1; fi; }

installed=$(mktemp -d -p "$(dirname "$root")")
leader=
end() {
    status=$?
    if [ -n "$leader" ]; then
        [ $status = 0 ] || inside journalctl --no-pager --lines 40 --unit 'ackclock-kernel@*' || true
        kill -s RTMIN+4 "$leader"
    fi
    wait
    rm -rf "$installed"
    exit $status
}
trap end EXIT
cp -a "$root/." "$installed"
cp "$package" "$installed/package.deb"
into() { systemd-nspawn --quiet --register=no --keep-unit --directory "$installed" --setenv DEBIAN_FRONTEND=noninteractive "$@" </dev/null; }
into apt-get update --quiet=2
into apt-get install --quiet=2 --yes --no-install-recommends /package.deb
for program in proxy kernel torture; do refuse into sh -c "ldd /usr/bin/ackclock-$program | grep 'not found'"; done
into apt-get install --quiet=2 --yes iproute2 nftables
say "installed, with every library that it needs"


mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
systemd-nspawn --quiet --register=no --keep-unit --private-network --directory "$installed" --bind /sys/fs/bpf \
    --capability CAP_BPF,CAP_PERFMON --system-call-filter bpf --console read-only --boot >/dev/null 2>&1 &
container=$!
# nspawn's child is for a moment another one than the container's first process.
until leader=$(tr -d ' ' < "/proc/$container/task/$container/children") && [ "$(cat "/proc/$leader/comm")" = systemd ]; do sleep 0.1; done 2>/dev/null
inside() { nsenter --target "$leader" --all -- "$@"; }
n=0
until inside systemctl is-system-running --quiet 2>/dev/null; do
    n=$((n + 1)); [ $n -lt 120 ] || { inside systemctl list-jobs; exit 1; }; sleep 0.5
done
refuse inside systemctl is-active --quiet ackclock-proxy
refuse inside systemctl is-enabled --quiet ackclock-proxy
say "installing starts and enables nothing"

inside sh -c 'cat > /etc/ackclock-proxy/proxy.toml' <<'END'
[[listen]]
address = "127.0.0.1:8080"
upstream = ["127.0.0.1:80"]
far = { congestion = "ac_highspeed" }
[[listen]]
address = "0.0.0.0:9000"
mode = "transparent"
interfaces = ["lan0"]
[metrics]
address = "127.0.0.1:9901"
END
inside systemctl enable --quiet --now ackclock-kernel@highspeed ackclock-proxy
inside systemctl show --property MainPID,ActiveState,SubState ackclock-proxy ackclock-kernel@highspeed
inside nft list table inet ackclock_proxy >/dev/null
say "the service runs with a controller of ackclock-kernel, and with the rules of its transparent listener"

# An echo server, and a client whose connection is open over the upgrade.
inside python3 -c '
import os, socket, threading, time
def echo(one):
    while octets := one.recv(4096): one.sendall(octets)
def serve(listener):
    while True: threading.Thread(target=echo, args=(listener.accept()[0],), daemon=True).start()
threading.Thread(target=serve, args=(socket.create_server(("127.0.0.1", 80)),), daemon=True).start()
client = socket.create_connection(("127.0.0.1", 8080))
def answers(socket):
    socket.sendall(b"ping")
    return socket.recv(4) == b"ping"
assert answers(client)
pid = lambda: os.popen("systemctl show --property MainPID --value ackclock-proxy").read()
before = pid()
assert os.system("dpkg --install /package.deb") == 0
until = time.monotonic() + 60
while pid() == before and time.monotonic() < until: time.sleep(0.1)
assert pid() != before, "the old program still runs"
assert answers(client), "the old connection"
assert answers(socket.create_connection(("127.0.0.1", 8080))), "a new connection"
assert os.system("systemctl is-active --quiet ackclock-proxy") == 0
'
say "an upgrade hands over to the new program, and loses no connection"

inside systemctl reload ackclock-proxy
inside dpkg --remove ackclock-proxy
refuse inside systemctl is-active --quiet ackclock-proxy
refuse inside sh -c 'ls /proc/*/exe -l 2>/dev/null | grep ackclock-proxy'
refuse grep -q ac_highspeed /proc/sys/net/ipv4/tcp_available_congestion_control
inside dpkg --purge ackclock-proxy
refuse inside test -e /etc/ackclock-proxy
say "removing it stops the service and unloads the controller"
