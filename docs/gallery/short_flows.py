"""Short flows.

Slowdown of short flows over their size, against a run alone; the shape of a web search cluster's traffic.
"""

import ackclock
from ackclock import plots

results = ackclock.run(ackclock.Scenario.load("scenarios/web-search.toml", ["duration=300 ms", "measure.to=250 ms"]))

figures = {"slowdown": plots.figure(results, "slowdown")}
