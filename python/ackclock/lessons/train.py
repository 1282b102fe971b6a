"""Lesson 6: training your own controller: a linear policy of four numbers, on random links.

The policy observes the queue and losses, and decides the change of the window. It is trained by the cross-entropy
method (Rubinstein 1999; de Boer, Kroese, Mannor and Rubinstein, Annals of OR 134, 2005): draw candidates, keep the
best, draw around them. All of it is NumPy, so nothing needs to be installed and every step can be read.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ackclock.lessons import theory
from ackclock.lessons.exercise import Exercise, function, near

Weights = NDArray[np.float64]

SEEN: Final = ("queue_share", "standing_queue_share", "recent_loss_fraction")
"""Observations used by the policy."""

TRAIN_SEEDS: Final = (1, 2, 3)
TEST_SEEDS: Final = (101, 102, 103, 104, 105)
"""Seeds of networks that training never sees."""

DELAY_WEIGHT: Final = 0.5
EPISODE: Final = "10 s"


def scenario() -> str:
    """Return a scenario whose network is drawn by the seed: 5 to 40 Mbit/s, 20 to 80 ms, a queue of 1 to 4 BDP."""
    return f"""
        duration = "{EPISODE}"
        measure = {{ from = "3 s" }}
        [topology]
        kind = "dumbbell"
        access = {{ rate = "1 Gbit/s", delay = "1 ms" }}
        [topology.bottleneck]
        rate = {{ log_uniform = ["5 Mbit/s", "40 Mbit/s"] }}
        delay = {{ uniform = ["10 ms", "40 ms"] }}
        queue = {{ kind = "drop_tail", limit = {{ uniform = ["1 bdp", "4 bdp"] }} }}
        [[flow]]
        name = "learner"
        controller = "reno"
        """


def environment() -> Any:
    """Return the environment: each round trip the window is multiplied by 2^a; rate is rewarded, delay penalised."""
    from ackclock._core import Scenario
    from ackclock.gym import FlowEnv

    return FlowEnv(
        Scenario.parse(scenario()),
        observations=SEEN,
        decide="round",
        action={"kind": "orca"},
        reward={"kind": "log_utility", "delay_weight": DELAY_WEIGHT},
        slow_start="stack",
        on_loss="agent",
    )


def act(weights: Sequence[float] | Weights, seen: Weights) -> NDArray[np.float32]:
    """Return the action of a linear policy: bias plus weighted observations, clipped to the action space.

    Args:
        weights: The bias, then one weight for each of `SEEN`.
        seen: Values of `SEEN`.
    """
    w = np.asarray(weights, dtype=np.float64)
    a = float(w[0] + w[1:] @ np.asarray(seen, dtype=np.float64))
    return np.array([min(2.0, max(-2.0, a))], dtype=np.float32)


def episode(environment: Any, weights: Sequence[float] | Weights, seed: int) -> tuple[float, Mapping[str, Any]]:
    """Return the mean reward of an episode, and its summary."""
    seen, _ = environment.reset(seed=seed)
    rewards: list[float] = []
    while True:
        seen, reward, terminated, truncated, info = environment.step(act(weights, np.ravel(seen)))
        rewards.append(float(reward))
        if terminated or truncated:
            return float(np.mean(rewards)), info["summary"]


def score(environment: Any, weights: Sequence[float] | Weights, seeds: Sequence[int]) -> float:
    """Return the mean over networks of an episode's mean reward."""
    return float(np.mean([episode(environment, weights, seed)[0] for seed in seeds]))


def train(
    environment: Any,
    generations: int = 4,
    candidates: int = 10,
    best: int = 3,
    seed: int = 1,
    told: Callable[[int, float, Weights], None] | None = None,
) -> Weights:
    """Train a policy by the cross-entropy method, and return its weights.

    Args:
        environment: Environment, as returned by `environment`.
        generations: Number of generations.
        candidates: Number of candidates per generation.
        best: Number of best candidates that determine the next distribution.
        seed: Seed of the draws.
        told: Called after each generation with its number, the best score and the mean of the best weights.
    """
    random = np.random.default_rng(seed)
    mean, deviation = np.zeros(1 + len(SEEN)), np.array([0.2, 1.0, 1.0, 1.0])
    for generation in range(1, generations + 1):
        drawn = mean + deviation * random.standard_normal((candidates, mean.size))
        scores = np.array([score(environment, weights, TRAIN_SEEDS) for weights in drawn])
        kept = drawn[np.argsort(scores)[-best:]]
        mean, deviation = kept.mean(axis=0), kept.std(axis=0) + 0.05
        if told is not None:
            told(generation, float(scores.max()), mean)
    return mean


def _better_than_nothing(answer: Any) -> str | None:
    try:
        weights = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        weights = np.zeros(0)
    if weights.shape != (1 + len(SEEN),) or not np.isfinite(weights).all():
        return f"{1 + len(SEEN)} weights are asked for: a bias and one for each of {', '.join(SEEN)}."
    own = environment()
    got, still = score(own, weights, TEST_SEEDS), score(own, np.zeros(weights.size), TEST_SEEDS)
    return (
        None if got > still else f"On networks it has not seen it scores {got:.3f}; doing nothing scores {still:.3f}."
    )


EXERCISES = (
    Exercise(
        function(
            lambda rate_mbps, rtt_ms: np.log(rate_mbps) - DELAY_WEIGHT * np.log(rtt_ms), [(10, 40), (1, 1), (20, 100)]
        ),
        "natural logarithms: of the rate in Mbit/s, less half of that of the round trip in ms.",
        "ln(rate) - 1/2 ln(RTT): Winstein and Balakrishnan, SIGCOMM 2013.",
    ),
    Exercise(
        near(np.sqrt(2.0), 0.02),
        "where does ln(rate) grow by as much as 1/2 ln(RTT) does when the RTT doubles?",
        "ln x = 1/2 ln 2: a rate of 2^(1/2) pays for a round trip twice as long.",
    ),
    Exercise(
        near(theory.friendly_increase(0.2), 0.01),
        "a = 3 b / (2 - b).",
        "3 x 0.2 / 1.8 = 1/3 (Floyd, Handley and Padhye 2000).",
    ),
    Exercise(
        _better_than_nothing,
        "train longer, or with more candidates; and judge on networks that training has not seen.",
        f"Its mean reward over {len(TEST_SEEDS)} networks that it never saw is above that of doing nothing.",
    ),
)
"""Exercises of the lesson."""
