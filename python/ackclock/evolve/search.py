"""Evolution strategy: mirrored perturbations, ranks in place of values, Adam on the estimated gradient.

Source: Salimans, Ho, Chen, Sidor, Sutskever, "Evolution Strategies as a Scalable Alternative to Reinforcement Learning",
2017, algorithm 1 with mirrored sampling and rank shaping; Kingma and Ba, "Adam", 2015. Departures: every candidate of a
generation meets the same paths, and what it is worth on a path is set against the others there, so that easy and hard
paths, slow and fast ones count alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


TIE = 0.02
"""Worth by which candidates differ on a path by chance."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to search.

    Attributes:
        pairs: Mirrored pairs of candidates in a generation.
        deviation: Of a perturbation, for each parameter.
        rate: Adam's, at the beginning.
        last_rate: At the end; in between it falls evenly by the logarithm.
        generations: How many.
    """

    pairs: int = 12
    deviation: float = 0.08
    rate: float = 0.04
    last_rate: float = 0.008
    generations: int = 200

    def rate_at(self, generation: int) -> float:
        """Return Adam's rate in a generation.

        Args:
            generation: From 0 on.
        """
        share = generation / max(self.generations - 1, 1)
        return float(self.rate * (self.last_rate / self.rate) ** share)


@dataclass(slots=True)
class Search:
    """Where a search stands.

    Attributes:
        plan: How.
        seed: Of every perturbation.
        mean: The parameters.
        generation: How many have been.
    """

    plan: Plan
    seed: int
    mean: Vector
    generation: int = 0
    _first: Vector = field(init=False)
    _second: Vector = field(init=False)

    def __post_init__(self) -> None:
        """Begin Adam."""
        self._first = np.zeros_like(self.mean)
        self._second = np.zeros_like(self.mean)

    def step(self, worths: Callable[[Sequence[Vector]], Matrix]) -> Matrix:
        """Live one generation.

        Args:
            worths: From candidates to what each is worth on each path, the same paths for all of the generation.

        Returns:
            What each candidate was worth on each path.
        """
        generator = np.random.default_rng([self.seed, 1, self.generation])
        noise = generator.normal(0.0, 1.0, (self.plan.pairs, self.mean.size))
        both = np.concatenate([noise, -noise])
        values = worths([self.mean + self.plan.deviation * each for each in both])
        gradient = ranks(advantages(values)) @ both / (len(both) * self.plan.deviation)
        self._ascend(gradient)
        return values

    def _ascend(self, gradient: Vector) -> None:
        keep, keep_squares = 0.9, 0.99
        rate = self.plan.rate_at(self.generation)
        self.generation += 1
        self._first = keep * self._first + (1 - keep) * gradient
        self._second = keep_squares * self._second + (1 - keep_squares) * gradient**2
        first = self._first / (1 - keep**self.generation)
        second = self._second / (1 - keep_squares**self.generation)
        self.mean = self.mean + rate * first / (np.sqrt(second) + 1e-8)

    def copy(self) -> Self:
        """Return a search that goes on alike."""
        twin = type(self)(self.plan, self.seed, self.mean.copy(), self.generation)
        twin._first, twin._second = self._first.copy(), self._second.copy()
        return twin


def advantages(values: Matrix) -> Vector:
    """Return how far each candidate is above the others: on each path in deviations of that path, then on average.

    A path on which all are within `TIE` of each other counts for less, since the differences are chance.

    Args:
        values: A row for each candidate, a column for each path.

    Examples:
        >>> advantages(np.array([[1.0, 5.0], [3.0, 5.0]])).round(2).tolist()
        [-0.49, 0.49]
    """
    deviations = values.std(axis=0) + TIE
    standing: Vector = ((values - values.mean(axis=0)) / deviations).mean(axis=1)
    return standing


def ranks(values: Vector) -> Vector:
    """Return ranks from -0.5 for the least to 0.5 for the greatest.

    Args:
        values: At least two.

    Examples:
        >>> ranks(np.array([1.0, 7.0, 2.0])).tolist()
        [-0.5, 0.5, 0.0]
    """
    places: Vector = values.argsort(kind="stable").argsort(kind="stable") / (len(values) - 1) - 0.5
    return places
