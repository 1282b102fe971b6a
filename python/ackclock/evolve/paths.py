"""Paths that a policy is learnt on, chosen by and tested on: scenarios that draw a network for each seed."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from ackclock import input_files
from ackclock._core import Scenario, Simulation
from ackclock.evolve.figures import Figures, figures_of
from ackclock.toml_text import toml_text

TRACES = "ACKCLOCK_TRACES"
"""Environment variable: the folder of recorded traces."""
LEARNER = "learner"
"""Name of the flow whose controller is replaced; in a family of two of a kind `SECOND` is replaced, too."""
SECOND = "second"
FAMILIES = ("alone", "lossy", "cubic", "own", "changing", "cellular")
"""Kinds of paths, by the names of their files."""
_DRAWN_KEPT = 200


@dataclass
class Family:
    """A scenario that draws a path for each seed.

    Attributes:
        name: One of `FAMILIES`.
        file: Its file.
    """

    name: str
    file: Path
    _template: Scenario | None = field(default=None, repr=False, compare=False)
    _drawn: dict[int, "Drawn"] = field(default_factory=dict, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: paths are drawn there anew."""
        return self.__dict__ | {"_template": None, "_drawn": {}}

    def overrides(self, controller: str) -> list[str]:
        """Return what puts a controller in the learner's place.

        Args:
            controller: A name, or a table as TOML.
        """
        value = controller if controller.startswith("{") else toml_text(controller)
        seats = [LEARNER, SECOND] if self.name == "own" else [LEARNER]
        return [f"flow.{seat}.controller={value}" for seat in seats]

    def run(self, controller: str, seeds: Sequence[int]) -> list[Figures]:
        """Simulate a controller on the paths of these seeds.

        Args:
            controller: A name, or a table as TOML.
            seeds: Each draws a path, the same for every controller.

        Raises:
            LookupError: If the family has recorded traces and nothing says where they are.
        """
        return [self._run(controller, self.path(seed)) for seed in seeds]

    def path(self, seed: int) -> "Drawn":
        """Return the path that a seed draws.

        Args:
            seed: Any.
        """
        if seed not in self._drawn:
            if self._template is None:
                self._template = Scenario.load(str(self.file), self._traces())
            if len(self._drawn) >= _DRAWN_KEPT:
                del self._drawn[next(iter(self._drawn))]
            scenario = self._template.draw(seed)
            text = scenario.to_json()
            self._drawn[seed] = Drawn(text, Link.of(json.loads(text), scenario.duration_s))
        return self._drawn[seed]

    def _run(self, controller: str, path: "Drawn") -> Figures:
        scenario = Scenario.from_json(path.scenario, self.overrides(controller))
        simulation = Simulation(scenario)
        simulation.run_until(scenario.duration_s)
        return figures_of(self.name, json.loads(simulation.finish().summary_json()), path.link)

    def _traces(self) -> list[str]:
        """Return what says where recorded traces are, for a family that has them."""
        if self.name != "cellular":
            return []
        folder = os.environ.get(TRACES)
        if not folder:
            raise LookupError(f"{self.file} needs recorded traces; say in {TRACES} which folder has them")
        table = input_files.toml(self.file, remedy="give a scenario file (.toml)")
        names = table["topology"]["bottleneck"]["rate"]["trace"]["choice"]
        paths = toml_text([str(Path(folder).resolve() / name) for name in names])
        return [f"topology.bottleneck.rate={{ trace = {{ choice = {paths} }} }}"]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A path that was drawn.

    Attributes:
        scenario: As JSON.
        link: What it offers.
    """

    scenario: str
    link: "Link"


def families(folder: Path, names: Sequence[str] = FAMILIES) -> list[Family]:
    """Return the families of a folder.

    Args:
        folder: Holds a file for each.
        names: Which of them.

    Raises:
        ValueError: If there is no such family.
    """
    for name in names:
        if name not in FAMILIES:
            raise ValueError(f"families: unknown {name!r}; there are {', '.join(FAMILIES)}")
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


def _capacity(rate: str | Mapping[str, Any], duration_s: float) -> float:
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
