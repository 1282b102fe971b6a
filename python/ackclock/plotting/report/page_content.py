"""Content of the page of runs, as JSON and columns, read by the scripts in `pages/report/`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import numpy as np

from ackclock import _core
from ackclock.base.printable import plain
from ackclock.plotting import completion_times as completions
from ackclock.plotting.figures.theme import COLOURS
from ackclock.plotting.report.distributions import of_every_kind
from ackclock.plotting.report.moments import moments, own_episodes, states
from ackclock.plotting.report.packed_columns import Columns
from ackclock.plotting.report.time_sequence import packets
from ackclock.plotting.result_panels import PANELS, Line, Panel, count_of, end_of, lines_of
from ackclock.results import Results
from ackclock.results.run_labels import controller_of, labels, prefixes
from ackclock.stats.capacity import constant_bps, over_time
from ackclock.stats.flow_groups import SHOWN_SINGLY
from ackclock.stats.metrics import Floats, spread_releases

_MOST_SAMPLES: Final = 600_000
"""Largest number of samples of all series together; beyond it, each keeps its extremes over fewer buckets."""

_SILENT: Final = ("marks", "drop_probability")
"""Panels that are left out if all values are zero."""

_MSS_BYTES: Final = 1448
_QUIC_BYTES: Final = 1472
"""Payload of a full UDP packet by default, in which QUIC's windows are counted, octets."""


@dataclass(frozen=True, slots=True)
class Window:
    """Part of the runs that a page shows.

    Attributes:
        begin_s: Beginning, seconds.
        end_s: End, seconds; None for the end of the runs.
    """

    begin_s: float = 0.0
    end_s: float | None = None

    def of(self, time_s: Floats) -> slice:
        """Return the slice of ascending times within the window."""
        low = int(np.searchsorted(time_s, self.begin_s))
        return slice(low, time_s.size if self.end_s is None else int(np.searchsorted(time_s, self.end_s, "right")))


def content(results: list[Results], window: Window) -> dict[str, Any]:
    """Return all data that the page draws."""
    columns = Columns()
    flows = _flows(results)
    places = {(flow["run"], flow.pop("name")): place for place, flow in enumerate(flows)}
    panels = [found for panel in PANELS if (found := _panel(results, panel, places, columns, window)) is not None]
    end_s = end_of(results, (end for panel in panels for end in panel.pop("ends")))
    shown = {"from": window.begin_s, "to": min(end_s, window.end_s) if window.end_s is not None else end_s}
    return {
        "runs": [plain(label) for label in labels(results)],
        "flows": flows,
        "colours": list(COLOURS),
        "window": shown,
        "panels": panels,
        "moments": moments(results, places, columns, window),
        "states": states(results, places, columns, window, shown["to"]),
        "packets": packets(results, places, columns, window),
        "distributions": [*(one.as_dict() for one in of_every_kind(results, window)), *_slowdown(results)],
        "columns": columns.entries,
    }


def _slowdown(results: list[Results]) -> list[dict[str, Any]]:
    """Return percentiles of the slowdown of short flows and requests, over their size."""
    lines = [
        {"label": plain(f"{line.label} p{percentile}"), "group": place, "isDashed": percentile != min(line.percentiles),
         "x": line.size_bytes.tolist(), "y": line.percentiles[percentile].tolist()}
        for place, line in enumerate(completions.slowdown_lines(results))
        for percentile in line.percentiles
    ]  # fmt: skip
    if not lines:
        return []
    note = "Completion time over that on an empty path: median and 99th percentile."
    return [{"key": "slowdown", "title": "Slowdown over size", "axis": "size (octets)", "vertical": "slowdown",
             "note": note, "isLog": True, "lines": lines}]  # fmt: skip


# ---- flows ----------------------------------------------------------------------------------------------------------


def _flows(results: list[Results]) -> list[dict[str, Any]]:
    """Return every flow of every run with its distinguishing facts; `name` is the key in tables, not for the page."""
    found = []
    for run, (result, prefix) in enumerate(zip(results, prefixes(results), strict=True)):
        tables = _tables_of_flows(result.scenario)
        for flow in (*result.summary["flows"], *result.summary.get("datagrams", [])):
            name, controller = str(flow["name"]), controller_of(flow) if "controller" in flow else "datagrams"
            found.append(
                {
                    "run": run,
                    "name": name,
                    "label": plain(f"{prefix}{name}"),
                    "controller": plain(f"{prefix}{controller}"),
                    "mss": _segment_bytes(result.scenario, tables.get(name, {}), str(flow.get("profile", ""))),
                    "goodput": flow["goodput_bps"],
                }
            )
    return found


def _tables_of_flows(scenario: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the scenario's flow tables by name; each flow of a group with a count has the group's table."""
    entries = scenario.get("flow")
    found: dict[str, Mapping[str, Any]] = {}
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, Mapping):
            name, count = str(entry.get("name", "")), entry.get("count", 1)
            found[name] = entry
            found |= {f"{name}.{number + 1}": entry for number in range(count if isinstance(count, int) else 0)}
    return found


def _segment_bytes(scenario: Mapping[str, Any], flow: Mapping[str, Any], profile: str) -> int:
    protocol = flow.get("protocol")
    if isinstance(protocol, Mapping) and protocol.get("kind") == "quic":
        return int(protocol.get("max_datagram_size", _QUIC_BYTES))
    for table in (flow.get("tcp"), scenario.get("tcp")):
        if isinstance(table, Mapping) and isinstance(table.get("mss"), int):
            return int(table["mss"])
    return _of_profiles().get(profile, _MSS_BYTES)


@cache
def _of_profiles() -> dict[str, int]:
    """Return the segment size that each profile sets."""
    return {
        profile["name"]: switch["value"]
        for profile in json.loads(_core.profiles())
        for switch in profile["switches"]
        if switch["name"] == "mss" and isinstance(switch["value"], int)
    }


# ---- panels over time -----------------------------------------------------------------------------------------------


def _panel(
    results: list[Results], panel: Panel, places: Mapping[tuple[int, str], int], columns: Columns, window: Window
) -> dict[str, Any] | None:
    """Return a panel with its lines; with too many flows for single lines, percentiles of groups."""
    count, starts = count_of(results, panel), prefixes(results)
    lines, ends, largest = [], [], 0.0
    for whole in lines_of(results, panel):
        chosen = window.of(whole.time_s)
        one = replace(whole, time_s=whole.time_s[chosen], values=whole.values[chosen])
        if not one.time_s.size or np.isnan(one.values).all():
            continue
        spread = _spread(results[one.run], whole) if one.column.name == "goodput_bps" and one.who else None
        one = one.thinned(one.time_s.size, max(200, _MOST_SAMPLES // (len(PANELS) * count) // 2))
        lines.append(
            {"label": plain(one.label), "style": one.column.style, "x": columns.times(one.time_s),
             "y": columns.values(one.values), "flow": places.get((one.run, one.who), -1), "group": one.group,
             "who": plain(f"{starts[one.run]}{one.who}" if one.who else one.label), "column": one.column.label,
             "isReference": one.column.is_reference, "isThin": one.is_single}
        )  # fmt: skip
        if spread is not None:
            lines[-1]["spread"] = columns.values(spread[chosen])
        ends.append(float(one.time_s[-1]))
        largest = largest if one.column.is_reference else max(largest, one.largest)
    if not lines or (panel.key in _SILENT and not largest):
        return None
    is_rate, (factor, unit) = panel.columns[0].is_rate, panel.unit_for(largest)
    return {
        "key": panel.key, "title": panel.title, "quantity": panel.quantity, "of": panel.table, "isRate": is_rate,
        "isGrouped": count > SHOWN_SINGLY, "count": count, "factor": factor, "unit": unit, "lines": lines,
        "isWindow": panel.key in ("cwnd", "flight_size", "rwnd", "far_cwnd"), "ends": ends,
        "capacity": _capacity(results, columns, max(ends)) if is_rate else None,
    }  # fmt: skip


def _spread(result: Results, one: Line) -> Floats | None:
    """Return goodput without the bursts that filled gaps released; None without gaps."""
    episodes = own_episodes(result.episodes)
    mine = episodes.filter(episodes["flow"] == one.who)
    if mine.is_empty():
        return None
    rtt_ms = result.flow(one.who)["rtt_ms"]
    before_s = rtt_ms["p99"] / 1e3 if rtt_ms else 0.0  # a hole is there before the sender knows of it
    holes = [
        (at - before_s, at + length + before_s)
        for at, length in zip(mine["time_s"].to_list(), mine["duration_s"].to_list(), strict=True)
        if length is not None
    ]
    return spread_releases(one.time_s, one.values, holes, constant_bps(result.scenario))


def _capacity(results: list[Results], columns: Columns, end_s: float) -> list[dict[str, Any]]:
    """Return the capacity of each run's bottleneck over time, without repetitions."""
    names, found = labels(results), []
    known: set[bytes] = set()
    for run, result in enumerate(results):
        steps = over_time(result.scenario, end_s)
        if steps is None or (key := steps[0].tobytes() + steps[1].tobytes()) in known:
            continue
        known.add(key)
        found.append({"x": columns.times(steps[0]), "y": columns.values(steps[1]), "label": plain(names[run])})
    return found
