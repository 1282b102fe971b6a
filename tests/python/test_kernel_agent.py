"""Real connections on this machine's kernel: recorded, and decided for from Python; what it lacks is said."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ackclock import Results
from ackclock.running import kernel
from ackclock.running.kernel_agent import Decision, KernelAgent, Seen
from conftest import Cli

SIZE = 3_000_000
SEND = (
    "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); "
    "s.sendall(bytes(int(sys.argv[2])))"
)
"""Sends so many octets to a port."""
FLOOD = """
import socket, sys, time
s, end = socket.create_connection(("127.0.0.1", int(sys.argv[1]))), time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    s.sendall(bytes(65536))
"""
"""Sends to a port for so many seconds."""


def _missing() -> str:
    """Return what this machine lacks; an empty text if nothing."""
    if os.geteuid() != 0:
        return "it needs root"
    try:
        listed = subprocess.run([kernel.program(), "list"], capture_output=True, text=True, check=False)
    except kernel.KernelError:
        return "ackclock-kernel is not built (make kernel)"
    said = listed.stderr.strip().partition("\n")[0]
    if "unrecognized subcommand" in said:
        return "ackclock-kernel was built without its controllers; make kernel builds them where clang is"
    return "" if listed.returncode == 0 and not said else f"no controllers in the kernel: {said}"


needs_controllers = pytest.mark.skipif(
    bool(_missing()), reason=f"needs root and BPF struct_ops (`ackclock-kernel list` tells): {_missing()}"
)


@contextmanager
def _sink() -> Iterator[int]:
    """A port that takes in whatever comes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            connection, _ = listener.accept()
            with connection:
                while connection.recv(1 << 16):
                    pass

        threading.Thread(target=take, daemon=True).start()
        yield listener.getsockname()[1]


@needs_controllers
def test_a_commands_connection_is_recorded_to_the_octet(cli: Cli, tmp_path: Path) -> None:
    with _sink() as port:
        done = cli("record", "-o", "out", "--controller", "cubic", "--", sys.executable, "-c", SEND, port, SIZE)
    assert done.returncode == 0, done.stderr
    results = Results.load(tmp_path / "out")
    (flow,) = [flow for flow in results.summary["flows"] if flow["name"].endswith(f"> 127.0.0.1:{port}")]
    assert (flow["controller"], flow["delivered_bytes"]) == ("cubic", SIZE)
    told = results.recording
    assert told is not None
    assert (told["missed"], told["exit_code"], told["release"]) == (0, 0, os.uname().release)
    assert told["cpu_s"] is not None
    assert results.flows["cwnd_bytes"].drop_nulls().len() > 0
    mine = results.flows.filter(results.flows["flow"] == flow["name"])
    least = [mine[column].drop_nulls().min() for column in ("rtt_sample_s", "min_rtt_s")]
    assert all(isinstance(value, float) and value > 0 for value in least), least


@needs_controllers
def test_a_command_that_fails_is_told_of_and_what_was_recorded_stays(cli: Cli, tmp_path: Path) -> None:
    with _sink() as port:
        fails = f"{SEND}; sys.exit(3)"
        done = cli("record", "-o", "out", "--", sys.executable, "-c", fails, port, SIZE)
    assert done.returncode == 1
    assert "ended with 3" in done.stderr
    assert Results.load(tmp_path / "out").recording["exit_code"] == 3  # type: ignore[index]


def test_without_a_command_or_with_a_port_too_it_says_which(cli: Cli) -> None:
    assert cli("record", "-o", "out").returncode == 2
    assert cli("record", "-o", "out", "--port", "80", "--", "true").returncode == 2


@needs_controllers
def test_decisions_from_python_are_in_force_until_they_stop_and_cubic_has_the_window_then() -> None:
    seen: list[tuple[float, Seen]] = []

    def decide(ack: Seen) -> Decision | None:
        at = (ack.time_ns - seen[0][1].time_ns) / 1e9 if seen else 0.0
        seen.append((at, ack))
        return Decision(cwnd=2) if at < 1.0 else None

    with _sink() as port, KernelAgent() as agent:
        sender = [sys.executable, "-c", FLOOD, str(port), "1.8"]
        command = [str(kernel.program()), "exec", "--controller", "ackclock_agent", "--", *sender]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
            while running.poll() is None:
                agent.run(decide, 0.2)
        agent.run(decide, 0.1)  # what came between the last look and the end
        counters, latency = agent.counters, agent.latency_us()
    assert counters.flows == 1
    assert 0 <= counters.acks - counters.missed - len(seen) <= 5, "but for those of the connection's end"
    assert counters.in_force > 0
    assert counters.fallbacks >= 1
    assert any(ack.is_led == 1 and ack.cwnd == 2 for at, ack in seen if at < 1.0)
    assert all(ack.is_led == 0 for at, ack in seen if at > 1.3)
    # CUBIC grows on a path without losses, on which two segments are less than is there to send.
    assert max(ack.cwnd for at, ack in seen if at > 1.3) > 2
    assert 0 < latency["p50"] <= latency["p99"]
