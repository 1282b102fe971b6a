"""Rounds: ackclock and each build of a peer, one after the other on the same work, kept as they are done.

A round is a turn of everybody, so that what else the machine does meets all alike. Every round is written down at once;
a run that was interrupted goes on with the round that it was in.
"""

import dataclasses
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peer_programs
from peer_cases import SCENARIOS, Case
from peer_programs import PeerBuild

OURS = "ackclock"


def ours_with_tcp_of(name: str) -> str:
    """Return the name of ackclock's side with the TCP of a build.

    Args:
        name: The build's.
    """
    return f"{OURS} with {name}'s TCP"


@dataclass(frozen=True, slots=True)
class Side:
    """The figures of one simulator in one round.

    Attributes:
        cpu_s: CPU time of one run.
        delivered_packets: Data packets delivered in one run.
        goodput_bps: Payload that all flows got together, over the whole run.
        retransmitted_segments: Number of retransmitted segments of all flows together.
        drops: At the bottleneck.
    """

    cpu_s: float
    delivered_packets: int
    goodput_bps: float
    retransmitted_segments: int
    drops: int

    @property
    def packets_per_cpu_s(self) -> float:
        """Data packets delivered per second of CPU."""
        return self.delivered_packets / self.cpu_s


Round = dict[str, Side]
"""One turn: ackclock's side, and that of each build of a peer by its name."""


def measure_peer(build: PeerBuild, case: Case, *, min_cpu_s: float) -> Side:
    """Run a peer until it has taken enough CPU time, and give the mean of a run.

    Args:
        build: Which peer.
        case: The work.
        min_cpu_s: CPU time, at least; one run, at least.
    """
    cpu_s: list[float] = []
    while not cpu_s or sum(cpu_s) < min_cpu_s:
        figures = peer_programs.run(build, **case.peer)
        cpu_s.append(figures.cpu_s)
    return Side(
        statistics.fmean(cpu_s),
        figures.delivered_packets,
        figures.goodput_bps,
        figures.retransmitted_segments,
        figures.drops,
    )


def measure_ackclock(case: Case, changes: Sequence[str] = (), *, min_cpu_s: float) -> Side:
    """Run ackclock until it has taken enough CPU time, and give the mean of a run.

    Args:
        case: The work.
        changes: Changes to the scenario beside those of the case.
        min_cpu_s: CPU time, at least; one run, at least.
    """
    from ackclock import Scenario
    from ackclock.running import simulate

    scenario = Scenario.load(str(SCENARIOS / f"{case.name}.toml"), (*case.overrides, *changes))
    cpu_s: list[float] = []
    while not cpu_s or sum(cpu_s) < min_cpu_s:
        outcome, figures = simulate(scenario)
        cpu_s.append(figures.cpu_s)
    summary = json.loads(outcome.summary_json())
    flows: list[dict[str, Any]] = summary["flows"]
    return Side(
        statistics.fmean(cpu_s),
        figures.packets_delivered,
        8 * sum(flow["delivered_bytes"] for flow in flows) / scenario.duration_s,
        sum(flow["retransmitted_segments"] for flow in flows),
        sum(link["drops"] for link in summary["links"]),
    )


def measure_round(case: Case, builds: Sequence[PeerBuild], *, min_cpu_s: float) -> Round:
    """Let everybody run once, ackclock first, and again before a build whose TCP it can have.

    Args:
        case: The work.
        builds: Builds of the peers.
        min_cpu_s: CPU time of a side, at least.
    """
    done = {OURS: measure_ackclock(case, min_cpu_s=min_cpu_s)}
    for build in builds:
        if build.same_tcp:
            done[ours_with_tcp_of(build.name)] = measure_ackclock(case, build.same_tcp, min_cpu_s=min_cpu_s)
        done[build.name] = measure_peer(build, case, min_cpu_s=min_cpu_s)
    return done


class Journal:
    """The rounds done so far, in a file of JSON lines: what was measured, then a line for each round."""

    def __init__(self, file: Path, settings: dict[str, Any]) -> None:
        """Take up what is there, if it was measured with the same settings.

        Args:
            file: It is made if it is missing.
            settings: All that must be the same for rounds to belong together.
        """
        self._file = file
        self._rounds: dict[str, list[Round]] = {}
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        # The last line may be torn, and says nothing then.
        entries = [entry for entry in map(_read, lines) if entry is not None]
        file.write_text(json.dumps(settings) + "\n", encoding="utf-8")
        for entry in entries[1:] if entries[:1] == [settings] else []:
            self.add(entry["case"], {name: Side(**side) for name, side in entry["sides"].items()})

    def rounds(self, case: str) -> list[Round]:
        """Return the rounds of a case.

        Args:
            case: Its name.
        """
        return self._rounds.setdefault(case, [])

    def add(self, case: str, done: Round) -> None:
        """Write a round down.

        Args:
            case: The name of what was measured.
            done: Result of each side.
        """
        self.rounds(case).append(done)
        sides = {name: dataclasses.asdict(side) for name, side in done.items()}
        with self._file.open("a", encoding="utf-8") as opened:
            opened.write(json.dumps({"case": case, "sides": sides}) + "\n")

    def close(self) -> None:
        """Forget the rounds: the next run measures anew."""
        self._file.unlink()


def _read(line: str) -> Any:  # noqa: ANN401  whatever JSON says
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None
