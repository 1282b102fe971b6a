"""Forecast of a run's cost: `ackclock run --estimate`, and warnings before a run."""

from dataclasses import asdict
from typing import Final

from ackclock._core import Scenario
from ackclock.base.printable import plain
from ackclock.cli import failures
from ackclock.cli.answers import answer
from ackclock.running.run_cost import Estimate, estimate

_MUCH_BYTES: Final = 2_000_000_000
"""Memory use above which a run warns, bytes."""


def memory_warning(scenario: Scenario) -> str | None:
    """Return a warning that a scenario will need much memory; None if it does not, or if that is unknown."""
    needed = scenario.memory_bytes
    if needed < _MUCH_BYTES:
        return None
    return (
        f"a run will take some {_gigabytes(needed)} of memory or more: its flows, fixed windows and series at "
        "intervals; limit the queues of hosts, or record less; ackclock run --estimate runs a short beginning"
    )


def phase_warning(scenario: Scenario) -> str | None:
    """Return a warning that flows may phase-lock with a queue; None if not."""
    link = scenario.link_in_step
    if link is None:
        return None
    return (
        f"{plain(link)}: a host sends at just the rate of this link, and nothing is random between the two: one flow "
        "may find the queue full for the whole run (phase effects); give hosts noise, tcp.host_noise = "
        '"10 us", or links of hosts another rate'
    )


def scaling_warning(scenario: Scenario) -> str | None:
    """Return a warning that the scenario enables window scaling without effect; None if not."""
    flow = scenario.scaling_without_effect
    if flow is None:
        return None
    return (
        f"{plain(flow)}: window_scaling = true changes nothing: an end does not offer it, or the receive buffers of "
        "both fit into 16 bits (65535 bytes); set it for both ends, and a larger tcp.receive_buffer and tcp.send_buffer"
    )


def warnings(scenario: Scenario) -> list[str]:
    """Return all warnings for a scenario."""
    found = (memory_warning(scenario), phase_warning(scenario), scaling_warning(scenario))
    return [text for text in found if text]


def warn(scenario: Scenario) -> None:
    """Print the warnings on standard error."""
    for text in warnings(scenario):
        failures.errors().print(f"warning: {text}", markup=False)


def print_estimate(scenario: Scenario) -> None:
    """Simulate a short beginning, and print the estimated cost of the whole run."""
    found = estimate(scenario)
    answer(**asdict(found))
    for line in lines(found):
        print(line)


def lines(found: Estimate) -> list[str]:
    """Return an estimate as readable lines."""
    from ackclock.plotting.terminal import si

    memory = f"memory: {_gigabytes(found.memory_bytes)} without writing the results"
    if found.is_whole:
        return [f"all of it ran in {span(found.took_s)}: {si(found.events or 0)} events", memory]
    if found.wall_s is None or found.events is None or found.packets is None:
        return [f"no simulated time passed in {span(found.took_s)}: so much happens at its beginning", memory]
    ran = f"{span(found.simulated_s)} of {span(found.duration_s)} of simulated time in {span(found.took_s)}"
    whole = f"the whole would take {span(found.wall_s)} on one thread"
    return [f"{ran}: {whole}", f"{si(found.events)} events, {si(found.packets)} data packets", memory]


def span(time_s: float) -> str:
    """Format a time span with two digits and a suitable unit.

    Examples:
        >>> [span(time_s) for time_s in (0.00002, 0.5, 30, 90, 5400, 50_400, 864_000)]
        ['20 us', '500 ms', '30 s', '90 s', '90 min', '14 hours', '10 days']
    """
    for limit_s, unit, name in ((1e-6, 1e-9, "ns"), (1e-3, 1e-6, "us"), (1.0, 1e-3, "ms"), (100.0, 1.0, "s")):
        if time_s < limit_s:
            return f"{_two_digits(time_s / unit)} {name}"
    for limit_s, unit, name in ((6_000.0, 60.0, "min"), (172_800.0, 3_600.0, "hours")):
        if time_s < limit_s:
            return f"{_two_digits(time_s / unit)} {name}"
    return f"{_two_digits(time_s / 86_400.0)} days"


def _two_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2g} GB" if size >= 99_500_000 else f"{size / 1e6:.0f} MB"
