"""Views for notebooks: settings and outcome of results, network and flows of a scenario."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from ackclock.base import extras
from ackclock.base.printable import plain
from ackclock.plotting.network_picture import of_network
from ackclock.plotting.report.run_tables import tables
from ackclock.plotting.tables import Column, Table
from ackclock.plotting.tables import html as table_html
from ackclock.results.manifests import Manifest
from ackclock.results.summaries import RunSummary

if TYPE_CHECKING:
    from ackclock._core import Scenario
    from ackclock.experiments.studies.study_folder import Study
    from ackclock.plotting.report.report_widget import ReportWidget
    from ackclock.results import Results

_ROWS = 10

_STYLE = """<style>
.ackclock table { border-collapse: collapse; margin: .3rem 0; font-size: 12px; font-variant-numeric: tabular-nums; }
.ackclock th, .ackclock td { padding: .15rem .5rem; text-align: right; }
.ackclock thead th { vertical-align: bottom; }
.ackclock td, .ackclock th:first-child { white-space: nowrap; }
.ackclock th:first-child, .ackclock .word { text-align: left; font-weight: 600; }
.ackclock .scroll { overflow-x: auto; }
</style>"""


def html(summary: RunSummary, manifest: Manifest, picture: str = "") -> str:
    """Return the HTML view of a run: a line of facts, tables of flows and links, and a picture.

    Args:
        summary: Summary, as in `Results.summary`.
        manifest: Manifest with the scenario.
        picture: Picture, as returned by `ackclock.plotting.sparks.of_results`.
    """
    scenario = manifest.get("scenario")
    facts = [f"{summary['duration_s']:g} s recorded"] if scenario is None else _facts(summary, scenario)
    return framed(summary["scenario"], facts, "".join(map(table_html, tables(summary, _ROWS))) + picture)


@dataclass(frozen=True, slots=True)
class Static:
    """Static view, used in place of a widget if its packages are missing.

    Attributes:
        html: View of the runs, one below the other, or of the study, with a hint to install the packages.
    """

    html: str

    def _repr_html_(self) -> str:
        return self.html


def widget(results: "list[Results]", window_s: tuple[float, float] | None) -> "ReportWidget | Static":
    """Return runs as a widget, or their static view if its packages are missing.

    Args:
        results: At least one run.
        window_s: Beginning and end of the time shown, seconds; None for all.

    Raises:
        ValueError: If the window ends before it begins.
    """
    if window_s is not None and not window_s[0] < window_s[1]:
        raise ValueError(f"window_s = {window_s}: a time to show has to begin before it ends")
    if (instead := without_packages(results)) is not None:
        return instead
    from ackclock.plotting.report.page_content import Window
    from ackclock.plotting.report.report_widget import ReportWidget

    return ReportWidget(results, None if window_s is None else Window(*window_s))


def without_packages(shown: "Sequence[Results | Study]") -> Static | None:
    """Return the static view if the packages of widgets are missing; else None."""
    try:
        extras.require("report", "notebook")
    except extras.MissingPackageError as missing:
        static = "".join(one._repr_html_() for one in shown)
        return Static(f"{static}<p><small>{escape(str(missing))}</small></p>")
    return None


def framed(name: str, facts: list[str], rest: str) -> str:
    """Wrap HTML with a line of facts above it, and the common style of tables in notebooks."""
    told = ", ".join(map(escape, map(plain, facts)))
    return f'{_STYLE}<div class="ackclock"><p><b>{escape(plain(name))}</b>: {told}</p>{rest}</div>'


def scenario_html(scenario: "Scenario") -> str:
    """Return the HTML view of a scenario: a line of facts, a picture of the network, and a table of the flows."""
    tables = json.loads(scenario.to_json())
    facts = [f"{scenario.duration_s:g} s", f"seed {scenario.seed}", _network(tables["topology"])]
    if scenario.varies:
        facts.append("drawn from the seed: " + ", ".join(scenario.varies))
    flows = tables.get("flow", [])
    known = dict(zip(scenario.flow_names, scenario.controller_names, strict=True))
    rows = [_flow_row(flow, place, known) for place, flow in enumerate(flows[:_ROWS], 1)]
    notes = (f"and {len(flows) - _ROWS} more",) if len(flows) > _ROWS else ()
    table = table_html(Table("", "", _FLOW_COLUMNS, rows, notes))
    return framed(scenario.name, facts, of_network(tables, scenario.flow_names) + table)


_FLOW_COLUMNS = [
    Column("name", "flow", is_text=True), Column("controller", "controller"), Column("sends", "what it sends"),
    Column("start", "start"), Column("count", "count"),
]  # fmt: skip


def _flow_row(flow: Mapping[str, Any], place: int, known: Mapping[str, str]) -> dict[str, Any]:
    name = flow.get("name", f"flow{place}")
    controller = known.get(f"{name}.1" if "count" in flow else name, "")
    sends = "short flows" if "arrivals" in flow else _kind(flow.get("app", "as much as it can"))
    own, start = _kind(flow.get("controller", controller)), _kind(flow.get("start", "0 s"))
    return {"name": str(name), "controller": own, "sends": sends, "start": start, "count": flow.get("count", 1)}


def _kind(value: object) -> str:
    """Return a word for a value that may be a table: its kind, or its distribution.

    Examples:
        >>> _kind("reno"), _kind({"kind": "vegas", "alpha": 1}), _kind({"uniform": ["0 s", "1 s"]})
        ('reno', 'vegas', 'uniform')
    """
    if isinstance(value, Mapping):
        return str(value.get("class") or value.get("kind") or next(iter(value), ""))
    return str(value)


def _facts(summary: RunSummary, scenario: dict[str, Any]) -> list[str]:
    """Return duration, seed, network, stack and fairness of a run."""
    facts = [f"{summary['duration_s']:g} s", f"seed {summary['seed']}", _network(scenario["topology"])]
    profiles = dict.fromkeys(flow["profile"] for flow in summary["flows"] if flow.get("profile"))
    facts += [f"TCP profile {' and '.join(profiles)}"] if profiles else []
    if summary["jain_index"] is not None and len(summary["flows"]) > 1:
        facts.append(f"Jain index {summary['jain_index']:.4f}")
    return facts


def _network(topology: dict[str, Any]) -> str:
    """Return the kind of a network, and the plain values of its bottleneck.

    Examples:
        >>> _network({"kind": "dumbbell", "bottleneck": {"rate": "10 Mbit/s", "delay": "5 ms", "queue": "red"}})
        'dumbbell of 10 Mbit/s, delay 5 ms, red'
        >>> _network({"kind": "chain"})
        'chain'
    """
    bottleneck = topology.get("bottleneck", {})
    rate, delay, queue = (bottleneck.get(key) for key in ("rate", "delay", "queue"))
    kind = queue.get("kind") if isinstance(queue, dict) else queue
    said = [rate, f"delay {delay}" if isinstance(delay, str) else None, kind]
    plain = ", ".join(value for value in said if isinstance(value, str))
    return f"{topology['kind']} of {plain}" if plain else str(topology["kind"])
