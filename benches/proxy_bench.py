"""ackclock-proxy beside HAProxy and nginx: each in turn over the loopback, several rounds, ratios within a round.

    python3 benches/proxy_bench.py [--rounds 5] [--seconds 2] [--idle 2000] [--only bulk-1,idle]

Client and server are processes of this one and share the cores with the proxy, so that rates mean nothing by
themselves: what is compared is taken within a round, one proxy after the other. An interval is that of a bootstrap
over rounds (95 %). Standard library only.
"""

import argparse
import contextlib
import json
import multiprocessing as mp
import os
import random
import resource
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import time
from multiprocessing.synchronize import Event
from pathlib import Path

HERE = Path(__file__).parent
PROXIES = {name: str(HERE / "proxies" / f"{name}.sh") for name in ("ours", "haproxy", "nginx")}
CHUNK = bytes(1 << 18)
TICKS = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def group_cpu(pgid: int) -> float:
    """Seconds of CPU that a process group has used."""
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[2]) == pgid:
                total += int(fields[11]) + int(fields[12])
    return total / TICKS


def kernel_tcp_bytes() -> int:
    """Memory of the kernel's slabs, and pages of TCP's buffers."""
    meminfo = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    slab = int(meminfo["Slab"].split()[0]) * 1024
    tcp = next(line for line in Path("/proc/net/sockstat").read_text().splitlines() if line.startswith("TCP:"))
    return slab + int(tcp.split()[-1]) * 4096


def group_rss(pgid: int) -> int:
    """Private and shared memory of a process group, shared counted once for each process's part."""
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[2]) != pgid:
                    continue
                rollup = (entry / "smaps_rollup").read_text()
            except OSError:
                continue
            total += 1024 * int(next(x for x in rollup.splitlines() if x.startswith("Pss:")).split()[1])
    return total


def sink(port: int, ready: Event) -> None:
    """Takes everything; answers one octet for each message of `ping`; keeps what is idle."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    listener = socket.create_server(("127.0.0.1", port), backlog=4096)
    listener.setblocking(False)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    buffer = bytearray(1 << 20)
    ready.set()
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                try:
                    s, _ = listener.accept()
                except BlockingIOError:
                    continue
                s.setblocking(False)
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(s, selectors.EVENT_READ)
                continue
            s = key.fileobj
            try:
                got = s.recv_into(buffer)
                if got == 64:
                    s.send(b"1")
            except BlockingIOError:
                continue
            except OSError:
                got = 0
            if not got:
                selector.unregister(s)
                s.close()


def bulk(port: int, flows: int, seconds: float) -> tuple[float, int]:
    """Octets a second of so many flows."""
    selector = selectors.DefaultSelector()
    sockets = []
    for _ in range(flows):
        s = socket.create_connection(("127.0.0.1", port))
        s.setblocking(False)
        selector.register(s, selectors.EVENT_WRITE)
        sockets.append(s)
    sent, start = 0, time.monotonic()
    while (now := time.monotonic()) - start < seconds:
        for key, _ in selector.select(timeout=0.1):
            with contextlib.suppress(BlockingIOError):
                sent += key.fileobj.send(CHUNK)
    elapsed = now - start
    for s in sockets:
        s.close()
    return sent / elapsed, sent


def connects(port: int, seconds: float) -> tuple[float, int]:
    """Connections a second, each with a question and an answer."""
    count, start = 0, time.monotonic()
    while time.monotonic() - start < seconds:
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.send(bytes(64))
            s.recv(1)
        count += 1
    return count / (time.monotonic() - start), count


def ping(port: int, seconds: float) -> tuple[float, float]:
    """Round trips of a question and its answer, in seconds: median and 99th percentile."""
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        times, message, start = [], bytes(64), time.monotonic()
        while time.monotonic() - start < seconds:
            before = time.perf_counter()
            s.send(message)
            s.recv(1)
            times.append(time.perf_counter() - before)
    times.sort()
    return times[len(times) // 2], times[len(times) * 99 // 100]


class Running:
    """A proxy, or none: then the port is the server's own."""

    def __init__(self, name: str, upstream: int) -> None:
        """Start it, and wait until it listens."""
        self.child, self.port = None, upstream
        if name == "direct":
            return
        self.port = free_port()
        environment = os.environ | {"CONNECTIONS": "4500"}
        self.child = subprocess.Popen(
            [PROXIES[name], str(self.port), str(upstream)],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except OSError:
                time.sleep(0.02)
        else:
            raise SystemExit(f"{name} does not listen")
        time.sleep(0.2)

    def cpu(self) -> float:
        """Return the seconds of CPU used so far."""
        return group_cpu(self.child.pid) if self.child else 0.0

    def rss(self) -> int:
        """Return its memory."""
        return group_rss(self.child.pid) if self.child else 0

    def stop(self) -> None:
        """End it."""
        if self.child:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()


def idle_bytes(running: Running, count: int) -> float:
    """Return the memory of an idle pair of connections: the proxy's and the kernel's, that of the ends included."""
    before = running.rss() + kernel_tcp_bytes()
    sockets = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(count)]
    time.sleep(1.0)
    after = running.rss() + kernel_tcp_bytes()
    for s in sockets:
        s.close()
    time.sleep(0.5)
    return (after - before) / count


def measure(name: str, upstream: int, options: argparse.Namespace) -> dict[str, float]:
    """Return everything that is measured of one proxy."""
    running = Running(name, upstream)
    result = {}

    def wanted(what: str) -> bool:
        return not options.only or what in options.only

    try:
        for flows in (1, 100, 1000):
            if wanted(f"bulk-{flows}"):
                cpu = running.cpu()
                rate, sent = bulk(running.port, flows, options.seconds)
                result[f"bulk-{flows}"] = rate * 8e-9
                if name != "direct":
                    result[f"cpu-per-gb-{flows}"] = (running.cpu() - cpu) / (sent / 1e9)
                time.sleep(0.5)
        if wanted("connects"):
            cpu = running.cpu()
            result["connects"], count = connects(running.port, options.seconds)
            if name != "direct":
                result["cpu-ms-per-connect"] = (running.cpu() - cpu) / count * 1e3
        if wanted("ping"):
            result["ping-p50-us"], result["ping-p99-us"] = (t * 1e6 for t in ping(running.port, options.seconds))
        if wanted("idle"):
            result["idle-bytes"] = idle_bytes(running, options.idle)
    finally:
        running.stop()
    return result


def interval(ratios: list[float], draws: int = 2000) -> tuple[float, float]:
    """Return what 95 % of a bootstrap of the median lie between."""
    chooser = random.Random(1)
    means = sorted(statistics.median(chooser.choices(ratios, k=len(ratios))) for _ in range(draws))
    return means[draws * 25 // 1000], means[draws * 975 // 1000 - 1]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--idle", type=int, default=2000)
    parser.add_argument("--only", type=lambda text: set(text.split(",")), default=set())
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    upstream, ready = free_port(), mp.Event()
    server = mp.Process(target=sink, args=(upstream, ready), daemon=True)
    server.start()
    ready.wait()
    names = ["direct", *PROXIES]
    rounds = []
    for index in range(options.rounds):
        order = names[index % len(names) :] + names[: index % len(names)]
        rounds.append({name: measure(name, upstream, options) for name in order})
        print(f"round {index + 1} of {options.rounds}", file=sys.stderr)
    server.kill()
    if options.json:
        options.json.write_text(json.dumps(rounds, indent=1) + "\n")
    keys = list(dict.fromkeys(key for result in rounds[0].values() for key in result))
    print("| | " + " | ".join(names) + " | ours / haproxy | ours / nginx |")
    print("|---" * (len(names) + 3) + "|")
    for key in keys:
        cells = []
        for name in names:
            values = [one[name][key] for one in rounds if key in one[name]]
            cells.append(f"{statistics.median(values):.3g}" if values else "")
        for other in ("haproxy", "nginx"):
            ratios = [
                one["ours"][key] / one[other][key] for one in rounds if key in one["ours"] and one[other].get(key)
            ]
            low, high = interval(ratios) if ratios else (0, 0)
            cells.append(f"{statistics.median(ratios):.2f} ({low:.2f} to {high:.2f})" if ratios else "")
        print(f"| {key} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
