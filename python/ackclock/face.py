"""Public modules of the package, the rooms that implement them, and the views of results.

`import ackclock` has them as attributes, and `from ackclock.plots import figure` works wherever `plots` is
implemented. Each is loaded on first use. Rooms do not import this module, since it imports all of them: `ackclock`
passes it to `Results`.
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
"""Implementing modules, by public name."""

STUDY: Final = "ackclock.experiments.studies.study_folder"
STUDIES: Final = ("Study", "load_study", "study")
"""Public names that are defined in `STUDY`."""


def found(name: str) -> object:
    """Return a public module or name, loading it.

    Args:
        name: Attribute of `ackclock` that is not loaded yet.

    Raises:
        AttributeError: If the name is unknown.
    """
    if name in MODULES:
        return import_module(MODULES[name])
    if name in STUDIES:
        return getattr(import_module(STUDY), name)
    raise AttributeError(f"module 'ackclock' has no attribute {name!r}")


class _Finder:
    """Import finder that maps public module names to implementing modules."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return the spec of a public module; None for modules at their own location."""
        package, _, rest = name.partition(".")
        first, dot, inner = rest.partition(".")
        place = MODULES.get(first, "") if package == "ackclock" else ""
        return None if place in ("", f"ackclock.{first}") else ModuleSpec(name, _Finder, origin=f"{place}{dot}{inner}")  # type: ignore[arg-type]

    @staticmethod
    def create_module(_spec: ModuleSpec) -> None:
        """Return None, as the import system's default module is replaced by `exec_module`."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Replace the module by the implementing one."""
        spec = module.__spec__
        assert spec is not None
        assert spec.origin is not None
        sys.modules[spec.name] = import_module(spec.origin)


def listen() -> None:
    """Install the finder."""
    sys.meta_path.insert(0, _Finder)  # before the one that looks for files


def figure(results: "Results", series: "SeriesName") -> "Figure":
    """Return one panel of results, for `Results.plot`."""
    from ackclock.plotting import plots

    return plots.figure(results, series)


def widget(results: "list[Results]", window_s: tuple[float, float] | None) -> "ReportWidget | Static":
    """Return the report's plots as a notebook widget, for `Results.widget`."""
    from ackclock.plotting import notebook

    return notebook.widget(results, window_s)


def html(results: "Results", origin: "Manifest") -> str:
    """Return the HTML view of results for a notebook."""
    from ackclock.plotting import notebook, sparks

    return notebook.html(results.summary, origin, sparks.of_results(results))


def recorded(trace: Path, name: str) -> "Results":
    """Load the results of a trace folder written by `ackclock-proxy record`."""
    from ackclock.recording import read

    return read([trace], name=name, by="ackclock-proxy record")
