"""Scores of a measured run beside a simulated one."""

import pytest

from ackclock import Results, Scenario, run
from ackclock.plotting.likeness import mean_over_time
from networks import dumbbell


def _of(duration: str) -> Results:
    text = f"""
duration = "{duration}"
{dumbbell('rate = "10 Mbit/s", delay = "15 ms"', limit="40 packets")}
[[flow]]
name = "file"
app = {{ kind = "file", size = "2 MB" }}
"""
    return run(Scenario.parse(text, "file.toml"))


@pytest.mark.parametrize("column", ["cwnd_bytes", "srtt_s"])
def test_how_long_a_run_goes_on_after_a_flow_is_nothing_to_its_means(column: str) -> None:
    """The file has arrived after 1.8 s; a recording of it would end there."""
    short, long = _of("2 s"), _of("20 s")
    assert short.flow("file")["completion_s"] == long.flow("file")["completion_s"]
    assert mean_over_time(short, "file", column) == pytest.approx(mean_over_time(long, "file", column), rel=1e-9)
