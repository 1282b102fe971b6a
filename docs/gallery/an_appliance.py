"""An appliance that ends connections.

Data that it holds, its delay, and the window behind it.
"""

import ackclock
from ackclock import plots

results = ackclock.run(ackclock.Scenario.load("scenarios/appliance.toml", ["duration=10 s", "measure.from=2 s"]))

figures = {
    "in_socket": plots.figure(results, "in_socket"),
    "added_latency": plots.figure(results, "added_latency"),
    "far_cwnd": plots.figure(results, "far_cwnd"),
}
