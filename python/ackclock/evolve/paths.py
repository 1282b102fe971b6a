"""Paths that a policy is learnt on, chosen by and tested on: scenarios that draw a network for each seed."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from ackclock._core import Scenario, Simulation
from ackclock.evolve.figures import Figures, figures_of

TRACES = "ACKCLOCK_TRACES"
"""Environment variable: the folder of recorded traces."""
LEARNER = "learner"
"""Name of the flow whose controller is replaced; in a family of two of a kind `SECOND` is replaced, too."""
SECOND = "second"
FAMILIES = ("alone", "lossy", "cubic", "own", "changing", "cellular")
"""Kinds of paths, by the names of their files."""


@dataclass(frozen=True, slots=True)
class Family:
    """A scenario that draws a path for each seed.

    Attributes:
        name: One of `FAMILIES`.
        file: Its file.
        links: What its paths offer, by seed, of those that were run.
    """

    name: str
    file: Path
    links: dict[int, "Link"] = field(default_factory=dict)

    def overrides(self, controller: str) -> list[str]:
        """Return what puts a controller in the learner's place, and recorded traces where they are named.

        Args:
            controller: A name, or a table as TOML.

        Raises:
            LookupError: If the family has recorded traces and nothing says where they are.
        """
        value = controller if controller.startswith("{") else json.dumps(controller)
        seats = [LEARNER, SECOND] if self.name == "own" else [LEARNER]
        found = [f"flow.{seat}.controller={value}" for seat in seats]
        return found + self._traces() if self.name == "cellular" else found

    def _traces(self) -> list[str]:
        import tomllib

        folder = os.environ.get(TRACES)
        if not folder:
            raise LookupError(f"{self.file} needs recorded traces; say in {TRACES} which folder has them")
        table = tomllib.loads(self.file.read_text(encoding="utf-8"))
        names = table["topology"]["bottleneck"]["rate"]["trace"]["choice"]
        paths = json.dumps([str(Path(folder).resolve() / name) for name in names])
        return [f"topology.bottleneck.rate={{ trace = {{ choice = {paths} }} }}"]

    def run(self, controller: str, seeds: Sequence[int]) -> list[Figures]:
        """Simulate a controller on the paths of these seeds.

        Args:
            controller: A name, or a table as TOML.
            seeds: Each draws a path, the same for every controller.
        """
        template = Scenario.load(str(self.file), self.overrides(controller))
        return [self._run(template.draw(seed)) for seed in seeds]

    def _run(self, scenario: Scenario) -> Figures:
        simulation = Simulation(scenario)
        simulation.run_until(scenario.duration_s)
        summary = json.loads(simulation.finish().summary_json())
        return figures_of(self.name, summary, self._link(scenario))

    def _link(self, scenario: Scenario) -> "Link":
        """Return what a path offers, which is the same for every controller."""
        if scenario.seed not in self.links:
            self.links[scenario.seed] = Link.of(json.loads(scenario.to_json()), scenario.duration_s)
        return self.links[scenario.seed]


def families(folder: Path, names: Sequence[str] = FAMILIES) -> list[Family]:
    """Return the families of a folder.

    Args:
        folder: Holds a file for each.
        names: Which of them.
    """
    return [Family(name, folder / f"{name}.toml") for name in names]


@dataclass(frozen=True, slots=True)
class Link:
    """What a path offers.

    Attributes:
        capacity_bps: Mean rate of the bottleneck over the run.
        base_rtt_s: Propagation of the round trip.
    """

    capacity_bps: float
    base_rtt_s: float

    @classmethod
    def of(cls, scenario: Mapping[str, Any], duration_s: float) -> "Link":
        """Read it off a scenario.

        Args:
            scenario: As JSON, a dumbbell, with values that are drawn in place.
            duration_s: Of the run.
        """
        topology = scenario["topology"]
        one_way_s = 2 * _seconds(topology["access"]["delay"]) + _seconds(topology["bottleneck"]["delay"])
        return cls(_capacity(topology["bottleneck"]["rate"], duration_s), 2 * one_way_s)


def _capacity(rate: Any, duration_s: float) -> float:
    if isinstance(rate, str):
        return _bits(rate)
    if "schedule" in rate:
        return _of_schedule(rate, duration_s)
    instants = [int(word) for word in rate["instants"].split()]
    rounds, rest = divmod(round(duration_s * 1e3), instants[-1])
    lines = rounds * len(instants) + sum(instant <= rest for instant in instants)
    return lines * 8 * _bytes(rate.get("opportunity", "1500 bytes")) / duration_s


def _of_schedule(rate: Mapping[str, Any], duration_s: float) -> float:
    period_s = _seconds(rate["repeat"]) if rate.get("repeat") else duration_s
    starts = [(_seconds(entry["at"]), _bits(entry["rate"])) for entry in rate["schedule"]]
    spans = [(begin, end, bps) for (begin, bps), (end, _) in pairwise([*starts, (period_s, 0.0)])]
    bits, from_s = 0.0, 0.0
    while from_s < duration_s:
        left = duration_s - from_s
        bits += sum(bps * (min(end, left) - begin) for begin, end, bps in spans if begin < left)
        from_s += period_s
    return bits / duration_s


_UNITS = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
    "byte": 1.0, "bytes": 1.0, "B": 1.0, "kB": 1e3,
}  # fmt: skip


def _quantity(text: str) -> float:
    number, unit = text.split()
    return float(number) * _UNITS[unit]


_seconds = _bits = _bytes = _quantity
