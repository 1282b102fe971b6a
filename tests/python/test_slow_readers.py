"""Receivers as Linux's whose application reads slowly: no window passes the buffer, and each run comes to its end."""

import pytest

import ackclock

PATH = """
    topology.kind = "dumbbell"
    topology.access = { rate = "1 Gbit/s", delay = "10 us" }
    topology.bottleneck = { rate = "10 Mbit/s", delay = "10 ms" }
"""


def _flow(seconds: int, read_kbit_s: int, tcp: str) -> dict[str, float]:
    flow = f'[[flow]]\ncontroller = "reno"\nread_rate = "{read_kbit_s} kbit/s"'
    text = f'duration = "{seconds} s"\n{PATH}\n[tcp]\n{tcp}\n{flow}'
    return dict(ackclock.run(ackclock.Scenario.parse(text)).summary["flows"][0])


def test_a_window_does_not_creep_past_the_buffer() -> None:
    """80 KiB of window, a step of its scale, and what is read in five seconds."""
    flow = _flow(5, 10, "mss = 300")
    assert 300 * flow["sent_segments"] <= 80 * 1024 + 1024 + 5 * 10_000 / 8


@pytest.mark.parametrize("initial", ["64 KiB", "79 KiB"])
def test_a_reader_gets_what_it_reads(initial: str) -> None:
    tuning = f'receive_autotuning = {{ initial = "{initial}", max = "32 MiB", opens_to = "80 KiB" }}'
    assert _flow(3, 200, tuning)["goodput_bps"] == pytest.approx(200e3, rel=0.02)
