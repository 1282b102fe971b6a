"""Run the short cases, for `valgrind` to count, and print the packets of each: a program of `instructions.py`.

Every case is one simulation that runs up to one time and then on to another. `Simulation.run_until` is called twice for
a case and for nothing else, so that what is counted in a case's second call is what the packets between cost: neither
Python, nor making the scenario, nor slow start.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ackclock._core import Scenario, Simulation

sys.path.insert(0, str(Path(__file__).parents[1]))

from speed.cases import CASES

_AT_ONCE = ('flow[0].start.spacing="0.1 ms"',)
"""A thousand flows have begun after a tenth of a second."""


@dataclass(frozen=True, slots=True)
class ShortCase:
    """A case of `ackclock bench` over a part of its time.

    Attributes:
        name: Name of this case.
        of: The case that it is a part of.
        from_s: Simulated time at which the counted part begins.
        to_s: At which it ends.
        overrides: Further changes to the scenario.
        is_held: Whether it may not need more instructions than the record says.
    """

    name: str
    of: str
    from_s: float
    to_s: float
    overrides: tuple[str, ...] = ()
    is_held: bool = False

    def scenario(self) -> Scenario:
        """Read the scenario."""
        case = next(case for case in CASES if case.name == self.of)
        return replace(case, overrides=(*case.overrides, *self.overrides)).scenario()


SHORT_CASES: tuple[ShortCase, ...] = (
    ShortCase("a", "a", 2.0, 6.0, is_held=True),
    ShortCase("a-traced", "a-traced", 2.0, 6.0),
    ShortCase("a-linux-6.x", "a", 2.0, 6.0, ('tcp.profile="linux-6.x"',)),
    ShortCase("b", "b", 0.15, 0.2),
    ShortCase("c", "c", 0.2, 0.5, _AT_ONCE, is_held=True),
    ShortCase("d1000", "d1000", 0.2, 1.0),
    ShortCase("fq-codel", "fq-codel", 0.2, 0.5, _AT_ONCE, is_held=True),
    ShortCase("trace-link", "trace-link", 4.0, 20.0),
    ShortCase("short-flows", "short-flows", 0.1, 0.4),
)
"""All of them, in the order in which they run."""


def packets_of_each() -> Iterator[tuple[str, int]]:
    """Run every case.

    Yields:
        Its name, and how many data packets were delivered in its second part.
    """
    for case in SHORT_CASES:
        simulation = Simulation(case.scenario())
        simulation.run_until(case.from_s)
        before = simulation.packets_delivered
        simulation.run_until(case.to_s)
        yield case.name, simulation.packets_delivered - before


def main() -> None:
    """Print the packets of each as they are counted."""
    for name, packets in packets_of_each():
        print(name, packets)


if __name__ == "__main__":
    main()
