"""ackclock: a laboratory for TCP congestion control.

A scenario goes in, results come out:

    import ackclock

    results = ackclock.run(ackclock.dumbbell(flows=["cubic", "reno"], duration="20 s"))
    print(results.summary["jain_index"])
    results.save("out/first")

Importing the package loads only the compiled core. Polars and Matplotlib are loaded on first use, as are the modules
`ackclock.plots`, for figures, and `ackclock.gym`, for environments.
"""

from ackclock.base import early_signals as _early

_early.listen()

from typing import TYPE_CHECKING  # noqa: E402  a signal is heard from here on

from ackclock import face as _face  # noqa: E402
from ackclock._core import Scenario, ScenarioError  # noqa: E402
from ackclock.base.version import __version__  # noqa: E402
from ackclock.controllers import CongestionController  # noqa: E402
from ackclock.results import Results  # noqa: E402
from ackclock.running import run  # noqa: E402
from ackclock.running.events import watch  # noqa: E402
from ackclock.scenario.dumbbells import dumbbell  # noqa: E402

if TYPE_CHECKING:
    from ackclock import controllers as controllers
    from ackclock import gym as gym
    from ackclock import parts as parts
    from ackclock.experiments.studies.study_folder import Study as Study
    from ackclock.experiments.studies.study_folder import load_study as load_study
    from ackclock.experiments.studies.study_folder import study as study
    from ackclock.plotting import figures as figures
    from ackclock.plotting import plots as plots
    from ackclock.plotting import report as report
    from ackclock.plotting import tables as tables
    from ackclock.results import manifests as manifests
    from ackclock.results import summaries as summaries
    from ackclock.running import events as events
    from ackclock.running import kernel_agent as kernel_agent
    from ackclock.scenario import diagnostics as diagnostics
    from ackclock.stats import estimates as estimates
    from ackclock.stats import metrics as metrics

__all__ = ["CongestionController", "Results", "Scenario", "ScenarioError", "__version__", "dumbbell", "run", "watch"]

Results._views = _face
_face.listen()


def __getattr__(name: str) -> object:
    """Load a module or a name on first use."""
    return _face.found(name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted((*__all__, *_face.MODULES, *_face.STUDIES))
