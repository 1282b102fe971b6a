"""Evolution strategy with an adapted covariance matrix (CMA-ES).

Source: Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv:1604.00772, algorithm of figure 6 with the parameters of
its table 1, positive weights only. Departures: every candidate of a generation meets the same paths; what it is worth
on a path is set against the others there, so that easy and hard paths, slow and fast ones count alike.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from ackclock.base.bounds import real, whole

MOST_GENERATIONS: Final = 10_000

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a search.

    Attributes:
        candidates: Number of candidates in a generation.
        deviation: Standard deviation of each parameter at the beginning.
        generations: Number of generations.
        tie: Worth by which candidates differ on a path by chance: where they differ by less, it counts for less. A
            large one makes paths on which much is to be gained count for more.
    """

    candidates: int = 14
    deviation: float = 0.1
    generations: int = 100
    tie: float = 0.02

    def __post_init__(self) -> None:
        """Refuse what no search could go by: half of the candidates are better, and a step has a length."""
        whole("candidates", self.candidates, 2, 100_000)
        real("deviation", self.deviation, 1e-12, 1e12)
        whole("generations", self.generations, 0, MOST_GENERATIONS)
        real("tie", self.tie, 0, 1e12)


@dataclass(frozen=True, slots=True)
class Rates:
    """The strategy's constants, for so many parameters and candidates (table 1 of the tutorial).

    Attributes:
        weights: Weights of the better half, best first; they sum to 1.
        mass: Variance effective selection mass, mu_eff.
        path: c_c.
        step_path: c_sigma.
        damping: d_sigma.
        one: c_1.
        mu: c_mu.
        expected: E||N(0, I)||.
    """

    weights: Vector
    mass: float
    path: float
    step_path: float
    damping: float
    one: float
    mu: float
    expected: float

    @classmethod
    def of(cls, size: int, candidates: int) -> Self:
        """Return them.

        Args:
            size: Number of parameters.
            candidates: In a generation, at least two.
        """
        better = candidates // 2
        raw = math.log((candidates + 1) / 2) - np.log(np.arange(1, better + 1))
        weights = raw / raw.sum()
        mass = 1.0 / float((weights**2).sum())
        step_path = (mass + 2) / (size + mass + 5)
        one = 2 / ((size + 1.3) ** 2 + mass)
        return cls(
            weights=weights,
            mass=mass,
            path=(4 + mass / size) / (size + 4 + 2 * mass / size),
            step_path=step_path,
            damping=1 + 2 * max(0.0, math.sqrt((mass - 1) / (size + 1)) - 1) + step_path,
            one=one,
            mu=min(1 - one, 2 * (mass - 2 + 1 / mass) / ((size + 2) ** 2 + mass)),
            expected=math.sqrt(size) * (1 - 1 / (4 * size) + 1 / (21 * size**2)),
        )


@dataclass(slots=True)
class Search:
    """Where a search stands.

    Attributes:
        plan: Plan of the search.
        seed: Seed of every candidate.
        mean: The parameters.
        generation: Number of generations so far.
    """

    plan: Plan
    seed: int
    mean: Vector
    generation: int = 0
    _deviation: float = field(init=False)
    _covariance: Matrix = field(init=False)
    _path: Vector = field(init=False)
    _step_path: Vector = field(init=False)

    def __post_init__(self) -> None:
        """Begin with the same deviation in every direction."""
        self._deviation = self.plan.deviation
        self._covariance = np.eye(self.mean.size)
        self._path, self._step_path = np.zeros_like(self.mean), np.zeros_like(self.mean)

    def step(self, worths: Callable[[Sequence[Vector]], Matrix]) -> Matrix:
        """Live one generation.

        Args:
            worths: From candidates to what each is worth on each path, the same paths for all of the generation.

        Returns:
            Score of each candidate on each path.
        """
        generator = np.random.default_rng([self.seed, self.generation])
        squares, axes = np.linalg.eigh(self._covariance)
        lengths = np.sqrt(np.maximum(squares, 1e-20))
        drawn = generator.normal(0.0, 1.0, (self.plan.candidates, self.mean.size))
        steps = drawn * lengths @ axes.T
        values = worths([self.mean + self._deviation * step for step in steps])
        best = np.argsort(-advantages(values, self.plan.tie), kind="stable")[: self.plan.candidates // 2]
        self._adapt(steps[best], axes, lengths)
        return values

    def _adapt(self, best: Matrix, axes: Matrix, lengths: Vector) -> None:
        """Move mean, step and covariance towards the better half, best first."""
        rates = Rates.of(self.mean.size, self.plan.candidates)
        self.generation += 1
        step = rates.weights @ best
        self.mean = self.mean + self._deviation * step
        white = axes @ ((axes.T @ step) / lengths)
        keep = 1 - rates.step_path
        self._step_path = (
            keep * self._step_path + math.sqrt(rates.step_path * (2 - rates.step_path) * rates.mass) * white
        )
        length = float(np.linalg.norm(self._step_path))
        usual = math.sqrt(1 - keep ** (2 * self.generation))
        is_short = length / usual < (1.4 + 2 / (self.mean.size + 1)) * rates.expected
        stretch = math.sqrt(rates.path * (2 - rates.path) * rates.mass) if is_short else 0.0
        self._path = (1 - rates.path) * self._path + stretch * step
        lost = 0.0 if is_short else rates.one * rates.path * (2 - rates.path)
        spread = (best.T * rates.weights) @ best
        self._covariance = (
            (1 - rates.one - rates.mu + lost) * self._covariance
            + rates.one * np.outer(self._path, self._path)
            + rates.mu * spread
        )
        self._deviation *= math.exp(rates.step_path / rates.damping * (length / rates.expected - 1))

    @property
    def deviation(self) -> float:
        """The step size."""
        return self._deviation


def advantages(values: Matrix, tie: float) -> Vector:
    """Return how far each candidate is above the others: on each path in deviations of that path, then on average.

    Args:
        values: A row for each candidate, a column for each path.
        tie: Added to a path's deviation.

    Examples:
        >>> advantages(np.array([[1.0, 5.0], [3.0, 5.0]]), 0.02).round(2).tolist()
        [-0.49, 0.49]
    """
    deviations = values.std(axis=0) + tie
    standing: Vector = ((values - values.mean(axis=0)) / deviations).mean(axis=1)
    return standing
