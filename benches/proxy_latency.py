"""What a proxy keeps of a flow, and what the flow gets, over a long path: Reno in, another controller out.

    sudo python3 benches/proxy_latency.py [--rate 50] [--delay 14] [--queue 120] [--seconds 20]

client --veth-- proxy --emulated link-- server, in three namespaces. The client's side is next to the proxy, as in
Isogaki's thesis (2005), and its own controller is Reno. Each case runs by itself: no proxy, ours with buffer
policies, HAProxy, nginx. Printed: what the server got after the first quarter (Mbit/s), and how long octets took from
being written by the client to being read by the server, as stamps in the stream tell, less the link's own delay
(median and 99th of a hundred, ms). Needs root and target/debug/examples/link. Standard library only.
"""

import argparse
import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = 8192
CLIENT, PROXY, SERVER = "plC", "plP", "plS"


def sh(command: str) -> None:
    """Run a command of the shell."""
    subprocess.run(command, shell=True, check=True)


def set_up(options: argparse.Namespace) -> subprocess.Popen[str]:
    """Make the namespaces and the link; return the link."""
    tear_down()
    for name in (CLIENT, PROXY, SERVER):
        sh(f"ip netns add {name} && ip -n {name} link set lo up")
    link = subprocess.Popen(
        [ROOT / "target/debug/examples/link", "plA", "plB", str(options.rate), str(options.delay), str(options.queue)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert link.stdout.readline().strip() == "ready"
    sh(f"ip link add plc netns {CLIENT} type veth peer name plp netns {PROXY}")
    sh(f"ip link set plA netns {PROXY} && ip link set plB netns {SERVER}")
    for name, device, address in (
        (CLIENT, "plc", "10.91.1.2/24"),
        (PROXY, "plp", "10.91.1.1/24"),
        (PROXY, "plA", "10.91.2.1/24"),
        (SERVER, "plB", "10.91.2.2/24"),
    ):
        sh(f"ip -n {name} addr add {address} dev {device} && ip -n {name} link set {device} txqueuelen 10000 up")
    # Segments as they go over a wire: none that is cut up behind the queue.
    sh(f"ip -n {PROXY} link set plA gso_max_segs 1")
    sh(f"ip -n {CLIENT} route add default via 10.91.1.1; ip -n {SERVER} route add default via 10.91.2.1")
    sh(f"ip netns exec {PROXY} sysctl -qw net.ipv4.ip_forward=1")
    return link


def tear_down() -> None:
    """Take the namespaces away."""
    for name in (CLIENT, PROXY, SERVER):
        subprocess.run(f"ip netns del {name}", shell=True, stderr=subprocess.DEVNULL, check=False)


def serve(seconds: float, pipe: int) -> None:
    """In the server's namespace: reads blocks, keeps how long each took."""
    listener = socket.create_server(("10.91.2.2", 7000))
    while True:
        s, _ = listener.accept()
        rest, start, counted, waits = b"", None, 0, []
        while data := s.recv(1 << 18):
            now = time.monotonic()
            start = start or now
            late = now - start > seconds / 4
            counted += len(data) if late else 0
            rest += data
            while len(rest) >= BLOCK:
                if late:
                    waits.append(now - struct.unpack("d", rest[:8])[0])
                rest = rest[BLOCK:]
        if start is None:
            continue
        waits.sort()
        elapsed = time.monotonic() - start - seconds / 4
        result = (counted * 8e-6 / elapsed, waits[len(waits) // 2], waits[len(waits) * 99 // 100])
        os.write(pipe, struct.pack("ddd", *result))
        return


def send(to: tuple[str, int], seconds: float) -> None:
    """In the client's namespace: blocks that begin with when they were written, as fast as they are taken."""
    s = socket.socket()
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    # What waits in the client's own buffer is no matter of the proxy's.
    s.setsockopt(socket.IPPROTO_TCP, 25, BLOCK)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * BLOCK)
    s.connect(to)
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        s.sendall(struct.pack("d", time.monotonic()) + bytes(BLOCK - 8))
    s.close()


def in_namespace(name: str, function: Callable[..., None], *arguments: object) -> int:
    """Run a function in a child that is in a namespace; return its process."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with Path(f"/run/netns/{name}").open() as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0x40000000):
                    raise OSError(ctypes.get_errno(), "setns")
            function(*arguments)
            status = 0
        except BaseException as error:
            print(f"{function.__name__}: {error!r}", file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    return child


def start_proxy(kind: str, congestion: str, policy: str) -> subprocess.Popen[bytes] | None:
    """Start a proxy in its namespace."""
    if kind == "none":
        return None
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    if kind == "ours":
        (folder / "c").write_text(
            f'workers = 1\n[[listen]]\naddress = "10.91.1.1:9000"\nupstream = ["10.91.2.2:7000"]\n'
            'clients = ["10.91.0.0/16"]\n'
            f'far = {{ congestion = "{congestion}" }}\nbuffer_policy = {policy}\n'
        )
        command = [os.environ.get("PROXY", ROOT / "target/release/ackclock-proxy"), folder / "c"]
    elif kind == "haproxy":
        (folder / "c").write_text(
            "global\n maxconn 100\ndefaults\n mode tcp\n option splice-auto\n"
            " timeout connect 9s\n timeout client 9m\n timeout server 9m\n"
            "listen l\n bind 10.91.1.1:9000\n server s 10.91.2.2:7000\n"
        )
        command = ["haproxy", "-db", "-q", "-f", folder / "c"]
    else:
        (folder / "c").write_text(
            f"load_module /usr/lib/nginx/modules/ngx_stream_module.so;\ndaemon off;\npid {folder}/pid;\nevents {{}}\n"
            "stream { server { listen 10.91.1.1:9000; proxy_pass 10.91.2.2:7000; } }\n"
        )
        command = ["nginx", "-p", folder, "-c", folder / "c", "-e", folder / "log"]
    child = subprocess.Popen(
        ["ip", "netns", "exec", PROXY, *map(str, command)], stderr=subprocess.DEVNULL, start_new_session=True
    )
    time.sleep(1)
    return child


def play(options: argparse.Namespace, kind: str, congestion: str, policy: str) -> tuple[float, float, float]:
    """Return what one case came to."""
    reading, writing = os.pipe()
    server = in_namespace(SERVER, serve, options.seconds, writing)
    time.sleep(0.3)
    proxy = start_proxy(kind, congestion, policy)
    to = ("10.91.2.2", 7000) if kind == "none" else ("10.91.1.1", 9000)
    client = in_namespace(CLIENT, send, to, options.seconds)
    os.waitpid(client, 0)
    result = struct.unpack("ddd", os.read(reading, 24))
    os.waitpid(server, 0)
    if proxy:
        os.killpg(proxy.pid, signal.SIGKILL)
        proxy.wait()
    os.close(reading)
    os.close(writing)
    return result


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--delay", type=float, default=14.0)
    parser.add_argument("--queue", type=int, default=120)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--congestion", default="cubic")
    parser.add_argument("--policies", default='"socket","credit","not_sent","drain_rate","codel_window"')
    options = parser.parse_args()
    link = set_up(options)
    print("| | Mbit/s | p50 ms | p99 ms |\n|---|---|---|---|")
    try:
        cases = [("none", "reno", "")] + [
            ("ours", options.congestion, policy) for policy in options.policies.split(",")
        ]
        # Neither can choose a controller for a side: theirs is the host's.
        own = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
        cases += [("haproxy", own, ""), ("nginx", own, "")]
        for kind, congestion, policy in cases:
            rate, *waits = play(options, kind, congestion, policy)
            p50, p99 = (wait * 1e3 for wait in waits)
            name = f"{kind} {policy}".strip().replace('"', "")
            print(
                f"| {name}, {congestion} | {rate:.1f} | {p50 - options.delay:.1f} | {p99 - options.delay:.1f} |",
                flush=True,
            )
    finally:
        link.kill()
        tear_down()


if __name__ == "__main__":
    sys.exit(main())
