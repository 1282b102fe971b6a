"""Series of a flow.

Window, rate and timers of two flows over time: every series that a run keeps of each flow.
"""

import ackclock
from ackclock import plots

results = ackclock.run(ackclock.dumbbell(bottleneck="20 Mbit/s", rtt="60 ms", flows="cubic,reno", duration="40 s"))

figures = {
    "cwnd": plots.figure(results, "cwnd"),
    "flight_size": plots.figure(results, "flight_size"),
    "goodput": plots.figure(results, "goodput"),
    "throughput": plots.figure(results, "throughput"),
    "rtt": plots.figure(results, "rtt"),
    "rttvar": plots.figure(results, "rttvar"),
    "rto": plots.figure(results, "rto"),
    "rwnd": plots.figure(results, "rwnd"),
}
