"""A study that has run: its tables, figures and page, in memory and as a folder."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict, cast

from ackclock.base import extras, storage
from ackclock.base.checked_files import DamagedError, content, document
from ackclock.base.version import __version__
from ackclock.experiments.backends import Backend, Begin, run_all
from ackclock.experiments.grid import Point
from ackclock.experiments.store import SweepFolder
from ackclock.experiments.studies import design, measures, study_captions, study_tables
from ackclock.experiments.studies import study_file as file
from ackclock.experiments.studies.plan import Plan
from ackclock.experiments.studies.samples import sampled_point
from ackclock.plotting.figures.figure_files import FORMS
from ackclock.plotting.tables import Table
from ackclock.results.run_labels import distinct
from ackclock.stats.bottlenecks import of_run, ranked

if TYPE_CHECKING:
    import polars as pl

    from ackclock.experiments.studies.study_figures import Drawn
    from ackclock.experiments.studies.study_widget import StudyWidget
    from ackclock.plotting.notebook import Static

STUDY: Final = "study.json"
"""The file that makes a folder one of a study."""

KEPT: Final = "kept.json"
"""Which point of the study each run is that is kept whole, by the name of its folder in `runs`."""

_SHOWN_PX: Final = 528
"""How wide a notebook shows a figure."""

_REMEDY: Final = "run the study again with its folder: what has been done is kept"


class _Entry(TypedDict):
    cell: int
    line_up: str
    seed: int
    point: str


class _Kept(TypedDict):
    """What `study.json` holds."""

    version: str
    about: str
    folder: str
    stem: str
    scenario: NotRequired[str | None]
    study: dict[str, Any]
    trials: list[_Entry]


@dataclass(frozen=True)
class Study:
    """A study whose runs are done.

    Attributes:
        plan: What was asked.
        runs: What each run came to, in the order of the plan.
    """

    plan: Plan
    runs: Sequence[measures.Measured]

    @property
    def title(self) -> str:
        """Its name."""
        return self.plan.name

    @cached_property
    def about(self) -> str:
        """What was run, in a sentence."""
        return study_captions.about(self.plan, self.runs)

    @cached_property
    def table(self) -> Table:
        """Means over the seeds with 95 % confidence intervals: a row for each controller of each line-up and cell."""
        return study_tables.means_table(self.plan, self.runs, self.about)

    @cached_property
    def differences(self) -> Table:
        """Differences between controllers, paired by seed, with intervals and adjusted p values."""
        return study_tables.differences_table(self.plan, self.runs, self.about)

    @property
    def tables(self) -> list[Table]:
        """The means, and the differences if there are any."""
        return [self.table, *([self.differences] if self.differences.rows else [])]

    @cached_property
    def every_run(self) -> Table:
        """A row for each run and controller."""
        return study_tables.runs_table(self.plan, self.runs, self.about)

    @property
    def frame(self) -> "pl.DataFrame":
        """Every run as a table of Polars: a row for each run and controller, units in the names."""
        import polars as pl

        columns = [column.key for column in self.every_run.columns]
        return pl.DataFrame(
            [{key: row.get(key) for key in columns} for row in self.every_run.rows], infer_schema_length=None
        )

    def figures(self) -> "Iterator[Drawn]":
        """Return every figure, with its name and caption; each is drawn when its `draw` is called."""
        from ackclock.experiments.studies.study_figures import Drawings, distinctly

        return distinctly(Drawings(self.plan, self.runs).all())

    def save(self, folder: str | Path, forms: Sequence[str] = FORMS) -> Path:
        """Write tables, figures and the page into a folder.

        Args:
            folder: Where to; made if there is none.
            forms: Of figures; none draws none.

        Raises:
            OSError: If a file cannot be written.
        """
        from ackclock.experiments.studies.study_outputs import write

        return write(self, Path(folder), forms)

    def widget(self) -> "StudyWidget | Static":
        """Return the study for a notebook: each of its figures to choose, drawn when it is chosen, and its tables.

        It works in Jupyter, Colab, VS Code and marimo (there in `mo.ui.anywidget`). Without the packages of
        `ackclock[notebook]` it is what a study shows by itself, and says so.

        Returns:
            A widget, whose `figure` is the name of the figure shown; or its static form.
        """
        from ackclock.plotting import notebook

        if (instead := notebook.without_packages([self])) is not None:
            return instead
        from ackclock.experiments.studies.study_widget import StudyWidget

        return StudyWidget(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what was run, the first figure, and the table of means."""
        from base64 import b64encode
        from html import escape

        from ackclock.plotting import notebook
        from ackclock.plotting.figures import encode
        from ackclock.plotting.tables import html

        first = next(iter(self.figures()), None)
        picture = ""
        if first is not None:
            data = b64encode(encode(first.draw(), "png")).decode()
            picture = f'<img src="data:image/png;base64,{data}" width="{_SHOWN_PX}" alt="{escape(first.caption)}">'
        return notebook.framed(self.plan.name, [self.about], f'{picture}<div class="scroll">{html(self.table)}</div>')


def study(
    source: "str | Path | Mapping[str, Any]",
    output: str | Path | None = None,
    *,
    jobs: int | None = None,
    backend: Backend = "local",
    forms: Sequence[str] = FORMS,
    on_begin: Begin | None = None,
) -> Study:
    """Run a study: controllers in line-ups, over paths, for seeds.

    Args:
        source: A study's file, or a table of the same keys; classes of Python that it names are imported and run.
        output: A folder, in which every finished run is kept at once: the same call goes on where it was stopped. It
            ends with tables, figures and a page there. None keeps all in memory.
        jobs: How many runs at a time; by default one for each core.
        backend: "local", or "ray" for a Ray cluster.
        forms: Of the figures in the folder; none draws none.
        on_begin: Called with the number of runs and of those that are done; returns what is called after each.

    Raises:
        ScenarioError: If it is wrong; it tells of every mistake at once.
        GridError: If the folder belongs to something else.
        OSError: If a file cannot be read or written, or another process works in the folder.
    """
    plan, mistakes = file.read(source)
    if output is not None:
        extras.require("report")
    pairs = design.trials(plan, mistakes)
    points = [point for _, point in pairs]
    path, folder = (None, None) if output is None else (Path(output), SweepFolder(Path(output)))
    with nullcontext() if folder is None else folder.opened(points):
        summary = run_all(points, folder, backend=backend, jobs=jobs, work=sampled_point, on_begin=on_begin)
        done = Study(plan, _measured(plan, [trial for trial, _ in pairs], lambda: map(summary, points)))
        if path is not None:
            storage.write_file(path / STUDY, _kept(done, pairs))
            _keep_runs(plan, pairs, path)
            done.save(path, forms)
    return done


def _measured(
    plan: Plan, trials: Sequence[design.Trial], summaries: Callable[[], Iterable[Any]]
) -> list[measures.Measured]:
    """What each run came to; of networks whose bottleneck has no name, all are looked through for it first."""
    links = [plan.link or "bottleneck"]
    if plan.link is None and plan.scenario is not None:
        links = ranked(link for summary in summaries() for link in of_run(summary))
    return [measures.measured(trial, summary, links) for trial, summary in zip(trials, summaries(), strict=True)]


def _kept(done: Study, pairs: Sequence[tuple[design.Trial, Point]]) -> bytes:
    """What is needed to draw it all again, without running or importing anything."""
    origin = done.plan.origin
    kept: _Kept = {
        "version": __version__,
        "about": done.about,
        "folder": origin.folder,
        "stem": origin.stem,
        "scenario": None if done.plan.scenario is None else str(done.plan.scenario["name"]),
        "study": dict(origin.document),
        "trials": [
            {"cell": trial.cell, "line_up": trial.line_up.name, "seed": trial.seed, "point": point.key}
            for trial, point in pairs
        ],
    }
    return (json.dumps(kept, indent=1, ensure_ascii=False, default=str) + "\n").encode()


def load_study(folder: str | Path) -> Study:
    """Read a study's folder; nothing is simulated, and nothing that the study names is imported.

    Raises:
        FileNotFoundError: If it is none.
        DamagedError: If a file in it is not what was written.
    """
    path = Path(folder)
    kept_file = path / STUDY
    if not kept_file.is_file():
        raise FileNotFoundError(f"{path} holds no finished study: there is no {STUDY} in it")
    kept = document(content(kept_file, None, _REMEDY), kept_file, _Kept, _REMEDY)
    plan = file.read_again(kept["study"], str(kept_file), Path(kept["folder"]), kept["stem"], kept.get("scenario"))
    line_ups = {line_up.name: line_up for line_up in plan.line_ups}
    store = SweepFolder(path)
    trials = []
    for entry in kept["trials"]:
        if entry["line_up"] not in line_ups or not 0 <= entry["cell"] < len(plan.cells):
            raise DamagedError(kept_file, "its runs are not those of its study", _REMEDY)
        trials.append(design.Trial(entry["cell"], line_ups[entry["line_up"]], entry["seed"]))
    return Study(plan, _measured(plan, trials, lambda: (store.summary_of(entry["point"]) for entry in kept["trials"])))


def is_study(folder: Path) -> bool:
    """Say whether a folder is one of a study that has ended."""
    return (folder / STUDY).is_file()


# ---- runs that are kept whole ---------------------------------------------------------------------------------------


def _keep_runs(plan: Plan, pairs: Sequence[tuple[design.Trial, Point]], folder: Path) -> None:
    """Run the chosen ones again with all their series: the same run to the byte, and more of it.

    A run that is there is left if it is of the point that has its name now: a study that was extended has its cells
    in another order, and a class of one's own may have changed.
    """
    from ackclock._core import Scenario
    from ackclock.running import run

    before, kept = kept_runs(folder) or {}, {}
    for trial, point in chosen(plan, pairs):
        name = run_name(trial, plan)
        place = folder / "runs" / name
        if before.get(name) != point.key or not place.exists():
            tables = cast(dict[str, Any], json.loads(point.scenario_json))
            tables.pop("trace", None)
            place.parent.mkdir(exist_ok=True)
            run(Scenario.from_json(json.dumps(tables), folder=point.folder)).save(place, force=True)
        kept[name] = point.key
        storage.write_file(folder / KEPT, (json.dumps(before | kept, indent=1) + "\n").encode())
    if kept != before:
        storage.write_file(folder / KEPT, (json.dumps(kept, indent=1) + "\n").encode())


def kept_runs(folder: Path) -> dict[str, str] | None:
    """Return the key of the point that each run is which a study keeps whole, by its name.

    Returns:
        None if the folder does not say.
    """
    file = folder / KEPT
    if not file.is_file():
        return None
    return document(content(file, None, _REMEDY), file, dict[str, str], _REMEDY)


def chosen(plan: Plan, pairs: Sequence[tuple[design.Trial, Point]]) -> list[tuple[design.Trial, Point]]:
    """Return the runs that are kept: of each line-up the first seed, those of several controllers first."""
    rank = {"pair": 0, "group": 1, "itself": 2, "alone": 3}
    first = [pair for pair in pairs if pair[0].seed == plan.seeds[0]]
    return sorted(first, key=lambda pair: (pair[0].cell, rank[pair[0].line_up.kind]))[: plan.keep]


def run_name(trial: design.Trial, plan: Plan) -> str:
    """Name the folder of a run."""
    names = ("".join(sign if sign.isalnum() else " " for sign in line_up.name) for line_up in plan.line_ups)
    stems = distinct(["-".join(name.split()) or "run" for name in names], "{}-{}")
    stem = stems[plan.line_ups.index(trial.line_up)]
    cell = "" if len(plan.cells) == 1 else f"{trial.cell + 1}-"
    return f"{stem}-{cell}seed-{trial.seed}"


__all__ = ["KEPT", "STUDY", "Study", "is_study", "kept_runs", "load_study", "study"]
