"""Limits of flows as tables tell them: the largest share, where the terminal is narrow, too."""

from pathlib import Path

import pytest

import ackclock
from ackclock.limits import LIMITS, largest
from ackclock.sweep.tidy import flow_table, over_window
from conftest import Cli
from test_terminal import _shown

SLOW = ("run", "--bottleneck", "1G", "--rtt", "200 ms", "--flows", "highspeed*10", "--duration", "20 s",
        "--set", "tcp.profile=linux-2.4")  # fmt: skip


def test_a_narrow_table_says_that_the_receivers_window_limits_highspeed_flows(tmp_path: Path) -> None:
    """Linux 2.4's receive buffer of 64 KiB in 200 ms is 2.6 Mbit/s, whatever the controller would send."""
    shown = _shown(*SLOW, folder=tmp_path).decode()
    assert shown.count("receiver's window") == 10 and "limited" in shown


def test_shares_of_a_run_add_up_and_a_sweeps_table_has_them_as_columns() -> None:
    summaries = [
        (
            {"seed": seed},
            ackclock.run(ackclock.dumbbell(flows=["cubic", "bbr"], duration="3 s", overrides=window)).summary,
        )
        for seed, window in enumerate(([], ['measure={ from = "1 s" }']))
    ]
    for _, summary in summaries:
        for flow in summary["flows"]:
            shares = flow.get("window", flow)["limited_by"]
            assert sum(shares[key] for key in LIMITS) == pytest.approx(1.0)
    table = flow_table(summaries)
    assert {f"limited_by_{key}" for key in (*LIMITS, "busy")} <= set(table.columns)
    later = summaries[1][1]["flows"][1]["window"]["limited_by"]
    assert over_window(table)["limited_by_pacing"].to_list()[3] == later["pacing"]


def test_the_largest_share_is_named() -> None:
    shares = dict.fromkeys(LIMITS, 0.0) | {"application": 0.6, "cwnd": 0.4, "busy": 0.5}
    assert largest({"limited_by": shares}) == "application 60 %"
    within = shares | {"application": 0.1, "cwnd": 0.9}
    assert largest({"limited_by": shares, "window": {"limited_by": within}}) == "cwnd 90 %"
    assert largest({}) is None


def test_a_comparison_lists_what_limited_each_flow(cli: Cli) -> None:
    assert cli(*SLOW, "-o", "out").returncode == 0
    assert "receiver's window" in cli("compare", "out", "out").stdout
