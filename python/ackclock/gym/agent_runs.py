"""Runs of a scenario on a kernel that reports the ACKs of an agent's flow, and applies decisions.

`RealTimeRun` is on this machine's kernel: reports wait in a ring, and decisions are in force when they are made.
`VirtualTimeRun` is on a kernel of `ackclock linux build`, whose controller `ackclock_agent` waits for the answer to
each report while its time stands still (running/ackclock_agent.c).
"""

import contextlib
import json
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from ackclock.results.summaries import RunSummary
from ackclock.running import kernel, user_mode
from ackclock.running.kernel import KernelError
from ackclock.running.kernel_agent import NAME, OBSERVATION, Counters, Decision, KernelAgent, Seen
from ackclock.running.linux_kernels import Kernel

_PATIENCE_S: Final = 20.0
"""Extra time that a scenario may take to begin and to end, seconds of real time."""

_NUMBER: Final = struct.Struct("=I")
_ACK: Final = 0
"""Kind of the reports of ACKs in `struct report` of ackclock_agent.c."""
_DECISION_SIZE: Final = 40
"""Size of its `struct decision`, which ends with the time of a timer, octets."""


class AgentRun(Protocol):
    """Run of a scenario, in which one flow has decisions from here."""

    @property
    def counters(self) -> Counters:
        """Counters so far."""

    def is_over(self) -> bool:
        """Return whether the scenario has ended.

        Raises:
            KernelError: If it should have ended long ago.
        """

    def seen(self) -> Iterator[Seen]:
        """Yield the reports since the last call, in order."""

    def decide(self, seen: Seen, decision: Decision) -> None:
        """Decide for the connection of a report."""

    def latency_us(self) -> dict[str, float]:
        """Return the latency from ACKs to their decisions, microseconds: p50, p90 and p99; empty if it is zero."""

    def summary(self) -> RunSummary:
        """Return the summary of the run, after its end.

        Raises:
            KernelError: If the run failed.
        """

    def close(self) -> None:
        """End the run if it is active, and remove its files."""


class RealTimeRun:
    """Run on this machine's kernel, in real time."""

    def __init__(self, text: str, flow: str, duration_s: float) -> None:
        """Start it.

        Args:
            text: Scenario, as JSON.
            flow: Name of the agent's flow.
            duration_s: Duration of the scenario, seconds.

        Raises:
            KernelError: If the controller could not be registered.
        """
        self._agent = KernelAgent()
        self._folder = tempfile.TemporaryDirectory(prefix="ackclock-flow-")
        folder = Path(self._folder.name)
        (folder / "scenario.json").write_text(text)
        command = [str(kernel.program()), "run", "-", "--tied", "--into", str(folder / "out")]
        with (folder / "errors").open("wb") as errors, (folder / "scenario.json").open("rb") as scenario:
            self._child = subprocess.Popen([*command, "--controller", f"{flow}={NAME}"], stdin=scenario, stderr=errors)
        self._ends_s = time.monotonic() + duration_s + _PATIENCE_S
        self.seen, self.decide, self.latency_us = self._agent.seen, self._agent.decide, self._agent.latency_us

    @property
    def counters(self) -> Counters:
        """Counters so far."""
        return self._agent.counters

    def is_over(self) -> bool:
        """Return whether the scenario has ended.

        Raises:
            KernelError: If it should have ended long ago.
        """
        if self._child.poll() is not None:
            return True
        if time.monotonic() > self._ends_s:
            raise KernelError(f"the run did not end within {_PATIENCE_S:g} s of the scenario's time, and was ended")
        return False

    def summary(self) -> RunSummary:
        """Return the summary of the run, after its end.

        Raises:
            KernelError: If the run failed.
        """
        folder = Path(self._folder.name)
        if self._child.returncode:
            said = (folder / "errors").read_text(errors="replace").strip()
            raise KernelError(said.removeprefix("error: ") or f"the run ended with {self._child.returncode}")
        summary: RunSummary = json.loads((folder / "out" / "summary.json").read_text())
        return summary

    def close(self) -> None:
        """End the run if it is active, and remove its files."""
        if self._child.poll() is None:
            self._child.terminate()
            self._child.wait()
        self._agent.close()
        self._folder.cleanup()


class VirtualTimeRun:
    """Run on a kernel in virtual time, which waits for the answer to each report."""

    def __init__(self, on: Kernel, text: str, flow: str) -> None:
        """Start it.

        Args:
            on: Kernel with the controller `ackclock_agent`.
            text: Scenario, as JSON.
            flow: Name of the agent's flow.

        Raises:
            KernelError: If the kernel cannot be started.
        """
        arguments = ["run", "--stream", "-", "--controller", f"{flow}={NAME}"]
        self._kernel = user_mode.Booted(on, arguments, text, agent=True)
        self._channel: socket.socket | None = None
        self._is_over = False
        self._flows: set[int] = set()
        self._reports = self._answers = 0

    @property
    def counters(self) -> Counters:
        """Counters so far; none is missed, late or refused."""
        return Counters(self._reports, 0, self._answers, 0, 0, 0, len(self._flows))

    def is_over(self) -> bool:
        """Return whether the kernel has closed the connection, as it does at its end."""
        return self._is_over

    def seen(self) -> Iterator[Seen]:
        """Wait for the next report and yield it; yield nothing if the scenario has ended."""
        while report := self._received():
            seen = Seen(*OBSERVATION.unpack_from(report))
            if _NUMBER.unpack_from(report, OBSERVATION.size) == (_ACK,):
                self._reports += 1
                self._flows.add(seen.flow)
                yield seen
                return
            self._send(bytes(_DECISION_SIZE))  # the start of a connection, whose window stays
        self._is_over = True

    def _received(self) -> bytes:
        if self._is_over:
            return b""
        if self._channel is None:
            self._channel = self._kernel.accept()
        try:
            return b"" if self._channel is None else user_mode.received(self._channel)
        except ConnectionError:
            return b""

    def _send(self, decision: bytes) -> None:
        # A kernel that has stopped is told of when its next report is missing.
        with contextlib.suppress(ConnectionError):
            assert self._channel is not None
            self._channel.sendall(decision)

    def decide(self, seen: Seen, decision: Decision) -> None:
        """Answer the last report."""
        self._answers += 1
        number = _NUMBER.pack(self._answers & 0xFFFF_FFFF)
        self._send((number + decision.packed(seen.flow, seen.time_ns)).ljust(_DECISION_SIZE, b"\0"))

    def latency_us(self) -> dict[str, float]:
        """Return nothing, as decisions take no time."""
        return {}

    def summary(self) -> RunSummary:
        """Wait for the end of the kernel, and return the summary of the run.

        Raises:
            KernelError: If the run failed.
            RefusedError: If the kernel does not support the scenario.
        """
        called = self._kernel.outcome()
        head, _, _ = kernel.output(called.code, called.out, called.err).partition(b"\n")
        told: dict[str, Any] = json.loads(head)
        summary: RunSummary = told["summary"]
        return summary

    def close(self) -> None:
        """End the kernel if it is running, and remove its files."""
        if self._channel is not None:
            self._channel.close()
        self._kernel.close()
