"""`ackclock judge`: weak controllers are found unsafe, known ones are as the literature says, rows can be recomputed.

Literature: Hock, Bless, Zitterbart, ICNP 2017 (BBRv1 loses many packets in shallow buffers, and takes what CUBIC had);
Cardwell et al., ACM Queue 14(5), 2016 (BBRv1 keeps its rate under random loss); Brakmo and Peterson, JSAC 13(8), 1995
(Vegas keeps queues short); Mo, La, Anantharam, Walrand, INFOCOM 1999 (Vegas yields to Reno); Ware et al., HotNets 2019.
"""

import hashlib
import json
import shutil
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
from ackclock.experiments.judge.judge_page import Judgement
from ackclock.experiments.judge.judging import Row
from ackclock.running.kernel import RefusedError
from ackclock.scenario.example_files import FOLDER

SUITE = suite.load("2027.1")
CRITERIA = {criterion.id: criterion for criterion in SUITE.criteria}
RECORD = records.read(records.file_of(SUITE), SUITE, SUITE.year)

SHA256 = "2f188d68b6f8c0e1e5677f4e257c10b3b44a361f728609b6dc8e485f77caec3c"


def _judged(controller: Any, *ids: str, year: int = 2027) -> dict[str, Row]:
    rows = judging.judge(SUITE, controller, [CRITERIA[one] for one in ids], year=year)
    return {row.criterion: row for row in rows}


def _row(criterion: str = "loss", beyond: float | None = 0.1, controller: str = "mine") -> Row:
    return Row(controller, criterion, "a case", 0.2, 0.01, 0.1, beyond, 0.01, 6, "unsafe")


# ---- the suite ------------------------------------------------------------------------------------------------------


def test_a_suite_is_frozen() -> None:
    """Its rows are of these files: whoever changes one gives the suite another name, and records it anew."""
    assert SUITE.sha256 == SHA256


def test_seeds_follow_from_the_published_rule() -> None:
    """The digits are those of `printf 'ackclock suite 2027.1, year 2027, seed 1' | sha256sum`."""
    assert SUITE.seeds_of(2027)[0] == 0xACEC72B9
    text = b"ackclock suite 2027.1, year 2028, seed 6"
    assert SUITE.seeds_of(2028)[5] == int(hashlib.sha256(text).hexdigest()[:8], 16)
    assert not set(SUITE.seeds_of(2027)) & set(SUITE.seeds_of(2028))


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
        for seed in SUITE.seeds_of(2028):
            case.scenario("cubic", seed)


def test_the_judged_and_the_yardsticks_meet_the_same_paths() -> None:
    """Rate, delay, buffer and starts are drawn alike; another seed draws others."""
    case = CRITERIA["harm-cubic"].cases[0]
    trees = [json.loads(case.scenario(who, seed).to_json()) for who, seed in (("bbr", 5), ("cubic", 5), ("bbr", 6))]
    links = [tree["topology"]["bottleneck"] for tree in trees]
    assert links[0] == links[1] != links[2]
    assert [flow["start"] for flow in trees[0]["flow"]] == [flow["start"] for flow in trees[1]["flow"]]
    alone = json.loads(case.scenario(None, 5).to_json())
    assert alone["topology"]["bottleneck"] == links[0]
    assert [flow["start"] for flow in alone["flow"]] == [trees[0]["flow"][0]["start"]]


# ---- metrics, by hand -----------------------------------------------------------------------------------------------


def _flow(name: str, **values: Any) -> dict[str, Any]:
    counts = {"sent_segments": 100, "retransmitted_segments": 4}
    return {"name": name, "start_s": 0.5, "completion_s": None, "rtt_ms": {"mean": 50.0}} | counts | values


def _run(flows: list[dict[str, Any]], alone: list[dict[str, Any]] | None = None, of: str = "other", **rest: Any) -> Run:
    link = {"name": "bottleneck", "delivered_packets": 90, "losses": 5, "drops": 5, "queueing_delay_ms": {"mean": 30.0}}
    summary: Any = {"duration_s": 10.0, "flows": flows, "links": [link]} | rest
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


def test_what_never_ended_counts_as_very_long() -> None:
    groups = [{"name": "other", "completed": 0, "slowdown": None}]
    assert METRICS["slowdown"](_run([], groups=groups)) == 1000.0
    call = [{"name": "other", "media": {"frame_delay_ms": None}, "sent": 10, "received": 4}]
    run = _run([], datagrams=call)
    assert METRICS["frame_delay"](run) == 1000.0
    assert METRICS["datagrams_lost"](run) == pytest.approx(0.6)
    run = _run([_flow("judged.1", completion_s=2.0), _flow("judged.2")], of="judged")
    assert METRICS["completion"](run) == pytest.approx(9500.0)


# ---- verdicts -------------------------------------------------------------------------------------------------------


def test_a_fixed_window_of_1000_segments_is_found_unsafe() -> None:
    found = _judged({"kind": "fixed", "window": "1000 segments"}, "collapse", "loss", "harm-cubic")
    assert {row.verdict for row in found.values()} == {"unsafe"}


def test_a_window_that_hardly_ever_decreases_is_found_unsafe() -> None:
    """Reno that keeps 99.9 % of its flight size on a loss."""
    found = _judged({"kind": "reno", "beta": 0.999}, "collapse", "loss", "starvation")
    assert found["loss"].verdict == found["starvation"].verdict == "unsafe"
    assert found["collapse"].verdict == "safe", "its timeouts back off as Reno's do"


def test_a_class_that_starves_others_is_found_unsafe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ignores losses and grows by eight segments a round trip."""
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
    done = command_line.run(["judge", "python:greedy:Greedy", "--only", "starvation", "--trust", "--json"], tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert row["verdict"] == "unsafe" and row["value"] > 0.95


def test_known_controllers_are_as_the_literature_says() -> None:
    """On record; `test_rows_recompute_to_the_byte` holds some of these rows to what runs give."""
    rows = {(row.controller, row.criterion): row for row in RECORD}
    assert rows["bbr", "loss"].verdict == "unsafe"
    assert rows["bbr", "harm-cubic"].verdict == "unsafe" and rows["bbr", "harm-cubic"].case == "shallow buffer"
    assert (rows["bbr3", "loss"].value or 1.0) < (rows["bbr", "loss"].value or 0.0)
    assert (rows["vegas", "bufferbloat"].value or 1.0) < 0.2 * (rows["cubic", "bufferbloat"].value or 0.0)
    assert rows["vegas", "harm-reno"].verdict == rows["vegas", "harm-cubic"].verdict == "safe"
    harms = [row for row in RECORD if row.controller in ("cubic", "reno") and row.verdict == "unsafe"]
    assert not harms, "the yardsticks: Reno and CUBIC are standards"


def test_bbr_keeps_its_rate_under_random_loss_that_ends_cubic() -> None:
    """Cardwell et al. 2016, figure 8: at a loss of 1 % CUBIC has a tenth of the link, and BBR nearly all of it."""
    only_loss = replace(CRITERIA["wireless"], cases=CRITERIA["wireless"].cases[:1])
    (bbr,), (cubic,) = (judging.judge(SUITE, name, [only_loss], year=2027) for name in ("bbr", "cubic"))
    assert bbr.case == "1 % random loss" and bbr.verdict == "serves"
    assert (bbr.value or 0.0) > 0.85 and (cubic.value or 1.0) < 0.25


@pytest.mark.parametrize("name", ["bbr/loss", "cubic/collapse", "vegas/high-delay", "reno/harm-reno"])
def test_rows_recompute_to_the_byte(name: str, tmp_path: Path) -> None:
    done = command_line.run(["judge", "--verify", name, "--json"], tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    (row,) = [row for row in RECORD if f"{row.controller}/{row.criterion}" == name]
    assert told["is_equal"] and told["recomputed"] == records.line(row)


def test_the_record_is_of_the_suite_and_is_whole() -> None:
    assert not {row.criterion for row in RECORD} ^ CRITERIA.keys()
    for controller in {row.controller for row in RECORD}:
        assert [row.criterion for row in RECORD if row.controller == controller] == list(CRITERIA)
    assert records.text(SUITE, SUITE.year, RECORD) == records.file_of(SUITE).read_text(encoding="utf-8")


def test_a_verdict_needs_the_whole_interval() -> None:
    estimates = [judging.Estimate(*each, 6) for each in ((0.3, 0.2), (0.1, 0.2), (-0.3, 0.2), (0.1, None), (0.0, None))]
    assert [judging._verdict(each) for each in estimates] == ["unsafe", "undecided", "safe", "unsafe", "safe"]


def test_more_is_better_where_it_is() -> None:
    """A flow that uses less than CUBIC is beyond the bound; one with a shorter queue is within."""
    found = _judged({"kind": "fixed", "window": "2 segments"}, "wired", "bufferbloat")
    assert found["wired"].verdict == "falls short" and (found["wired"].beyond or 0.0) > 0
    assert found["bufferbloat"].verdict == "safe" and (found["bufferbloat"].beyond or 0.0) < 0
    assert {"used", "jain"} == MORE_IS_BETTER


def test_places_count_those_that_are_better() -> None:
    others = [_row(beyond=beyond, controller=f"c{beyond}") for beyond in (-0.2, 0.05, 0.1, 0.3)]
    assert records.places([_row()], [*others, _row(), _row(beyond=None, controller="none")]) == {"loss": (3, 5)}


def test_what_a_kernel_refuses_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise RefusedError("no such qdisc")

    monkeypatch.setattr(judging, "run_point", refuse)
    found = _judged("cubic", "wired")["wired"]
    assert found.verdict == "not run" and found.value is None
    page = Judgement(SUITE, 2027, [found], []).page()
    assert "not run" in page and "No criterion about harm was run." in page


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_first_lines_say_what_is_unsafe_and_against_whom(tmp_path: Path) -> None:
    arguments = ["judge", "bbr", "--only", "loss,wired", "-o", "out"]
    done = command_line.run(arguments, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["bbr by RFC 9743", "Not safe by 1 criterion: it harms every flow of the path."]
    assert lines[2].startswith("not safe for every flow of the path: High packet loss (5.1.3) 0.1")
    page = (tmp_path / "out/judge.html").read_text(encoding="utf-8")
    first = page.index("it harms every flow of the path")
    assert first < page.index('<span class="badge differs">unsafe</span>') < page.index("7.10")
    known = [row for row in RECORD if row.controller == "bbr" and row.criterion in ("loss", "wired")]
    assert records.read(tmp_path / "out/rows.csv", SUITE, 2027) == known
    assert command_line.run(arguments, tmp_path).returncode == 0, "its own folder may be written again"


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
        done = command_line.run(["judge", table, "--only", "data-center", "--trust", "--json"], tmp_path)
        assert done.returncode == 0, done.stderr
        (row,) = json.loads(done.stdout)["rows"]
        assert row["seeds"] == 6 and row["value"] > 0
    done = command_line.run(["judge", table, "--only", "data-center"], tmp_path)
    assert done.returncode == 2 and "mine.py; read it, then add --trust" in done.stderr


def test_a_held_out_draw_has_other_paths_and_no_places(tmp_path: Path) -> None:
    done = command_line.run(["judge", "cubic", "--only", "collapse", "--year", "2028", "--json"], tmp_path)
    told = json.loads(done.stdout)
    assert told["seeds"] == SUITE.seeds_of(2028)
    (row,) = told["rows"]
    assert row["place"] == row["of"] == 1
    (known,) = [row for row in RECORD if (row.controller, row.criterion) == ("cubic", "collapse")]
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
        (["--verify", "a,b"], "must have the 10 cells"),
        (["--verify", "cubic,loss,a,x,,,,,6,safe"], "could not convert"),
        (["--verify", "cubic/loss", "--year", "2028"], "no rows are on record for the draw of 2028"),
        (["cubic", "-o", "taken"], "holds other things"),
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
    (row,) = [row for row in RECORD if (row.controller, row.criterion) == ("cubic", "collapse")]
    text = records.line(row)
    done = command_line.run(["judge", "--verify", text], tmp_path)
    assert done.returncode == 0 and done.stdout == f"equal, byte for byte: {text}\n"
    done = command_line.run(["judge", "--verify", text.replace(",safe", ",unsafe")], tmp_path)
    assert done.returncode == 1 and "the row differs" in done.stderr


def test_a_row_of_a_table_is_recomputed(tmp_path: Path) -> None:
    table = '{ kind = "reno", beta = 0.9 }'
    assert command_line.run(["judge", table, "--only", "collapse", "-o", "mine"], tmp_path).returncode == 0
    text = (tmp_path / "mine/rows.csv").read_text(encoding="utf-8").splitlines()[-1]
    done = command_line.run(["judge", "--verify", text], tmp_path)
    assert done.returncode == 0, done.stderr
    done = command_line.run(["judge", "cubic", "--only", "collapse", "-o", "mine"], tmp_path)
    assert done.returncode == 2 and "rows.csv has rows of {" in done.stderr


def test_code_in_a_row_is_not_run_without_being_asked_for(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("print('ran')\n")
    done = command_line.run(["judge", "--verify", "python:evil:C,collapse,x,1,1,1,1,1,6,safe"], tmp_path)
    assert done.returncode == 2 and "--trust" in done.stderr and "ran" not in done.stdout


def test_rows_of_another_suite_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(records.text(SUITE, 2027, [_row()]).replace(SUITE.sha256, "0" * 64), encoding="utf-8")
    with pytest.raises(InputError, match="must begin with"):
        records.read(file, SUITE, 2027)
    file.write_text(records.text(SUITE, 2027, [_row()])[:-10] + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="must have the 10 cells"):
        records.read(file, SUITE, 2027)


def test_all_goes_on_after_the_last_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller that needs a parameter is left out, and one whose rows are there is not run again."""
    names = [{"name": "reno"}, {"name": "swift"}, {"name": "vegas"}]
    monkeypatch.setattr(_core, "controllers", lambda: json.dumps(names))
    asked: list[str] = []
    judge = judging.judge

    def interrupted(of: suite.Suite, controller: Any, *arguments: Any, **options: Any) -> list[Row]:
        asked.append(controller)
        if asked == ["reno", "vegas"]:
            raise KeyboardInterrupt
        return judge(of, controller, *arguments, **options)

    monkeypatch.setattr(judging, "judge", interrupted)
    arguments: Any = (SUITE, [CRITERIA["collapse"]], 2027, tmp_path / "out", None, None)
    with pytest.raises(KeyboardInterrupt):
        command._judge_all(*arguments, quiet=True)
    command._judge_all(*arguments, quiet=True)
    assert asked == ["reno", "vegas", "vegas"]
    rows = records.read(tmp_path / "out/rows.csv", SUITE, 2027)
    assert [row.controller for row in rows] == ["reno", "vegas"]
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"rows.csv", "reno.html", "vegas.html"}
    assert "2 of 2" in (tmp_path / "out/reno.html").read_text(encoding="utf-8") + (
        tmp_path / "out/vegas.html"
    ).read_text(encoding="utf-8")


def test_the_criteria_are_listed(tmp_path: Path) -> None:
    done = command_line.run(["judge", "--list", "--json"], tmp_path)
    assert [each["id"] for each in json.loads(done.stdout)] == list(CRITERIA)
