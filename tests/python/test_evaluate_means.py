"""The table that `ackclock evaluate` prints for several seeds; it needs no learning package."""

from types import SimpleNamespace

from ackclock.cli.evaluate import _differences, _means
from ackclock.plotting.tables.table import NONE


def _row(
    seed: int, rate_bps: float, reward: float | None, who: str = "cubic", scenario: str = "path"
) -> SimpleNamespace:
    return SimpleNamespace(
        scenario=scenario, who=who, seed=seed, goodput_bps=rate_bps, rtt_ms_mean=40.0, rtt_ms_p95=None,
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


def test_differences_are_of_pairs_that_met_the_same_network() -> None:
    """3 and 5 Mbit/s more: mean 4, standard error 1. Unpaired, the intervals of 10 and 50 would hide that.

    Over both scenarios the differences are 3, 5 and 7: mean 5, standard error 2 / sqrt(3), t = 4.303.
    """
    rows = [
        _row(1, 13e6, 1.0, "model"), _row(1, 10e6, None),
        _row(2, 55e6, 1.0, "model"), _row(2, 50e6, None),
        _row(1, 8e6, 1.0, "model", "other"), _row(1, 1e6, None, scenario="other"),
    ]  # fmt: skip
    table = _differences(rows)  # type: ignore[arg-type]
    headings = [column.heading for column in table.columns]
    assert headings[:4] == ["scenario", "who", "networks", "goodput (Mbit/s)"]
    cells = [table.cells(row)[:4] for row in table.rows]
    assert cells == [["path", "cubic", "2", "4 ± 13"], ["all", "cubic", "3", "5.0 ± 5.0"]]
    assert table.cells(table.rows[0])[-1] == NONE, "a controller has no reward"
