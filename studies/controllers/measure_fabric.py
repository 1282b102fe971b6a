"""C22 to C24: controllers of datacentres."""

from collections.abc import Callable
from pathlib import Path

from ackclock.claims.folder import load_module
from ackclock.claims.measured import Measured, Runs

_bbr = load_module(Path(__file__).parent / "measure_bbr.py")
_delay = load_module(Path(__file__).parent / "measure_delay.py")

Measure = Callable[[Runs], Measured]

ROUND_TRIP_MS = 0.020373
"""Round trip of the switch's path at 100 Gbit/s, ms: 20 us, three times 120 ns per packet and 4.2 ns per ACK."""
INCREASES = 8 * 0.1 * ROUND_TRIP_MS * 1e-3 * 100e9 / 8 / 1448
"""Sum of eight flows' increases, each a tenth of the path's BDP, segments."""

LATER_MS = (0, 1, 10)
"""Start of the second TIMELY flow after the first, ms."""


def use(case: str) -> Measure:
    """Use of the switch, with the mean queue and Jain's index."""

    def measure(runs: Runs) -> Measured:
        found = _bbr.link(runs[case])
        also = {"queue, packets": found["queue"], "Jain's index": _bbr.jain(_bbr.goodputs(runs[case]))}
        return Measured(found["utilization"], also)

    return measure


def hpcc_wait(runs: Runs) -> Measured:
    """HPCC's mean wait over the round trip."""
    return Measured(_delay.wait_ms(runs["hpcc"]) / ROUND_TRIP_MS, {"packets": _bbr.link(runs["hpcc"])["queue"]})


def powertcp_queue(runs: Runs) -> Measured:
    """PowerTCP's mean queue over the sum of its flows' increases."""
    packets = _bbr.link(runs["powertcp"])["queue"]
    return Measured(packets / INCREASES, {"packets": packets, "increases": INCREASES})


def where_it_comes_to(runs: Runs) -> Measured:
    """The effect of the second TIMELY flow's start on the first one's share, also with T_low of 50 us."""
    found = {later: _bbr.share(runs[f"timely, gradient, {later}"]) for later in LATER_MS}
    own = [_bbr.share(runs[f"timely, {later}"]) for later in LATER_MS]
    also = {f"share, {later} ms": value for later, value in found.items()}
    return Measured(max(found.values()) - min(found.values()), also | {"with T_low of 50 us": max(own) - min(own)})


MEASURES: dict[str, Measure] = {
    "C22a": use("hpcc"),
    "C22b": hpcc_wait,
    "C23a": powertcp_queue,
    "C23b": use("powertcp"),
    "C24a": use("timely"),
    "C24b": where_it_comes_to,
}
