"""Evolving a policy: the search, what a path pays, and a short training that repeats to the byte."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from ackclock_studies.learned.evolve import network
from ackclock_studies.learned.evolve.paths import Family, families
from ackclock_studies.learned.evolve.search import Matrix, Plan, Rates, Search, Vector
from ackclock_studies.learned.evolve.training import CHOOSING_SEEDS, Course, Runner, _seeds, learn
from ackclock_studies.learned.evolve.worth import Worth
from ackclock_studies.learned.outcome import Link, figures_of

from ackclock import Scenario
from networks import dumbbell

ROOT = Path(__file__).parents[2]
LINK = Link(capacity_bps=10e6, base_rtt_s=0.1)
PATHS = f"""
duration = "2 s"
{dumbbell('rate = { uniform = ["4 Mbit/s", "8 Mbit/s"] }, delay = "9 ms"', "0.5 ms")}
[[flow]]
name = "learner"
controller = "cubic"
"""


def test_a_search_climbs_to_where_the_worth_is_greatest() -> None:
    """Two paths with their top at (1, -2, 0.5), the second a hundred times as steep, as is one axis of each."""
    top = np.array([1.0, -2.0, 0.5])

    def worths(candidates: Sequence[Vector]) -> Matrix:
        squares = [float(((candidate - top) ** 2 * [1.0, 1.0, 100.0]).sum()) for candidate in candidates]
        return np.array([[-square, 7.0 - 100.0 * square] for square in squares])

    search, twin = (Search(Plan(candidates=8, deviation=0.3, generations=100), 3, np.zeros(3)) for _ in range(2))
    for _ in range(100):
        search.step(worths)
    assert np.abs(search.mean - top).max() < 1e-3
    assert search.deviation < 0.03
    for _ in range(100):
        twin.step(worths)
    assert (twin.mean == search.mean).all(), "the same seed searches alike"


def test_rates_are_those_of_the_tutorial() -> None:
    """Ten parameters, ten candidates: weights ln 5.5 - ln i over their sum 3.7362; mu_eff 1 / sum of squares = 3.1673;
    c_sigma = 5.1673 / 18.1673; c_1 = 2 / (11.3^2 + 3.1673); c_mu = 2 (1.1673 + 0.3157) / (144 + 3.1673)."""
    rates = Rates.of(10, 10)
    assert rates.weights[0] == pytest.approx(1.7047 / 3.7362, rel=1e-3)
    assert rates.mass == pytest.approx(3.1673, rel=1e-3)
    assert rates.step_path == pytest.approx(0.28443, rel=1e-3)
    assert rates.one == pytest.approx(0.015284, rel=1e-3)
    assert rates.mu == pytest.approx(0.020154, rel=1e-3)


def flow(goodput: float, rtt_ms: float, sent: int, lost: int) -> dict[str, object]:
    rtt = {"mean": rtt_ms, "p95": 2 * rtt_ms}
    return {"goodput_bps": goodput, "rtt_ms": rtt, "sent_segments": sent, "lost_segments": lost}


def test_figures_of_one_flow_by_hand() -> None:
    """8 of 10 Mbit/s; 120 ms where propagation takes 100: a fifth; 1 of 100 lost."""
    found = figures_of("alone", {"flows": [flow(8e6, 120.0, 100, 1)]}, LINK)
    assert (found.goodput, found.loss) == (0.8, 0.01)
    assert found.delay == pytest.approx(0.2)
    assert found.delay_p95 == pytest.approx(1.4)
    worth = Worth(delay_weight=0.5, loss_weight=5.0).of(found)
    assert worth == pytest.approx(math.log(0.8) - 0.5 * math.log(1.2) - 0.05)


def test_beside_cubic_more_than_half_is_worth_nothing_more() -> None:
    flows = {share: {"flows": [flow(share * 5e6, 100.0, 9, 0), flow(4e6, 100.0, 9, 0)]} for share in (0.5, 1.0, 1.8)}
    found = {share: figures_of("cubic", summary, LINK) for share, summary in flows.items()}
    assert [figures.goodput for figures in found.values()] == pytest.approx([0.5, 1.0, 1.8])
    assert found[0.5].other == pytest.approx(0.8)
    worth = {share: Worth().of(figures) for share, figures in found.items()}
    assert worth[1.0] == worth[1.8] == 0.0
    assert worth[0.5] == pytest.approx(math.log(0.5))


def test_two_of_a_kind_are_paid_for_sharing() -> None:
    """6 and 2 Mbit/s: 0.8 of the link, Jain's index 8^2 / (2 * 40); the logarithms of 1.2 and 0.4."""
    found = figures_of("own", {"flows": [flow(6e6, 100.0, 9, 0), flow(2e6, 100.0, 9, 0)]}, LINK)
    assert (found.goodput, found.jain, found.worst) == pytest.approx((0.8, 0.8, 0.4))
    assert Worth().of(found) == pytest.approx((math.log(1.2) + math.log(0.4)) / 2)


def test_a_flow_without_an_answer_is_worth_little_and_no_error() -> None:
    silent = {"goodput_bps": 0.0, "rtt_ms": None, "sent_segments": 10, "lost_segments": 10}
    found = figures_of("alone", {"flows": [silent]}, LINK)
    assert (found.goodput, found.delay, found.loss) == (0.0, 0.0, 1.0)
    assert Worth().of(found) == pytest.approx(math.log(0.01) - 5.0)


@pytest.mark.parametrize(
    ("rate", "mean_bps"),
    [
        ("20 Mbit/s", 20e6),
        # 3 s of 10 and 7 s of 20 Mbit/s
        ({"schedule": [{"at": "0 ns", "rate": "10 Mbit/s"}, {"at": "3 s", "rate": "20 Mbit/s"}]}, 17e6),
        # Twice 4 s, and 2 s more: 10, 20, 10, 20, 10 Mbit/s for 2 s each
        (
            {"repeat": "4 s", "schedule": [{"at": "0 s", "rate": "10 Mbit/s"}, {"at": "2 s", "rate": "20 Mbit/s"}]},
            14e6,
        ),
        # Three lines in 4000 ms: six by 8 s, one more by 10 s; 1500 octets each
        ({"instants": "1000 3000 4000"}, 7 * 12000 / 10),
    ],
)
def test_the_capacity_of_a_path_is_the_mean_rate_of_its_bottleneck(rate: object, mean_bps: float) -> None:
    bottleneck = {"rate": rate, "delay": "48 ms"}
    topology = {"access": {"rate": "1 Gbit/s", "delay": "1 ms"}, "bottleneck": bottleneck}
    link = Link.of({"topology": topology}, 10.0)
    assert link.capacity_bps == pytest.approx(mean_bps)
    assert link.base_rtt_s == pytest.approx(0.1)  # (1 + 48 + 1) ms, twice


def test_the_network_is_the_rule_and_the_hinge() -> None:
    """Rule and hinge by themselves, on inputs whose sizes are the cosines of 0, 1, 2, ...: below and above the bend."""
    sizes = np.cos(np.arange(len(network.INPUTS)))
    middles, widths = np.array(list(network.INPUTS.values())).T
    rule, hinge = np.linspace(-1.0, 1.0, sizes.size + 1), np.linspace(1.0, -0.5, sizes.size + 1)
    for sign in (1.0, -1.0):
        (hidden, biases), (outputs, last) = network.layers(np.concatenate([rule, sign * hinge]))
        sums = np.array(hidden) @ (middles + widths * sizes) + np.array(biases)
        action = np.array(outputs[0]) @ np.maximum(sums, 0.0) + last[0]
        bent = max(sign * (hinge[:-1] @ sizes + hinge[-1]), 0.0)
        assert action == pytest.approx(rule[:-1] @ sizes + rule[-1] + bent)


def test_no_path_is_met_twice_nor_chosen_by() -> None:
    plan = Plan(generations=3)
    met = [
        seed
        for course in (Course(plan, Worth(), 4, 1), Course(plan, Worth(), 4, 2))
        for generation in range(3)
        for seed in _seeds(course, generation)
    ]
    assert len(met) == 2 * 3 * 4 == len(set(met))
    assert set(met).isdisjoint(CHOOSING_SEEDS)
    with pytest.raises(ValueError, match="seed = 100"):
        _seeds(Course(plan, Worth(), 4, 100), 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--candidates", "1"], "candidates = 1: must be a whole number from 2"),
        (["--generations", "-1"], "generations = -1: must be"),
        (["--deviation", "nan"], "deviation = nan: must be a number"),
        (["--tie", "-1"], "tie = -1.0: must be a number from 0"),
        (["--delay-weight", "nan"], "delay_weight = nan: must be"),
        (["--paths", "0"], "paths = 0: must be a whole number from 1"),
        (["--seed", "-1"], "seed = -1: must be"),
        (["--seed", "100000"], "seed = 100000: must be a whole number from 0 to 49"),
        (["--processes", "0"], "processes = 0: must be a whole number from 1"),
        (["--families", "foo"], "families: unknown 'foo'; there are alone"),
    ],
)
def test_a_number_that_no_search_could_go_by_is_refused(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from ackclock_studies.learned.evolve.__main__ import main

    monkeypatch.setattr("sys.argv", ["evolve", str(tmp_path), "-o", str(tmp_path / "out"), *arguments])
    with pytest.raises(SystemExit):
        main()
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.fixture
def paths(tmp_path: Path) -> list[Family]:
    (tmp_path / "alone.toml").write_text(PATHS)
    return families(tmp_path, ["alone"])


def test_a_controller_is_the_same_on_a_drawn_path_as_on_the_template(paths: list[Family]) -> None:
    (family,) = paths
    (found,) = family.run("reno", [5])
    from ackclock import run

    results = run(Scenario.load(str(family.file), ['flow.learner.controller="reno"']).draw(5))
    assert found == figures_of("alone", results.summary, family.path(5).link)


def test_a_short_training_repeats_to_the_byte(paths: list[Family], tmp_path: Path) -> None:
    course = Course(Plan(candidates=4, generations=2), Worth(), 1, 1)
    first = learn(paths, course, tmp_path / "first")
    learn(paths, course, tmp_path / "second", processes=2)
    names = ["policy.onnx", "parameters.json"]
    for name in names:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
    record = json.loads((tmp_path / "first" / "curve.json").read_text())
    assert [row["generation"] for row in record["curve"]] == [0, 2]
    assert record["best"] == max(row["worth"] for row in record["curve"]) == first.value


def test_a_candidate_runs_from_its_file(paths: list[Family]) -> None:
    """One that always asks for more fills any queue until it overflows; one that always asks for less hardly sends."""
    greedy, shy = (np.zeros(network.PARAMETERS) for _ in range(2))
    bias = len(network.INPUTS)
    greedy[bias], shy[bias] = 0.2, -1.0
    ((full,), (empty,)) = Runner(paths, Course(Plan(), Worth(), 1, 1)).figures([greedy, shy], [1])
    assert full.delay > 0.2
    assert full.loss > 0.1
    # Two segments of 1448 octets in 20 ms: 1.16 Mbit/s of at least 4
    assert empty.goodput < 0.3
    assert empty.loss < 0.05, "only the first window of ten can overflow it"


def test_recorded_traces_are_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACKCLOCK_TRACES", raising=False)
    (tmp_path / "own.toml").write_text(
        PATHS.replace('uniform = ["4 Mbit/s", "8 Mbit/s"]', 'trace = { choice = ["a.down"] }')
    )
    with pytest.raises(LookupError, match="ACKCLOCK_TRACES"):
        families(tmp_path, ["own"])[0].path(1)
