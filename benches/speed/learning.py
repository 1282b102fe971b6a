"""What a decision of an agent costs that learns in its flow: choosing, storing, and a step of learning on a batch."""

import time
from dataclasses import dataclass

from ackclock._core import exercise_agent
from ackclock.scenario.dumbbells import dumbbell

GROUP = "learn"
"""What names it on the command line."""

CONTROLLERS = ("dqn_newreno", "dqn_cubic")

_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class LearningCost:
    """CPU time of a controller's decisions.

    Attributes:
        controller: Its name; its parameters are the default ones.
        decisions: How many, each with a step of learning.
        cpu_s: CPU time of all, one core.
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
    """Let the agent of a controller decide and learn on drawn states.

    Args:
        controller: Its name.
        min_cpu_s: CPU time to spend, at least.
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
