"""Representations that IPython asks for in a notebook, tested without a notebook."""

import json
import struct
from base64 import b64decode
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest

import ackclock
from ackclock.plotting import notebook, plots, sparks
from ackclock.plotting.figures.theme import COLOURS
from ackclock.plotting.network_picture import of_network
from ackclock.plotting.result_panels import PANELS
from ackclock.scenario.example_files import FOLDER as SCENARIOS
from conftest import Cli

_PNG = b"\x89PNG\r\n\x1a\n"


def test_results_are_tables_of_what_was_run(results: ackclock.Results) -> None:
    shown = results._repr_html_()
    assert (
        "<b>two flows</b>: 2 s, seed 7, dumbbell of 10 Mbit/s, delay 10 ms, drop_tail, TCP profile linux-6.x, Jain"
        in shown
    )
    assert shown.count("<table>") == 2
    for name, controller in (("new", "cubic"), ("old", "reno")):
        assert f'<tr><td class="word">{name}</td><td class="word">{controller}</td>' in shown
    assert '<td class="word">bottleneck</td>' in shown
    assert len(shown) < 15_000


def test_many_flows_are_a_table_of_a_few() -> None:
    results = ackclock.run(ackclock.dumbbell(flows=["reno"] * 12, duration="1 s"))
    assert "2 more in summary.json" in results._repr_html_()


def test_names_are_escaped() -> None:
    results = ackclock.run(ackclock.dumbbell(flows=[{"name": "<b>"}], duration="1 s"))
    assert ">&lt;b&gt;</td>" in results._repr_html_()


def test_the_tcp_profile_is_told(results: ackclock.Results) -> None:
    flows = [
        flow | {"profile": profile} for flow, profile in zip(results.summary["flows"], ["rfc", "bsd-4.3"], strict=True)
    ]
    scenario = {"topology": {"kind": "chain"}}
    shown = notebook.html({**results.summary, "flows": flows}, {**results.manifest, "scenario": scenario})
    assert "seed 7, chain, TCP profile rfc and bsd-4.3, Jain" in shown


def test_windows_and_queue_are_drawn_beside_the_tables(results: ackclock.Results) -> None:
    picture = ElementTree.fromstring(sparks.of_results(results))
    lines = picture.findall("polyline")
    assert [line.get("stroke") for line in lines] == [COLOURS[0], COLOURS[1], COLOURS[0]]  # two windows, a queue
    places = [tuple(map(float, point.split(","))) for point in (lines[2].get("points") or "").split()]
    # the queue is in the second row, from 100 to 184, and is full (20 packets) in slow start: the line reaches the top
    assert min(y for _, y in places) == 100
    assert max(y for _, y in places) == 184
    assert "20" in [text.text for text in picture.findall("text")]


def test_runs_without_series_and_with_many_flows_have_no_picture() -> None:
    bare = ackclock.dumbbell(duration="1 s", overrides=["trace=false"])
    assert sparks.of_results(ackclock.run(bare)) == ""
    assert sparks.of_results(ackclock.run(ackclock.dumbbell(flows="reno*11", duration="100 ms"))) == ""


def test_a_scenario_is_its_network_and_its_flows() -> None:
    flows = [{"name": "<a>", "controller": {"kind": "vegas", "alpha": 1}}, {"controller": "reno", "start": "1 s"}]
    shown = notebook.scenario_html(ackclock.dumbbell(bottleneck="10M", rtt="40 ms", queue="codel", flows=flows))
    assert "dumbbell of 10 Mbit/s, delay 20 ms, codel" in shown
    assert '<td class="word">&lt;a&gt;</td><td>vegas</td>' in shown
    assert '<td class="word">reno</td><td>reno</td><td>as much as it can</td><td>1 s</td>' in shown
    picture = ElementTree.fromstring(shown[shown.index("<svg") : shown.index("</svg>") + 6])
    assert [text.text for text in picture.findall("text")] == ["<a>", "reno", "10 Mbit/s, 20 ms", "codel"]


def _texts(name: str, *overrides: str) -> list[str | None]:
    scenario = ackclock.Scenario.load(str(SCENARIOS / f"{name}.toml"), list(overrides))
    picture = of_network(json.loads(scenario.to_json()), scenario.flow_names)
    return [text.text for text in ElementTree.fromstring(picture).findall("text")]


def test_a_network_of_another_kind_is_its_nodes_and_links() -> None:
    lot = ["H1", "R1", "R2", "R3", "H2", "R4", "H3", "H4"]  # by their hops from H1
    assert _texts("parking-lot") == [*["20 Mbit/s, 5 ms"] * 3, *["100 Mbit/s, 1 ms"] * 4, *lot]
    chain = ["Server", "Discarder_1", "Discarder_2", "STA"]
    assert _texts("opnet") == [*["44.736 Mbit/s, 8.333 ms"] * 3, *chain]
    star = ["host1", "hub", "host2", "host3", "host4", "host5", "and 12 more"]
    assert _texts("incast")[-7:] == star
    one_by_one = ["10 ms", "5 ms"]
    assert [text.partition(", ")[2] for text in _texts("asymmetric") if text and ", " in text] == one_by_one


def test_a_network_of_very_many_nodes_has_its_table_alone() -> None:
    shown = notebook.scenario_html(ackclock.Scenario.load(str(SCENARIOS / "parking-lot.toml"), ["topology.hops=15"]))
    assert "<svg" not in shown
    assert "<table>" in shown


def test_the_picture_of_a_network_is_a_file_too(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "lot.svg"
    for _ in range(2):  # the second one replaces what ackclock wrote
        done = cli("plot", SCENARIOS / "parking-lot.toml", "-o", file)
        assert (done.returncode, done.stdout) == (0, f"{file}\n"), done.stderr
    assert ElementTree.parse(file).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert "as .svg" in cli("plot", SCENARIOS / "parking-lot.toml", "-o", "lot.pdf").stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [("--figure", "shares"), ("--colour", "rtt"), ("--panel", "rtt"), ("--style", "rtt"), ("--only", "rtt=1 ms"),
     ("--label", "reno=R"), ("--beside", "curves.csv"), ("--width", "5")],
)  # fmt: skip
def test_the_picture_of_a_network_has_no_options_of_figures(option: str, value: str, tmp_path: Path, cli: Cli) -> None:
    done = cli("plot", SCENARIOS / "parking-lot.toml", "-o", tmp_path / "lot.svg", option, value)
    assert done.returncode == 2 and f"{option}: needs the folder of results" in done.stderr
    assert not (tmp_path / "lot.svg").exists()


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_every_example_can_be_shown(file: Path) -> None:
    ElementTree.fromstring(notebook.scenario_html(ackclock.Scenario.load(str(file))).partition("</style>")[2])


def test_the_core_shows_a_scenario_so() -> None:
    scenario = ackclock.dumbbell(flows="cubic,reno")
    assert scenario._repr_html_() == notebook.scenario_html(scenario)


def test_a_study_is_its_table_and_its_first_figure() -> None:
    study = ackclock.study(
        {
            "controllers": ["reno"],
            "line_ups": ["alone"],
            "seeds": 2,
            "duration": "1 s",
            "path": {"rate": "10M", "rtt": "20 ms"},
        }
    )
    shown = study._repr_html_()
    assert "<table" in shown
    data = shown.split("base64,")[1].split('"')[0]
    assert b64decode(data).startswith(_PNG)


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


def test_packets_are_ticked_in_whole_numbers() -> None:
    """A queue of 10 packets: by itself Matplotlib would tick it at 0, 2.5, 5, 7.5 and 10."""
    path = ackclock.dumbbell(bottleneck="10 Mbit/s", rtt="20 ms", flows="reno", queue="10 packets", duration="5 s")
    results = ackclock.run(path)
    figure = plots.figure(results, "queue")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    ticks = [float(tick) for tick in axes.get_yticks()]
    assert max(ticks) >= 8 and all(tick.is_integer() for tick in ticks), ticks


def test_every_series_is_named() -> None:
    assert get_args(plots.SeriesName) == (*(panel.key for panel in PANELS), plots.SLOWDOWN)
