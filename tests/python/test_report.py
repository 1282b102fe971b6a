"""Reports: complete without a network, readable when crowded or empty, and never half-written."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ackclock
from ackclock.plotting import plots
from ackclock.plotting.report import write_report
from ackclock.plotting.result_panels import PANELS, draw, panel
from ackclock.results import Results
from ackclock.stats.metrics import extremes_per_bucket, jain_fairness, mean_per_bucket


def content_of(page: Path) -> dict[str, Any]:
    """Return the data that the scripts of a page read."""
    text = page.read_text(encoding="utf-8").partition('id="content">')[2].partition("</script>")[0]
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.fixture(scope="module")
def pair() -> Results:
    """Two flows with every series, their ratio of ACKs too, at a queue that marks, drops early and keeps an average.

    An appliance splits them.
    """
    thresholds = 'min_threshold = "5 packets", max_threshold = "15 packets"'
    queue = f'topology.bottleneck.queue={{ kind = "red", ecn = true, {thresholds} }}'
    overrides = [queue, 'tcp.ecn="request"', "tcp.ack_congestion_control=true", 'appliance=[{ node = "left" }]']
    return ackclock.run(
        ackclock.dumbbell(bottleneck="10 Mbit/s", flows="cubic,reno", duration="5 s", overrides=overrides)
    )


def test_a_page_needs_no_network_and_shows_every_panel(pair: Results, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_report([pair], page)
    text = page.read_text(encoding="utf-8")
    assert "<script src=" not in text and "<link rel=" not in text
    panels = [panel for panel in PANELS if panel.table != "media"]  # there is none here
    assert {found["key"] for found in content_of(page)["panels"]} == {panel.key for panel in panels}
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    write_report([pair], page, tmp_path / "figures")
    figures = {file.name for file in (tmp_path / "figures").iterdir()}
    assert figures == {f"{panel.key}{suffix}" for panel in panels for suffix in (".svg", ".png")}


def test_a_name_from_a_scenario_cannot_become_markup(tmp_path: Path) -> None:
    result = ackclock.run(ackclock.dumbbell(duration="1 s", name="<script>alert(1)</script>"))
    write_report([result], tmp_path / "report.html")
    assert "<script>alert(1)" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_run_without_series_says_so(tmp_path: Path) -> None:
    result = ackclock.run(ackclock.dumbbell(duration="1 s", overrides=["trace=false"]))
    write_report([result], tmp_path / "report.html")
    assert "No series were recorded" in (tmp_path / "report.html").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"\[trace\]"):
        plots.figure(result, "cwnd")


def test_many_flows_get_thin_lines_and_their_mean() -> None:
    result = ackclock.run(ackclock.dumbbell(flows=["cubic"] * 12, duration="2 s"))
    drawing = draw([result], panel("cwnd"))
    assert drawing is not None and drawing.is_crowded
    assert [line.label for line in drawing.lines if line.group < 0] == ["mean of 12"]


def test_flows_of_the_same_colour_have_another_dash() -> None:
    result = ackclock.run(ackclock.dumbbell(flows=["cubic"] * 10, duration="1 s"))
    lines = [(line.get_color(), line.get_linestyle()) for line in result.plot("flight_size").axes[0].get_lines()]
    assert len(lines) == 10 == len(set(lines))


def test_runs_are_told_apart(pair: Results) -> None:
    drawing = draw([pair, pair], panel("flight_size"))
    assert drawing is not None
    assert len({line.label for line in drawing.lines}) == 4


def test_an_unknown_plot_names_those_there_are(pair: Results) -> None:
    with pytest.raises(KeyError, match="cwnd"):
        pair.plot("windwo")


def test_thinning_keeps_the_extremes_and_the_mean() -> None:
    time_s = np.arange(10_000.0)
    values = np.zeros(10_000)
    values[1234], values[7777] = 5.0, -5.0
    _, thinned = extremes_per_bucket(time_s, values, 100)
    assert thinned.size <= 200 and thinned.max() == 5.0 and thinned.min() == -5.0
    _, means = mean_per_bucket(time_s, np.arange(10_000.0), 100)
    assert means.size == 100 and means.mean() == pytest.approx(4999.5)


def test_jains_index_of_the_dqn_papers_table() -> None:
    # 53.60 and 43.19 Mbit/s: 0.9886 (Seo and Cho 2024, table 6)
    assert jain_fairness(np.array([53.60, 43.19])) == pytest.approx(0.9886, abs=5e-5)


def test_an_arbitrarily_high_ssthresh_does_not_flatten_cwnd() -> None:
    high = ["tcp.initial_ssthresh='1 GB'", "tcp.window_scaling=true"]
    drawing = draw([ackclock.run(ackclock.dumbbell(flows="reno", duration="2 s", overrides=high))], panel("cwnd"))
    assert drawing is not None and drawing.top is not None
    cwnd = max(float(line.values.max()) for line in drawing.lines if line.column.name == "cwnd_bytes")
    assert cwnd <= drawing.top <= 3.2 * cwnd


def test_the_time_axis_ends_soon_after_the_last_file() -> None:
    scenario = ackclock.dumbbell(duration="60 s", overrides=["flow[0].app={ kind = 'file', size = '1 MB' }"])
    result = ackclock.run(scenario)
    drawing = draw([result], panel("cwnd"))
    assert drawing is not None
    assert drawing.end_s == pytest.approx(1.05 * result.summary["flows"][0]["completion_s"])


def test_runs_of_one_name_have_headings_of_their_own(pair: Results, tmp_path: Path) -> None:
    write_report([pair, pair], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(f"<h2>{pair.name} ({position})</h2>" in text for position in (1, 2))
