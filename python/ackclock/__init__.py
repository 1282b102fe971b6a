"""ackclock: a laboratory for TCP congestion control.

A scenario goes in, results come out:

    import ackclock

    results = ackclock.run(ackclock.dumbbell(flows=["cubic", "reno"], duration="20 s"))
    print(results.summary["jain_index"])
    results.save("out/first")

Importing the package loads the compiled core and nothing heavy: Polars and Matplotlib are loaded when used, and
so are the modules `ackclock.plots`, for pictures, and `ackclock.gym`, for environments.
"""

from ackclock import early as _early

_early.listen()

from typing import TYPE_CHECKING  # noqa: E402  a signal is heard from here on

from ackclock import face as _face  # noqa: E402
from ackclock._core import Scenario, ScenarioError  # noqa: E402
from ackclock.controllers import CongestionController  # noqa: E402
from ackclock.dumbbells import dumbbell  # noqa: E402
from ackclock.events import watch  # noqa: E402
from ackclock.results import Results  # noqa: E402
from ackclock.running import run  # noqa: E402
from ackclock.version import __version__  # noqa: E402

if TYPE_CHECKING:
    from ackclock import controllers as controllers
    from ackclock import diagnostics as diagnostics
    from ackclock import estimates as estimates
    from ackclock import events as events
    from ackclock import figures as figures
    from ackclock import gym as gym
    from ackclock import kernel_agent as kernel_agent
    from ackclock import manifests as manifests
    from ackclock import metrics as metrics
    from ackclock import parts as parts
    from ackclock import plots as plots
    from ackclock import report as report
    from ackclock import summaries as summaries
    from ackclock import tables as tables
    from ackclock.studies.study import Study as Study
    from ackclock.studies.study import load_study as load_study
    from ackclock.studies.study import study as study

__all__ = ["CongestionController", "Results", "Scenario", "ScenarioError", "__version__", "dumbbell", "run", "watch"]

Results._views = _face
_face.listen()


def __getattr__(name: str) -> object:
    """Load a module or a name that is loaded when used."""
    return _face.found(name)


def __dir__() -> list[str]:
    """Return what there is to use."""
    return sorted((*__all__, *_face.MODULES, *_face.STUDIES))
