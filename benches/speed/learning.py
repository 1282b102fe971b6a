"""Cost of a decision of an in-flow learning agent: acting, storing, and a training step on a batch."""

import time
from dataclasses import dataclass

from ackclock._core import exercise_agent
from ackclock.scenario.dumbbells import dumbbell

GROUP = "learn"
"""Name on the command line."""

CONTROLLERS = ("dqn_newreno", "dqn_cubic")

_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class LearningCost:
    """CPU time of a controller's decisions.

    Attributes:
        controller: Name of the controller, with default parameters.
        decisions: Number of decisions, each with a training step.
        cpu_s: CPU time in total, on one core.
    """

    controller: str
    decisions: int
    cpu_s: float

    @property
    def decisions_per_cpu_s(self) -> float:
        """Decisions per second of CPU."""
        return self.decisions / self.cpu_s

    def as_dict(self) -> dict[str, str | float]:
        """Return the entry of the JSON."""
        return {
            "controller": self.controller,
            "decisions": self.decisions,
            "cpu_s": self.cpu_s,
            "decisions_per_cpu_s": self.decisions_per_cpu_s,
        }


def learning_cost(controller: str, *, min_cpu_s: float) -> LearningCost:
    """Run a controller's agent on random states, with training.

    Args:
        controller: Name of the controller.
        min_cpu_s: Minimum CPU time.
    """
    scenario = dumbbell(flows=controller)
    decisions, cpu_s, at_once = 0, 0.0, _AT_ONCE
    while not decisions or cpu_s < min_cpu_s:
        # The warm-up of a call costs a fraction of a decision for each of its tuples: fewer calls, less of that.
        begun = time.process_time()
        decisions += exercise_agent(scenario, at_once)
        cpu_s += time.process_time() - begun
        at_once *= 2
    return LearningCost(controller, decisions, cpu_s)
