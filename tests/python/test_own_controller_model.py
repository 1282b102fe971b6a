"""Controllers in Python that model the path: delivery rate, the fate of segments, a timer, a random stream."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest

import ackclock
from ackclock import Scenario, ScenarioError
from networks import dumbbell

TOML = f"""\
duration = "5 s"
trace = false
tcp = {{ profile = "rfc" }}
{dumbbell('rate = "10 Mbit/s", delay = "19 ms"', limit="LIMIT")}
[[flow]]
count = COUNT
controller = "python:modelling:CLASS"
"""

MODULE = '''\
import ackclock

acks, lost, fired, seeds, delivered = [], [], [], [], []


class Sampling(ackclock.CongestionController):
    """Doubles up to 60 segments, and writes down all that it hears."""

    wants_samples = True

    def __init__(self, start):
        seeds.append(start.seed)

    def on_ack(self, ack):
        report = ack.delivery
        acks.append((ack.newly_acked_bytes, report.delivered_bytes, report.lost_bytes, report.inflight_bytes,
                     report.repair, report.has_sack, report.sample))
        if ack.may_grow:
            self.cwnd_bytes = min(self.cwnd_bytes + ack.newly_acked_bytes, 60 * self.mss_bytes)

    def on_congestion(self, event):
        self.cwnd_bytes = self.ssthresh_bytes = 30 * self.mss_bytes

    def on_delivered(self, segment):
        assert segment.now_ns - segment.sent_at_ns > 40_000_000
        delivered.append(segment.size_bytes)

    def on_lost(self, segment):
        assert segment.tx_in_flight_bytes >= segment.size_bytes
        lost.append(segment.size_bytes)


class Paced(Sampling):
    """Sends a quarter faster than it has measured, at most 60 segments at a time."""

    def on_ack(self, ack):
        sample = ack.delivery.sample
        if sample is not None and sample.rate_bps is not None:
            self.rate = max(getattr(self, "rate", 0), sample.rate_bps)
            self.pacing_rate_bps = self.rate * 5 // 4
            self.cwnd_bytes = 60 * self.mss_bytes


class Ticking(Sampling):
    def on_ack(self, ack):
        if not fired and self.deadline_ns is None:
            self.deadline_ns = 1_000_000_007

    def on_timer(self, now_ns):
        fired.append((now_ns, self.deadline_ns))
        if len(fired) < 5:
            self.deadline_ns = now_ns + 10_000_000


class Late(Sampling):
    def on_ack(self, ack):
        self.deadline_ns = ack.now_ns + 1_000_000

    def on_timer(self, now_ns):
        self.deadline_ns = now_ns


class Unasked(Sampling):
    wants_samples = False
'''


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "modelling.py").write_text(MODULE)
    yield tmp_path
    sys.modules.pop("modelling", None)


def _scenario(
    folder: Path, name: str, limit: str = "unlimited", count: int = 1, seed: int = 1, changes: Sequence[str] = ()
) -> Scenario:
    text = TOML.replace("CLASS", name).replace("LIMIT", limit).replace("COUNT", str(count))
    return Scenario.parse(text, str(folder / "x.toml"), [f"seed={seed}", *changes])


def _run(folder: Path, name: str, limit: str = "unlimited", *changes: str) -> tuple[ModuleType, dict[str, object]]:
    results = ackclock.run(_scenario(folder, name, limit, changes=changes))
    return sys.modules["modelling"], results.flow("flow1.1")


def test_samples_tell_the_rate_of_the_bottleneck(folder: Path) -> None:
    heard, _flow = _run(folder, "Sampling")
    rates = [ack[6].rate_bps for ack in heard.acks if ack[6] is not None and ack[6].rate_bps is not None]
    # 60 segments fill the path's 33 and queue: every later sample is 1448 of every 1500 octets of 10 Mbit/s.
    assert rates[-1] == pytest.approx(10e6 * 1448 / 1500, rel=0.01)
    assert max(rates) <= 10e6 * 1448 / 1500 * 1.01


def test_what_is_delivered_adds_up(folder: Path) -> None:
    heard, flow = _run(folder, "Sampling", limit="20 packets")
    assert heard.lost, "60 segments overflow a path of 33 and a queue of 20"
    assert sum(heard.lost) == heard.acks[-1][2]
    assert len(heard.lost) == flow["lost_segments"]
    assert sum(ack[0] for ack in heard.acks) == heard.acks[-1][1] == sum(heard.delivered)
    assert {ack[4] for ack in heard.acks} == {None, "fast"} and all(ack[5] for ack in heard.acks)


def test_a_flow_may_send_by_the_rate_that_it_measures(folder: Path) -> None:
    _heard, flow = _run(folder, "Paced", "60 packets", "measure.from=1 s")
    # The first window, 10 segments in 40 ms, shows at least 2 of 9.65 Mbit/s. What is sent a quarter faster shows that
    # after a round trip, and over a whole one after two: seven quarters take 14 round trips, 0.6 s. From then on the
    # link is full. The window leaves 27 segments in the queue, which holds 60.
    assert flow["goodput_bps"] == pytest.approx(10e6 * 1448 / 1500, rel=0.005)
    assert flow["retransmitted_segments"] == 0


def test_the_timer_fires_at_its_time_and_once(folder: Path) -> None:
    heard, _flow = _run(folder, "Ticking")
    assert heard.fired == [(1_000_000_007 + 10_000_000 * number, None) for number in range(5)]


def test_a_timer_in_the_past_is_a_mistake(folder: Path) -> None:
    with pytest.raises(ValueError, match="has passed already; assign a time after now_ns"):
        ackclock.run(_scenario(folder, "Late"))


def test_methods_that_need_samples_ask_for_them(folder: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        _scenario(folder, "Unasked")
    (mistake,) = caught.value.diagnostics
    assert "must want samples, as it defines on_delivered" in mistake["message"]
    assert "wants_samples = True" in mistake["remedy"]


def test_every_flow_has_a_seed_of_its_own(folder: Path) -> None:
    def seeds(seed: int) -> set[int]:
        sys.modules.pop("modelling", None)
        ackclock.run(_scenario(folder, "Sampling", count=3, seed=seed))
        return set(sys.modules["modelling"].seeds)

    one = seeds(1)
    assert len(one) == 3
    assert seeds(1) == one
    assert not seeds(2) & one
