"""Client, appliance and server in namespaces of their own, on a scenario's network (`ackclock-kernel carry`).

The three hosts stand at nodes of the scenario; whatever they send travels its links. Namespaces and devices go when
the lab is closed. Needs root, iproute2, nsenter and the two programs. Standard library only.
"""

import ctypes
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]
KERNEL = Path(os.environ.get("ACKCLOCK_KERNEL_PROGRAM", ROOT / "target/release/ackclock-kernel"))
PROXY = Path(os.environ.get("PROXY", ROOT / "target/release/ackclock-proxy"))
CLIENT, BOX, SERVER = "10.91.0.1", "10.91.0.2", "10.91.0.3"
PORT = 7000
"""Servers listen from here on, the appliance at the same port of its own address."""
METRICS = "127.0.0.1:9901"
CLONE_NEWNET = 0x40000000


def run(*command: str | Path) -> str:
    """Run a command to its end and return what it prints."""
    return subprocess.run([str(word) for word in command], check=True, text=True, capture_output=True).stdout


class Lab:
    """Three namespaces on a scenario's network, while the block lasts.

    Args:
        scenario: The scenario's file.
        nodes: The nodes at which client, appliance and server stand.
        overrides: Overrides of the scenario, as `--set` takes them.
        seed: Seed of the network's random streams.
    """

    def __init__(self, scenario: Path, nodes: Sequence[str], overrides: Sequence[str] = (), seed: int = 1) -> None:
        """Describe it; nothing is made before the block is entered."""
        self.names = [f"ackclock-{os.getpid()}-{host}" for host in ("client", "box", "server")]
        self.carried: dict[str, Any] = {}
        hosts = zip(nodes, self.names, (CLIENT, BOX, SERVER), strict=True)
        places = [f"--host={node}=wan0@{name}:{address}/24" for node, name, address in hosts]
        sets = [f"--set={one}" for one in overrides]
        self._command = [str(KERNEL), "carry", str(scenario), *sets, "--seed", str(seed), *places]
        self._children: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        """Make namespaces and network."""
        try:
            for name in self.names:
                run("ip", "netns", "add", name)
                run("ip", "-n", name, "link", "set", "lo", "up")
        except (OSError, subprocess.CalledProcessError):
            self._remove()
            raise
        self.emulator = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self.emulator.stdout
        if self.emulator.stdout.readline().strip() != "carrying":
            self._remove()
            raise SystemExit("the network could not be made")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        """Take everything away, and keep what the emulator says of it."""
        for child in self._children:
            child.kill()
            child.wait()
        self.emulator.send_signal(signal.SIGINT)
        try:
            told, _ = self.emulator.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.emulator.kill()
            told, _ = self.emulator.communicate()
        finally:
            self._remove()
        self.carried = json.loads(told) if told.strip() else {}

    def _remove(self) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)

    def parameters(self, host: int, values: Mapping[str, str]) -> None:
        """Set parameters such as `net.ipv4.tcp_ecn` of a host (0 client, 1 appliance, 2 server)."""
        for name, value in values.items():
            run("ip", "netns", "exec", self.names[host], "sysctl", "-qw", f"{name}={value}")

    def start(self, host: int, *command: str | Path, group: Path | None = None) -> subprocess.Popen[str]:
        """Start a program on a host, in a control group if one is named. It sees the machine's own file systems."""
        inside = ["nsenter", f"--net=/run/netns/{self.names[host]}", *(str(word) for word in command)]
        if group:
            inside = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", *inside]
        child = subprocess.Popen(inside, stdout=subprocess.DEVNULL, text=True)
        self._children.append(child)
        return child

    def proxy(self, config: str, group: Path | None = None) -> subprocess.Popen[str]:
        """Start the appliance; `config` is its file without metrics, and what it keeps can be asked afterwards."""
        folder = Path(tempfile.mkdtemp(prefix="ackclock-appliance-"))
        (folder / "proxy.toml").write_text(
            f'{config}\n[metrics]\naddress = "{METRICS}"\nlatency = true\n[log]\nlevel = "error"\n'
        )
        child = self.start(1, PROXY, folder / "proxy.toml", group=group)
        for _ in range(200):
            if self.call(1, _answers):
                return child
            time.sleep(0.05)
        raise SystemExit("the appliance does not answer")

    def call(self, host: int, function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - whatever that returns
        """Return what a function returns that runs on a host."""
        return self.begin(host, function, *arguments)()

    def begin(self, host: int, function: Callable[..., Any], *arguments: object) -> Callable[[], Any]:
        """Start a function in a process on a host; calling what is returned waits for it and returns its result."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(reading)
                _enter(self.names[host])
                with os.fdopen(writing, "wb") as out:
                    pickle.dump(function(*arguments), out)
                status = 0
            except BaseException as error:
                print(f"{function.__name__}: {error!r}", file=sys.stderr, flush=True)
            finally:
                os._exit(status)
        os.close(writing)

        def result() -> Any:  # noqa: ANN401 - likewise
            with os.fdopen(reading, "rb") as told:
                octets = told.read()
            _, status = os.waitpid(child, 0)
            if status:
                raise SystemExit(f"{function.__name__} failed")
            return pickle.loads(octets)  # of a child of our own

        return result


class SocketMemory:
    """A control group of version 1, which counts sockets apart: they may hold so much memory, while the block lasts.

    Args:
        size_bytes: The most that sockets of the group hold; none: no group is made.
    """

    def __init__(self, size_bytes: int | None) -> None:
        """Describe it; nothing is made before the block is entered."""
        self.folder = Path(f"/sys/fs/cgroup/memory/ackclock-{os.getpid()}") if size_bytes else None
        self.size_bytes = size_bytes
        self.told: dict[str, int] = {}

    def __enter__(self) -> Self:
        """Make the group."""
        if self.folder:
            try:
                self.folder.mkdir()
            except OSError as error:
                raise SystemExit(f"{self.folder}: {error}; --socket-memory takes control groups of version 1") from None
            (self.folder / "memory.kmem.tcp.limit_in_bytes").write_text(str(self.size_bytes))
        return self

    def look(self) -> None:
        """Keep how often the limit was met, and the most that was held, octets."""
        if self.folder:
            read = {name: self.folder / f"memory.kmem.tcp.{name}" for name in ("failcnt", "max_usage_in_bytes")}
            self.told = {name: int(file.read_text()) for name, file in read.items()}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        """Take it away."""
        if self.folder:
            self.folder.rmdir()


def _enter(name: str) -> None:
    with Path(f"/run/netns/{name}").open() as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"entering {name}")


def _answers() -> bool:
    try:
        ask("/metrics")
    except OSError:
        return False
    return True


def ask(path: str) -> str:
    """Return what the appliance answers; to be called on its host."""
    with urllib.request.urlopen(f"http://{METRICS}{path}", timeout=3) as answer:
        return str(answer.read().decode())


def waiting() -> dict[float, float]:
    """Return how many looks found octets waiting for at most so many seconds, by bound; -1 is their sum in seconds."""
    found = {}
    for line in ask("/metrics").splitlines():
        if line.startswith("ackclock_proxy_added_latency_seconds") and 'side="near"' in line:
            name, value = line.rsplit(" ", 1)
            if "_bucket" in name:
                found[float(name.split('le="')[1].split('"')[0])] = float(value)
            elif "_sum" in name:
                found[-1.0] = float(value)
    return found
