"""ACK congestion control.

Number of segments per ACK, on a reverse path that is too narrow for an ACK in two segments (RFC 5690).
"""

import ackclock
from ackclock import plots

results = ackclock.run(ackclock.Scenario.load("scenarios/ack-congestion-control.toml"))

figures = {"ack_ratio": plots.figure(results, "ack_ratio")}
