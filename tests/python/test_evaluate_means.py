"""The table that `ackclock evaluate` prints for several seeds; it needs no learning package."""

from types import SimpleNamespace

from ackclock.cli.evaluate import _means
from ackclock.plotting.tables.table import NONE


def _row(seed: int, rate_bps: float, reward: float | None) -> SimpleNamespace:
    return SimpleNamespace(
        scenario="path", who="cubic", seed=seed, goodput_bps=rate_bps, rtt_ms_mean=40.0, rtt_ms_p95=None,
        lost_fraction=0.01, timeouts=0, reward=reward,
    )  # fmt: skip


def test_every_column_of_means() -> None:
    """10 and 12: mean 11, standard error 1, and Student's t of one degree of freedom is 12.706."""
    table = _means([_row(1, 10e6, None), _row(2, 12e6, None)])  # type: ignore[list-item]
    assert dict(zip([column.heading for column in table.columns], table.cells(table.rows[0]), strict=True)) == {
        "scenario": "path",
        "who": "cubic",
        "seeds": "2",
        "goodput (Mbit/s)": "11 ± 13",
        "RTT mean (ms)": "40.00 ± 0.00",
        "RTT p95 (ms)": NONE,
        "lost (%)": "1.000 ± 0.000",
        "mean reward": NONE,
    }
