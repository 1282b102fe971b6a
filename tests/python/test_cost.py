"""`benches/engine/cost.py`: the points, and the formula that is fitted to them."""

import json
from pathlib import Path
from typing import Any

import cost as command
import pytest
from cost_model import FlowCost, PacketCost, fit, packet_costs
from cost_points import POINTS, Point, shared, window
from plugins import PluginCost

ENGINE = Path(__file__).parents[2] / "benches" / "engine"


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_every_point_is_a_valid_scenario_that_lasts_long_enough(point: Point) -> None:
    scenario = point.scenario()
    assert len(scenario.flow_names) == point.flows
    assert scenario.duration_s >= point.to_s()


def test_the_points_have_names_of_their_own() -> None:
    assert len({point.name for point in POINTS}) == len(POINTS)


@pytest.mark.alone
def test_a_point_delivers_the_packets_that_its_rate_allows() -> None:
    (of_ten, of_window) = packet_costs([shared("flows", "10", flows=10), window(100, 0.0)], rounds=1)
    # 10 flows of 10 Mbit/s are 8,333 packets of 1500 octets a second: 36 s for 300,000, at most. CUBIC over a queue of
    # one BDP fills nearly all of it.
    assert 0.95 * 300_000 < of_ten.packets < 1.001 * 300_000
    # A window of 100 segments each 20 ms: 5,000 a second, less the 12 us that a packet waits for its own 100 Gbit/s.
    assert of_window.packets == pytest.approx(300_000, rel=0.01)
    assert 2 < of_window.events_per_packet < 4
    assert 0 < of_ten.ns_least <= of_ten.ns_per_packet <= of_ten.ns_most


def _cost(flows: int, events: float, ns: float, *, queues_by_flow: bool = False) -> PacketCost:
    return PacketCost("flows", str(flows), flows, queues_by_flow, 1_000, events, ns, ns, ns)


def test_the_fit_finds_the_formula_behind_exact_points() -> None:
    # 40 ns, 50 for each event, 60 for each tenfold of the flows, 700 for a queue by flow
    costs = [_cost(1, 3.0, 190.0), _cost(1, 4.0, 240.0), _cost(100, 3.0, 310.0), _cost(1_000, 5.0, 470.0)]
    model = fit([*costs, _cost(10, 6.0, 1_100.0, queues_by_flow=True)])
    assert (model.packet_ns, model.event_ns, model.tenfold_ns) == pytest.approx((40.0, 50.0, 60.0))
    assert model.queue_by_flow_ns == pytest.approx(700.0)
    assert model.worst == pytest.approx(0.0, abs=1e-9)
    assert model.ns_per_packet(_cost(10_000, 2.0, 0.0)) == pytest.approx(380.0)


def test_the_fit_says_how_far_it_is_off() -> None:
    # Two points that differ in nothing: by relative deviation the best x has 1/100 (x/100 - 1) + 1/300 (x/300 - 1) = 0,
    # which is 120: 20 % above one, 60 % below the other.
    model = fit([_cost(1, 1.0, 100.0), _cost(1, 1.0, 300.0)])
    assert model.ns_per_packet(_cost(1, 1.0, 0.0)) == pytest.approx(120.0)
    assert model.worst == pytest.approx(0.6)


def test_the_command_prints_a_table_a_formula_and_json(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    measured = [_cost(1, 3.0, 190.0), _cost(10, 3.0, 250.0), _cost(100, 5.0, 410.0), _cost(1_000, 3.0, 370.0)]
    monkeypatch.setattr(command, "packet_costs", lambda: measured)
    monkeypatch.setattr(command, "flow_cost", lambda: FlowCost(50.0, 40.0, 13_000.0, 32_000.0, 390.0, 22_000.0))
    monkeypatch.setattr(command, "cannot_count", lambda: "")
    monkeypatch.setattr(command, "processor", lambda: "a processor")
    monkeypatch.setattr(command, "count", lambda _module: {"flows/1": 3_424.0})
    command.main(as_json=False)
    said = capsys.readouterr().out
    assert "3,424" in said
    assert "ns a packet = 40 + 50 x events a packet + 60 x log10(flows)" in said
    assert "set-up of a flow 50.0 µs" in said
    command.main(as_json=True)
    figures = json.loads(capsys.readouterr().out)
    assert figures["model"]["event_ns"] == pytest.approx(50.0)
    assert figures["packets"][0]["ns_per_packet"] == 190.0
    assert figures["machine"]["processor"] == "a processor"


def test_what_a_plugin_costs_is_told_of_pairs() -> None:
    cost = PluginCost("queue", built_in_ns=(100.0, 200.0, 100.0), loaded_ns=(110.0, 260.0, 140.0))
    assert cost.ratios == pytest.approx([1.1, 1.3, 1.4])
    assert (cost.median, cost.more_ns) == (pytest.approx(1.3), 40.0)  # 10, 60 and 40 ns more
