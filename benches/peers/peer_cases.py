"""The same work for ackclock and its peers: the scenarios of `ackclock bench`, and options of the peers' programs.

ns-3 gets the same network, flows and start times; its CUBIC runs without HyStart, as ackclock's does. Where ns-3 would
take too long, both get a shorter simulated time; the time of a packet is then that of this part of the run.
"""

from dataclasses import dataclass
from pathlib import Path

# ns-3's links frame packets in 2 bytes.
FRAMING = 'topology.bottleneck.framing="2 bytes"'
SCENARIOS = Path(__file__).resolve().parents[1] / "speed" / "scenarios"


@dataclass(frozen=True, slots=True)
class Case:
    """The same work for all.

    Attributes:
        name: Letter of the scenario file.
        title: Description of the case.
        overrides: Changes to the scenario for ackclock.
        peer: Options of the peers' programs.
    """

    name: str
    title: str
    overrides: tuple[str, ...]
    peer: dict[str, float | int | str]


# Queues are one bandwidth-delay product in packets of 1500 bytes. Hosts are as many as make ns-3 fastest. Send buffers
# are a few times what a flow can have in the network.
CASES = (
    Case(
        "a",
        "1 CUBIC flow, 100 Mbit/s, 60 ms, queue of 500 packets, 50 s",
        (FRAMING,),
        {"flows": 1, "rate": "100Mbps", "rtt": 0.06, "queue": 500, "duration": 50, "buffer": 4_000_000},
    ),
    Case(
        "b",
        "100 CUBIC flows, 10 Gbit/s, 20 ms, queue of 16,667 packets, the first second; ssthresh begins at a "
        "flow's share of the path, 167 segments, since ns-3 takes too long for an uncapped slow start",
        (FRAMING, 'duration="1 s"', 'tcp.initial_ssthresh="167 segments"'),
        {
            "flows": 100,
            "hosts": 10,
            "rate": "10Gbps",
            "rtt": 0.02,
            "queue": 16_667,
            "duration": 1,
            "spacing": 0.001,
            "initialSsthresh": 167,
            "buffer": 2_000_000,
        },
    ),
    Case(
        "c",
        "1000 CUBIC flows, 1 Gbit/s, 20 ms, queue of 1667 packets, 5 s",
        (FRAMING,),
        {
            "flows": 1000,
            "hosts": 20,
            "rate": "1Gbps",
            "rtt": 0.02,
            "queue": 1_667,
            "duration": 5,
            "spacing": 0.001,
            "buffer": 250_000,
        },
    ),
)
