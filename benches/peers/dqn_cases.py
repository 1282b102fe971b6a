"""The runs of both simulators for the papers on DQN-NewReno and DQN-CUBIC: rows of their tables, as options of each.

Source: Seo, Cho, J. KICS, 2023 and 2024, tables 4 to 11 and the figures of one flow. Departures: what they leave open
is here as ns-3 has it by default (SACK, HyStart in CUBIC, FQ-CoDel over a device's queue of 100 packets) but for
buffers that do not limit; a step of learning comes with each tuple. Segments are ns-3's own, and those of ns3-gym's
example rl-tcp.
"""

from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "studies" / "dqn-2023"

SEGMENTS_BYTES = (536, 340)
"""The payloads of a segment that are run: ns-3's default, and what rl-tcp's MTU of 400 leaves."""

# Without anything random one run may sit on an edge: a seed of a lone classic flow is a delay within 0.2 % of 30 ms.
DELAYS_MS = (30.0, 30.03, 29.97, 30.06, 29.94)

OURS = {
    "newreno": '"reno"',
    "cubic": '"cubic"',
    "dqn_newreno": '{ kind = "dqn_newreno", learn_on = "tuple" }',
    "dqn_cubic": '{ kind = "dqn_cubic", learn_on = "tuple" }',
}
"""Controllers by their names in ns-3's program; ackclock's Reno with the profile ns3-3.4x is its NewReno with SACK."""

WORDS = {"newreno": "NewReno", "cubic": "CUBIC", "dqn_newreno": "DQN-NewReno", "dqn_cubic": "DQN-CUBIC"}


@dataclass(frozen=True, slots=True)
class Row:
    """One run of both simulators, and what the paper says of it.

    Attributes:
        table: Where the row stands: D1 to D4.
        name: Name of the row, unique.
        controllers: One for each flow.
        published: The paper's throughputs in Mbit/s, for each period one for each flow; empty where only a figure
            says it.
        ns3: Options of the program besides.
        scenario: ackclock's file.
        overrides: Changes to it besides controllers, queues and seed.
    """

    table: str
    name: str
    controllers: tuple[str, ...]
    published: tuple[tuple[float, ...], ...]
    scenario: str
    ns3: dict[str, str] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        """Duration of the run, s; the periods are 50 s each."""
        return 50.0 * len(self.periods)

    @property
    def periods(self) -> tuple[tuple[float, float], ...]:
        """Begin and end of each period over which averages are taken, s."""
        count = 3 if self.table == "D4" else 1
        return tuple((50.0 * index, 50.0 * (index + 1)) for index in range(count))

    @property
    def is_random(self) -> bool:
        """Whether a seed changes anything by itself."""
        return len(self.controllers) > 1 or self.controllers[0].startswith("dqn")


def _alone(rate: str, access: str, controller: str) -> Row:
    return Row(
        "D1",
        f"{WORDS[controller]}, {rate} Mbit/s",
        (controller,),
        (),
        "single.toml",
        {"rates": rate, "access1": access},
        (
            f'topology.link[0].rate="{rate} Mbit/s"',
            f'topology.link[1].rate="{access} Mbit/s"',
            f'topology.link[2].rate="{access} Mbit/s"',
        ),
    )


def _pair(first: str, second: str, *published: float) -> Row:
    return Row(
        "D2", f"{WORDS[first]} / {WORDS[second]}", (first, second), (published,), "pair.toml", {"access1": "100"}
    )


def _two_round_trips(controller: str, *published: float) -> Row:
    # 40 and 60 ms: the delay of the bottleneck is 10 ms less for both, and flow 2's access link has them.
    return Row(
        "D3",
        WORDS[controller],
        (controller, controller),
        (published,),
        "pair.toml",
        {"access1": "100", "delay": "19.98", "access2Delay": "10.01"},
        ('topology.link[0].delay="19.98 ms"', 'topology.link[2].delay="10.01 ms"'),
    )


def _changing(learned: str, *published: tuple[float, float]) -> Row:
    return Row(
        "D4",
        f"{WORDS[learned]} / CUBIC",
        (learned, "cubic"),
        published,
        "changing.toml",
        {"access1": "100", "rates": "100,50,100", "access2": "10,50,100", "duration": "150"},
    )


ROWS = (
    *(_alone(rate, access, name) for rate, access in (("50", "100"), ("100", "150")) for name in OURS),
    _pair("dqn_newreno", "newreno", 53.60, 43.19),
    _pair("dqn_newreno", "cubic", 48.39, 47.74),
    _pair("dqn_cubic", "newreno", 51.14, 43.58),
    _pair("dqn_cubic", "cubic", 49.07, 48.40),
    _two_round_trips("newreno", 49.94, 45.58),
    _two_round_trips("cubic", 47.38, 49.22),
    _two_round_trips("dqn_newreno", 80.64, 11.91),
    _two_round_trips("dqn_cubic", 48.53, 48.02),
    _changing("dqn_newreno", (83.36, 9.42), (23.51, 22.69), (50.79, 44.43)),
    _changing("dqn_cubic", (85.25, 9.53), (24.10, 23.39), (52.18, 44.70)),
)
