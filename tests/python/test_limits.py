"""Limits of flows as tables tell them: the largest share, where the terminal is narrow, too."""

from pathlib import Path

import pytest

import ackclock
from ackclock.experiments.sweep.tidy_tables import flow_table, over_window
from ackclock.stats.flow_limits import LIMITS, largest
from conftest import Cli
from networks import dumbbell
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


def test_a_study_says_whose_rates_a_buffer_set(tmp_path: Path, cli: Cli) -> None:
    """ns-3's buffers of 131,072 bytes carry 17.5 Mbit/s over 60 ms: all controllers had the same, without a word."""
    path = {"rate": "100 Mbit/s", "rtt": "60 ms"}
    asked = {
        "controllers": ["newreno", "dqn_newreno"],
        "line_ups": ["alone"],
        "seeds": 1,
        "duration": "2 s",
        "path": path,
    }
    said = "Limited by the receiver's window, not by cwnd: newreno (1 of 1 flows), dqn_newreno (1 of 1 flows)."
    assert any(note.startswith(said) for note in ackclock.study({**asked, "profile": "ns3-3.4x"}).table.notes)
    assert not any("Limited" in note for note in ackclock.study(asked).table.notes)
    network = dumbbell('rate = "100 Mbit/s", delay = "30 ms"', "0 ms")
    (tmp_path / "a.toml").write_text(f'duration = "2 s"\n{network}\n[[flow]]\nname = "a"\ncontroller = "reno"\n')
    swept = cli("sweep", "a.toml", "--set", 'tcp.receive_buffer=["64 KiB", "8 MB"]', "-o", "out")
    assert "Limited by the receiver's window, not by cwnd: a (reno) (1 of 2 flows)." in swept.stdout
