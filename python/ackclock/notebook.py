"""What a notebook shows of results: what was run, and what it came to."""

from html import escape
from typing import Any

from ackclock.manifests import Manifest
from ackclock.report.tables import tables
from ackclock.shown import plain
from ackclock.summaries import RunSummary
from ackclock.tables import html as table_html

_ROWS = 10

_STYLE = """<style>
.ackclock table { border-collapse: collapse; margin: .3rem 0; font-size: 12px; font-variant-numeric: tabular-nums; }
.ackclock th, .ackclock td { padding: .15rem .5rem; text-align: right; }
.ackclock thead th { vertical-align: bottom; }
.ackclock td, .ackclock th:first-child { white-space: nowrap; }
.ackclock th:first-child, .ackclock .word { text-align: left; font-weight: 600; }
.ackclock .scroll { overflow-x: auto; }
</style>"""


def html(summary: RunSummary, manifest: Manifest) -> str:
    """Return a run in short: a line on what was run, and tables of flows and links.

    Args:
        summary: As of `Results.summary`.
        manifest: Where the scenario is.
    """
    told = (
        _facts(summary, manifest["scenario"]) if "scenario" in manifest else [f"{summary['duration_s']:g} s recorded"]
    )
    facts = ", ".join(map(escape, map(plain, told)))
    name = escape(plain(summary["scenario"]))
    shown = "".join(map(table_html, tables(summary, _ROWS)))
    return f'{_STYLE}<div class="ackclock"><p><b>{name}</b>: {facts}</p>{shown}</div>'


def _facts(summary: RunSummary, scenario: dict[str, Any]) -> list[str]:
    """Time, seed, network and TCP of a run, and how fair it was."""
    facts = [f"{summary['duration_s']:g} s", f"seed {summary['seed']}", _network(scenario["topology"])]
    facts.append(f"TCP profile {scenario.get('tcp', {}).get('profile', 'rfc')}")
    if summary["jain_index"] is not None and len(summary["flows"]) > 1:
        facts.append(f"Jain index {summary['jain_index']:.4f}")
    return facts


def _network(topology: dict[str, Any]) -> str:
    """The kind of a network, and of a bottleneck what it says in plain values.

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
