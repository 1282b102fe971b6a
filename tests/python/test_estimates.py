"""Means with intervals, differences in pairs, ellipses and others, against samples worked out by hand or printed."""

import math

import numpy as np
import pytest

from ackclock.claims.intervals import of_mean
from ackclock.experiments.studies.measures import convergence_s, jain_over_time, seconds_of
from ackclock.experiments.studies.samples import Samples
from ackclock.experiments.studies.study_figures import _lesser
from ackclock.plotting.figures import Axis, Cloud, distribution, scatter, spread
from ackclock.plotting.tables import Column, shown
from ackclock.scenario.quantities import is_wide, scale
from ackclock.stats.estimates import estimate, holm, paired

# Student, "The probable error of a mean", Biometrika 6 (1908), first example: hours of sleep that ten patients gained.
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_a_mean_has_students_interval() -> None:
    found = estimate([1.0, 2.0, None, 3.0, 4.0, 5.0])
    assert found is not None
    # s = sqrt(2.5) = 1.5811, t(0.975, 4) = 2.7764 from the printed table; 2.7764 * 1.5811 / sqrt(5).
    assert (found.mean, found.count) == (3.0, 5)
    assert found.half == pytest.approx(1.9632, abs=1e-4)


def test_one_value_has_no_interval_and_none_no_mean() -> None:
    one = estimate([4.0])
    assert one is not None and one.half is None
    assert estimate([None]) is None


def test_students_own_pairs() -> None:
    found = paired(FIRST, SECOND)
    assert found is not None
    # The differences add up to -15.8; s = 1.22995; t(0.975, 9) = 2.2622 from the printed table:
    # 2.2622 * 1.22995 / sqrt(10).
    assert found.estimate.mean == pytest.approx(-1.58)
    assert found.estimate.half == pytest.approx(0.8799, abs=1e-4)
    # t = -1.58 / (1.22995 / sqrt(10)) = -4.0621; R's manual prints p = 0.002833 for this sample.
    assert found.p == pytest.approx(0.002833, abs=1e-6)


def test_pairs_without_a_partner_do_not_count() -> None:
    found = paired([1.0, None, 3.0], [0.0, 5.0, None])
    assert found is not None
    assert (found.estimate.mean, found.estimate.count, found.p) == (1.0, 1, None)
    assert paired([None], [1.0]) is None


def test_equal_differences_decide_nothing() -> None:
    # Student's t divides by their spread: pairs that all differ by the same are one run, several times.
    always, never = paired([2.0, 3.0], [1.0, 2.0]), paired([1.0, 2.0], [1.0, 2.0])
    assert always is not None and always.p is None
    assert never is not None and never.p == 1.0


@pytest.mark.parametrize("count", [3, 5, 6, 7, 9, 10, 20])
def test_one_run_several_times_says_nothing(count: int) -> None:
    """The mean of equal numbers is rounded, and is not them: their deviation is zero all the same."""
    for one, other in ((12345678.9, 23456789.1), (0.1, 0.3), (1 / 3, 2 / 7)):
        found = paired([one] * count, [other] * count)
        assert found is not None
        assert found.p is None
        assert found.estimate.half == 0.0


def test_differences_that_are_rounding_say_nothing() -> None:
    """0.1 each time, in binary fractions: 1.1 - 1.0, 2.2 - 2.1 and 3.3 - 3.2 differ in the last digit alone."""
    found = paired([1.1, 2.2, 3.3], [1.0, 2.1, 3.2])
    assert found is not None and found.p is None and found.estimate.half == 0.0
    same = paired([0.1 + 0.2, 0.6], [0.3, 0.1 * 6])
    assert same is not None and same.p == 1.0
    apart = paired([1.1, 2.2, 3.4], [1.0, 2.1, 3.2])
    assert apart is not None and apart.p is not None and apart.estimate.half


@pytest.mark.parametrize("values", [[math.inf, 1.0, 2.0], [math.inf, -math.inf, 0.0], [math.inf] * 3])
def test_what_is_infinite_decides_nothing(values: list[float]) -> None:
    found = paired(values, [0.0, 0.0, 0.0])
    assert found is not None and found.p is None
    assert shown(found.estimate, Column("x", "x"))


@pytest.mark.parametrize("values", [[1.0, math.nan], [math.nan, 1.0], [math.nan] * 2, [math.inf, math.nan, 1.0]])
def test_a_sample_with_nan_has_no_interval(values: list[float]) -> None:
    """IEEE 754: what is computed from NaN is NaN, so that a mean is unknown and may lie anywhere."""
    found, mean = paired(values, [0.0] * len(values)), estimate(values)
    assert found is not None and found.p is None and found.estimate.half is None
    assert mean is not None and math.isnan(mean.mean) and mean.half is None
    assert (of_mean(values).low, of_mean(values).high) == (-math.inf, math.inf)
    assert shown(found.estimate, Column("x", "x"))


def test_holm_multiplies_by_how_many_are_left_and_never_falls() -> None:
    # Sorted: 0.005 x 4 = 0.02, 0.01 x 3 = 0.03, 0.03 x 2 = 0.06, 0.04 x 1 = 0.04, raised to 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_an_ellipse_lies_along_the_line_of_its_points() -> None:
    found = spread([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    assert found is not None
    # The covariance is [[1, 1], [1, 1]], with eigenvalues 2 along the diagonal and 0 across it.
    assert found.centre == (1.0, 1.0)
    assert found.half_axes == pytest.approx((2**0.5, 0.0), abs=1e-7)
    assert found.angle % 180 == pytest.approx(45.0)
    assert spread([0.0, 1.0], [0.0, 1.0]) is None


def test_an_ellipse_on_a_logarithmic_axis_is_of_the_logarithms() -> None:
    """Delays of 1, 10 and 100 ms: their logarithms are 1 apart, so that the ellipse is from 1 to 100 about 10."""
    figure = scatter({"": [Cloud("a", [1.0, 10.0, 100.0], [2.0, 2.0, 2.0])]}, Axis("delay", is_log=True), Axis("rate"))
    (patch,) = figure.axes[0].patches
    reach = patch.get_xy()[:, 0]
    assert (reach.min(), reach.max()) == pytest.approx((1.0, 100.0))
    assert figure.axes[0].lines[-1].get_xdata() == pytest.approx([10.0])


def test_a_distribution_of_many_samples_keeps_its_ends() -> None:
    at, share = distribution(np.arange(10_000.0))
    assert at.size <= 400
    assert (at[0], at[-1], share[-1]) == (0.0, 9999.0, 1.0)
    assert share[np.searchsorted(at, 4999.0)] == pytest.approx(0.5, abs=0.003)


def _samples(first: list[float], second: list[float], interval_s: float = 0.5) -> Samples:
    """Goodputs of two flows, one an interval."""
    count = len(first)
    nothing: list[float | None] = [None] * count
    flows = {
        name: {"goodput_bps": [*map(float, rates)], "rtt_ms": nothing, "cwnd_bytes": nothing}
        for name, rates in (("a", first), ("b", second))
    }
    return {"time_s": [interval_s * (place + 1) for place in range(count)], "flows": flows}  # type: ignore[typeddict-item]


def test_seconds_average_whole_intervals() -> None:
    ends_s, flows = seconds_of(_samples([1, 3, 5, 7, 9], [0, 0, 0, 0, 0]))
    assert ends_s.tolist() == [1.0, 2.0], "the half second at the end is none"
    assert flows["a"].tolist() == [2.0, 6.0]


def test_convergence_counts_from_the_last_start_and_must_hold() -> None:
    # Seconds: 0 apart, 1 near, 2 apart, then near for good: from second 3 on; the last flow began at 0.5 s.
    apart, near = (3.0, 1.0), (1.1, 0.9)
    seconds = [apart, near, apart, *[near] * 6]
    first, second = ([pair[at] for pair in seconds for _ in range(2)] for at in (0, 1))
    assert convergence_s(_samples(first, second), [0.0, 0.5]) == pytest.approx(2.5)
    assert convergence_s(_samples(first[:14], second[:14]), [0.0, 0.5]) is None, "four near seconds are too few"
    assert convergence_s(_samples(first, second), [0.0]) is None, "one flow converges with nobody"
    starved = _samples([*first, *[3.0] * 20], [*second, *[1.0] * 20])
    assert convergence_s(starved, [0.0, 0.5]) is None, "five near seconds that do not last"


def test_jains_index_of_each_second() -> None:
    # (1 + 3)^2 / (2 (1 + 9)) = 0.8
    _, index = jain_over_time(_samples([1, 1, 2, 2], [3, 3, 2, 2]))
    assert index.tolist() == pytest.approx([0.8, 1.0])


def test_the_lesser_share_follows_from_jains_index() -> None:
    class Run:
        jain = 0.8  # of shares 1/4 and 3/4: 1 / (2 (1/16 + 9/16))

    assert _lesser(Run()) == pytest.approx(0.25)  # type: ignore[arg-type]


def test_values_of_axes_are_numbers_of_one_kind() -> None:
    assert scale("rate", ["10M", "0.1 Gbit/s"]) == ([10.0, 100.0], "bottleneck rate (Mbit/s)")
    assert scale("buffer", ["1 bdp", "100 packets"]) is None
    assert scale("loss", [0.0, 0.01]) == ([0.0, 0.01], "random loss")
    assert is_wide([1.0, 5.0]) and not is_wide([0.0, 5.0]) and not is_wide([1.0, 4.9])
