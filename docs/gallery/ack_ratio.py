"""ACK congestion control.

How many segments an ACK stands for, where the way back is too narrow for one ACK in two segments (RFC 5690).
"""

import ackclock
from ackclock import plots

results = ackclock.run(ackclock.Scenario.load("scenarios/ack-congestion-control.toml"))

figures = {"ack_ratio": plots.figure(results, "ack_ratio")}
