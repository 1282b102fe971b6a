"""Series of a queue.

Length, waits and drops at the bottleneck, under RED: what it averages, and with which probability it drops.
"""

import ackclock
from ackclock import plots

path = ackclock.dumbbell(bottleneck="20 Mbit/s", rtt="60 ms", flows="cubic*4", queue="red", duration="40 s")
results = ackclock.run(path)

figures = {
    "queue": plots.figure(results, "queue"),
    "queue_bytes": plots.figure(results, "queue_bytes"),
    "queue_delay": plots.figure(results, "queue_delay"),
    "average_queue": plots.figure(results, "average_queue"),
    "drop_probability": plots.figure(results, "drop_probability"),
    "drops": plots.figure(results, "drops"),
    "link_throughput": plots.figure(results, "link_throughput"),
}
