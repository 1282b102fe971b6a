"""`ackclock attack`: the planted weaknesses are found, and those of the literature; cases are small, hold and replay.

Literature: Kuzmanovic and Knightly, SIGCOMM 2003 (pulses with the period of the least RTO); Hock, Bless, Zitterbart,
ICNP 2017 (BBRv1 in shallow buffers); Brakmo and Peterson, JSAC 13(8), 1995, and Mo et al., INFOCOM 1999 (Vegas); Arun
and Balakrishnan, NSDI 2018, section 6 (modes of Copa).
"""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import command_line
from ackclock import _core
from ackclock.base.input_files import InputError
from ackclock.cli import attack as command
from ackclock.experiments.attack import attack_bounds as bounds
from ackclock.experiments.attack import attack_search as search
from ackclock.experiments.attack import case_network, goal_scores
from ackclock.experiments.attack.attack_bounds import Bounds, Range
from ackclock.experiments.attack.attack_files import files, scenario_tree
from ackclock.experiments.attack.attack_search import Weakness
from ackclock.experiments.attack.goal_scores import FAIR_SHARE, GOALS
from ackclock.experiments.attack.laboratory import Laboratory
from ackclock.running import run, simulate

ROOT = Path(__file__).parents[2]
DEFAULT = bounds.read()

PATH = {"rate": 20e6, "rtt": 0.04, "buffer": 0.2, "queue": "drop_tail", "flows": 1, "gap": 0.0}
SHREW = {"path": PATH, "pulse": {"rate": 3.0, "length": 0.1, "period": 1.0}}

FIXED = {"kind": "fixed", "window": "40 segments"}
"""Planted weakness: 40 segments a round trip, whatever the path."""

SHORT = """
duration = "8 s"
measure_from = "2 s"
path.rate = ["1 Mbit/s", "10 Mbit/s"]
"""
"""Bounds within which a run takes milliseconds."""

SHREW_BOUNDS = """
[tcp]
rto = { min = "1 s" }
[path]
rate = "10 Mbit/s"
rtt = ["20 ms", "100 ms"]
buffer = ["0.3 bdp", "2 bdp"]
queue = "drop_tail"
flows = 1
[pulse]
rate = [0.5, 1.5]
length = ["20 ms", "100 ms"]
period = ["900 ms", "3 s"]
"""


def _found(controller: Any, goal: str = "goodput", *, budget: int = 600, text: str = "", **rest: Any) -> list[Weakness]:
    """Search, and return the cases that hold."""
    only = rest.pop("only", None)
    limits = _bounds(text).with_flows(GOALS[goal].flows)
    laboratory = Laboratory(controller, goal, limits if only is None else limits.only(only), budget=budget, **rest)
    found = [one for one in search.search(laboratory) if one.holds]
    assert laboratory.runs <= budget
    return found


def _bounds(text: str) -> Bounds:
    if not text:
        return DEFAULT
    file = Path("bounds.toml")
    file.write_text(text, encoding="utf-8")
    return bounds.read(file)


@pytest.fixture(autouse=True)
def _workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# ---- the space ------------------------------------------------------------------------------------------------------


def test_a_place_in_a_range_is_a_value_in_it() -> None:
    """Half way by the logarithm from 1 to 100 is 10; each whole number from 1 to 4 has a quarter."""
    assert [Range(1.0, 100.0).at(place) for place in (0.0, 0.5, 1.0)] == [1.0, 10.0, 100.0]
    assert [Range(1, 4, is_whole=True).at(place) for place in (0.0, 0.24, 0.26, 0.99, 1.0)] == [1, 1, 2, 4, 4]
    assert Range(0.0, 2.0).at(0.123) == 0.25
    for of in (Range(0.02, 7.0), Range(0.0, 3.0), Range(1, 8, is_whole=True)):
        values = [of.at(place / 20) for place in range(21)]
        assert [of.at(of.place_of(value)) for value in values] == pytest.approx(values, rel=0.02)


def test_a_case_is_said_as_a_person_would() -> None:
    assert case_network.words(SHREW) == ("20 Mbit/s, 40 ms, buffer 0.2 BDP, pulse of 60 Mbit/s for 100 ms each 1 s")
    link = case_network.document(SHREW, DEFAULT, "reno", 1, "x")["topology"]["bottleneck"]
    assert link == {"rate": "20 Mbit/s", "delay": "20 ms", "queue": {"kind": "drop_tail", "limit": "0.2 bdp"}}


def test_a_buffer_keeps_its_size_beside_a_longer_delay_and_on_a_thin_path() -> None:
    """0.2 x 20 Mbit/s x 40 ms = 20,000 octets, 13 packets of 1500; a limit in bdp would count the longest delay."""
    step = {"path": PATH, "delay_step": {"by": 0.1, "at": 2.0, "lasts": 1.0}}
    thin = {"path": PATH | {"rate": 1e6}}
    limits = [
        case_network.document(case, DEFAULT, "reno", 1, "x")["topology"]["bottleneck"]["queue"]["limit"]
        for case in (step, thin)
    ]
    assert limits == ["13 packets", "4 packets"]
    assert case_network.words(thin) == "1 Mbit/s, 40 ms, buffer 4 packets"


@pytest.mark.parametrize("ingredient", DEFAULT.ingredients)
def test_random_cases_are_scenarios_and_every_ingredient_has_words(ingredient: str) -> None:
    draw = random.Random(ingredient)
    for _ in range(20):
        case = search.drawn(DEFAULT, draw, ingredient)
        assert ingredient in case and "path" in case and len(case) <= 5
        case_network.scenario(case, DEFAULT, "cubic", 1)
        without = {name: of for name, of in case.items() if name != ingredient}
        replaced = ingredient == "path" or (ingredient == "loss" and "burst_loss" in case)
        assert replaced or case_network.words(case) != case_network.words(without)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('path.rate = "fast"', 'path.rate must be a range such as ["1 Mbit/s", "20 Mbit/s"] or one value'),
        ('path.rate = ["5 Mbit/s", "1 Mbit/s"]', "the lowest value stands first; write ['1 Mbit/s', '5 Mbit/s']"),
        ("path.flows = 1.5", "path.flows must be whole numbers from 1 on, and is 1.5"),
        ('path.queue = "pie"', "path.queue must be some of drop_tail, codel, fq_codel, and is 'pie'"),
        ("puls.rate = 1", 'unknown key "puls"; did you mean "pulse"?'),
        ("pulse.rat = 1", 'unknown key "pulse.rat"; did you mean "pulse.rate"?'),
        ("path = 3", "path must be a table"),
        ('duration = "3 s"', "measure_from must be below duration, 3 s, and is 5 s"),
        ("duration = 3", 'duration and measure_from must be durations such as "20 s"'),
        ("loss.p = [0.1, 2.0]", "loss: topology.bottleneck.loss.p must be at least 0 and at most 1"),
        ('tcp.profile = "vms"', "path: tcp.profile"),
        ("[burst_loss]\nshare = [0.3, 0.9]\nlength = [1, 10]", "burst_loss: topology.bottleneck.loss"),
        ('path.rtt = ["0 ms", "10 ms"]', 'path.rtt must be above 0 s; write ["1 ms", "200 ms"]'),
    ],
)
def test_a_mistake_in_bounds_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError) as found:
        search.check(_bounds(text))
    assert message in str(found.value)


# ---- scores, by hand ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "own", "reference", "score"),
    [
        ("goodput", 0.2, 0.8, 0.75),
        ("goodput", 0.0, 0.04, None),  # a path on which nothing gets through says nothing
        ("loss", 0.12, 0.02, 0.1),
        ("delay", 3.0, 1.0, 2.0),
        ("fairness", 0.5, 0.9, 0.4),
        ("harm", 0.8, 0.5, 0.3),
        ("stall", 4.0, 1.0, 3.0),
        ("invariant", 1.0, 0.0, 1.0),
    ],
)
def test_scores(goal: str, own: float, reference: float, score: float | None) -> None:
    assert GOALS[goal].score(own, reference) == (None if score is None else pytest.approx(score))


def test_the_fair_share_is_what_others_leave() -> None:
    """Pulses of 60 Mbit/s for a tenth of the time take 6 of 20; short flows a tenth; one of two long flows has half."""
    case = SHREW | {"cubic": {"flows": 1}, "short_flows": {"load": 0.1}}
    summary: Any = {"datagrams": [{"sent_bps": 6e6}]}
    assert goal_scores.fair_share(case, DEFAULT, summary) == pytest.approx((1 - 0.3 - 0.1) / 2)


def test_short_flows_take_a_part_of_the_full_rate() -> None:
    """By hand: a load of 0.3 of 20 Mbit/s takes 6 of the 15 Mbit/s that the link has on average."""
    case = {"path": PATH, "rate_steps": {"share": 0.5, "period": 5.0, "part": 0.5}, "short_flows": {"load": 0.3}}
    summary: Any = {}
    assert goal_scores.fair_share(case, DEFAULT, summary) == pytest.approx(1 - 6 / 15)


def test_a_dead_link_has_no_score() -> None:
    """The link is dead from 0.4 s to 40 s, and measured from 5 s to 20 s: nothing is a share of nothing."""
    case = {"path": PATH, "rate_steps": {"share": 0.0, "period": 40.0, "part": 0.99}}
    for against in ("cubic", FAIR_SHARE):
        assert Laboratory("reno", "goodput", DEFAULT, against).scores([case]) == [None]


def test_a_stall_is_as_long_as_nothing_arrives() -> None:
    """The link is dead for 3 s from 8 s on; the RTO doubles, so that the flow sends again after 3 s more at most."""
    steps = {"share": 0.0, "period": 11.0, "part": 3 / 11}
    case = {"path": PATH, "rate_steps": steps}
    scenario = case_network.scenario(case, DEFAULT, "reno", 1, trace=goal_scores.trace_of("stall"))
    stall = json.loads(goal_scores.with_stall(scenario.to_json(), "."))["stall_s"]
    assert 2.9 <= stall <= 6.1


def test_an_invariant_is_broken_by_chance_and_by_code_that_fails() -> None:
    head = "import random\nfrom ackclock.scenario.reno import Reno\nclass Mine(Reno):\n    def on_ack(self, ack):\n"
    chance = "        self.cwnd_bytes = random.randrange(2, 90) * self.mss\n"
    Path("by_chance.py").write_text(head + chance, encoding="utf-8")
    Path("by_failing.py").write_text(head + "        raise ZeroDivisionError\n", encoding="utf-8")
    found = {}
    for controller in ("reno", "python:by_chance:Mine", "python:by_failing:Mine"):
        scenario = case_network.scenario({"path": PATH | {"rate": 1e6}}, DEFAULT, controller, 1)
        found[controller] = json.loads(goal_scores.with_proof(scenario.to_json(), "."))["broken"]
    assert found["reno"] == ""
    assert found["python:by_chance:Mine"] == "two runs of the same scenario differ"
    assert found["python:by_failing:Mine"].startswith("its code failed") and "ZeroDivisionError" in str(found)


@pytest.mark.parametrize("controller", ["reno", "cubic", "bbr"])
@pytest.mark.parametrize("low", [0.05, 0.3])
def test_a_full_buffer_breaks_no_invariant(controller: str, low: float) -> None:
    """A flow receives in the measurement what a buffer of 2.5 MB held at its beginning."""
    path = PATH | {"rtt": 0.2, "buffer": 5.0}
    cases = [{"path": path, "rate_steps": {"share": low, "period": 20.0, "part": part}} for part in (0.7, 0.75, 0.8)]
    found = Laboratory(controller, "invariant", DEFAULT).scores(cases)
    assert [one and (one.score, one.note) for one in found] == [(0.0, "")] * 3


def test_laws_of_a_summary() -> None:
    flow = {"name": "own", "sent_segments": 10, "retransmitted_segments": 1, "goodput_bps": 1e6, "throughput_bps": 1e6}
    right: Any = {"links": [{"name": "bottleneck", "utilization": 1.0}], "flows": [flow]}
    assert goal_scores.law_broken(right) == ""
    assert "more than its rate" in goal_scores.law_broken(right | {"links": [{"name": "x", "utilization": 1.1}]})
    assert "in all" in goal_scores.law_broken(right | {"flows": [flow | {"retransmitted_segments": 11}]})
    assert "than was sent" in goal_scores.law_broken(right | {"flows": [flow | {"goodput_bps": 2e6}]})


# ---- the search -----------------------------------------------------------------------------------------------------


def test_a_window_that_does_not_grow_is_found_where_the_pipe_is_large() -> None:
    """By hand: 40 segments of 1448 octets in each round trip; the case has no other ingredient, and a plain path."""
    found = _found(FIXED, budget=300, text=SHORT, only=["loss", "pulse"])
    case, own = found[0].scored.case, found[0].scored.own
    assert set(case) == {"path"} and case["path"]["queue"] == "drop_tail" and case["path"]["flows"] == 1
    rate, rtt = case["path"]["rate"], case["path"]["rtt"]
    assert own == pytest.approx(40 * 1448 * 8 / rtt / rate, rel=0.05)
    assert found[0].scored.score > 0.6 and len(found[0].others) == search.SEEDS
    assert {other.seed for other in found[0].others} == {2, 3, 4, 5, 6}


def test_a_space_of_a_single_path_is_searched_too() -> None:
    """By hand: 5 segments of 1448 octets in each round trip, of 20 ms and at most five packets of 1.2 ms."""
    path = 'rate = "10 Mbit/s"\nrtt = "20 ms"\nbuffer = "1 bdp"\nqueue = "drop_tail"\nflows = 1\ngap = "0 s"\n'
    fixed = {"kind": "fixed", "window": "5 segments"}
    (found,) = _found(fixed, budget=100, text=f"[path]\n{path}", only=["path"])
    assert 5 * 1448 * 8 / 0.026 / 10e6 < found.scored.own < 5 * 1448 * 8 / 0.02 / 10e6


def test_a_search_is_repeatable_and_its_files_replay_to_the_byte(tmp_path: Path) -> None:
    _bounds(SHORT)
    words = ["attack", '{ kind = "fixed", window = "40 segments" }', "--budget", "120", "--seed", "3", "--only", "loss"]
    words += ["--bounds", "bounds.toml"]
    done = [command_line.run([*words, "-o", name, "-j", jobs, "--json"], tmp_path) for name, jobs in ("a1", "b2")]
    assert [one.returncode for one in done] == [0, 0], done[0].stderr
    assert done[0].stdout == done[1].stdout
    names = sorted(file.name for file in (tmp_path / "a").iterdir())
    assert names[:2] == ["case-1.toml", "cases.csv"]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()

    case = json.loads(done[0].stdout)["cases"][0]
    again = command_line.run(["run", "a/case-1.toml", "--json"], tmp_path)
    searched = _core.Scenario.from_json(json.dumps(case["scenario"] | {"trace": False}))
    assert json.loads(again.stdout) == json.loads(simulate(searched)[0].summary_json())


def test_an_ingredient_that_makes_no_difference_is_left_out() -> None:
    """Changes by hand: an ingredient less, the buffer of one bdp, numbers with one digit."""
    case = {"path": PATH | {"rate": 23e6}, "loss": {"p": 0.0012}}
    assert search.changes(DEFAULT, case) == [
        ("loss", {}),
        ("path", {"rate": 20e6}),
        ("path", {"buffer": 1.0}),
        ("path", {"rate": 20e6}),
        ("loss", {"p": 0.001}),
    ]
    assert ("loss", {}) not in search.changes(DEFAULT, case, needs="loss")


def test_a_case_that_other_seeds_do_not_show_is_dropped() -> None:
    laboratory = Laboratory(FIXED, "goodput", DEFAULT)
    one = search.Scored({"path": PATH}, 1, 0.8, 0.2, 1.0)
    scores = {
        "holds": [0.5, 0.4, 0.4, 0.4, 0.4],
        "too low": [0.3] * 5,
        "one seed": [0.9] * 4 + [0.01],
        "few": [0.8] * 2,
    }
    shown = {
        name: search._is_shown(laboratory, one, [search.Scored({}, 2, score, 0.0, 1.0) for score in found])
        for name, found in scores.items()
    }
    assert shown == {"holds": True, "too low": False, "one seed": False, "few": False}


@pytest.mark.parametrize("goal", ["goodput", "harm"])
def test_the_smallest_budget_confirms(goal: str) -> None:
    """A window of 400 segments in a buffer of at most 4 segments harms; a window of 4 has little goodput."""
    fixed = {"kind": "fixed", "window": "400 segments" if goal == "harm" else "4 segments"}
    (found,) = _found(fixed, goal, budget=100, text=SHORT, only=["cubic"])
    assert len(found.others) == search.SEEDS


def test_what_is_not_confirmed_is_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    one = search.Scored({"path": PATH}, 1, 0.8, 0.2, 1.0)
    every = [Weakness(one, [replace(one, seed=2 + index)] * count, holds=False) for index, count in enumerate((2, 5))]
    command._report(Laboratory("reno", "goodput", DEFAULT), every, None, (), quiet=False)
    none, few, weak = capsys.readouterr().out.splitlines()
    assert "no case with a score above 0.05 is confirmed" in none
    assert "not confirmed, as only 2 of 5 other seeds have a score" in few
    assert "as it does not hold with other seeds" in weak


def test_runs_count_once_they_have_run() -> None:
    def interrupted() -> None:
        if laboratory.runs == 3:
            raise KeyboardInterrupt

    laboratory = Laboratory(FIXED, "goodput", _bounds(SHORT), jobs=1, advance=interrupted)
    with pytest.raises(KeyboardInterrupt):
        search._draw(laboratory, 80)
    assert laboratory.runs == 3


def test_an_interruption_keeps_the_worst_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(laboratory: Laboratory) -> list[Weakness]:
        search._draw(laboratory, 80)
        raise KeyboardInterrupt

    _bounds(SHORT)
    monkeypatch.setattr(search, "search", interrupted)
    with pytest.raises(KeyboardInterrupt):
        command.attack("vegas", folder=tmp_path / "out", only="reverse", bounds_file=Path("bounds.toml"))
    assert "not confirmed; the same command begins anew" in capsys.readouterr().err
    file = tmp_path / "out" / "case-1.toml"
    assert "with other seeds not run" in file.read_text(encoding="utf-8") and _core.Scenario.load(str(file)).seed == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reno", "--budget", "0"], "--budget 0: must be at least 100 runs"),
        (["reno", "--budget", "1"], "--budget 1: must be at least 100 runs"),
        (["renoo"], 'renoo: must be a known name, not "renoo"; did you mean "reno"?'),
        (["reno", "--goal", "los"], '--goal: unknown goal "los"; did you mean "loss"?'),
        (["reno", "--only", "puls"], '--only: unknown ingredient "puls"; did you mean "pulse"?'),
        (["reno", "--goal", "loss", "--against", "fair-share"], "--against fair-share is for --goal goodput"),
        (["reno", "--bounds", "none.toml"], "none.toml"),
    ],
)
def test_mistakes_are_told(words: list[str], message: str, tmp_path: Path) -> None:
    done = command_line.run(["attack", *words], tmp_path)
    assert done.returncode == 2 and message in done.stderr


def test_fewer_flows_than_fairness_needs_are_refused(tmp_path: Path) -> None:
    _bounds("path.flows = 1")
    done = command_line.run(["attack", "reno", "--goal", "fairness", "--bounds", "bounds.toml"], tmp_path)
    assert done.returncode == 2 and "--bounds: path.flows is at most 1" in done.stderr and "[2, 4]" in done.stderr


@pytest.mark.parametrize(
    ("controller", "located"),
    [
        ("vegas", "vegas"),
        ({"kind": "vegas", "alpha": 3}, {"kind": "vegas", "alpha": 3}),
        ({"kind": "policy", "file": "p.onnx"}, {"kind": "policy", "file": "{}/p.onnx"}),
        ({"kind": "vegas", "use": ["vegas", "a.so"]}, {"kind": "vegas", "use": ["vegas", "{}/a.so"]}),
    ],
)
def test_only_what_names_a_file_is_located(controller: Any, located: Any, tmp_path: Path) -> None:
    for file in ("vegas", "p.onnx", "a.so"):
        Path(file).touch()
    laboratory = Laboratory(controller, "goodput", DEFAULT, folder=str(tmp_path))
    tree = scenario_tree(laboratory, Weakness(search.Scored({"path": PATH}, 1, 0.5, 0.4, 0.8), (), holds=True))
    own = tree["flow"][0]["controller"]
    found = own | {"use": tree["use"]} if "use" in tree else own
    assert json.dumps(found) == json.dumps(located).replace("{}", str(tmp_path))


def test_files_of_a_controller_are_found_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "own_reno.py").write_text("from ackclock.scenario.reno import Reno as Mine\n", encoding="utf-8")
    laboratory = Laboratory("python:own_reno:Mine", "goodput", DEFAULT, folder=str(tmp_path))
    (text,) = files(laboratory, [Weakness(search.Scored({"path": PATH}, 1, 0.5, 0.4, 0.8), (), holds=True)]).values()
    assert f"# Its code is found with PYTHONPATH={tmp_path}" in text.splitlines()


def test_the_reference_has_the_bounds_and_each_goal() -> None:
    page = (ROOT / "docs" / "reference" / "attack.md").read_text(encoding="utf-8")
    assert bounds.FILE.read_text(encoding="utf-8") in page
    assert all(f"| `{goal}` |" in page for goal in GOALS)


# ---- what the literature says ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_it_finds_the_shrew_attack_on_reno() -> None:
    """Pulses on a link of 10 Mbit/s that take a sixth of it leave Reno, whose least RTO is 1 s, less than a tenth."""
    worst = _found("reno", text=SHREW_BOUNDS, only=["pulse"], against=FAIR_SHARE, seed=2)[0].scored
    pulse = worst.case["pulse"]
    assert 0.9 <= pulse["period"] <= 1.3, "a little more than the least RTO"
    assert pulse["rate"] * pulse["length"] / pulse["period"] < 1 / 6
    assert worst.own < 0.1 and (worst.reference or 0.0) > 0.8


@pytest.mark.long
def test_it_finds_what_bbr_loses_in_shallow_buffers() -> None:
    """At least ten times CUBIC's retransmissions, below 1.5 bdp."""
    text = '[path]\nqueue = "drop_tail"\nflows = [2, 4]\nbuffer = ["0.1 bdp", "1.5 bdp"]\n'
    worst = _found("bbr", "loss", text=text, only=["path"])[0].scored
    assert worst.own > 0.1 and worst.own > 10 * (worst.reference or 0.0)


@pytest.mark.long
def test_it_finds_that_vegas_yields_to_traffic_on_the_way_back() -> None:
    worst = _found("vegas", only=["reverse", "loss"])[0].scored
    assert "reverse" in worst.case and worst.score > 0.7


@pytest.mark.long
def test_it_finds_that_copa_competes_with_nobody() -> None:
    """Jitter that empties no queue: alone, it takes the mode in which it fills the buffer."""
    worst = _found("copa", "delay", text="path.flows = 1\n", only=["jitter"])[0].scored
    scenario = case_network.scenario(worst.case, DEFAULT, "copa", 1, trace={"events": ["controller_state"]})
    moves = run(scenario).events.sort("time_s")
    lasted = zip(moves["to_state"], [*moves["time_s"][1:], 20.0], moves["time_s"], strict=True)
    assert worst.score > 0.3 and sum(end - begin for state, end, begin in lasted if state == "competitive_mode") > 10


@pytest.mark.long
def test_it_finds_a_planted_weakness_of_a_class() -> None:
    """It does not grow above an RTT of 50 ms: the case has more, or a queue that makes it more, and nothing else."""
    Path("shy.py").write_text(
        "from ackclock.scenario.reno import Reno\n"
        "class Shy(Reno):\n"
        "    def on_ack(self, ack):\n"
        "        if ack.srtt_ns is None or ack.srtt_ns < 50_000_000:\n"
        "            super().on_ack(ack)\n",
        encoding="utf-8",
    )
    worst = _found("python:shy:Shy", budget=200, only=["loss", "jitter"], against="reno")[0].scored
    assert set(worst.case) == {"path"} and worst.case["path"]["rtt"] >= 0.05 and worst.score > 0.5
