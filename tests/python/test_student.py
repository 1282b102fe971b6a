"""Student's t against printed tables and, where it is installed, SciPy."""

import math

import pytest

from ackclock.stats.student_t import outside, quantile

# Upper critical values as printed in the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2: by degrees of
# freedom, at probabilities 0.10, 0.05, 0.025, 0.01 and 0.005 of exceeding them.
PRINTED = {
    1: (3.078, 6.314, 12.706, 31.821, 63.657),
    2: (1.886, 2.920, 4.303, 6.965, 9.925),
    3: (1.638, 2.353, 3.182, 4.541, 5.841),
    4: (1.533, 2.132, 2.776, 3.747, 4.604),
    5: (1.476, 2.015, 2.571, 3.365, 4.032),
    9: (1.383, 1.833, 2.262, 2.821, 3.250),
    10: (1.372, 1.812, 2.228, 2.764, 3.169),
    19: (1.328, 1.729, 2.093, 2.539, 2.861),
    30: (1.310, 1.697, 2.042, 2.457, 2.750),
    60: (1.296, 1.671, 2.000, 2.390, 2.660),
    100: (1.290, 1.660, 1.984, 2.364, 2.626),
}
TAILS = (0.10, 0.05, 0.025, 0.01, 0.005)


@pytest.mark.parametrize("freedom", PRINTED)
def test_the_printed_table(freedom: int) -> None:
    for tail, printed in zip(TAILS, PRINTED[freedom], strict=True):
        assert quantile(freedom, 1 - 2 * tail) == pytest.approx(printed, abs=0.0005001)
        assert outside(quantile(freedom, 1 - 2 * tail), freedom) == pytest.approx(2 * tail, rel=1e-12)


def test_far_tails_of_the_printed_table() -> None:
    # Journal of the American Statistical Association, 1959: at 0.999 and 0.9995.
    for freedom, at_999, at_9995 in ((1, 318.309, 636.619), (5, 5.893, 6.869), (10, 4.144, 4.587), (30, 3.385, 3.646)):
        assert quantile(freedom, 0.998) == pytest.approx(at_999, abs=0.0005001)
        assert quantile(freedom, 0.999) == pytest.approx(at_9995, abs=0.0005001)


def test_closed_forms() -> None:
    # One degree of freedom is Cauchy's distribution, 1 - 2/pi atan t; of two the tails are 1 - t / sqrt(2 + t^2).
    for t in (1e-9, 0.3, 1.0, 7.0, 1e4):
        assert outside(t, 1) == pytest.approx(2 / math.pi * math.atan(1 / t), rel=1e-13)
        rest = 2 / (math.sqrt(2 + t * t) * (math.sqrt(2 + t * t) + t))
        assert outside(-t, 2) == pytest.approx(rest, rel=1e-13)
    assert outside(0, 7) == 1 and outside(math.inf, 7) == 0 and quantile(7, 0) == 0


def test_many_degrees_come_to_the_normal_distribution() -> None:
    # 1.959964 of the normal distribution, and Cornish-Fisher's first term (z^3 + z) / 4n above it.
    assert quantile(1_000_000, 0.95) == pytest.approx(1.959964 + (1.959964**3 + 1.959964) / 4e6, abs=1e-6)


def test_beside_scipy() -> None:
    special = pytest.importorskip("scipy.special", reason="SciPy is not installed, which Student's t is held beside")
    for freedom in (1, 2, 3, 7, 29, 120, 999):
        for confidence in (0.1, 0.5, 0.9, 0.95, 0.99, 0.9999):
            assert quantile(freedom, confidence) == pytest.approx(
                special.stdtrit(freedom, 0.5 + confidence / 2), rel=1e-11
            )
        for t in (0.1, 1.0, 5.0, 30.0, 1e3):
            assert outside(t, freedom) == pytest.approx(2 * special.stdtr(freedom, -t), rel=1e-11)


@pytest.mark.parametrize("confidence", [-0.1, 1.0, math.nan])
def test_no_such_confidence(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence must be from 0 to below 1"):
        quantile(5, confidence)
