"""ackclock: a laboratory for TCP congestion control.

A scenario goes in, results come out:

    import ackclock

    results = ackclock.run(ackclock.dumbbell(flows=["cubic", "reno"], duration="20 s"))
    print(results.summary["jain_index"])
    results.save("out/first")

Importing the package loads the compiled core and nothing heavy: Polars, Plotly and Matplotlib are loaded when used.
"""

from ackclock._core import Scenario, ScenarioError
from ackclock.controllers import CongestionController
from ackclock.dumbbells import dumbbell
from ackclock.results import Results
from ackclock.running import run
from ackclock.version import __version__

__all__ = ["CongestionController", "Results", "Scenario", "ScenarioError", "__version__", "dumbbell", "run"]
