"""A controller alone under regular loss."""

import pytest

import ackclock
from ackclock._core import Scenario, mean_window


def scenario(controller: str) -> Scenario:
    return ackclock.dumbbell(flows=controller)


def test_reno_alone_has_the_square_root_law() -> None:
    assert mean_window(scenario("reno"), 0.1, 10_000, 20) == pytest.approx((1.5 * 10_000) ** 0.5, rel=0.01)


@pytest.mark.parametrize(("rtt_s", "segments", "cycles"), [(0.0, 10, 1), (0.1, 0, 1), (0.1, 10, 0), (-1.0, 10, 1)])
def test_nothing_to_drive_with_is_an_error(rtt_s: float, segments: int, cycles: int) -> None:
    with pytest.raises(ValueError, match="mean_window needs a round trip, a loss and a cycle"):
        mean_window(scenario("reno"), rtt_s, segments, cycles)
