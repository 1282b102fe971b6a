"""What `ackclock evaluate` prints of several seeds; no learning package is needed for that."""

from types import SimpleNamespace

from ackclock.cli.evaluate import _means


def _row(seed: int, rate_bps: float, reward: float | None) -> SimpleNamespace:
    return SimpleNamespace(
        scenario="path", who="cubic", seed=seed, goodput_bps=rate_bps, rtt_ms_mean=40.0, rtt_ms_p95=None,
        lost_fraction=0.01, timeouts=0, reward=reward,
    )  # fmt: skip


def test_every_column_of_means() -> None:
    """10 and 12: mean 11, standard error 1, and Student's t of one degree of freedom is 12.706."""
    table = _means([_row(1, 10e6, None), _row(2, 12e6, None)])  # type: ignore[list-item]
    assert {str(column.header): [str(cell) for cell in column.cells] for column in table.columns} == {
        "scenario": ["path"],
        "who": ["cubic"],
        "seeds": ["2"],
        "goodput\nMbit/s": ["11 ± 13"],
        "RTT mean\nms": ["40 ± 0"],
        "RTT p95\nms": ["-"],
        "lost\n%": ["1 ± 0"],
        "mean\nreward": ["-"],
    }
