"""Cumulative distributions of a run for page and paper: round-trip times, queueing delays, completion times."""

from collections.abc import Iterator
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
class Samples:
    """Samples of one flow, link or group."""

    label: str
    values: Floats


@dataclass(frozen=True, slots=True)
class Distributions:
    """Distributions in one plot.

    Attributes:
        name: Name of its file.
        title: Title above it.
        axis: Sampled quantity, with its unit.
        note: Origin of the samples.
        lines: Samples of each item.
    """

    name: str
    title: str
    axis: str
    note: str
    lines: tuple[Samples, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the data for the page, with at most some hundred quantiles per line."""
        lines = []
        for line in self.lines:
            at, share = distribution(line.values)
            rounded = [float(f"{value:.5g}") for value in at]
            lines.append({"label": plain(line.label), "x": rounded, "y": [round(float(part), 5) for part in share]})
        return {"key": self.name, "title": self.title, "axis": self.axis, "note": self.note, "lines": lines}


def drawn_distributions(one: Distributions) -> "Picture":
    """Draw distributions for a paper."""
    from ackclock.plotting.figures import Axis, distributions

    return distributions({"": {line.label: line.values for line in one.lines}}, Axis(one.axis))


def of_every_kind(results: list[Results], window: "Window | None" = None) -> Iterator[Distributions]:
    """Yield every distribution that has samples."""
    yield from round_trips(results, window)
    yield from queueing_delays(results, window)
    yield from completion_times(results)


def _of(window: "Window | None", time_s: Floats) -> slice:
    return slice(None) if window is None else window.of(time_s)


def _one(name: str, title: str, axis: str, note: str, lines: list[Samples]) -> Iterator[Distributions]:
    if lines:
        yield Distributions(name, title, axis, note, tuple(lines))


def round_trips(results: list[Results], window: "Window | None" = None) -> Iterator[Distributions]:
    """Return the distribution of the round-trip time of each flow, or of many flows by controller."""
    lines: list[Samples] = []
    for run, result in enumerate(results):
        table = result.flows
        if "rtt_sample_s" not in table.columns or table.is_empty():
            continue
        controllers = {str(flow["name"]): controller_of(flow) for flow in result.summary["flows"]}
        by_controller = len(controllers) > _MOST_SINGLY
        found: dict[str, list[Floats]] = {}
        for name in table["flow"].unique(maintain_order=True).to_list():
            rows = until_completed(result, str(name))
            who = controllers.get(str(name), str(name)) if by_controller else str(name)
            time_s, values = rows["time_s"].to_numpy(), rows["rtt_sample_s"].cast(float).to_numpy()
            chosen = values[_of(window, time_s)]
            found.setdefault(who, []).append(chosen[~np.isnan(chosen)])
        lines += _joined(results, run, found, 1e3)
    note = "Samples of the series, one an interval, until the flow is over."
    yield from _one("rtt-cdf", "Round-trip time", "RTT (ms)", note, lines)


def queueing_delays(results: list[Results], window: "Window | None" = None) -> Iterator[Distributions]:
    """Yield the distribution of the queueing delay that a packet would see at each recorded link.

    It is the value reported by the discipline, or for a plain queue on a link of constant rate the queue length divided
    by the rate.
    """
    lines: list[Samples] = []
    for run, result in enumerate(results):
        found: dict[str, list[Floats]] = {}
        for (name,), rows in result.links.group_by("link", maintain_order=True) if result.links.width else ():
            if str(name).endswith(".reverse"):
                continue
            values = waits_s(result.scenario, str(name), rows)
            if values is not None:
                chosen = values[_of(window, rows["time_s"].to_numpy())]
                if np.nan_to_num(chosen).any():  # a queue in which nothing waited has no distribution to show
                    found[str(name)] = [chosen[~np.isnan(chosen)]]
        lines += _joined(results, run, found, 1e3)
    note = "What a packet that came at each sample would have waited."
    yield from _one("queueing-cdf", "Queueing delay", "queueing delay (ms)", note, lines)


def completion_times(results: list[Results]) -> Iterator[Distributions]:
    """Return the distribution of completion times: of short flows and requests, or of the flows themselves."""
    lines: list[Samples] = []
    for run, result in enumerate(results):
        found: dict[str, list[Floats]] = {}
        for (name,), rows in result.completions.group_by("flow", maintain_order=True):
            found[str(name)] = [rows["fct_s"].cast(float).to_numpy()]
        flows = result.summary["flows"]
        for flow in flows:
            if flow["completion_s"] is not None and not flow.get("exchanges"):
                took = flow["completion_s"] - flow["start_s"]
                found.setdefault(controller_of(flow), []).append(np.array([took]))
        lines += [line for line in _joined(results, run, found, 1.0) if line.values.size > 1]
    note = "From the first packet to the last octet read."
    yield from _one("completion-cdf", "Completion time", "completion time (s)", note, lines)


def _joined(results: list[Results], run: int, found: dict[str, list[Floats]], factor: float) -> list[Samples]:
    prefix = prefixes(results)[run]
    pooled = {who: np.concatenate(parts) * factor for who, parts in found.items()}
    return [Samples(f"{prefix}{who}", values) for who, values in pooled.items() if values.size]
