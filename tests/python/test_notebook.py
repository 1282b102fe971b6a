"""What a notebook shows, without one: the representations that IPython asks for."""

import struct
from typing import get_args

import ackclock
from ackclock import notebook, plots
from ackclock.panels import PANELS

_PNG = b"\x89PNG\r\n\x1a\n"


def test_results_are_tables_of_what_was_run(results: ackclock.Results) -> None:
    shown = results._repr_html_()
    assert (
        "<b>two flows</b>: 2 s, seed 7, dumbbell of 10 Mbit/s, delay 10 ms, drop_tail, TCP profile rfc, Jain index"
        in shown
    )
    assert shown.count("<table>") == 2
    for name, controller in (("new", "cubic"), ("old", "reno")):
        assert f'<tr><td class="word">{name}</td><td>{controller}</td>' in shown
    assert '<td class="word">bottleneck</td>' in shown
    assert len(shown) < 5_000


def test_many_flows_are_a_table_of_a_few() -> None:
    results = ackclock.run(ackclock.dumbbell(flows=["reno"] * 12, duration="1 s"))
    assert "2 more in summary.json" in results._repr_html_()


def test_names_are_escaped() -> None:
    results = ackclock.run(ackclock.dumbbell(flows=[{"name": "<b>"}], duration="1 s"))
    assert ">&lt;b&gt;</td>" in results._repr_html_()


def test_the_tcp_profile_is_told(results: ackclock.Results) -> None:
    scenario = {"topology": {"kind": "chain"}, "tcp": {"profile": "linux-6.x"}}
    shown = notebook.html(results.summary, {**results.manifest, "scenario": scenario})
    assert "seed 7, chain, TCP profile linux-6.x, Jain" in shown


def test_results_say_what_they_are_of(results: ackclock.Results) -> None:
    assert repr(results) == '<Results "two flows": 2 flows, 10 links, 2 s, seed 7>'


def test_a_scenario_says_what_it_is() -> None:
    scenario = ackclock.Scenario.from_json(ackclock.dumbbell(flows="cubic,reno").to_json(), ["name=two", "seed=3"])
    # a dumbbell has links of both directions: one between its routers, and one for each of four hosts
    assert repr(scenario) == '<Scenario "two": 2 flows, 10 links, 50 s, seed 3>'


def test_a_figure_is_a_picture_of_its_size(results: ackclock.Results) -> None:
    content, shown = plots.figure(results, "rtt")._repr_png_()
    assert content.startswith(_PNG)
    assert shown == {"width": 528, "height": 336}  # 3.3 by 2.1 inches of 160 pixels
    assert struct.unpack(">II", content[16:24]) == (1056, 672)  # in the picture's header: twice as fine


def test_every_series_is_named() -> None:
    assert get_args(plots.SeriesName) == (*(panel.key for panel in PANELS), plots.SLOWDOWN)
