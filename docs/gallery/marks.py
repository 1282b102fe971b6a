"""Marks in place of drops.

DCTCP over a switch that marks packets which find more than 20 waiting.
"""

import ackclock
from ackclock import plots

results = ackclock.run(ackclock.Scenario.load("scenarios/dctcp-sawtooth.toml"))

figures = {"marks": plots.figure(results, "marks"), "queue": plots.figure(results, "queue")}
