"""Paths that a policy is learnt on, chosen by and tested on: scenarios that draw a network for each seed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock._core import Scenario, Simulation
from ackclock.base.toml_text import toml_text
from ackclock.scenario import recorded_traces

from ..outcome import FAMILIES, Figures, Link, figures_of

LEARNER = "learner"
"""Name of the flow whose controller is replaced; in a family of two of a kind `SECOND` is replaced, too."""
SECOND = "second"
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
                self._template = Scenario.load(str(self.file), recorded_traces.overrides(self.file))
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


@dataclass(frozen=True, slots=True)
class Drawn:
    """A path that was drawn.

    Attributes:
        scenario: Scenario as JSON.
        link: Capacity of the path.
    """

    scenario: str
    link: Link


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
