"""The face of the package: the modules that others import, with the room that has each, and what results show.

`import ackclock` has them as attributes, and `from ackclock.plots import figure` works wherever `plots` is. Each is
loaded when it is first asked for. Rooms do not import this module, which imports all of them: `ackclock` gives it to
`Results`.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.plotting.notebook import Static
    from ackclock.plotting.plots import SeriesName
    from ackclock.plotting.report.report_widget import ReportWidget
    from ackclock.results import Results
    from ackclock.results.manifests import Manifest

MODULES: Final = {
    "controllers": "ackclock.controllers",
    "diagnostics": "ackclock.scenario.diagnostics",
    "estimates": "ackclock.stats.estimates",
    "events": "ackclock.running.events",
    "figures": "ackclock.plotting.figures",
    "gym": "ackclock.gym",
    "kernel_agent": "ackclock.running.kernel_agent",
    "manifests": "ackclock.results.manifests",
    "metrics": "ackclock.stats.metrics",
    "parts": "ackclock.parts",
    "plots": "ackclock.plotting.plots",
    "report": "ackclock.plotting.report",
    "summaries": "ackclock.results.summaries",
    "tables": "ackclock.plotting.tables",
}
"""The modules, by the name under which others import each."""

STUDY: Final = "ackclock.experiments.studies.study_folder"
STUDIES: Final = ("Study", "load_study", "study")
"""Names of the face that `STUDY` has."""


def found(name: str) -> object:
    """Return a module or another name of the face, loading what has it.

    Args:
        name: An attribute of `ackclock` that is not there yet.

    Raises:
        AttributeError: If the face has no such name.
    """
    if name in MODULES:
        return import_module(MODULES[name])
    if name in STUDIES:
        return getattr(import_module(STUDY), name)
    raise AttributeError(f"module 'ackclock' has no attribute {name!r}")


class _Finder:
    """Finds a module under the name by which others import it, and gives the one that its room has."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return what is known of a module of the face; None of one that is where its name says."""
        package, _, rest = name.partition(".")
        first, dot, inner = rest.partition(".")
        place = MODULES.get(first, "") if package == "ackclock" else ""
        return None if place in ("", f"ackclock.{first}") else ModuleSpec(name, _Finder, origin=f"{place}{dot}{inner}")  # type: ignore[arg-type]

    @staticmethod
    def create_module(_spec: ModuleSpec) -> None:
        """Leave it to the import system: the module lives until the one of the room takes its place."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Put the module of the room in its place."""
        spec = module.__spec__
        assert spec is not None
        assert spec.origin is not None
        sys.modules[spec.name] = import_module(spec.origin)


def listen() -> None:
    """Answer imports of the face's modules by the names that others use."""
    sys.meta_path.insert(0, _Finder)  # before the one that looks for files


def figure(results: "Results", series: "SeriesName") -> "Figure":
    """Return one panel of results: `Results.plot`."""
    from ackclock.plotting import plots

    return plots.figure(results, series)


def widget(results: "list[Results]", window_s: tuple[float, float] | None) -> "ReportWidget | Static":
    """Return the plots of the report for a notebook: `Results.widget`."""
    from ackclock.plotting import notebook

    return notebook.widget(results, window_s)


def html(results: "Results", origin: "Manifest") -> str:
    """Return what a notebook shows of results."""
    from ackclock.plotting import notebook, sparks

    return notebook.html(results.summary, origin, sparks.of_results(results))


def recorded(trace: Path, name: str) -> "Results":
    """Return the results of a trace that `ackclock-proxy record` left in a folder."""
    from ackclock.recording import read

    return read([trace], name=name, by="ackclock-proxy record")
