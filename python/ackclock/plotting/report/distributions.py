"""Cumulative distributions of a run for page and paper: round-trip times, queueing delays, completion times."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ackclock.base.printable import plain
from ackclock.results import Results
from ackclock.results.run_labels import controller_of, prefixes
from ackclock.stats.capacity import waits_s
from ackclock.stats.metrics import Floats, distribution
from ackclock.stats.run_window import until_completed

if TYPE_CHECKING:
    from ackclock.plotting.notebook_figures import Picture
    from ackclock.plotting.report.page_content import Window

_MOST_SINGLY: Final = 10
"""Number of flows above which those of a controller are merged into one line."""


@dataclass(frozen=True, slots=True)
class Distributions:
    """Distributions in one plot.

    Attributes:
        name: Name of the figure's file.
        title: Above it.
        axis: Sampled quantity, with the unit.
        note: Where the samples come from.
        lines: The samples of each thing, by its label.
    """

    name: str
    title: str
    axis: str
    note: str
    lines: Mapping[str, Floats]

    def as_dict(self) -> dict[str, Any]:
        """Return the data for the page, with at most some hundred quantiles per line."""
        lines = []
        for label, values in self.lines.items():
            at, share = distribution(values)
            rounded = [float(f"{value:.5g}") for value in at]
            lines.append({"label": plain(label), "x": rounded, "y": [round(float(part), 5) for part in share]})
        return {"key": self.name, "title": self.title, "axis": self.axis, "note": self.note, "lines": lines}


def drawn_distributions(one: Distributions) -> "Picture":
    """Draw distributions for a paper."""
    from ackclock.plotting.figures import Axis, distributions

    return distributions({"": one.lines}, Axis(one.axis))


def of_every_kind(results: list[Results], window: "Window | None" = None) -> Iterator[Distributions]:
    """Yield every distribution that has samples.

    Round-trip times are by flow, or by controller for many flows. Queueing delays are those that a packet would see at
    each recorded link. Completion times cover short flows and requests, or the flows themselves.
    """
    for name, title, axis, factor, note, samples, is_shown in _KINDS:
        lines: dict[str, Floats] = {}
        for result, prefix in zip(results, prefixes(results), strict=True):
            found: dict[str, list[Floats]] = {}
            for who, time_s, values in samples(result):
                chosen = values if window is None or time_s is None else values[window.of(time_s)]
                found.setdefault(f"{prefix}{who}", []).append(chosen[~np.isnan(chosen)])
            lines |= {who: np.concatenate(parts) * factor for who, parts in found.items()}
        if shown := {who: values for who, values in lines.items() if is_shown(values)}:
            yield Distributions(name, title, axis, note, shown)


_Sampled = Iterator[tuple[str, Floats | None, Floats]]
"""Samples: label, times and values; times are None for values that belong to no moment of the run."""


def _round_trips(result: Results) -> _Sampled:
    table = result.flows
    if "rtt_sample_s" not in table.columns or table.is_empty():
        return
    controllers = {str(flow["name"]): controller_of(flow) for flow in result.summary["flows"]}
    by_controller = len(controllers) > _MOST_SINGLY
    for name in table["flow"].unique(maintain_order=True).to_list():
        rows = until_completed(result, str(name))
        who = controllers.get(str(name), str(name)) if by_controller else str(name)
        yield who, rows["time_s"].to_numpy(), rows["rtt_sample_s"].cast(float).to_numpy()


def _queueing_delays(result: Results) -> _Sampled:
    """Yield the queueing delays: as reported, or queue length over rate for a plain queue at constant rate."""
    for (name,), rows in result.links.group_by("link", maintain_order=True) if result.links.width else ():
        values = None if str(name).endswith(".reverse") else waits_s(result.scenario, str(name), rows)
        if values is not None:
            yield str(name), rows["time_s"].to_numpy(), values


def _completion_times(result: Results) -> _Sampled:
    for (name,), rows in result.completions.group_by("flow", maintain_order=True):
        yield str(name), None, rows["fct_s"].cast(float).to_numpy()
    for flow in result.summary["flows"]:
        if flow["completion_s"] is not None and not flow.get("exchanges"):
            yield controller_of(flow), None, np.array([flow["completion_s"] - flow["start_s"]])


_Kind = tuple[str, str, str, float, str, Callable[[Results], _Sampled], Callable[[Floats], object]]
_KINDS: Final[tuple[_Kind, ...]] = (
    ("rtt-cdf", "Round-trip time", "RTT (ms)", 1e3,
     "Samples of the series, one an interval, until the flow is over.", _round_trips, len),
    ("queueing-cdf", "Queueing delay", "queueing delay (ms)", 1e3,
     "What a packet that came at each sample would have waited.", _queueing_delays, np.any),
    ("completion-cdf", "Completion time", "completion time (s)", 1.0,
     "From the first packet to the last octet read.", _completion_times, lambda values: values.size > 1),
)  # fmt: skip
"""Name, title, axis, factor to its unit, note, samples, and the condition for showing them."""
