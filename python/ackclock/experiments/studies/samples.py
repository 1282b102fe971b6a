"""Stored data of a study's runs: the summary, and samples of each flow at even intervals."""

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from ackclock._core import Scenario
from ackclock.experiments.backends import run_on
from ackclock.running import simulate
from ackclock.stats.capacity import waits_s

if TYPE_CHECKING:
    import polars as pl

    from ackclock.running.linux_kernels import Kernel


class FlowSamples(TypedDict):
    """Samples of a flow at the end of each interval; None before its start and after its end."""

    goodput_bps: list[float | None]
    """Goodput: payload read in order by the receiving application in the interval, bit/s."""

    rtt_ms: list[float | None]
    """Latest RTT sample, ms."""

    cwnd_bytes: list[float | None]
    """Congestion window, octets of payload."""


class Samples(TypedDict):
    """Samples of a run."""

    time_s: list[float]
    """Ends of the intervals, s."""

    flows: dict[str, FlowSamples]
    """Samples of the flows, by name."""

    queueing_ms: NotRequired[dict[str, list[float | None]]]
    """Queueing delay that an arriving packet would see, by link, ms; only for links where it is known."""


def sampled_point(scenario_json: str, folder: str, on: "Kernel | None") -> str:
    """Run one run and return its summary with samples as JSON text."""
    import polars as pl

    scenario = Scenario.from_json(scenario_json, folder=folder)
    if on is None:
        outcome, _figures = simulate(scenario)
        flows, links = (pl.DataFrame(outcome.table(name)) for name in ("flows", "links"))
        summary = outcome.summary_json()
    else:
        results = run_on(scenario, on)
        flows, links, summary = results.flows, results.links, json.dumps(results.summary, ensure_ascii=False)
    found = samples_of(flows)
    found["queueing_ms"] = _waits_ms(links, json.loads(scenario_json), found["time_s"])
    samples = json.dumps(found, separators=(",", ":"))
    return f'{summary.strip().removesuffix("}").rstrip()},\n "samples": {samples}\n}}\n'


_COLUMNS = (
    ("goodput_bps", "goodput_bps", 1.0, 0),
    ("rtt_ms", "rtt_sample_s", 1e3, 3),
    ("cwnd_bytes", "cwnd_bytes", 1.0, 0),
)


def samples_of(flows: "pl.DataFrame") -> Samples:
    """Return the series of flows as columns over a common time."""
    import polars as pl

    times = flows["time_s"].unique().sort() if flows.height else pl.Series("time_s", [], dtype=pl.Float64)
    grid = times.to_frame()
    found: dict[str, Any] = {}
    for name in flows["flow"].cast(pl.String).unique(maintain_order=True) if flows.height else []:
        own = grid.join(flows.filter(pl.col("flow").cast(pl.String) == name), on="time_s", how="left")
        found[name] = {key: _rounded(own, column, factor, places) for key, column, factor, places in _COLUMNS}
    return {"time_s": [round(value, 6) for value in times.to_list()], "flows": found}


def until_completed(samples: Samples, flows: Iterable[Mapping[str, Any]]) -> Samples:
    """Return samples without those of finished flows.

    After its end a flow keeps its last values and a rate of 0, which say nothing about the path.
    """
    ends_s = {flow["name"]: flow["completion_s"] for flow in flows if flow.get("completion_s") is not None}
    found: Any = {name: dict(of) for name, of in samples["flows"].items()}
    for name in found.keys() & ends_s.keys():
        kept = bisect_right(samples["time_s"], ends_s[name])
        over = [None] * (len(samples["time_s"]) - kept)
        found[name] = {key: [*values[:kept], *over] for key, values in found[name].items()}
    return {**samples, "flows": found}


def _waits_ms(links: "pl.DataFrame", scenario: dict[str, Any], time_s: list[float]) -> dict[str, list[float | None]]:
    """Return the queueing delay at each forward link, at the times of the flows' samples."""
    import polars as pl

    found: dict[str, list[float | None]] = {}
    for (name,), rows in links.group_by("link", maintain_order=True) if links.width else ():
        waits = None if str(name).endswith(".reverse") else waits_s(scenario, str(name), rows)
        if waits is not None:
            own = {round(at, 6): wait for at, wait in zip(rows["time_s"], waits * 1e3, strict=True)}
            column = pl.Series([own.get(at) for at in time_s], dtype=pl.Float64)
            found[str(name)] = column.round(3).fill_nan(None).to_list()
    return found


def _rounded(table: "pl.DataFrame", column: str, factor: float, places: int) -> list[float | None]:
    if column not in table.columns:
        return [None] * table.height
    return (table[column] * factor).round(places).fill_nan(None).to_list()
