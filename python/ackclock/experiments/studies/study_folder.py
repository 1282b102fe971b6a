"""Finished studies, in memory and as a folder of tables, figures and a page."""

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
from ackclock.experiments.backends import Backend, Begin, check_backend, run_all, run_on
from ackclock.experiments.grid import Point
from ackclock.experiments.store import SweepFolder, said_place
from ackclock.experiments.studies import design, measures, study_captions, study_tables
from ackclock.experiments.studies import study_file as file
from ackclock.experiments.studies.plan import Plan
from ackclock.experiments.studies.samples import sampled_point
from ackclock.experiments.studies.selection import Selection, chosen
from ackclock.plotting.figures.figure_files import FORMS
from ackclock.plotting.tables import Table
from ackclock.results.manifests import VirtualTime
from ackclock.results.run_labels import distinct
from ackclock.stats.bottlenecks import of_run, ranked

if TYPE_CHECKING:
    import polars as pl

    from ackclock.experiments.figure_list import Drawn
    from ackclock.experiments.studies.arrangement import Arrangement
    from ackclock.experiments.studies.study_widget import StudyWidget
    from ackclock.plotting.notebook import Static
    from ackclock.running.linux_kernels import Kernel

STUDY: Final = "study.json"
"""File that marks a folder as a study's."""

KEPT: Final = "kept.json"
"""File that maps each kept run, by its folder name in `runs`, to its point, in `asked` if it was asked for."""

_SHOWN_PX: Final = 528
"""Width of figures in a notebook, pixels."""

_REMEDY: Final = "run the study again with its folder: finished runs are kept"


class _Entry(TypedDict):
    cell: int
    line_up: str
    seed: int
    point: str


class _Asked(TypedDict):
    """Entry of `kept.json` for a run that was asked for; a plain key is that of a run of `keep`."""

    asked: str


class _Kept(TypedDict):
    """Content of `study.json`."""

    version: str
    about: str
    folder: str
    stem: str
    scenario: NotRequired[str | None]
    on: NotRequired[VirtualTime]
    study: dict[str, Any]
    trials: list[_Entry]


@dataclass(frozen=True)
class Study:
    """Finished study.

    Attributes:
        plan: Plan of the study.
        runs: Metrics of each run, in the order of the plan.
        version: Version of ackclock that ran it.
        on: Kernel that it ran on, in virtual time; None for the simulator.
    """

    plan: Plan
    runs: Sequence[measures.Measured]
    version: str = __version__
    on: VirtualTime | None = None

    def __repr__(self) -> str:
        """Return the name, the size and the version; `frame` and `table` have the numbers."""
        return f"Study({self.plan.name!r}, {len(self.runs)} runs, {self.by})"

    @property
    def by(self) -> str:
        """Version that ran it, and the kernel if it was one: "on Linux 6.12.117; ackclock 0.5"."""
        place = "" if self.on is None else f"{said_place(self.on)}; "
        return f"{place}ackclock {self.version}"

    @property
    def title(self) -> str:
        """Name of the study."""
        return self.plan.name

    @cached_property
    def about(self) -> str:
        """Description of the runs, as a sentence."""
        return study_captions.about(self.plan, self.runs, self.by)

    @property
    def conditions(self) -> str:
        """Description of the runs, without the version."""
        return study_captions.conditions(self.plan, self.runs)

    @cached_property
    def table(self) -> Table:
        """Table of means over seeds with 95 % confidence intervals: a row per cell, mix and controller."""
        return study_tables.means_table(self.plan, self.runs, self.about)

    @cached_property
    def differences(self) -> Table:
        """Table of differences between controllers, paired by seed, with intervals and adjusted p values."""
        return study_tables.differences_table(self.plan, self.runs, self.about)

    @property
    def tables(self) -> list[Table]:
        """Tables of means, and of differences if there are any."""
        return [self.table, *([self.differences] if self.differences.rows else [])]

    @cached_property
    def every_run(self) -> Table:
        """Table of every run: a row per run and controller."""
        return study_tables.runs_table(self.plan, self.runs, self.about)

    @property
    def frame(self) -> "pl.DataFrame":
        """Every run as a Polars table: a row per run and controller, with units in the names."""
        import polars as pl

        columns = [column.key for column in self.every_run.columns]
        return pl.DataFrame(
            [{key: row.get(key) for key in columns} for row in self.every_run.rows], infer_schema_length=None
        )

    def figures(self, asked: "Arrangement | None" = None) -> "Iterator[Drawn]":
        """Return all figures, with names and captions; each is drawn when its `draw` is called.

        Args:
            asked: Roles of axes and names; by default chosen for each figure.
        """
        from ackclock.experiments.figure_list import distinctly
        from ackclock.experiments.studies.study_figures import Drawings

        return distinctly(Drawings(self.plan, self.runs, asked).all())

    def only(self, wanted: Mapping[str, Sequence[str]]) -> "Study":
        """Return the study of some of its paths and line-ups.

        Args:
            wanted: Values to keep, by axis, `line_up` or `seed`, such as `{"rtt": ["100 ms"]}`.

        Raises:
            ValueError: If the study has no such axis or value.
        """
        return Study(*Selection(self.plan, wanted).study(self.runs), self.version, self.on)

    def save(self, folder: str | Path, forms: Sequence[str] = FORMS) -> Path:
        """Write tables, figures and the page into a folder.

        Args:
            folder: Destination, created if missing.
            forms: Formats of figures; empty draws none.

        Raises:
            OSError: If a file cannot be written.
        """
        from ackclock.experiments.studies.study_outputs import write

        return write(self, Path(folder), forms)

    def widget(self) -> "StudyWidget | Static":
        """Return the study as a notebook widget: its figures to choose from, each drawn when chosen, and its tables.

        It works in Jupyter, Colab, VS Code and marimo (there in `mo.ui.anywidget`). Without the packages of
        `ackclock[notebook]`, the static view of the study is returned, with a hint to install them.

        Returns:
            A widget, whose `figure` is the name of the figure shown; or its static form.
        """
        from ackclock.plotting import notebook

        if (instead := notebook.without_packages([self])) is not None:
            return instead
        from ackclock.experiments.studies.study_widget import StudyWidget

        return StudyWidget(self)

    def _repr_html_(self) -> str:
        """Return the HTML view for a notebook: the description, the first figure and the table of means."""
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
    on: "Kernel | None" = None,
    forms: Sequence[str] = FORMS,
    on_begin: Begin | None = None,
    point: Mapping[str, Sequence[str]] | None = None,
) -> Study:
    """Run a study: mixes of controllers, over paths, for seeds.

    Args:
        source: Study file, or a table of the same keys; Python classes that it names are imported and run.
        output: Folder that keeps every finished run, so that the same call resumes a stopped study. At the end it has
            tables, figures and a page. None keeps everything in memory.
        jobs: Number of parallel runs; by default one per core.
        backend: "local", or "ray" for a Ray cluster.
        on: Kernel that all runs are made on, in virtual time; None for the simulator.
        forms: Formats of the figures in the folder; empty draws none.
        on_begin: Called with the numbers of all and of finished runs; returns a function to call after each run.
        point: Values, by axis, `line_up` or `seed`, of runs that the folder also keeps whole.

    Raises:
        ValueError: If the study has no such axis or value.
        ScenarioError: If it is wrong; all mistakes are reported together.
        GridError: If the folder belongs to something else, or was made on another kernel.
        RefusedError: If the kernel does not support a run.
        KernelError: If a run on the kernel failed.
        OSError: If a file cannot be read or written, or another process works in the folder.
    """
    plan, mistakes = file.read(source)
    if output is not None:
        extras.require("report")
    check_backend(backend, on)
    pairs = design.trials(plan, mistakes, on)
    asked = None if point is None else Selection(plan, point)
    points = [point for _, point in pairs]
    path, folder = (None, None) if output is None else (Path(output), SweepFolder(Path(output)))
    with nullcontext() if folder is None else folder.opened(points):
        summary = run_all(points, folder, backend=backend, jobs=jobs, work=sampled_point, on_begin=on_begin)
        runs = _measured(plan, [trial for trial, _ in pairs], lambda: map(summary, points))
        done = Study(plan, runs, on=None if on is None else on.identity)
        if path is not None:
            storage.write_file(path / STUDY, _kept(done, pairs))
            _keep_runs(plan, pairs, path, asked)
            done.save(path, forms)
    return done


def _measured(
    plan: Plan, trials: Sequence[design.Trial], summaries: Callable[[], Iterable[Any]]
) -> list[measures.Measured]:
    """Return the metrics of each run; if a network's bottleneck is not named, all runs are searched for it first."""
    links = [plan.link or "bottleneck"]
    if plan.link is None and plan.scenario is not None:
        links = ranked(link for summary in summaries() for link in of_run(summary))
    return [measures.measured(trial, summary, links) for trial, summary in zip(trials, summaries(), strict=True)]


def _kept(done: Study, pairs: Sequence[tuple[design.Trial, Point]]) -> bytes:
    """Return the data from which everything can be redrawn, without running or importing anything."""
    origin = done.plan.origin
    kept: _Kept = {
        "version": done.version,
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
    if done.on is not None:
        kept["on"] = done.on
    return (json.dumps(kept, indent=1, ensure_ascii=False, default=str) + "\n").encode()


def load_study(folder: str | Path) -> Study:
    """Load a study's folder, without simulating, and without importing code that the study names.

    Raises:
        FileNotFoundError: If it is not a study's folder.
        DamagedError: If a file in it is damaged.
    """
    path = Path(folder)
    kept_file = path / STUDY
    if not kept_file.is_file():
        raise FileNotFoundError(f"{path} holds no finished study: it has no {STUDY}")
    kept = document(content(kept_file, None, _REMEDY), kept_file, _Kept, _REMEDY)
    plan = file.read_again(kept["study"], str(kept_file), Path(kept["folder"]), kept["stem"], kept.get("scenario"))
    line_ups = {line_up.name: line_up for line_up in plan.line_ups}
    store = SweepFolder(path)
    trials = []
    for entry in kept["trials"]:
        if entry["line_up"] not in line_ups or not 0 <= entry["cell"] < len(plan.cells):
            raise DamagedError(kept_file, "its runs are not those of its study", _REMEDY)
        trials.append(design.Trial(entry["cell"], line_ups[entry["line_up"]], entry["seed"]))
    runs = _measured(plan, trials, lambda: (store.summary_of(entry["point"]) for entry in kept["trials"]))
    return Study(plan, runs, kept["version"], kept.get("on"))


def is_study(folder: Path) -> bool:
    """Return whether a folder is that of a finished study."""
    return (folder / STUDY).is_file()


# ---- runs that are kept whole ---------------------------------------------------------------------------------------


def _keep_runs(plan: Plan, pairs: Sequence[tuple[design.Trial, Point]], folder: Path, asked: Selection | None) -> None:
    """Run the chosen runs, and those asked for, again with all their series; the results have the same bytes otherwise.

    An existing run is left if it still belongs to the point with its name. Extending a study reorders its cells, and a
    user-written class may have changed. Runs that were asked for before stay; those of an earlier `keep` do not.
    """
    from ackclock._core import Scenario
    from ackclock.running import run

    before = kept_runs(folder) or {}
    kept: dict[str, str | _Asked] = {}
    points = {name: _point_of(entry) for name, entry in before.items()}
    asked_before = {points[name] for name, entry in before.items() if not isinstance(entry, str)}
    wanted = {trial for trial, _ in chosen(plan, pairs)}
    for trial, point in pairs:
        name = run_name(trial, plan)
        is_asked = point.key in asked_before or (asked is not None and asked.has(trial))
        if not (trial in wanted or is_asked):
            continue
        place = folder / "runs" / name
        if points.get(name) != point.key or not place.exists():
            tables = cast(dict[str, Any], json.loads(point.scenario_json))
            tables.pop("trace", None)
            place.parent.mkdir(exist_ok=True)
            scenario = Scenario.from_json(json.dumps(tables), folder=point.folder)
            (run(scenario) if point.on is None else run_on(scenario, point.on)).save(place, force=True)
        kept[name] = {"asked": point.key} if is_asked else point.key
        storage.write_file(folder / KEPT, (json.dumps(before | kept, indent=1) + "\n").encode())
    if kept != before:
        storage.write_file(folder / KEPT, (json.dumps(kept, indent=1) + "\n").encode())


def _point_of(entry: str | _Asked) -> str:
    return entry if isinstance(entry, str) else entry["asked"]


def kept_runs(folder: Path) -> dict[str, str | _Asked] | None:
    """Return the entry of each run that a study keeps whole, by the run's name: the key of its point.

    Returns:
        None if the folder has no record of it.
    """
    file = folder / KEPT
    if not file.is_file():
        return None
    return document(content(file, None, _REMEDY), file, dict[str, str | _Asked], _REMEDY)


def run_name(trial: design.Trial, plan: Plan) -> str:
    """Return the folder name of a run."""
    names = ("".join(sign if sign.isalnum() else " " for sign in line_up.name) for line_up in plan.line_ups)
    stems = distinct(["-".join(name.split()) or "run" for name in names], "{}-{}")
    stem = stems[plan.line_ups.index(trial.line_up)]
    cell = "" if len(plan.cells) == 1 else f"{trial.cell + 1}-"
    return f"{stem}-{cell}seed-{trial.seed}"


__all__ = ["KEPT", "STUDY", "Study", "is_study", "kept_runs", "load_study", "study"]
