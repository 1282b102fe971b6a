"""`ackclock judge`: weak controllers are found unsafe, known ones are as the literature says, rows can be recomputed.

Literature: Hock, Bless, Zitterbart, ICNP 2017 (BBRv1 loses many packets in shallow buffers, and takes what CUBIC had);
Cardwell et al., ACM Queue 14(5), 2016 (BBRv1 keeps its rate under random loss); Brakmo and Peterson, JSAC 13(8), 1995
(Vegas keeps queues short); Mo, La, Anantharam, Walrand, INFOCOM 1999 (Vegas yields to Reno); Ware et al., HotNets 2019.

Runs are of few seeds and cases, so that the file takes seconds.
"""

import hashlib
import json
import math
import shutil
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import command_line
from ackclock import _core
from ackclock.base.input_files import InputError
from ackclock.cli import judge as command
from ackclock.experiments.judge import judging, suite
from ackclock.experiments.judge import row_records as records
from ackclock.experiments.judge.criterion_metrics import METRICS, MORE_IS_BETTER, NEED_ALONE, Run
from ackclock.experiments.judge.judge_page import Judgement, standings
from ackclock.experiments.judge.judging import Row
from ackclock.running import simulate
from ackclock.running.kernel import RefusedError
from ackclock.scenario.example_files import FOLDER
from pages import assert_written

SUITE = suite.load("2027.1")
CRITERIA = {criterion.id: criterion for criterion in SUITE.criteria}
RECORD = records.read(records.file_of(SUITE), SUITE, SUITE.year)

SHA256 = "aa2701efa91e7f43fe96454a530ab9b5b09f9c0bd73dbda244c669d055735394"

FEW = replace(SUITE, seeds=4)


def _judged(controller: Any, *cases: str) -> dict[str, Row]:
    """Judge by cases such as "loss/six flows, shallow buffer", by criterion; by all of a criterion without a name."""
    chosen = []
    for text in cases:
        criterion, _, case = text.partition("/")
        known = CRITERIA[criterion]
        chosen.append(replace(known, cases=tuple(one for one in known.cases if case in ("", one.name))))
    return {row.criterion: row for row in judging.deciding(judging.judge(FEW, controller, chosen, year=2027))}


def _row(beyond: float | None = 0.1, controller: str = "mine", case: str = "a case", **values: Any) -> Row:
    row = Row(controller, "loss", case, 0.2, 0.01, 0.1, 0.0, beyond, 0.01, 6, "unsafe", judging.made_by())
    return replace(row, **values)


# ---- the suite ------------------------------------------------------------------------------------------------------


def test_a_suite_is_frozen() -> None:
    """Its rows are of these files: whoever changes one gives the suite another name, and records it anew."""
    assert SUITE.sha256 == SHA256


def test_seeds_follow_from_the_published_rule() -> None:
    """The digits are those of `printf 'ackclock suite 2027.1, year 2027, seed 1' | sha256sum`."""
    seeds = [[draw.seed for draw in SUITE.draws_of(year)] for year in (2027, 2028)]
    assert seeds[0][0] == 0xACEC72B9
    text = b"ackclock suite 2027.1, year 2028, seed 6"
    assert seeds[1][5] == int(hashlib.sha256(text).hexdigest()[:8], 16)
    assert not set(seeds[0]) & set(seeds[1])


def test_paths_cover_each_range_by_the_published_rule() -> None:
    """A rate of 5 to 100 Mbit/s: one seed in each sixth of the logarithm, in the order of hashes."""
    texts = [f"ackclock suite 2027.1, year 2028, seed {index}, wired.rate" for index in range(1, 7)]
    hashes = [hashlib.sha256(text.encode()).digest() for text in texts]
    for draw, each in zip(SUITE.draws_of(2028), hashes, strict=True):
        link = json.loads(CRITERIA["wired"].cases[0].scenario("cubic", draw).to_json())["topology"]["bottleneck"]
        place = math.log(float(link["rate"].removesuffix(" Mbit/s")) / 5) / math.log(100 / 5) * 6
        assert int(place) == sorted(hashes).index(each)


@pytest.mark.parametrize("year", [2027, 2028])
def test_other_ranges_are_in_strata_too(year: int) -> None:
    """Packets are whole numbers, and of a choice each value is drawn as often as any other."""
    draws = SUITE.draws_of(year)
    limits = [suite._stratified({"limit": {"uniform": ["10 packets", "70 packets"]}}, draw, "x") for draw in draws]
    ends = sorted(limit["limit"]["uniform"] for limit in limits)
    assert ends == [[f"{low} packets", f"{low + 10} packets"] for low in range(10, 70, 10)]
    chosen = [suite._stratified({"choice": ["a", "b", "c"]}, draw, "x")["choice"] for draw in draws]
    assert sorted(chosen) == [["a"], ["a"], ["b"], ["b"], ["c"], ["c"]]


def test_the_suite_has_each_section_of_the_rfc() -> None:
    """Sections of the table of contents of RFC 9743, of which 6.1 is that of every path here, and 5.2 is a whole."""
    sections = {criterion.section for criterion in SUITE.criteria} | {one["section"] for one in SUITE.unanswered}
    single, mixed, other = (f"5.{part}.{place}" for part, place in ((1, 1), (2, 1), (3, 1)))
    expected = {f"5.1.{place}" for place in range(1, 6)} | {f"5.2.{place}" for place in range(1, 4)}
    expected |= {single, mixed, other, "5.3.2", "6.2", "6.3", "6.4"} | {f"7.{place}" for place in range(1, 12)}
    assert sections - {"5.2"} == expected


@pytest.mark.parametrize("criterion", SUITE.criteria, ids=lambda criterion: criterion.id)
def test_a_criterion_is_whole(criterion: suite.Criterion) -> None:
    assert criterion.metric in METRICS
    assert criterion.source.startswith("RFC") and criterion.meaning.endswith(".")
    for case in criterion.cases:
        assert bool(case.yardsticks) != (criterion.limit is not None)
        assert any(suite.is_judged(flow["name"]) for flow in case.document["flow"])
        assert criterion.limit is not None or criterion.least > 0
        alone = not all(suite.is_judged(flow["name"]) for flow in case.document["flow"])
        assert alone or criterion.metric not in NEED_ALONE
        for draw in SUITE.draws_of(2028):
            first = case.scenario("cubic", draw)
        assert case.scenario("cubic", draw, again=True).to_json() != first.to_json(), "repetitions differ"


def test_the_judged_and_the_yardsticks_meet_the_same_paths() -> None:
    """Rate, delay, buffer and starts are drawn alike; another seed draws others."""
    case = CRITERIA["harm-cubic"].cases[0]
    one, other = SUITE.draws_of(2027)[:2]
    trees = [
        json.loads(case.scenario(who, draw).to_json()) for who, draw in (("bbr", one), ("cubic", one), ("bbr", other))
    ]
    links = [tree["topology"]["bottleneck"] for tree in trees]
    assert links[0] == links[1] != links[2]
    assert [flow["start"] for flow in trees[0]["flow"]] == [flow["start"] for flow in trees[1]["flow"]]
    alone = json.loads(case.scenario(None, one).to_json())
    assert alone["topology"]["bottleneck"] == links[0]
    assert [flow["start"] for flow in alone["flow"]] == [trees[0]["flow"][0]["start"]]


def test_the_bound_of_the_breaker_can_be_reached() -> None:
    """By the equation: a flow that fills its share has ten times the rate of TCP at 5 % of loss; one of six at 50 %."""
    for case, flows, loss in zip(CRITERIA["breaker"].cases, (1, 6), (0.05, 0.5), strict=True):
        for year in (2027, 2028):
            for draw in SUITE.draws_of(year):
                run = judging.run_of(
                    CRITERIA["breaker"], case, case.scenario("cubic", draw).to_json(), _run([]).summary, None
                )
                longest_s = run.rtt_s * 1.8  # with a full buffer of 0.8 bdp
                tcp_bps = math.sqrt(1.5 / loss) * 8 * run.mss_bytes / longest_s
                assert run.capacity_bps / flows * 1500 / 1448 > 10 * tcp_bps


# ---- metrics, by hand -----------------------------------------------------------------------------------------------


def _flow(name: str, **values: Any) -> dict[str, Any]:
    counts = {"sent_segments": 100, "retransmitted_segments": 4}
    return {"name": name, "start_s": 0.5, "completion_s": None, "rtt_ms": {"mean": 50.0}} | counts | values


def _run(flows: list[dict[str, Any]], alone: list[dict[str, Any]] | None = None, of: str = "other", **rest: Any) -> Run:
    link = {"name": "bottleneck", "delivered_packets": 90, "losses": 5, "drops": 5, "queueing_delay_ms": {"mean": 30.0}}
    summary: Any = {"duration_s": 10.0, "measure_s": (2.0, 6.0), "flows": flows, "links": [link]} | rest
    before: Any = None if alone is None else summary | {"flows": alone}
    return Run(summary, before, of, 20e6, 0.060, 1448.0)


def test_harm_is_what_a_flow_loses_of_what_it_had_alone() -> None:
    """Ware et al., HotNets 2019: a flow that had 15 Mbit/s alone and has 5 beside another suffers a harm of 2/3."""
    run = _run([_flow("other", goodput_bps=5e6, rtt_ms={"mean": 80.0})], [_flow("other", goodput_bps=15e6)])
    assert METRICS["harm_goodput"](run) == pytest.approx(2 / 3)
    assert METRICS["harm_rtt"](run) == pytest.approx((80 - 50) / 80)
    dead = _run([_flow("other", goodput_bps=0.0, rtt_ms=None)], [_flow("other", goodput_bps=15e6)])
    assert METRICS["harm_goodput"](dead) == METRICS["harm_rtt"](dead) == 1.0


def test_shares_of_a_run() -> None:
    run = _run([_flow("judged.1", goodput_bps=4e6), _flow("judged.2", goodput_bps=4e6), _flow("x")], of="judged")
    assert METRICS["used"](run) == pytest.approx(0.4)
    assert METRICS["jain"](run) == pytest.approx(1.0)
    assert METRICS["sent_again"](run) == pytest.approx(0.04)
    assert METRICS["dropped"](run) == pytest.approx(0.05)
    assert METRICS["queueing"](run) == pytest.approx(0.5)
    silent = _run([_flow("judged.1", goodput_bps=0.0), _flow("judged.2", goodput_bps=0.0)], of="judged")
    assert METRICS["jain"](silent) == 0.5


def test_the_rate_of_tcp_is_that_of_the_equation() -> None:
    """1448 octets, 50 ms, 4 %: 1.2247 x 1448 x 8 / (0.05 x 0.2) = 1.4187 Mbit/s, so 14.187 Mbit/s are ten times it."""
    run = _run([_flow("judged", throughput_bps=14.187e6)], of="judged")
    assert METRICS["rate_over_tcp"](run) == pytest.approx(10.0, rel=1e-3)
    lossless = _run([_flow("judged", throughput_bps=1e9, retransmitted_segments=0)], of="judged")
    assert METRICS["rate_over_tcp"](lossless) == 0.0


def test_short_flows_that_have_not_ended_count_with_their_time_so_far() -> None:
    """Three of four took twice the idle 0.1 s; one began by 6 s and has not ended at 10 s: 40 times that or more."""
    numbers = {"fct_ms": {"min": 100.0}, "slowdown": {"min": 1.0, "mean": 2.0}}
    group = {"name": "other", "started": 4, "completed": 3} | numbers
    assert METRICS["slowdown"](_run([], groups=[group])) == pytest.approx((3 * 2 + 40) / 4)
    none = {"name": "other", "started": 4, "completed": 0, "slowdown": None}
    assert METRICS["slowdown"](_run([], groups=[none])) == 1000.0


def test_files_that_have_not_ended_count_with_their_time_so_far() -> None:
    run = _run([_flow("judged.1", completion_s=2.5), _flow("judged.2")], of="judged")
    assert METRICS["completion"](run) == pytest.approx((2000 + 9500) / 2)


def test_lost_and_late_frames_lower_the_opinion_of_a_call() -> None:
    """By hand, from Cole and Rosenbluth's equations (7), for G.711, with 1 % late for playback at the 99th percentile.

    100 ms: R = 94.2 - 2.4 - 30 ln(1.15) = 87.607, so 4.276. 300 ms and a tenth lost: e = 1 - 0.99 x 0.9 = 0.109,
    R = 94.2 - 7.2 - 13.497 - 30 ln(2.635) = 44.44, so 2.286.
    """

    def opinion(delay_ms: float, received: int) -> float | None:
        delays = dict.fromkeys(("p50", "p95", "p99"), delay_ms)
        call = {"name": "other", "sent": 1000, "received": received, "one_way_delay_ms": delays}
        return METRICS["opinion"](_run([], datagrams=[call]))

    assert opinion(100.0, 1000) == pytest.approx(4.276, abs=0.001)
    assert opinion(300.0, 900) == pytest.approx(2.286, abs=0.001)
    assert (opinion(100.0, 500) or 9.0) < 2.0
    dead = {"name": "other", "sent": 1000, "received": 0, "one_way_delay_ms": None}
    assert METRICS["opinion"](_run([], datagrams=[dead])) == 1.0
    assert METRICS["datagrams_lost"](_run([], datagrams=[dead])) == 1.0


def test_a_timer_that_does_not_back_off_is_beyond_the_bound() -> None:
    """Segments of 15 s: about 15 with a largest timeout of 1 s, and at most 5 of a timer that doubles."""
    criterion, draw = CRITERIA["collapse"], SUITE.draws_of(2027)[0]
    found = {}
    for name, tcp in (("doubles", {}), ("stays", {"tcp": {"rto": {"max": "1 s"}}})):
        case = replace(criterion.cases[0], document=dict(criterion.cases[0].document) | tcp)
        scenario = case.scenario("reno", draw)
        summary = json.loads(simulate(scenario)[0].summary_json())
        found[name] = METRICS["segments"](judging.run_of(criterion, case, scenario.to_json(), summary, None))
    assert 1 <= (found["doubles"] or 0) <= (criterion.limit or 0) < 12 < (found["stays"] or 0)


# ---- verdicts -------------------------------------------------------------------------------------------------------


def test_a_fixed_window_of_1000_segments_is_found_unsafe() -> None:
    fixed = {"kind": "fixed", "window": "1000 segments"}
    found = _judged(fixed, "collapse/blackout, one flow", "misbehaving", "harm-cubic/shallow buffer")
    assert {row.verdict for row in found.values()} == {"unsafe"}


def test_a_window_that_hardly_ever_decreases_is_found_unsafe() -> None:
    """Reno that keeps 99.9 % of its flight size on a loss."""
    reno = {"kind": "reno", "beta": 0.999}
    found = _judged(reno, "collapse/blackout, one flow", "starvation/one Reno flow among eight")
    assert found["starvation"].verdict == "unsafe" and (found["starvation"].value or 0.0) > 0.95
    assert found["collapse"].verdict == "safe", "its timeouts back off as Reno's do"


def test_a_class_that_ignores_losses_falls_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It grows by eight segments a round trip, and never shrinks."""
    (tmp_path / "greedy.py").write_text(
        "from ackclock import CongestionController\n"
        "class Greedy(CongestionController):\n"
        "    def on_ack(self, ack):\n"
        "        self.grow(8 * self.mss_bytes * ack.newly_acked_bytes / self.cwnd_bytes)\n"
        "    def on_congestion(self, event):\n"
        "        self.ssthresh_bytes = self.cwnd_bytes\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    done = command_line.run(
        ["judge", "python:greedy:Greedy", "--only", "constrained", "--trust", "--json", "-j", "1"], tmp_path
    )
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert row["verdict"] == "falls short" and row["value"] > 0.3


def _recorded(controller: str, criterion: str) -> list[Row]:
    return [row for row in RECORD if (row.controller, row.criterion) == (controller, criterion)]


def _by_controller() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in RECORD:
        found.setdefault(row.controller, []).append(row)
    return found


def test_known_controllers_are_as_the_literature_says() -> None:
    """On record; `test_rows_recompute_to_the_byte` holds some of these rows to what runs give."""
    rows = {(who, row.criterion): row for who, mine in _by_controller().items() for row in judging.deciding(mine)}
    assert rows["bbr", "loss"].verdict == "unsafe"
    assert rows["bbr", "harm-cubic"].verdict == "unsafe" and rows["bbr", "harm-cubic"].case == "shallow buffer"
    assert (rows["bbr3", "loss"].value or 1.0) < (rows["bbr", "loss"].value or 0.0)
    assert (rows["vegas", "bufferbloat"].value or 1.0) < 0.2 * (rows["cubic", "bufferbloat"].value or 0.0)
    assert rows["vegas", "harm-reno"].verdict == rows["vegas", "harm-cubic"].verdict == "safe"
    harms = [who for (who, _), row in rows.items() if who in ("cubic", "reno") and row.verdict == "unsafe"]
    assert not harms, "the yardsticks: Reno and CUBIC are standards"


def test_bbr_keeps_its_rate_under_random_loss_that_ends_cubic() -> None:
    """Cardwell et al. 2016, figure 8: at a loss of 1 % CUBIC has a tenth of the link, and BBR nearly all of it."""
    bbr, cubic = (_judged(name, "wireless/1 % random loss")["wireless"] for name in ("bbr", "cubic"))
    assert bbr.verdict == "serves" and (bbr.value or 0.0) > 0.85 and (cubic.value or 1.0) < 0.4


@pytest.mark.parametrize("name", ["bbr/misbehaving", "cubic/collapse", "vegas/constrained"])
def test_rows_recompute_to_the_byte(name: str, tmp_path: Path) -> None:
    done = command_line.run(["judge", "--verify", name, "--json"], tmp_path)
    assert done.returncode == 0, done.stderr
    rows = _recorded(*name.split("/"))
    told = json.loads(done.stdout)["rows"]
    assert [each["row"] for each in told] == [records.line(row) for row in rows]
    assert all(each["is_equal"] for each in told)


def test_the_record_is_of_the_suite_and_is_whole() -> None:
    cases = [(criterion.id, case.name) for criterion in SUITE.criteria for case in criterion.cases]
    for rows in _by_controller().values():
        assert [(row.criterion, row.case) for row in rows] == cases
    assert records.text(SUITE, SUITE.year, RECORD) == records.file_of(SUITE).read_text(encoding="utf-8")


def test_the_differences_of_seeds_are_those_of_the_row() -> None:
    """Mean and interval by hand: Student's t of 2.5706 for six."""
    for row in RECORD:
        assert row.beyond is not None and row.beyond_half is not None and len(row.beyond_each) == row.seeds == 6
        mean, spread = statistics.fmean(row.beyond_each), statistics.stdev(row.beyond_each)
        within = 1e-4 * max(map(abs, row.beyond_each))
        assert row.beyond == pytest.approx(mean, abs=within)
        assert row.beyond_half == pytest.approx(2.5706 * spread / math.sqrt(6), abs=within)


def _standings() -> str:
    """Counts of criteria, best controller first."""
    table = standings(SUITE, SUITE.year, RECORD)
    rows = ["{controller} | {unsafe}, {undecided}, {safe} | {serves}".format(**row) for row in table.rows]
    return "\n".join(["controller | unsafe, undecided, safe | serves", "---|---:|---:", *rows, "", *table.notes])


def _of_criteria(*, is_harm: bool) -> str:
    """The controllers that a criterion finds bad, and those that it cannot decide about."""
    bad = "unsafe" if is_harm else "falls short"
    decisive = {who: judging.deciding(rows) for who, rows in _by_controller().items()}
    lines = [f"criterion | {bad} | undecided", "---|---|---"]
    for criterion in SUITE.criteria:
        of = {who: row.verdict for who, rows in decisive.items() for row in rows if row.criterion == criterion.id}
        cells = [", ".join(sorted(who for who in of if of[who] == verdict)) for verdict in (bad, "undecided")]
        if criterion.is_harm == is_harm:
            lines.append(f"{criterion.section} {criterion.title} | {' | '.join(cells)}")
    return "\n".join(lines)


def test_the_page_of_standings_is_the_record() -> None:
    assert all(row.verdict != "not run" for row in RECORD), "whoever is in no column is safe, or serves"
    page = Path(__file__).parents[2] / "docs" / "reference" / "standings.md"
    text = page.read_text(encoding="utf-8")
    blocks = {"standings": _standings(), "harm": _of_criteria(is_harm=True), "service": _of_criteria(is_harm=False)}
    for name, block in blocks.items():
        head, rest = text.split(f"<!-- {name} -->\n")
        text = f"{head}<!-- {name} -->\n{block}\n<!-- end of {name} -->{rest.split(f'<!-- end of {name} -->')[1]}"
    assert_written(page, text)


def test_a_verdict_needs_the_whole_interval() -> None:
    estimates = [judging.Estimate(*each, 6) for each in ((0.3, 0.2), (0.1, 0.2), (-0.3, 0.2), (0.1, None), (0.0, None))]
    assert [judging._verdict(each, is_harm=True) for each in estimates] == [
        "unsafe",
        "undecided",
        "safe",
        "unsafe",
        "safe",
    ]
    assert judging._verdict(estimates[0], is_harm=False) == "falls short"
    assert judging._verdict(estimates[2], is_harm=False) == "serves"


def test_of_several_yardsticks_the_worse_one_of_each_seed_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUBIC drops 1 % and 5 %, Reno 3 % and 2 %: the bound is 3 % and 5 %, not the 1 % and 5 % of the worse mean."""
    drops = {"cubic": [0.01, 0.05], "reno": [0.03, 0.02], "mine": [0.035, 0.055]}

    def values(_self: object, _criterion: object, _case: object, who: str, *_: object, **__: object) -> list[float]:
        return drops[who]

    monkeypatch.setattr(judging._Measured, "values", values)
    criterion = CRITERIA["loss"]
    draws = SUITE.draws_of(2027)[:2]
    row = judging._row(criterion, criterion.cases[0], "mine", draws, judging._Measured({}, {}))
    assert (row.yardstick, row.margin) == (0.04, 0.01) and row.beyond == pytest.approx(-0.005)
    assert row.value == 0.045 and row.verdict == "safe"
    assert row.beyond_each == pytest.approx((-0.005, -0.005))


def test_the_worst_case_decides() -> None:
    rows = [
        _row(0.1, case="a", verdict="undecided"), _row(0.01, case="b"), _row(0.3, case="c"),
        _row(-1.0, case="d", verdict="safe"),
    ]  # fmt: skip
    assert [row.case for row in judging.deciding(rows)] == ["c"]


def test_more_is_better_where_it_is() -> None:
    """A flow that uses less than CUBIC is beyond the bound; one with fewer retransmissions is within."""
    found = _judged({"kind": "fixed", "window": "2 segments"}, "wired/shallow buffer", "misbehaving")
    assert found["wired"].verdict == "falls short" and (found["wired"].beyond or 0.0) > 0
    assert found["misbehaving"].verdict == "safe" and (found["misbehaving"].beyond or 0.0) < 0
    assert {"used", "jain", "opinion"} == MORE_IS_BETTER


def test_places_count_those_that_are_better_in_the_same_case() -> None:
    others = [_row(beyond, f"c{beyond}") for beyond in (-0.2, 0.05, 0.1, 0.3)]
    others += [_row(-9.0, "c-0.2", "another case"), _row(), _row(None, "none")]
    assert records.places([_row()], others) == {("loss", "a case"): (3, 5)}


def test_what_a_kernel_refuses_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise RefusedError("no such qdisc")

    monkeypatch.setattr(judging, "run_point", refuse)
    found = _judged("cubic", "wired/shallow buffer")["wired"]
    assert found.verdict == "not run" and found.value is None and found.reason == "no such qdisc"
    judged = Judgement(SUITE, 2027, [found], [])
    assert judged.summary == [("not run", "Wired paths (no such qdisc)")]
    page = judged.page()
    assert "no such qdisc" in page and "No criterion about harm was run." in page


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_first_lines_say_what_is_unsafe_and_against_whom(tmp_path: Path) -> None:
    arguments = ["judge", "bbr", "--only", "misbehaving,constrained", "-o", "out"]
    done = command_line.run(arguments, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["bbr by RFC 9743", "Not safe by 1 criterion: it harms every flow of the path."]
    assert lines[2].startswith("not safe for every flow of the path: A policer (7.6) 0.")
    assert f"by ackclock {judging.made_by()}" in " ".join(done.stdout.split())
    page = (tmp_path / "out/judge.html").read_text(encoding="utf-8")
    first = page.index("it harms every flow of the path")
    assert first < page.index('<span class="badge differs">unsafe</span>') < page.index("7.10")
    found = records.read(tmp_path / "out/rows.csv", SUITE, 2027)
    known = _recorded("bbr", "constrained") + _recorded("bbr", "misbehaving")
    assert all(records.is_equal(*pair) for pair in zip(found, known, strict=True))
    assert "≤ " in done.stdout and " + 0.0" in done.stdout, "yardstick and margin"
    command = command_line.run(["judge", "cubic", "--only", "constrained", "-o", "out", "--quiet"], tmp_path)
    assert command.returncode == 0, "a folder of its own may be written again"


def test_policies_and_parts_of_ones_own_are_judged(tmp_path: Path) -> None:
    """A table as in a scenario; `use` is the module or plug-in that brings the controller."""
    shutil.copy(FOLDER / "policy.onnx", tmp_path)
    (tmp_path / "mine.py").write_text(
        "from ackclock import CongestionController\n"
        'class Mine(CongestionController, name="mine_cc"):\n'
        "    def on_ack(self, ack):\n"
        "        self.grow(self.mss_bytes * ack.newly_acked_bytes / self.cwnd_bytes)\n"
        "    def on_congestion(self, event):\n"
        "        self.ssthresh_bytes = max(self.cwnd_bytes // 2, 2 * self.mss_bytes)\n",
        encoding="utf-8",
    )
    for table in ('{ kind = "policy", file = "policy.onnx" }', '{ kind = "mine_cc", use = ["mine.py"] }'):
        done = command_line.run(["judge", table, "--only", "constrained", "--trust", "--json", "-j", "1"], tmp_path)
        assert done.returncode == 0, done.stderr
        (row,) = json.loads(done.stdout)["rows"]
        assert row["seeds"] == 6 and row["value"] > 0
    done = command_line.run(["judge", table, "--only", "constrained"], tmp_path)
    assert done.returncode == 2 and "mine.py; read it, then add --trust" in done.stderr


def test_a_held_out_draw_has_other_paths_and_no_places(tmp_path: Path) -> None:
    done = command_line.run(["judge", "cubic", "--only", "constrained", "--year", "2028", "--json"], tmp_path)
    told = json.loads(done.stdout)
    assert told["seeds"] == [draw.seed for draw in SUITE.draws_of(2028)]
    (row,) = told["rows"]
    assert row["place"] == row["of"] == 1 and row["decides"]
    (known,) = _recorded("cubic", "constrained")
    assert row["value"] != known.value and row["verdict"] == known.verdict


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a controller"),
        (["cubic", "--all"], "CONTROLLER and --all exclude each other"),
        (["cubik"], 'did you mean "cubic"?'),
        (["{ kind = "], "must be a name or a TOML table"),
        (['{ kind = "cubic", beta = 7 }'], "beta must be more than 0 and less than 1"),
        (["  "], "CONTROLLER is empty"),
        (["swift"], "base_target is missing"),
        (["hpcc"], "needs telemetry"),
        (["cubic", "--only", "lossy"], 'did you mean "loss"?'),
        (["cubic", "--only", ","], "names no criterion"),
        (["cubic", "--suite", "1999"], "write one of 2027.1"),
        (["cubic", "--on", "windows"], "--on windows: must be simulator"),
        (["python:nowhere:Class", "--trust"], "module nowhere is not found"),
        (["python:mine:Class"], "add --trust"),
        (["--verify", "cubic/lossy"], "unknown row"),
        (["--verify", "a,b"], "must have the 14 cells"),
        (["--verify", "cubic,loss,a,x,,,,,,6,safe,,,"], "could not convert"),
        (["--verify", "cubic,loss,a,1,,,,,,6,safe,,,"], "unknown case"),
        (["--verify", "cubic/loss", "--year", "2028"], "no rows are on record for the draw of 2028"),
        (["cubic", "-o", "taken"], "is not a folder of judge"),
        (["cubic", "-o", "file"], "is not a folder"),
    ],
)
def test_wrong_input_is_refused_before_any_run(arguments: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/thesis.tex").touch()
    (tmp_path / "file").touch()
    done = command_line.run(["judge", *arguments], tmp_path)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr and done.stdout == ""


def test_a_row_that_is_wrong_is_told(tmp_path: Path) -> None:
    (row,) = _recorded("cubic", "collapse")[:1]
    text = records.line(replace(row, made_by=judging.made_by()))
    done = command_line.run(["judge", "--verify", text], tmp_path)
    assert done.returncode == 0 and done.stdout == f"equal, byte for byte: {text}\n"
    done = command_line.run(["judge", "--verify", text.replace(",safe", ",unsafe")], tmp_path)
    assert done.returncode == 1 and "the row differs" in done.stderr


def test_a_row_of_another_engine_is_told_as_such(tmp_path: Path) -> None:
    (row,) = _recorded("cubic", "collapse")[:1]
    old = replace(row, made_by="0.1.0+01234567")
    done = command_line.run(["judge", "--verify", records.line(old)], tmp_path)
    assert done.returncode == 0 and f"equal, byte for byte but for {judging.made_by()}" in done.stdout
    done = command_line.run(["judge", "--verify", records.line(replace(old, value=0.5))], tmp_path)
    assert done.returncode == 1 and f"0.1.0+01234567 made it, and this is {judging.made_by()}" in done.stderr


def test_a_row_of_a_table_is_recomputed(tmp_path: Path) -> None:
    table = '{ kind = "reno", beta = 0.9 }'
    assert command_line.run(["judge", table, "--only", "constrained", "-o", "mine"], tmp_path).returncode == 0
    text = (tmp_path / "mine/rows.csv").read_text(encoding="utf-8").splitlines()[-1]
    done = command_line.run(["judge", "--verify", text], tmp_path)
    assert done.returncode == 0, done.stderr


def test_code_in_a_row_is_not_run_without_being_asked_for(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("print('ran')\n")
    done = command_line.run(
        ["judge", "--verify", "python:evil:C,misbehaving,policer at 5 Mbit/s,1,1,1,1,1,1,6,safe,,,"], tmp_path
    )
    assert done.returncode == 2 and "--trust" in done.stderr and "ran" not in done.stdout


def test_rows_of_another_suite_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(records.text(SUITE, 2027, [_row()]).replace(SUITE.sha256, "0" * 64), encoding="utf-8")
    with pytest.raises(InputError, match="must begin with"):
        records.read(file, SUITE, 2027)
    file.write_text(records.text(SUITE, 2027, [_row()])[:-10] + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="must have the 14 cells"):
        records.read(file, SUITE, 2027)


def test_all_goes_on_after_the_last_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Controllers that need a parameter are left out, and those that have their rows are not run again."""
    names = [{"name": "reno"}, {"name": "swift"}, {"name": "vegas"}]
    monkeypatch.setattr(_core, "controllers", lambda: json.dumps(names))
    asked: list[str] = []

    def judge(_: object, controller: str, criteria: list[suite.Criterion], **__: object) -> list[Row]:
        asked.append(controller)
        if asked == ["reno", "vegas"]:
            raise KeyboardInterrupt
        cases = [(criterion.id, case.name) for criterion in criteria for case in criterion.cases]
        return [_row(0.1, controller, case, criterion=criterion) for criterion, case in cases]

    monkeypatch.setattr(judging, "judge", judge)
    by_collapse: Any = (SUITE, [CRITERIA["collapse"]], 2027, tmp_path / "out", None, None)
    with pytest.raises(KeyboardInterrupt):
        command._judge_all(*by_collapse, quiet=True)
    assert "keeps the rows of 1 controller; the same command goes on" in " ".join(capsys.readouterr().err.split())
    command._judge_all(*by_collapse, quiet=True)
    assert asked == ["reno", "vegas", "vegas"]
    by_wired: Any = (SUITE, [CRITERIA["wired"]], 2027, tmp_path / "out", None, None)
    command._judge_all(*by_wired, quiet=False)
    said = capsys.readouterr()
    assert "swift: base_target is missing" in said.err
    rows = records.read(tmp_path / "out/rows.csv", SUITE, 2027)
    assert [(row.controller, row.criterion) for row in rows] == [
        (who, of) for who in ("reno", "vegas") for of in ("collapse", "collapse", "wired", "wired")
    ]
    assert {"rows.csv", "reno.html", "vegas.html"} <= {file.name for file in (tmp_path / "out").iterdir()}
    assert "1 of 2" in (tmp_path / "out/vegas.html").read_text(encoding="utf-8")


def test_rows_of_another_engine_are_made_again(tmp_path: Path) -> None:
    rows = [_row(case=case.name) for case in CRITERIA["loss"].cases]
    assert command._missing([CRITERIA["loss"]], rows) == []
    assert command._missing([CRITERIA["loss"]], [rows[0], replace(rows[1], made_by="0.1.0+01234567")]) == [
        CRITERIA["loss"]
    ]


def test_the_criteria_are_listed(tmp_path: Path) -> None:
    done = command_line.run(["judge", "--list", "--json"], tmp_path)
    assert [each["id"] for each in json.loads(done.stdout)] == list(CRITERIA)
