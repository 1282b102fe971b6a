"""Every column and figure of studies, sweeps and reports has a known answer: what hand-made runs have by arithmetic.

The runs are made here, in the form of `summary.json`. A column or a figure without an answer fails its test.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes

import ackclock
from ackclock.claims.claims_page import _others, overview
from ackclock.claims.folder import Claim, load_folder
from ackclock.claims.ledger import Finding
from ackclock.claims.measured import Measured as ClaimMeasured
from ackclock.claims.measured import mean as claims_mean
from ackclock.experiments.studies import design
from ackclock.experiments.studies.measures import convergence_s, jain_over_time, measured, seconds_of
from ackclock.experiments.studies.study_file import read
from ackclock.experiments.studies.study_folder import Study
from ackclock.experiments.sweep.sweep_results import Sweep, load_sweep
from ackclock.experiments.sweep.tidy_tables import flow_table, link_table, means, over_window
from ackclock.plotting.report import figures_of_merit as merit
from ackclock.plotting.report import run_comparison
from ackclock.plotting.report.distributions import of_every_kind
from ackclock.plotting.report.run_tables import tables
from ackclock.plotting.result_panels import lines_of, panel
from ackclock.plotting.tables import Estimate, Table
from ackclock.stats.flow_groups import grouped
from ackclock.stats.run_window import count, flows_over_window, window_of
from networks import dumbbell
from test_readers import CLAIMS, MEASURE
from test_readers import SCENARIO as ONE

T1 = 12.7062
"""Student's t for 95 % and one degree of freedom, of printed tables."""


def a_flow(name: str, controller: str, goodput_mbps: float, **changes: Any) -> dict[str, Any]:
    rtt = {"min": 40.0, "mean": 50.0, "p50": 50.0, "p95": 60.0, "p99": 65.0}
    shares = {"rwnd": 0.0, "send_buffer": 0.0, "pacing": 0.0, "host": 0.0, "busy": 1.0}
    return {
        "name": name,
        "controller": controller,
        "profile": "linux-6.x",
        "start_s": 0.0,
        "completion_s": None,
        "goodput_bps": goodput_mbps * 1e6,
        "throughput_bps": 1.1 * goodput_mbps * 1e6,
        "delivered_bytes": 1_000_000,
        "sent_segments": 2000,
        "retransmitted_segments": 300,
        "lost_segments": 310,
        "timeouts": 30,
        "fast_recoveries": 20,
        "aborted": False,
        "window": {
            "sent_segments": 500, "retransmitted_segments": 5, "lost_segments": 6, "timeouts": 2, "fast_recoveries": 3,
            "limited_by": shares | {"cwnd": 0.93, "application": 0.07},
        },
        "limited_by": shares | {"cwnd": 0.4, "application": 0.6},
        "rtt_ms": rtt,
    } | changes  # fmt: skip


def a_link(utilization: float, queueing_ms: float = 12.0) -> dict[str, Any]:
    return {
        "name": "bottleneck",
        "utilization": utilization,
        "delivered_packets": 900,
        "drops": 50,
        "marks": 0,
        "losses": 60,
        "duplicates": 10,
        "reordered": 0,
        "queue_packets": {"mean": 8.0, "p95": 15.0, "max": 20.0},
        "queueing_delay_ms": {"mean": queueing_ms, "p95": 2 * queueing_ms, "max": 3 * queueing_ms},
    }


def a_summary(flows: Sequence[dict[str, Any]], link: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A run of 20 s, measured from 10 s on."""
    return {
        "scenario": "by hand", "seed": 1, "duration_s": 20.0, "measure_s": [10.0, 20.0], "jain_index": 0.5,
        "flows": list(flows), "links": [link],
    } | changes  # fmt: skip


# ---- studies --------------------------------------------------------------------------------------------------------

RATES = {"a alone": (8.0,), "b alone": (4.0,), "a + b": (6.0, 2.0), "a + a": (4.0, 4.0), "b + b": (3.0, 1.0)}
"""Goodputs in Mbit/s with the first seed; with the second they are a tenth more."""


def a_study(**changes: Any) -> Study:
    asked = {
        "controllers": [{"kind": "cubic", "label": "a"}, {"kind": "reno", "label": "b"}],
        "seeds": 2,
        "duration": "20 s",
        "warm_up": "10 s",
        "path": {"rate": "10 Mbit/s", "rtt": "40 ms"},
    } | changes
    plan, _ = read(asked)
    trials = [
        design.Trial(cell, line_up, seed)
        for cell, line_up, seed in product(range(len(plan.cells)), plan.line_ups, plan.seeds)
    ]
    return Study(plan, [measured(trial, a_run(trial), ["bottleneck"]) for trial in trials])


def a_run(trial: design.Trial) -> dict[str, Any]:
    factor = 1.0 if trial.seed == 1 else 1.1
    rates = [factor * rate for rate in RATES[trial.line_up.name]]
    members = zip(trial.line_up.members, rates, strict=True)
    flows = [a_flow(f"{label}-{place}", label, rate) for place, (label, rate) in enumerate(members)]
    link = a_link(sum(rates) / 10, 12.0 if trial.line_up.members[0] == "a" else 10.0)
    return a_summary(flows, link) | {"samples": some_samples(flows)}


def some_samples(flows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Two a second. Of the second flow there is nothing before 10 s, its start."""
    times = [0.5 * place for place in range(1, 41)]
    series = {
        flow["name"]: {
            "goodput_bps": [None if place and at <= 10 else flow["goodput_bps"] for at in times],
            "rtt_ms": [None if place and at <= 10 else 50.0 if at > 10 else 500.0 for at in times],
            "cwnd_bytes": [30_000.0] * len(times),
        }
        for place, flow in enumerate(flows)
    }
    return {
        "time_s": times,
        "flows": series,
        "queueing_ms": {"bottleneck": [12.0 if at > 10 else 99.0 for at in times]},
    }


def check(table: Table, row: Mapping[str, Any], answers: Mapping[str, Any]) -> None:
    """Hold a row to its answers; each column has one, and no other."""
    assert {column.key for column in table.columns} == set(answers)
    for key, answer in answers.items():
        found = row.get(key)
        if isinstance(answer, tuple):
            assert isinstance(found, Estimate), key
            assert (found.mean, found.half) == pytest.approx(answer, rel=1e-4), key
        else:
            assert found == (pytest.approx(answer, rel=1e-4) if isinstance(answer, float) else answer), key


def two(value: float, factor: float = 1.1) -> tuple[float, float]:
    """The mean of a value and a multiple of it, and t s / sqrt(2) with s = their distance / sqrt(2)."""
    return value * (1 + factor) / 2, T1 * abs(factor - 1) * value / 2


def test_every_column_of_a_studys_means() -> None:
    table = a_study().table
    row = next(row for row in table.rows if row["line_up"] == "a + b" and row["controller"] == "a")
    answers = {
        "line_up": "a + b",
        "controller": "a",
        "goodput_bps": two(6e6),
        "share": (0.75, 0.0),  # 6 of 8 with both seeds
        "rtt_ms": (50.0, 0.0),
        "rtt_p95_ms": (60.0, 0.0),
        "retransmitted": (0.01, 0.0),  # 5 of 500 in the window, not 300 of 2000 in the run
        "utilization": two(0.8),
        "queueing_ms": (12.0, 0.0),
        "queueing_p95_ms": (24.0, 0.0),
        "jain": (0.8, 0.0),  # (6 + 2)^2 / (2 (36 + 4))
        "converged": "0 of 2",
    }
    # Nothing has converged but two alike, so that the column has no value here.
    check(table, row, answers | {"convergence_s": None})


def test_every_column_of_a_studys_runs() -> None:
    table = a_study().every_run
    row = next(row for row in table.rows if (row["line_up"], row["controller"], row["seed"]) == ("b + b", "b", 1))
    answers = {
        "line_up": "b + b",
        "controller": "b",
        "flows": 2,
        "seed": 1,
        "goodput_bps": 4e6,
        "share": 1.0,
        "rtt_ms": 50.0,
        "rtt_p95_ms": 60.0,
        "retransmitted": 0.01,
        "utilization": 0.4,
        "queueing_ms": 10.0,
        "queueing_p95_ms": 20.0,
        "jain": 0.8,  # (3 + 1)^2 / (2 (9 + 1))
        "duration_s": None,
        "convergence_s": None,
        "dropped": 0.05,  # 50 of 900 - 10 + 60 + 50: what was lost behind the queue had come to it
        "timeouts": 4,
    }
    check(table, row, answers)
    alike = next(row for row in table.rows if (row["line_up"], row["seed"]) == ("a + a", 1))
    assert alike["convergence_s"] == 10.0  # from the start at 0 s in this run's summary to the first second of both


def test_a_study_has_the_time_that_files_took_and_no_buffer_limit_behind_an_appliance() -> None:
    """3 and 7 s from start to last byte are 5; without the second end the mean is unknown. A box takes the second."""
    plan, _ = read({"controllers": ["cubic"], "line_ups": ["itself"], "seeds": 1, "duration": "20 s", "path": {}})
    trial = design.Trial(0, plan.line_ups[0], 1)
    held = {
        "window": {
            "limited_by": {"cwnd": 0.1, "rwnd": 0.9},
            "sent_segments": 1,
            "retransmitted_segments": 0,
            "timeouts": 0,
        }
    }
    ends = {"a": (2.0, 5.0), "b": (1.0, 8.0)}
    flows = [a_flow(name, "cubic", 1.0, start_s=begin, completion_s=end, **held) for name, (begin, end) in ends.items()]
    boxes = {"appliances": [{"flows": [{"flow": "b"}]}]}
    part = measured(trial, a_summary(flows, a_link(0.5)) | boxes, ["bottleneck"]).parts["cubic"]
    assert (part.duration_s, part.buffers) == (5.0, ("rwnd", None))
    open_end = [flows[0], flows[1] | {"completion_s": None}]
    assert measured(trial, a_summary(open_end, a_link(0.5)), ["bottleneck"]).parts["cubic"].duration_s is None


def test_a_caption_has_no_round_trip_that_no_flow_has() -> None:
    """Flows of 20 and 60 ms were said to run over the path's default, 40 ms."""
    flows = [{"controller": "cubic", "rtt": rtt, "label": rtt} for rtt in ("20 ms", "60 ms")]
    asked = {"controllers": flows, "line_ups": ["20 ms, 60 ms"], "seeds": 1, "path": {"rate": "10 Mbit/s"}}
    assert Study(read(asked)[0], []).about.startswith("10 Mbit/s, buffer 1 bdp; DropTail; round trips 20 ms, 60 ms; ")
    one = Study(read(asked | {"controllers": [flows[0], "reno"], "line_ups": ["pairs"]})[0], [])
    assert "40 ms" in one.about and "round trips" not in one.about


def test_every_column_of_a_studys_differences() -> None:
    table = a_study().differences
    row = next(row for row in table.rows if row["how"] == "each alone")
    # 8 - 4 and 8.8 - 4.4: 4.2 with s = 0.4 / sqrt(2), so that t = 4.2 / 0.2 = 21 with one degree of freedom:
    # p = 1 - 2 atan(21) / pi (Cauchy's distribution). Queueing is 2 ms more both times: no p value.
    p = 1 - 2 * math.atan(21) / math.pi
    assert row["_p_goodput_bps"] == pytest.approx(p)
    answers = {
        "how": "each alone",
        "one": "a",
        "other": "b",
        "goodput_bps": two(4e6),
        "p_goodput_bps": 2 * p,  # Holm: two comparisons of the table have a p value, and both the same
        "more": "undecided",
        "queueing_ms": (2.0, 0.0),
        "p_queueing_ms": None,
    }
    check(table, row, answers)


def test_p_values_of_a_table_are_one_family() -> None:
    """Holm over all that the table shows: the note says so, and a reader looks at all of them."""
    rows = a_study().differences.rows
    pairs = [
        (row[f"_p_{key}"], row[f"p_{key}"])
        for row in rows
        for key in ("goodput_bps", "queueing_ms")
        if f"_p_{key}" in row
    ]
    known = [(raw, adjusted) for raw, adjusted in pairs if raw is not None]
    least = min(known)
    assert least[1] == pytest.approx(min(1.0, len(known) * least[0]))


def _points(axes: Axes) -> list[tuple[list[float], list[float]]]:
    return [(list(map(float, line.get_xdata())), list(map(float, line.get_ydata()))) for line in axes.lines]


def _has(axes: Axes, x: float, y: float) -> bool:
    return any(
        math.isclose(a, x, rel_tol=1e-3, abs_tol=1e-9) and math.isclose(b, y, rel_tol=1e-3, abs_tol=1e-9)
        for xs, ys in _points(axes)
        for a, b in zip(xs, ys, strict=True)
    )


def _reach(axes: Axes, of_x: bool = True) -> tuple[float, float]:
    """The least and the greatest value of curves."""
    every = [value for xs, ys in _points(axes) for value in (xs if of_x else ys) if math.isfinite(value)]
    return min(every), max(every)


FIGURES: Mapping[str, Callable[[Axes], bool]] = {
    "trade-off": lambda axes: _has(axes, 12.0, 8.4) and _has(axes, 10.0, 4.2),  # means of 8 and 8.8, 4 and 4.4
    "shares": lambda axes: {"75", "25"} <= {text.get_text().partition(" ")[0] for text in axes.texts},
    "utilisation": lambda axes: _has_value(axes, 84.0) and _has_value(axes, 42.0),
    "queueing": lambda axes: _has_value(axes, 12.0) and _has_value(axes, 10.0),
    "goodput": lambda axes: _has_value(axes, 6.3) and _has_value(axes, 2.1),
    "cdf-rtt": lambda axes: _reach(axes) == pytest.approx((50.0, 50.0)),  # the 500 ms are of before the window
    "cdf-queueing": lambda axes: _reach(axes) == pytest.approx((12.0, 12.0)),
    "cdf-goodput": lambda axes: _reach(axes) == pytest.approx((4.0, 8.8)),  # no zeros of before a start
    "convergence-itself": lambda axes: _reach(axes) == pytest.approx((11.0, 20.0)) and _has(axes, 11.0, 0.8),
    "convergence-others": lambda axes: _reach(axes) == pytest.approx((11.0, 20.0)) and _has(axes, 20.0, 0.8),
    "utilisation-over-buffer": lambda axes: _has(axes, 1.0, 84.0) and _has(axes, 2.0, 42.0),
    "queueing-over-buffer": lambda axes: _has(axes, 1.0, 12.0) and _has(axes, 2.0, 10.0),
    "share-over-buffer": lambda axes: _has(axes, 1.0, 75.0),
    "jain-itself-over-buffer": lambda axes: _has(axes, 1.0, 1.0) and _has(axes, 2.0, 0.8),
}


def _has_value(axes: Axes, value: float) -> bool:
    return any(math.isclose(x, value, rel_tol=1e-3) for xs, _ in _points(axes) for x in xs)


@pytest.mark.parametrize("path", [{}, {"buffer": ["1 bdp", "2 bdp"]}], ids=["one cell", "an axis"])
def test_every_figure_of_a_study(path: dict[str, Any]) -> None:
    names = set()
    for drawn in a_study(path={"rate": "10 Mbit/s", "rtt": "40 ms"} | path).figures():
        names.add(drawn.name)
        figure = drawn.draw()
        assert FIGURES[drawn.name](figure.axes[0]), (drawn.name, _points(figure.axes[0]))
    assert len(names) > 8


# ---- one window a row -----------------------------------------------------------------------------------------------


def test_a_row_is_over_one_window() -> None:
    """Two flows of a link of 10 Mbit/s that is full: 9 Mbit/s over 20 s, and 2 Mbit/s over the last 5 s."""
    late = a_summary([a_flow("a", "cubic", 9.0), a_flow("b", "cubic", 2.0, start_s=15.0)], a_link(0.95))
    del late["measure_s"]
    window = window_of(late)
    assert [window.rate_bps(flow) for flow in late["flows"]] == [9e6, 0.5e6]  # 2 Mbit/s in 5 of 20 s
    assert window.utilization(late["links"][0]) == 0.95
    # Alone from 10 to 15 s with 8 Mbit/s: the link has worked for 4 of 20 s, which is 80 % of the flow's time.
    alone = a_summary([a_flow("a", "cubic", 8.0, start_s=10.0, completion_s=15.0)], a_link(0.2))
    del alone["measure_s"]
    window = window_of(alone)
    assert (window.begin_s, window.end_s) == (10.0, 15.0)
    assert window.rate_bps(alone["flows"][0]) == 8e6
    assert window.utilization(alone["links"][0]) == pytest.approx(0.8)
    # At 1 Mbit/s after it the same 40 Mbit are 0.73 of what the link could carry, which is no use of those 5 s.
    assert window.utilization(a_link(0.73)) is None
    # With other traffic the link works on after the last flow: the window is the measurement's.
    window = window_of(alone | {"groups": [{"name": "web"}]})
    assert (window.begin_s, window.end_s) == (0.0, 20.0)
    assert count(alone["flows"][0], "timeouts") == 2


def test_before_a_start_there_are_no_samples() -> None:
    samples: Any = some_samples([a_flow("a", "cubic", 3.0), a_flow("b", "cubic", 1.0)])
    ends_s, flows = seconds_of(samples)
    assert np.isnan(flows["b"][ends_s <= 10]).all() and (flows["b"][ends_s > 10] == 1e6).all()
    _, index = jain_over_time(samples)
    assert np.isnan(index[ends_s <= 10]).all()
    assert index[-1] == pytest.approx(0.8)


def test_a_flow_that_starves_later_never_converged() -> None:
    """Alike for six seconds, then 9 to 1 for thirty."""
    first, second = [5.0] * 12 + [9.0] * 60, [5.0] * 12 + [1.0] * 60
    nothing: list[float | None] = [None] * len(first)
    flows = {
        name: {"goodput_bps": rates, "rtt_ms": nothing, "cwnd_bytes": nothing}
        for name, rates in (("a", first), ("b", second))
    }
    samples: Any = {"time_s": [0.5 * place for place in range(1, 73)], "flows": flows}
    assert convergence_s(samples, [0.0, 0.0]) is None


def test_what_is_over_has_no_samples() -> None:
    """1 MB at 10 Mbit/s is over within two seconds; after it only the other flow has rates and round trips."""
    filer = {"controller": "reno", "app": {"kind": "file", "size": "1 MB"}, "label": "filer"}
    asked = {"controllers": ["cubic", filer], "line_ups": ["pairs"], "seeds": [1], "duration": "6 s"}
    study = ackclock.study(asked | {"path": {"rate": "10 Mbit/s", "rtt": "20 ms"}})
    (run,) = study.runs
    ends_s, flows = seconds_of(run.samples)
    assert np.isnan(flows["filer"][ends_s > 2]).all() and (flows["cubic"][ends_s > 2] > 8e6).all()
    assert np.isnan(jain_over_time(run.samples)[1][ends_s > 2]).all()
    assert all(value is None for value in run.samples["flows"]["filer"]["rtt_ms"][-20:])
    results = ackclock.run(
        ackclock.dumbbell(flows=[{key: filer[key] for key in ("controller", "app")}], duration="6 s", rtt="20 ms")
    )
    shown = next(one for one in of_every_kind([results]) if one.name == "rtt-cdf")
    assert next(iter(shown.lines.values())).size < 200, "one each 10 ms, of less than two seconds"
    over_s = results.flow("reno")["completion_s"]
    for key in ("cwnd", "goodput", "rtt"):
        assert all(line.time_s[-1] <= over_s for line in lines_of([results], panel(key))), key


def test_flows_that_are_over_had_converged() -> None:
    """Two flows have the same from their start to 20 s, when both are over, of 30 s: they converged at once."""
    time_s = [0.5 * place for place in range(1, 61)]
    rates: list[float | None] = [5e6 if at <= 20 else None for at in time_s]
    samples: Any = {"time_s": time_s, "flows": {name: {"goodput_bps": rates} for name in "ab"}}
    assert convergence_s(samples, [0.0, 0.0]) == 0.0


def _holds_capacity(goodputs_bps: Sequence[float], used: float, rate_bps: float) -> None:
    """Assert that the flows together have the link's capacity: no more than it carried, and most of its rate."""
    assert sum(goodputs_bps) <= used * rate_bps * 1.001 <= rate_bps * 1.001
    assert sum(goodputs_bps) >= used * rate_bps * 0.8, "and of what it carried most is theirs"


def test_no_row_of_a_study_has_more_than_its_link() -> None:
    """The second flow is there for the last quarter: both were measured over that."""
    asked = {
        "controllers": ["cubic", {"controller": "cubic", "label": "late", "start": "3 s"}],
        "line_ups": ["alone", "pairs"],
        "seeds": 2,
        "duration": "4 s",
        "keep": 0,
        "path": {"rate": "10 Mbit/s", "rtt": "20 ms"},
    }
    study = ackclock.study(asked)
    frame = study.frame
    for _, rows in frame.group_by("line_up", "seed"):
        _holds_capacity(rows["goodput_bps"].to_list(), rows["utilization"][0], 10e6)
    shares = frame.filter(line_up="cubic + late").group_by("seed").agg(pl.col("share").sum())
    assert shares["share"].to_list() == pytest.approx([1.0, 1.0])


LATE = f"""\
name = "late"
duration = "4 s"
{dumbbell('rate = "10 Mbit/s", delay = "10 ms"', "0 ns", limit="1 bdp")}
[[flow]]
name = "a"
start = "1 s"
[[flow]]
name = "b"
start = "3 s"
"""


def test_no_row_of_a_sweep_has_more_than_its_link(tmp_path: Path) -> None:
    summaries = [
        (
            {"measure.from": begin, "seed": 1},
            ackclock.run(ackclock.Scenario.parse(LATE, "late.toml", overrides)).summary,
        )
        for begin, overrides in (
            ("none", []),
            ("2 s", ['measure={ from = "2 s" }']),
            ("to", ['measure={ to = "3500 ms" }']),
        )
    ]
    flows = over_window(flow_table(summaries))
    links = over_window(link_table(summaries)).filter(link="bottleneck")
    for begin in ("none", "2 s", "to"):
        goodputs = flows.filter(pl.col("measure.from") == begin)["goodput_bps"].to_list()
        _holds_capacity(goodputs, links.filter(pl.col("measure.from") == begin)["utilization"][0], 10e6)
    averages = means(flow_table(summaries), ["measure.from", "seed"])
    assert averages["goodput_bps_mean"].to_list() == flows["goodput_bps"].to_list()


def test_counts_of_a_window_are_those_of_the_window() -> None:
    """Over [0, 4] s the window's counts are the run's; over its halves they add up; round trips end with the window."""

    def counted(*overrides: str) -> Any:
        return ackclock.run(ackclock.Scenario.parse(LATE.replace("1 s", "0 s"), "late.toml", list(overrides))).flow("a")

    keys = ("sent_segments", "retransmitted_segments", "timeouts", "fast_recoveries")
    whole, first, second = (
        counted(f"measure={{ {window} }}") for window in ('from = "0 s"', 'to = "2 s"', 'from = "2 s"')
    )
    assert "window" not in counted()
    for key in keys:
        assert whole["window"][key] == whole[key] == first["window"][key] + second["window"][key]
    assert first["window"]["sent_segments"] > 0
    # Before the second flow begins at 3 s the mean is another than after it.
    assert first["rtt_ms"] != whole["rtt_ms"]


# ---- sweeps ---------------------------------------------------------------------------------------------------------


def test_every_column_of_a_sweeps_table(tmp_path: Path) -> None:
    summaries = [
        (
            {"rate": "10 Mbit/s", "loss": loss, "seed": seed},
            a_summary([a_flow("f", "cubic", rate, completion_s=18.0)], a_link(rate / 10 * 0.8), seed=seed),
        )
        for loss, seed, rate in ((0, 1, 8.0), (0, 2, 8.8), (0.01, 1, 4.0), (0.01, 2, 4.4))
    ]
    flow_table(summaries).write_parquet(tmp_path / "sweep.parquet")
    link_table(summaries).write_parquet(tmp_path / "links.parquet")
    means(flow_table(summaries), summaries[0][0]).write_parquet(tmp_path / "means.parquet")
    parameters = {"rate": ["10 Mbit/s"], "loss": [0, 0.01], "seed": [1, 2]}
    (tmp_path / "sweep.json").write_text(json.dumps({"version": "0", "parameters": parameters, "scenario_hashes": []}))
    sweep: Sweep = load_sweep(tmp_path)
    answers = {
        "loss": "0",
        "flow": "f",
        "controller": "cubic",
        "seeds": 2,
        "goodput_bps": two(8e6),  # from 10 to 18 s, which is the window: no other flow is there
        "throughput_bps": two(8.8e6),
        "rtt_ms_mean": (50.0, 0.0),
        "rtt_ms_p95": (60.0, 0.0),
        "retransmitted_segments": (5.0, 0.0),
        "timeouts": (2.0, 0.0),
        "completion_s": (18.0, 0.0),
        "completed": "2 of 2",
        "jain_index": (1.0, 0.0),
        "utilization": two(0.8),  # 64 % of the 10 s that were measured are 80 % of the 8 s of the flow
        "queueing_delay_ms_mean": (12.0, 0.0),
    }
    check(sweep.table, sweep.table.rows[0], answers)
    shown = {
        "trade-off": lambda axes: _has(axes, 12.0, 8.4) or _has(axes, 12.0, 4.2),
        "goodput-over-loss": lambda axes: _has(axes, 0.0, 8.4) and _has(axes, 0.01, 4.2),
        "rtt-over-loss": lambda axes: _has(axes, 0.0, 50.0),
        "link-used-over-loss": lambda axes: _has(axes, 0.0, 84.0) and _has(axes, 0.01, 42.0),
        "queueing-over-loss": lambda axes: _has(axes, 0.01, 12.0),
    }
    for drawn in sweep.figures():
        axes = drawn.draw().axes[0]
        assert shown.pop(drawn.name)(axes), (drawn.name, _points(axes))
    assert not shown


# ---- reports --------------------------------------------------------------------------------------------------------

FLOW_ANSWERS = {
    "controller": "cubic", "profile": "linux-6.x", "goodput": "6.00", "limited by": "cwnd 93 %", "sent": "500",
    "retransmitted": "5", "lost": "6", "timeouts": "2", "recoveries": "3", "RTT mean": "50.0", "RTT p95": "60.0",
    "completed at": "–",
}  # fmt: skip
LINK_ANSWERS = {
    "utilization": "80.0 %", "delivered": "900", "drops": "50", "losses": "60", "duplicates": "10",
    "queue mean": "8.00", "queue p95": "15.0",
    "queue max": "20.0", "delay mean": "12.0", "delay p95": "24.0",
}  # fmt: skip
CONTROLLER_ANSWERS = {
    "flows": "2", "total goodput": "8.00", "share": "80.00 %",  # 6 + 2 of 6 + 2 + 1 + 1
    "Jain's index": "0.8000", "slowest": "2.00", "fastest": "6.00", "sent again": "1.00 %", "RTT mean": "50.0",
}  # fmt: skip


def numbers(cells: Mapping[str, str]) -> dict[str, str | float]:
    """Cells as numbers, however many digits they are shown with."""
    shown = {key: cell.removesuffix(" %") for key, cell in cells.items()}
    return {key: float(cell) if cell.replace(".", "").isdigit() else cell for key, cell in shown.items()}


def test_every_column_of_a_reports_tables() -> None:
    flows = [a_flow(name, kind, rate) for name, kind, rate in (("a", "cubic", 6.0), ("b", "cubic", 2.0))]
    flows += [a_flow(name, "reno", 1.0) for name in ("c", "d")]
    found: Any = tables(a_summary(flows, a_link(0.8)))  # type: ignore[arg-type]
    by_controller, by_flow, links = found
    for table, answers in ((by_controller, CONTROLLER_ANSWERS), (by_flow, FLOW_ANSWERS), (links, LINK_ANSWERS)):
        titles = {column.key: column.title for column in table.columns[1:]}
        assert numbers({titles[key]: table.rows[0][key] for key in titles}) == numbers(answers)


GROUP_ANSWERS = {
    "flows": "2", "goodput mean (Mbit/s)": "4.00", "p5": "2.20", "p50": "4.00", "p95": "5.80",  # 2 + 4 p
    "retransmitted p50": "5.00", "retransmitted p95": "5.00", "timeouts mean": "2.00", "timeouts p95": "2.00",
    "mean RTT p50 (ms)": "50.0", "mean RTT p95 (ms)": "50.0", "completed flows": "0", "completed at p50 (s)": "–",
    "completed at p95 (s)": "–",
}  # fmt: skip


def test_every_figure_of_a_group_of_flows() -> None:
    (group,) = grouped([a_flow("web-1", "cubic", 6.0), a_flow("web-2", "cubic", 2.0)])
    assert numbers({label: text(group) for label, text in merit.GROUPED_CELLS}) == numbers(GROUP_ANSWERS)


def test_totals_of_a_report_are_over_one_window() -> None:
    late = a_summary([a_flow("a", "cubic", 9.0), a_flow("b", "cubic", 2.0, start_s=15.0)], a_link(0.95))
    del late["measure_s"]
    assert [flow["goodput_bps"] for flow in flows_over_window(late)] == [9e6, 0.5e6]


# ---- runs side by side ----------------------------------------------------------------------------------------------


def a_result(rate: float, used: float) -> ackclock.Results:
    """A run whose bottleneck has a rate, by which it is named beside another."""
    summary = a_summary([a_flow("a", "cubic", rate), a_flow("b", "cubic", 2.0)], a_link(used), jain_index=0.8)
    scenario = {"topology": {"kind": "dumbbell", "bottleneck": {"rate": f"{2 * rate:g} Mbit/s"}}, "flow": []}
    manifest: Any = {"scenario": scenario, "scenario_hash": "", "seed": 1, "versions": {}, "engine": {}}
    return ackclock.Results(lambda: summary, manifest, lambda name: pytest.fail(f"{name} is not looked at"))  # type: ignore[arg-type,return-value]


def test_every_figure_of_runs_side_by_side() -> None:
    flows, links, fairness = run_comparison.tables([a_result(6.0, 0.8), a_result(3.0, 0.4)])
    for table, answers, other in (
        (flows, FLOW_ANSWERS, FLOW_ANSWERS | {"goodput": "3.00"}),
        (links, LINK_ANSWERS, LINK_ANSWERS | {"utilization": "40.0 %"}),
    ):
        assert [column.title for column in table.columns[2:]] == ["12 Mbit/s", "6 Mbit/s"]
        rows = table.rows[: len(answers)]  # those of the first flow or link
        for run, wanted in (("12 Mbit/s", answers), ("6 Mbit/s", other)):
            found = {str(row["figure"]).partition(" (")[0]: str(row[run]) for row in rows}
            assert numbers(found) == numbers(wanted)
    assert dict(fairness.rows[0]) == {"12 Mbit/s": "0.8000", "6 Mbit/s": "0.8000"}


# ---- claims ---------------------------------------------------------------------------------------------------------


def a_claim(tmp_path: Path) -> Claim:
    for name, text in (("claims.toml", CLAIMS), ("scenario.toml", ONE), ("measure.py", MEASURE)):
        (tmp_path / name).write_text(text)
    (found,) = load_folder(tmp_path).claims
    return replace(found, low=-1.0, high=5.0)


def test_every_column_of_the_page_of_claims(tmp_path: Path) -> None:
    """1, 2 and 3: mean 2, standard error 1 / sqrt(3), t of two degrees of freedom 4.3027 of printed tables."""
    claim = a_claim(tmp_path)
    measured = claims_mean(
        [ClaimMeasured(1.0, {"x": 4.0}), ClaimMeasured(2.0, {"x": 5.0}), ClaimMeasured(3.0, {"x": 9.0})]
    )
    verdict = claim.verdict(measured.value, measured.interval)
    finding = Finding(claim, measured, verdict, verdict, None, (((), ClaimMeasured(7.0), "differs"),))
    table = overview([finding])
    answers = {
        "claim": "A1", "quantity": "q", "paper": "p", "measured": "2.000", "spread": "± 2.484", "unit": "u",
        "verdict": "agrees", "choices": "1 of 2", "whose": "source", "from": "3 seeds",
    }  # fmt: skip
    assert {column.key: str(table.rows[0][column.key]) for column in table.columns} == answers
    entry = finding.as_dict()
    assert entry["interval"] == pytest.approx([2 - 2.4841, 2 + 2.4841], abs=1e-4)
    assert (entry["measured"], entry["seeds"], entry["values"]) == (2.0, 3, [1.0, 2.0, 3.0])
    assert entry["also"] == {"x": 6.0, "least": 1.0, "greatest": 3.0, "deviation": 1.0, "seeds": 3.0}
    others = _others(finding)
    row = {column.key: str(others.rows[0][column.key]) for column in others.columns}
    assert row == {"measured": "7.000", "verdict": "differs"}
