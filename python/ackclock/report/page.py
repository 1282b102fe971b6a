"""One self-contained page: summary, interactive plots, settings. It opens without a network."""

import json
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from ackclock import completions, storage
from ackclock.panels import Drawing, run_label
from ackclock.plots import drawings, interactive, static_files, write_static
from ackclock.report.tables import tables
from ackclock.results import Results
from ackclock.shown import plain, plain_lines


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
    template = Template(files("ackclock.report").joinpath("page.html").read_text(encoding="utf-8"))
    page = template.substitute(
        title=_text(" / ".join(dict.fromkeys(result.name for result in results))),
        plotly=_plotly_js() if shown or slowdowns else "",
        summaries="\n".join(_summary(result, run_label(results, i)) for i, result in enumerate(results)),
        slowdowns=_slowdowns(slowdowns),
        plots="\n".join(_plot(drawing) for drawing in shown) or _no_series(),
        settings="\n".join(_settings(result, run_label(results, i)) for i, result in enumerate(results)),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    storage.write_file(path, page.encode())
    if shown or slowdowns:
        write_static(results, directory)


def _plotly_js() -> str:
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>"


def _plot(drawing: Drawing) -> str:
    body = interactive(drawing).to_html(
        full_html=False,
        include_plotlyjs=False,
        config={"responsive": True, "displaylogo": False},
        default_height="330px",
    )
    note = f'<p class="note">{_note(drawing)}</p>' if drawing.is_crowded or drawing.is_grouped else ""
    return f'<section class="plot"><h3>{escape(drawing.panel.title)}</h3>{note}{body}</section>'


def _note(drawing: Drawing) -> str:
    if not drawing.is_grouped:
        return f"{drawing.groups} lines; click and drag to zoom."
    singles = ", thin, the fastest and slowest flows" if any(line.is_single for line in drawing.lines) else ""
    return f"{drawing.groups:,} in groups: 5th, 50th and 95th percentile of the samples in each bin of time{singles}."


def _slowdowns(lines: list[completions.SlowdownLine]) -> str:
    """How long flows and requests of each size took, if there were any."""
    if not lines:
        return ""
    body = completions.interactive(lines).to_html(
        full_html=False,
        include_plotlyjs=False,
        config={"responsive": True, "displaylogo": False},
        default_height="330px",
    )
    note = '<p class="note">Completion time over that on an empty path: median and 99th percentile.</p>'
    return f'<h2>Over size</h2><section class="plot"><h3>Slowdown</h3>{note}{body}</section>'


def _no_series() -> str:
    return (
        '<p class="empty">No series were recorded, so there is nothing to draw. Remove <code>trace = false</code> from '
        "the scenario, or name what to record under <code>[trace]</code>, and run it again.</p>"
    )


def _summary(result: Results, label: str) -> str:
    summary = result.summary
    index = summary["jain_index"]
    is_real = "kernel" in result.manifest
    facts = [f"{summary['duration_s']:g} s {'in real time' if is_real else 'simulated'}", result.origin]
    if index is not None and len(summary["flows"]) > 1:
        facts.append(f"Jain index {index:.4f}")
    return f"<h2>{_text(label)}</h2><p>{_text(', '.join(facts))}</p>{tables(summary)}"


def _settings(result: Results, label: str) -> str:
    manifest = json.dumps(result.manifest, indent=2, ensure_ascii=False)
    return f"<details><summary>{_text(label)}</summary><pre>{escape(plain_lines(manifest))}</pre></details>"


def _text(text: str) -> str:
    """Whatever a scenario or a folder says, as text of a page."""
    return escape(plain(text))
