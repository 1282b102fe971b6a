"""From runs over held-out paths to what the learned controller gains, by kind of path and opponent."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ackclock.claims.folder import load_module
from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

_outcome = load_module(Path(__file__).parent / "outcome.py")
if TYPE_CHECKING:
    from studies.learned.outcome import Figures
else:
    Figures = _outcome.Figures
FAMILIES: Final[tuple[str, ...]] = _outcome.FAMILIES

LEARNED: Final = "learned"
OPPONENTS: Final = {"a": "cubic", "b": "bbr3", "c": "copa", "d": "pcc_vivace"}
"""By the letter in a claim's id."""

Measure = Callable[[Runs], Measured]


def figures(results: Results, family: str) -> Figures:
    """Return what a run over a path comes to."""
    key = results.manifest["scenario_hash"]
    if key not in _FIGURES:
        link = _outcome.Link.of(results.manifest["scenario"], float(results.summary["duration_s"]))
        _FIGURES[key] = _outcome.figures_of(family, results.summary, link)
    return _FIGURES[key]


_FIGURES: dict[str, Figures] = {}
"""Figures that were read already, by the scenario's hash: reading a recorded trace takes time."""


def of_family(runs: Runs, family: str, controller: str) -> Figures:
    """Return it for a case."""
    return figures(runs[f"{family} {controller}"], family)


def goodput(found: Figures) -> float:
    """Percent of the flow's fair share."""
    return 100 * found.goodput


def delay(found: Figures) -> float:
    """Mean queueing delay in percent of the propagation RTT."""
    return 100 * found.delay


def loss(found: Figures) -> float:
    """Percent of the segments sent."""
    return 100 * found.loss


QUANTITIES: Final[Mapping[str, Callable[[Figures], float]]] = {"1": goodput, "2": delay, "3": loss}
"""By the last figure of a claim's id."""


def above(families: tuple[str, ...], opponent: str, quantity: Callable[[Figures], float]) -> Measure:
    """The learned controller's figure less an opponent's, on a path of each family, on average."""

    def measure(runs: Runs) -> Measured:
        means = {
            name: math.fsum(quantity(of_family(runs, family, name)) for family in families) / len(families)
            for name in (LEARNED, opponent)
        }
        return Measured(means[LEARNED] - means[opponent], means)

    return measure


def left_to_cubic(runs: Runs) -> Measured:
    """CUBIC's share beside the learned controller less its share beside CUBIC, in percent of half the link."""
    left = {name: 100 * of_family(runs, "cubic", name).other for name in (LEARNED, *OPPONENTS.values())}
    return Measured(left[LEARNED] - left["cubic"], left)


def evenness(runs: Runs) -> Measured:
    """Jain's index of two of its kind."""
    indices = {name: of_family(runs, "own", name).jain for name in (LEARNED, *OPPONENTS.values())}
    return Measured(indices[LEARNED], {f"{name}'s": value for name, value in indices.items() if name != LEARNED})


def power(runs: Runs) -> Measured:
    """The learned controller's power, goodput over mean RTT (Kleinrock 1979), over the best of the others'."""
    powers = {}
    for name in (LEARNED, *OPPONENTS.values()):
        flow: Mapping[str, Any] = runs[name].summary["flows"][0]
        powers[name] = float(flow["goodput_bps"]) / 1e6 / (float(flow["rtt_ms"]["mean"]) / 1e3)
    best = max(value for name, value in powers.items() if name != LEARNED)
    return Measured(powers[LEARNED] / best, {f"{name}, Mbit/s a s": value for name, value in powers.items()})


def _all() -> dict[str, Measure]:
    kinds: dict[str, tuple[str, ...]] = {str(number): (family,) for number, family in enumerate(FAMILIES, 1)}
    kinds |= {"7": FAMILIES, "8": tuple(family for family in FAMILIES if family != "cellular")}
    return {
        f"L{kind}{letter}{number}": above(families, opponent, quantity)
        for kind, families in kinds.items()
        for letter, opponent in OPPONENTS.items()
        for number, quantity in QUANTITIES.items()
    }


MEASURES: dict[str, Measure] = _all() | {"L3e": left_to_cubic, "L4e": evenness, "L9": power}
