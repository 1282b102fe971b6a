"""Self-contained page of runs: summary, plots with linked time axes, settings. It works offline."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from ackclock.base import extras, storage
from ackclock.base.printable import plain, plain_lines
from ackclock.plotting.pages import render
from ackclock.plotting.report.page_content import Window, content
from ackclock.plotting.report.run_tables import tables
from ackclock.plotting.tables import html
from ackclock.results import Results
from ackclock.results.run_labels import common, facts, labels

_MOST_ROWS: Final = 12
"""Number of rows above which a table is folded."""

_MOST_LANES: Final = 16
"""Largest number of flows whose states are drawn at once."""

_LIBRARY: Final = "vendor/uplot/uPlot.iife.min.js"

_SCRIPTS: Final = ("columns", "view", "marks", "plot", "lanes", "packets", "curves", "controls")
"""Scripts of `pages/report/`, in order of dependency."""


def write_report(
    results: list[Results],
    path: Path,
    static_dir: Path | None = None,
    *,
    force: bool = False,
    window: Window | None = None,
) -> None:
    """Write the page, and its figures as SVG and PNG if a folder is given. Those of an earlier report are replaced.

    Args:
        results: One run or several; several are drawn into the same plots.
        path: Path of the page.
        static_dir: Folder for the SVG and PNG figures; None for none.
        force: Also replace files that ackclock did not write.
        window: Part of the runs to show; by default all.

    Raises:
        ackclock.base.storage.OutputExistsError: If a file that ackclock did not write exists and `force` is not set.
        OSError: If a file cannot be written.
    """
    extras.require("report")
    from ackclock.plotting.plots import static_files, write_static

    for file in (path, *(static_files(results, static_dir) if static_dir is not None else ())):
        storage.check_file(file, force=force)
    page = _page(results, window or Window())
    path.parent.mkdir(parents=True, exist_ok=True)
    storage.write_file(path, page.encode())
    if static_dir is not None:
        write_static(results, static_dir)


def _page(results: list[Results], window: Window) -> str:
    found = content(results, window)
    return render(
        "report.html",
        **shown(results, found),
        **_styles(),
        content=as_json(found),
        library=_file(_LIBRARY),
        script=f'(() => {{\n"use strict";\n{_scripts("page")}\n}})();',
    )


def style() -> str:
    """Return the styles of the report for a shadow root in a notebook."""
    return render("widget.css", **_styles())


def module() -> str:
    """Return the report as a JavaScript module with `render`, as required by anywidget."""
    return f"{_file(_LIBRARY)}\n{_file('theme.js')}\n{_scripts('widget')}"


def shown(results: list[Results], found: dict[str, Any]) -> dict[str, Any]:
    """Return the data for the templates of the report."""
    panels, flows = found["panels"], found["flows"]
    has_moments = found["moments"]["count"] > 0
    return dict(
        title=plain(" / ".join(dict.fromkeys(result.name for result in results))),
        common=plain(common(results)) if len(results) > 1 else "",
        runs=[_run(result, label) for result, label in zip(results, labels(results), strict=True)],
        panels=[{"title": panel["title"], "note": _note(panel)} for panel in panels],
        sequences=[{"label": flows[one["flow"]]["label"], "note": _of_packets(one)} for one in found["packets"]],
        curves=found["distributions"],
        has_moments=has_moments,
        has_flows=any(panel["of"] == "flows" and not panel["isGrouped"] for panel in panels),
        has_controllers=len({flow["controller"] for flow in flows}) < len(flows),
        has_spread=any("spread" in line for panel in panels for line in panel["lines"]),
        has_lanes=has_moments or found["states"]["count"] > 0,
        lanes_note=_of_lanes(found["states"].get("joined", 0.0), len(flows)),
        has_states=found["states"]["count"] > 0,
        missing=_missing(results, found),
    )


def _styles() -> dict[str, str]:
    return {"library_style": _file("vendor/uplot/uPlot.min.css"), "style": _file("report/report.css")}


def _file(name: str) -> str:
    return files("ackclock.plotting.pages").joinpath(name).read_text(encoding="utf-8")


def _scripts(host: str) -> str:
    """Return the report as a function of its content, root and host, followed by the code that shows it."""
    parts = "\n".join(_file(f"report/{name}.js") for name in _SCRIPTS)
    return f"function show(content, root, host) {{\n{parts}\n}}\n{_file(f'report/{host}.js')}"


def as_json(found: dict[str, Any]) -> str:
    """Return JSON for the scripts, without characters that would end its element in the page."""
    found = {**found, "lanes": _MOST_LANES}
    return json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _note(panel: dict[str, Any]) -> str:
    if not panel["isGrouped"]:
        return ""
    singles = ", thin, the fastest and slowest flows" if any(line.get("isThin") for line in panel["lines"]) else ""
    return f"{panel['count']:,} in groups: 5th, 50th and 95th percentile of the samples in each bin of time{singles}."


def _of_packets(one: dict[str, Any]) -> str:
    said = ["As captured at the sender's host." if one["source"] == "capture" else "From the sender's events."]
    if one["source"] == "events":
        said.append("A capture of the flow has SACKs and the receiver's window, too.")
    if one["merged"]:
        within = f"{one['merged'] * 1e3:.2g} ms"
        said.append(f"What left in order within {within} is one bar; a page of a part of the time (--window) has each.")
    return " ".join(said)


def _of_lanes(joined_s: float, flows: int) -> str:
    said = []
    if joined_s:
        said.append(
            f"States shorter than {joined_s * 1e3:.2g} ms are a part of the one before; "
            "a page of a part of the time (--window) has each."
        )
    if flows > _MOST_LANES:
        said.append(f"{_MOST_LANES} flows at once: hide some by a click on their names to see others.")
    return " ".join(said)


def _missing(results: list[Results], found: dict[str, Any]) -> dict[str, str] | None:
    """Return a note on how to record data that the page could also have shown."""
    flows = [str(flow["name"]) for flow in results[0].summary["flows"]]
    if not flows or not found["panels"] or (found["packets"] and found["states"]["count"]):
        return None
    flow = plain(flows[0])
    command = f"ackclock run … --events controller_state,packet_dropped --set 'flow.{flow}.capture=true'"
    lacks = [
        name
        for name, there in (("packets of flows", found["packets"]), ("states of controllers", found["states"]["count"]))
        if not there
    ]
    return {"why": f"Not recorded in this run: {' and '.join(lacks)}. To have them, run it with", "command": command}


def _how(result: Results) -> str:
    if result.is_recorded:
        return "recorded"
    return "in real time" if result.is_of_kernel else "simulated"


def _run(result: Results, label: str) -> dict[str, str]:
    """Return the settings and the outcome of a run, and how to repeat it."""
    index = result.summary["jain_index"]
    said = [text for key, text in facts(result).items() if key in ("flows", "profile", "rate", "queue")]
    said += [
        f"{result.summary['duration_s']:g} s {_how(result)}",
        result.origin,
    ]
    if index is not None and len(result.summary["flows"]) > 1:
        said.append(f"Jain index {index:.4f}")
    manifest = plain_lines(json.dumps(result.manifest, indent=2, ensure_ascii=False))
    shown = tables(result.summary)
    long = [table for table in shown if len(table.rows) > _MOST_ROWS]
    return {
        "label": plain(label),
        "facts": plain(", ".join(said)),
        "tables": "".join(html(table) for table in shown if table not in long),
        "more": "".join(map(html, long)),
        "more_of": ", ".join(f"{len(table.rows)} rows by {table.columns[0].title}" for table in long),
        "manifest": manifest,
    }
