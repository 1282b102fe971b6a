"""Output folder of a study: tables in every format, figures, kept runs, and one page."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.base import storage
from ackclock.experiments.figure_list import Drawn
from ackclock.experiments.studies.study_captions import about_each
from ackclock.plotting.figures import Look, looks, series
from ackclock.plotting.figures.curves import Curve
from ackclock.plotting.figures.figure_files import FORMS as PICTURES
from ackclock.plotting.figures.panel_grid import Axis
from ackclock.plotting.notebook_figures import Picture
from ackclock.plotting.report.grid_page import page_of, write_figure
from ackclock.plotting.tables import FORMS, Table
from ackclock.results import Results

if TYPE_CHECKING:
    from ackclock.experiments.studies.study_folder import Study

PAGE = "study.html"
_BESIDE = "The same is in means.csv, .md, .tex and .json, every run in runs.csv; figures are in figures."


def write(study: "Study", folder: Path, forms: Sequence[str]) -> Path:
    """Write tables, figures and the page."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in _tables(study):
        for suffix in FORMS.keys() - {"html"} if name != "runs" else ("csv", "json"):
            storage.write_file(folder / f"{name}.{suffix}", FORMS[suffix](table).encode())
    shown = list(_write_figures(study, folder, forms))
    page = folder / PAGE
    storage.write_file(page, page_of(study, shown, "figures", _BESIDE).encode())
    return page


def _tables(study: "Study") -> Iterator[tuple[str, Table]]:
    yield "means", study.table
    if study.differences.rows:
        yield "differences", study.differences
    yield "runs", study.every_run


def _write_figures(study: "Study", folder: Path, forms: Sequence[str]) -> Iterator[dict[str, str]]:
    """Write each figure, and yield its entry for the page; outdated figures are removed."""
    if not forms:
        return
    place = folder / "figures"
    place.mkdir(exist_ok=True)
    captions: dict[str, str] = {}
    before = _captioned(place / _CAPTIONS)
    each = about_each(study.plan, study.runs, study.by)
    of_all, of_one = (
        ((drawn, study.about) for drawn in study.figures()),
        ((drawn, each) for drawn in _kept_runs(folder)),
    )
    for drawn, said in (*of_all, *of_one):
        about = f"{drawn.caption} {said}."
        captions[drawn.name] = f"**{drawn.name}**: {about}\n"
        yield write_figure(drawn, about, place, forms)
    storage.write_file(place / _CAPTIONS, "\n".join(captions.values()).encode())
    for name in before - captions.keys():
        for form in PICTURES:
            (place / f"{name}.{form}").unlink(missing_ok=True)


_CAPTIONS = "captions.md"


def _captioned(file: Path) -> set[str]:
    """Return the names of the figures that an earlier form of the study wrote."""
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    return {name for name in re.findall(r"^\*\*([^*/]+)\*\*: ", text, re.MULTILINE) if name == Path(name).name}


def _kept_runs(folder: Path) -> Iterator[Drawn]:
    """Yield the time series of the kept runs, without those of an earlier form of the study."""
    from ackclock.experiments.studies.study_folder import kept_runs

    names = kept_runs(folder)
    places = sorted((folder / "runs").glob("*")) if (folder / "runs").is_dir() else []
    for place in places if names is None else [place for place in places if place.name in names]:
        results = Results.load(place)
        caption = (
            f"Congestion window, goodput and round-trip time of a run: {results.name}, seed {results.summary['seed']}."
        )
        yield Drawn(f"run-{place.name}", caption, partial(run_series, results), "Single runs")


_SAID = {"rtt": "SRTT"}
_LINK = Look("#6b6b6b", "", "-")


def run_series(results: Results) -> Picture:
    """Draw cwnd, goodput and RTT of each flow of a run, and the queue of its bottleneck, over time."""
    from ackclock.plotting.result_panels import draw, panel

    rows: list[tuple[Axis, list[Curve]]] = []
    for key in ("cwnd", "goodput", "rtt", "queue"):
        drawing = draw([results], panel(key))
        if drawing is None:
            continue
        main = {"rtt": "srtt_s"}.get(key, panel(key).columns[0].name)
        curves = [
            Curve(re.sub(r" (cwnd|SRTT)$", "", line.label), line.time_s, line.values)
            for line in drawing.lines
            if line.column.name == main
        ]
        if curves:
            rows.append((Axis(f"{_SAID.get(key, key)}\n({drawing.unit})", low=0.0), curves))
    known = looks(str(flow["name"]) for flow in results.summary["flows"])
    links = {curve.label for _, curves in rows for curve in curves} - known.keys()
    return series(rows, known | dict.fromkeys(links, _LINK))
