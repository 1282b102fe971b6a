"""Runs side by side, and many flows.

Several runs in one figure are named by their differences. Very many flows are drawn as percentiles of groups.
"""

import ackclock
from ackclock import plots


def run(queue, flows="cubic*2"):
    return ackclock.run(
        ackclock.dumbbell(bottleneck="20 Mbit/s", rtt="60 ms", flows=flows, queue=queue, duration="30 s")
    )


figures = {
    "two_runs": plots.figure([run("1 bdp"), run("fq_codel")], "rtt"),
    "thirty_flows": plots.figure(run("1 bdp", "cubic*15,bbr3*15"), "goodput"),
}
