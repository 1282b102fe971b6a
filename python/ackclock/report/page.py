"""One self-contained page: summary, interactive plots, settings. It opens without a network."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock import completions, storage
from ackclock.labels import common, facts, labels
from ackclock.pages import render
from ackclock.panels import Drawing
from ackclock.plots import drawings, interactive, static_files, write_static
from ackclock.report.tables import tables
from ackclock.results import Results
from ackclock.shown import plain, plain_lines

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def write_report(results: list[Results], path: Path, static_dir: Path | None = None, *, force: bool = False) -> None:
    """Write the page, and beside it the same figures as SVG and PNG. Those of an earlier report are replaced.

    Args:
        results: One run or several; several are drawn into the same plots.
        path: The page.
        static_dir: Where the SVG and PNG figures go; by default `<page>_figures` beside the page.
        force: Replace also files that ackclock did not write.

    Raises:
        ackclock.storage.OutputExistsError: If a file that ackclock did not write is in the way and `force` is not set.
        OSError: If a file cannot be written.
    """
    shown, slowdowns = drawings(results), completions.slowdown_lines(results)
    directory = static_dir or path.with_name(f"{path.stem}_figures")
    for file in (path, *static_files(results, directory)):
        storage.check_file(file, force=force)
    page = render(
        "report.html",
        title=plain(" / ".join(dict.fromkeys(result.name for result in results))),
        plotly=_plotly_js() if shown or slowdowns else "",
        common=plain(common(results)) if len(results) > 1 else "",
        runs=[_run(result, label) for result, label in zip(results, labels(results), strict=True)],
        slowdowns=_body(completions.interactive(slowdowns)) if slowdowns else "",
        plots=[_plot(drawing) for drawing in shown],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    storage.write_file(path, page.encode())
    if shown or slowdowns:
        write_static(results, directory)


def _plotly_js() -> str:
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>"


def _plot(drawing: Drawing) -> dict[str, str]:
    note = _note(drawing) if drawing.is_crowded or drawing.is_grouped else ""
    return {"title": drawing.panel.title, "note": note, "body": _body(interactive(drawing))}


def _body(figure: "Figure") -> str:
    return str(
        figure.to_html(
            full_html=False,
            include_plotlyjs=False,
            config={"responsive": True, "displaylogo": False},
            default_height="330px",
        )
    )


def _note(drawing: Drawing) -> str:
    if not drawing.is_grouped:
        return f"{drawing.groups} lines; click and drag to zoom."
    singles = ", thin, the fastest and slowest flows" if any(line.is_single for line in drawing.lines) else ""
    return f"{drawing.groups:,} in groups: 5th, 50th and 95th percentile of the samples in each bin of time{singles}."


def _how(result: Results) -> str:
    if result.is_recorded:
        return "recorded"
    return "in real time" if result.is_of_kernel else "simulated"


def _run(result: Results, label: str) -> dict[str, str]:
    """What was run, what it came to, and how it can be run again."""
    index = result.summary["jain_index"]
    said = [text for key, text in facts(result).items() if key in ("flows", "profile", "rate", "queue")]
    said += [
        f"{result.summary['duration_s']:g} s {_how(result)}",
        result.origin,
    ]
    if index is not None and len(result.summary["flows"]) > 1:
        said.append(f"Jain index {index:.4f}")
    manifest = plain_lines(json.dumps(result.manifest, indent=2, ensure_ascii=False))
    text = plain(", ".join(said))
    return {"label": plain(label), "facts": text, "tables": tables(result.summary), "manifest": manifest}
