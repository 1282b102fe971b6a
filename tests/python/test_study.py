"""Studies: what a file spans, what is told of mistakes, what runs leave, and that a stop loses nothing."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import ackclock
from ackclock.experiments.figure_list import curve
from ackclock.experiments.methods import of_study
from ackclock.experiments.studies.design import trials
from ackclock.experiments.studies.selection import chosen
from ackclock.experiments.studies.study_captions import about, about_each
from ackclock.experiments.studies.study_figures import Drawings
from ackclock.experiments.studies.study_file import read
from ackclock.experiments.studies.study_folder import Study, load_study
from ackclock.plotting.figures.curves import Curve, over
from ackclock.plotting.figures.panel_grid import Axis
from ackclock.plotting.tables import Estimate
from ackclock.results.run_labels import facts
from ackclock.scenario.example_files import FOLDER as SCENARIOS
from ackclock.scenario.quantities import scale, seconds
from conftest import Cli, command, wait_until
from networks import dumbbell

SMALL: dict[str, Any] = {
    "controllers": ["cubic", "reno"],
    "seeds": 3,
    "duration": "2 s",
    "warm_up": "500 ms",
    "start_within": "200 ms",
    "keep": 0,
    "path": {"rate": "5 Mbit/s", "rtt": "20 ms"},
}

FILE = """
controllers = ["cubic", "reno"]
line_ups = "alone"
seeds = 4
duration = "1 s"
start_within = "100 ms"
keep = 1

[path]
rate = "2 Mbit/s"
buffer = ["1 bdp", "2 bdp"]
"""


@pytest.fixture(scope="module")
def small() -> ackclock.Study:
    return ackclock.study(SMALL)


def _cells(**changes: Any) -> list[dict[str, Any]]:
    plan, _ = read(SMALL | changes)
    return [dict(cell) for cell in plan.cells]


# ---- what a file spans ----------------------------------------------------------------------------------------------


def test_lists_are_crossed() -> None:
    cells = _cells(path={"rtt": ["20 ms", "40 ms"], "buffer": ["1 bdp", "2 bdp"]}, profile=["rfc", "linux-6.x"])
    assert len(cells) == 8
    assert cells[0] == {"rate": "100 Mbit/s", "rtt": "20 ms", "buffer": "1 bdp", "profile": "rfc"}


def test_paired_lists_go_together() -> None:
    path = {"rate": ["1 Mbit/s", "2 Mbit/s"], "buffer": ["9 kB", "18 kB"], "rtt": ["20 ms", "40 ms", "60 ms"]}
    cells = _cells(path=path, paired=[["rate", "buffer"]])
    assert len(cells) == 2 * 3
    assert {(cell["rate"], cell["buffer"]) for cell in cells} == {("1 Mbit/s", "9 kB"), ("2 Mbit/s", "18 kB")}
    assert cells == _cells(path=path, paired=["rate", "buffer"])


def test_axes_that_go_together_are_said_to() -> None:
    path = {"rate": ["1 Mbit/s", "2 Mbit/s"], "buffer": ["9 kB", "18 kB"], "rtt": ["20 ms", "40 ms"]}
    plan, _ = read(SMALL | {"path": path, "paired": ["rate", "buffer"]})
    said = "rate and buffer together: 1 Mbit/s with 9 kB, 2 Mbit/s with 18 kB; rtt 20 ms, 40 ms"
    assert said in about(plan, [], "1.0")
    assert "rate" not in about_each(plan, [], "1.0") and "seed" not in about_each(plan, [], "1.0")


def test_a_study_names_the_version_that_ran_it() -> None:
    plan, _ = read(SMALL)
    study = Study(plan, [], "0.0.1")
    assert study.about == f"{study.conditions}; ackclock 0.0.1" and "ackclock" not in study.conditions
    assert about_each(plan, [], "ackclock 0.0.1").endswith("; ackclock 0.0.1")
    assert of_study(study).count(" ackclock ") == 1


def test_named_paths_have_lists_of_their_own() -> None:
    cells = _cells(path=[{"name": "near", "rtt": ["5 ms", "9 ms"]}, {"name": "far", "rtt": "300 ms", "loss": 0.01}])
    assert [(cell["path"], cell["rtt"], cell.get("loss")) for cell in cells] == [
        ("near", "5 ms", None),
        ("near", "9 ms", None),
        ("far", "300 ms", 0.01),
    ]


def test_lists_that_go_together_may_have_a_value_twice() -> None:
    path = {"rate": ["1 Mbit/s", "2 Mbit/s", "2 Mbit/s"], "buffer": ["1 bdp", "1 bdp", "2 bdp"]}
    cells = _cells(path=path, paired=["rate", "buffer"])
    together = list(zip(path["rate"], path["buffer"], strict=True))
    assert [(cell["rate"], cell["buffer"]) for cell in cells] == together


@pytest.mark.parametrize("group", [["rate", "rate"], [["rate"], "rtt"], [1, 2]])
def test_only_names_of_other_axes_go_together(group: list[Any]) -> None:
    with pytest.raises(ackclock.ScenarioError, match="must name two or more axes, each once"):
        read(SMALL | {"path": {"rate": ["1M", "2M"], "rtt": ["1 s", "2 s"]}, "paired": [group]})[1].check()


def test_what_some_named_paths_lack_tells_them_apart() -> None:
    paths = [{"name": "near", "rtt": "9 ms", "buffer": ["1 bdp", "2 bdp"]}, {"name": "far", "queue": "fq_codel"}]
    plan, mistakes = read(SMALL | {"path": paths, "duration": "1 s", "seeds": 1, "line_ups": "alone"})
    assert plan.axes["buffer"] == ["1 bdp", "2 bdp"]
    assert " no " not in about(plan, [], "1.0"), "what a path lacks goes without saying"
    assert plan.axes["queue"] == ["fq_codel"]
    assert "queue" not in plan.constants
    assert "buffer 1 bdp, 2 bdp, none" in about(plan, [], "1.0")
    assert len(trials(plan, mistakes)) == 3 * 2


def test_a_figure_over_an_axis_is_of_the_paths_that_have_it() -> None:
    paths = [{"name": "near", "buffer": ["1 bdp", "2 bdp"]}, {"name": "far", "queue": "fq_codel"}]
    changes = {"path": paths, "seeds": 1, "line_ups": "alone", "controllers": ["cubic"]}
    done = ackclock.study(SMALL | changes)
    for figure in done.figures():
        assert figure.draw() is not None
    assert [row["buffer"] for row in done.table.rows] == ["1 bdp", "2 bdp", None]
    assert any("over-buffer" in figure.name for figure in done.figures())


def test_line_ups_are_each_alone_itself_and_each_other() -> None:
    plan, _ = read(SMALL | {"controllers": ["cubic", "reno", "bbr3"]})
    assert [line_up.name for line_up in plan.line_ups] == [
        "cubic alone", "reno alone", "bbr3 alone", "cubic + cubic", "reno + reno", "bbr3 + bbr3",
        "cubic + reno", "cubic + bbr3", "reno + bbr3",
    ]  # fmt: skip
    plan, _ = read(SMALL | {"line_ups": ["cubic*4, reno"]})
    assert plan.line_ups[0].members == ("cubic", "cubic", "cubic", "cubic", "reno")


@pytest.mark.parametrize(("seeds", "found"), [(2, (1, 2)), ("3..5", (3, 4, 5)), ([7, 1, 7], (7, 1))])
def test_seeds(seeds: Any, found: tuple[int, ...]) -> None:
    assert read(SMALL | {"seeds": seeds})[0].seeds == found


def _scenarios(**changes: Any) -> list[dict[str, Any]]:
    plan, mistakes = read(SMALL | {"seeds": [1], "line_ups": ["pairs"]} | changes)
    return [json.loads(point.scenario_json) for _, point in trials(plan, mistakes)]


def test_a_run_is_the_scenario_that_the_file_says() -> None:
    mine = {"kind": "cubic", "beta": 0.5, "label": "mine"}
    path = {"rate": "8M", "rtt": "30 ms", "queue": {"kind": "red"}, "buffer": "3 bdp", "loss": "1 %"}
    changes = {"set": {"tcp.mss": 1000, "flow[*].rtt": "50 ms"}, "profile": "rfc"}
    (scenario,) = _scenarios(controllers=["reno", mine], path=path, **changes)
    link = scenario["topology"]["bottleneck"]
    assert (link["rate"], link["delay"]) == ("8 Mbit/s", "15 ms")
    assert link["queue"] == {"kind": "red", "limit": "3 bdp"}
    assert link["loss"] == {"kind": "random", "p": 0.01}
    assert (scenario["tcp"]["profile"], scenario["tcp"]["mss"]) == ("rfc", 1000)
    assert [flow["name"] for flow in scenario["flow"]] == ["reno", "mine"]
    assert [flow["rtt"] for flow in scenario["flow"]] == ["50 ms", "50 ms"]
    assert scenario["flow"][1]["controller"] == {"kind": "cubic", "beta": 0.5}
    assert scenario["measure"] == {"from": "500 ms"}
    starts = [float(flow["start"].split()[0]) for flow in scenario["flow"]]
    assert all(0 <= start <= 200 for start in starts) and starts[0] != starts[1], "drawn by the seed"


def test_a_study_sets_each_entry_of_a_list_of_its_scenario(tmp_path: Path) -> None:
    """Three links and one flow: as many overrides as links, not as flows."""
    links = "".join(
        f'[[topology.link]]\nfrom = "{a}"\nto = "{b}"\nrate = "10 Mbit/s"\ndelay = "1 ms"\n'
        for a, b in (("A", "R"), ("R", "B"), ("B", "S"))
    )
    nodes = "".join(f'[[topology.node]]\nname = "{name}"\n' for name in "ARBS")
    flow = '[[flow]]\nname = "1"\nfrom = "A"\nto = "B"\n'
    (tmp_path / "net.toml").write_text(f'duration = "1 s"\n[topology]\nkind = "explicit"\n{nodes}{links}{flow}')
    (tmp_path / "study.toml").write_text(
        'controllers = ["cubic"]\nline_ups = ["alone"]\nscenario = "net.toml"\nseeds = 1\n'
        'set = { "topology.link[*].delay" = "3 ms" }'
    )
    plan, mistakes = read(tmp_path / "study.toml")
    ((_, point),) = trials(plan, mistakes)
    assert [link["delay"] for link in json.loads(point.scenario_json)["topology"]["link"]] == ["3 ms"] * 3


def test_a_scenario_is_the_form_of_a_studys_flows(tmp_path: Path, scenario_file: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        'controllers = ["bbr3", "reno"]\nline_ups = ["pairs", "alone"]\nscenario = "two.toml"\nseeds = 1\n'
        'duration = "1 s"'
    )
    done = ackclock.study(file, tmp_path / "out", forms=())
    (tmp_path / "two.toml").rename(tmp_path / "moved.toml")
    assert load_study(tmp_path / "out").about == done.about
    (tmp_path / "moved.toml").rename(tmp_path / "two.toml")
    plan, mistakes = read(file)
    pair, alone, _ = [json.loads(point.scenario_json) for _, point in trials(plan, mistakes)]
    assert pair["topology"]["bottleneck"]["queue"]["limit"] == "20 packets"
    assert [flow.get("start") for flow in pair["flow"]] == [None, "100 ms"]
    assert [flow["controller"]["kind"] for flow in pair["flow"]] == ["bbr3", "reno"]
    assert len(alone["flow"]) == 1


# ---- mistakes -------------------------------------------------------------------------------------------------------


def _mistakes(text: str, tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(ackclock.ScenarioError) as caught:
        trials(*read(file))
    return {entry["field"]: entry for entry in caught.value.diagnostics}


def test_every_mistake_of_the_file_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    text = 'controllers = ["cubic", "cubic", 7]\nseeds = "5..1"\ncolour = "red"\nkeep = -1\n'
    text += '[path]\nbufer = "1 bdp"\nrtt = [20]\npaired = 1\n'
    found = _mistakes(text, tmp_path)
    lines = {field: entry["line"] for field, entry in found.items()}
    assert lines == {
        "controllers[1]": 1, "controllers[2]": 1, "seeds": 2, "colour": 3, "keep": 4, "path.bufer": 6, "path.rtt": 7,
        "path.paired": 8,
    }  # fmt: skip
    assert 'did you mean "buffer"' in found["path.bufer"]["remedy"]
    assert all(entry["remedy"] for entry in found.values())


def test_no_mistake_of_a_study_hides_another(tmp_path: Path) -> None:
    text = """controllers = ["cubic"]
link = "ghost"
start_within = "-1 s"
seeds = []
[[path]]
name = "a"
rate = "1 Mbit/s"
[[path]]
name = "a"
bufer = 3
[[path]]
name = "c"
rtt = "40 s/s"
[set]
"tcp.mss" = [0, "x"]
"""
    found = _mistakes(text, tmp_path)
    assert {field: entry["line"] for field, entry in found.items()} == {
        "link": 2, "start_within": 3, "seeds": 4, "path[1].name": 9, "path[1].bufer": 10, "path[2].rtt": 13,
        'set."tcp.mss"': 15,
    }  # fmt: skip
    assert "bottleneck" in found["link"]["remedy"]


def test_mistakes_of_scenarios_are_told_where_the_study_has_them(tmp_path: Path) -> None:
    text = """controllers = ["cubbic", { kind = "cubic", beta = 7 }]
duration = "long"
[path]
rate = ["10 Mbit/s", "fast"]
rtt = ["20 ms", "soon"]
queue = "reed"
loss = 3
[set]
"tcp.msss" = [1, 2]
"""
    found = _mistakes(text, tmp_path)
    assert {field: entry["line"] for field, entry in found.items()} == {
        "controllers[0]": 1, "controllers[1].beta": 1, "duration": 2, "path.rate": 4, "path.rtt": 5, "path.queue": 6,
        "path.loss": 7, 'set."tcp.msss"': 9,
    }  # fmt: skip
    assert '"cubic"' in found["controllers[0]"]["remedy"]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", "controllers"),
        ("controllers = []", "controllers"),
        ('controllers = ["cubic"]\nline_ups = ["nobody"]', "line_ups[0]"),
        ('controllers = ["cubic"]\nline_ups = []', "line_ups"),
        ('controllers = ["cubic"]\nscenario = "none.toml"', "scenario"),
        (
            'controllers = ["cubic"]\npaired = [["rate", "rtt"]]\n[path]\nrate = ["1M", "2M"]\nrtt = ["1 s"]',
            "paired[0]",
        ),
        ('controllers = ["cubic"]\nmeasure = { from = "1 s" }\nwarm_up = "1 s"', "measure"),
        ('controllers = ["cubic"]\nseeds = 2000000', ""),
        ("controllers = [", ""),
    ],
)
def test_a_wrong_file_is_told(text: str, field: str, tmp_path: Path) -> None:
    assert field in _mistakes(text, tmp_path)


# ---- what runs come to ----------------------------------------------------------------------------------------------


def test_the_table_is_of_the_runs_themselves(small: ackclock.Study) -> None:
    assert len(small.runs) == 5 * 3
    row = next(row for row in small.table.rows if (row["line_up"], row["controller"]) == ("cubic + reno", "reno"))
    own = small.frame.filter(line_up="cubic + reno", controller="reno").sort("seed")
    values = own["goodput_bps"].to_numpy()
    assert row["goodput_bps"].mean == pytest.approx(values.mean())
    # t(0.975, 2) = 4.3027 from the printed table.
    assert row["goodput_bps"].half == pytest.approx(4.3027 * values.std(ddof=1) / 3**0.5, rel=1e-4)
    both = small.frame.filter(line_up="cubic + reno").group_by("seed").agg(share=pl.col("share").sum())
    assert both["share"].to_list() == pytest.approx([1.0] * 3)


@pytest.mark.parametrize("line_ups", [["pairs"], ["pairs", "itself"]])
def test_every_figure_says_what_it_shows(small: ackclock.Study, line_ups: list[str]) -> None:
    plan, _ = read(SMALL | {"line_ups": line_ups})
    names = {line_up.name for line_up in plan.line_ups}
    drawn = list(Drawings(plan, [run for run in small.runs if run.trial.line_up.name in names]).all())
    assert "shares" in {figure.name for figure in drawn}
    assert [figure.name for figure in drawn if len(figure.caption.split()) < 4] == []


def test_waits_are_kept_as_the_engine_counts_them(small: ackclock.Study) -> None:
    """The engine counts what each packet waited; samples say it from what lay in the queue, every so often."""
    assert "cdf-queueing" in {drawn.name for drawn in small.figures()}
    for run in small.runs:
        assert run.samples is not None and run.link == "bottleneck"
        times, waits = run.samples["time_s"], run.samples["queueing_ms"]["bottleneck"]
        measured = [wait for at, wait in zip(times, waits, strict=True) if at > 0.5 and wait is not None]
        # A queue of one BDP, 20 ms: a few packets of 2.4 ms each are what a sample may miss.
        assert abs(np.mean(measured) - run.queueing_ms) < 2.4, run.trial
        assert max(measured) < 20 + 2 * 2.4


def test_a_run_of_a_study_is_the_run_of_its_scenario(small: ackclock.Study) -> None:
    plan, mistakes = read(SMALL)
    trial, point = trials(plan, mistakes)[-1]
    alone = ackclock.run(ackclock.Scenario.from_json(point.scenario_json))
    run = small.runs[-1]
    assert (run.trial.line_up.name, run.trial.seed) == (trial.line_up.name, trial.seed)
    assert [part.goodput_bps for part in run.parts.values()] == [flow["goodput_bps"] for flow in alone.summary["flows"]]
    assert run.utilization == pytest.approx(alone.link("bottleneck")["utilization"], rel=1e-12)
    cwnd = alone.flows.filter(flow=alone.summary["flows"][0]["name"])["cwnd_bytes"].to_numpy()
    kept = run.samples["flows"]["cubic"]["cwnd_bytes"] if run.samples else []
    known = [value for value in kept if value is not None]
    assert np.allclose(known, cwnd[-len(known) :], atol=0.5)


def test_differences_are_paired_by_seed_and_their_p_values_adjusted(small: ackclock.Study) -> None:
    rows = {row["how"]: row for row in small.differences.rows}
    frame = small.frame
    alone = [frame.filter(line_up=f"{who} alone").sort("seed")["goodput_bps"].to_numpy() for who in ("cubic", "reno")]
    assert rows["each alone"]["goodput_bps"].mean == pytest.approx(float((alone[0] - alone[1]).mean()))
    beside = [
        frame.filter(line_up="cubic + reno", controller=who).sort("seed")["goodput_bps"].to_numpy()
        for who in ("cubic", "reno")
    ]
    spread = (beside[0] - beside[1]).std(ddof=1)
    assert rows["beside each other"]["goodput_bps"].half == pytest.approx(4.3027 * spread / 3**0.5, rel=1e-4)
    assert all(row["p_goodput_bps"] >= row["_p_goodput_bps"] for row in rows.values())


def test_curves_over_an_axis_show_each_value() -> None:
    """Curves stand beside each other by some points, and the axes still reach from the first value to the last."""
    curve = {"x": [0.5, 2.0], "y": [40.0, 60.0], "half": [5.0, 30.0]}
    figure = over({"": [Curve("a", **curve), Curve("b", **curve)]}, Axis("buffer"), Axis("share", low=0.0))
    (axes,) = figure.axes
    assert axes.get_xlim()[0] < 0.5 and 2.0 < axes.get_xlim()[1] < 3
    assert axes.get_ylim()[0] == 0 and axes.get_ylim()[1] > 90
    shifts = [line.get_transform().transform((1.0, 0.0))[0] for line in axes.lines if len(line.get_xdata()) == 2]
    assert len(set(shifts)) == 2


def test_a_mean_of_one_run_has_no_bar() -> None:
    """Among means of several: a bar of no width would say that it is known exactly."""
    drawn = curve("a", [(1.0, Estimate(5.0, None, 1)), (2.0, Estimate(6.0, 0.5, 3))])
    assert drawn.half is not None and np.isnan(drawn.half[0]) and drawn.half[1] == 0.5
    assert curve("a", [(1.0, Estimate(5.0, None, 1))]).half is None
    assert over({"": [drawn]}, Axis("x"), Axis("y")).axes


def test_one_seed_says_no_interval_and_no_winner() -> None:
    done = ackclock.study(SMALL | {"seeds": 1, "duration": "600 ms"})
    assert all(row["goodput_bps"].half is None for row in done.table.rows)
    assert {row["more"] for row in done.differences.rows} == {"one seed"}


def test_what_was_run_is_said_everywhere(small: ackclock.Study) -> None:
    for said in ("5 Mbit/s", "20 ms", "DropTail", "linux-6.x", "seeds 1 to 3", "measured from 500 ms"):
        assert said in small.about
    assert small.about in ackclock.tables.markdown(small.table)
    assert "5 Mbit/s" in small._repr_html_()


def test_a_link_that_is_not_there_is_wrong_input() -> None:
    with pytest.raises(ackclock.ScenarioError, match="link must be the name of a link"):
        ackclock.study(SMALL | {"link": "middle", "seeds": 1, "duration": "600 ms"})


# ---- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("study")
    (place / "s.toml").write_text(FILE)
    done = subprocess.run(
        command("study", "s.toml"), cwd=place, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "16 runs in out/s" in done.stdout
    return place / "out" / "s"


def test_a_study_ends_with_tables_figures_and_a_page(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names >= {f"{name}.{form}" for name in ("means", "differences") for form in ("md", "tex", "csv", "json")}
    assert names >= {"study.html", "runs.csv", "study.json", "sweep.json"}
    found = {path.stem for path in (folder / "figures").glob("*.pdf")}
    assert found >= {"trade-off", "utilisation-over-buffer", "queueing-over-buffer", "cdf-rtt"}
    assert {path.stem for path in (folder / "figures").glob("*.svg")} == found
    page = (folder / "study.html").read_text(encoding="utf-8")
    assert "2 Mbit/s" in page and "prefers-color-scheme: dark" in page
    (kept,) = (folder / "runs").iterdir()
    assert ackclock.Results.load(kept).flows.height > 0


def test_a_run_that_is_kept_is_of_the_point_that_has_its_name(tmp_path: Path) -> None:
    """A study that gets another rate in front has other cells; what was kept of the old ones is not shown as theirs."""
    plan = {
        "controllers": ["cubic"],
        "line_ups": ["alone"],
        "seeds": 1,
        "keep": 2,
        "duration": "1 s",
        "start_within": "50 ms",
    }
    for rates in (["10 Mbit/s"], ["10 Mbit/s", "20 Mbit/s"], ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"]):
        ackclock.study(plan | {"path": {"rate": rates, "rtt": "20 ms"}}, tmp_path / "out", forms=())
        kept = json.loads((tmp_path / "out" / "kept.json").read_text())
        assert len(kept) == min(2, len(rates))
        for name in kept:
            cell = int(name.split("-")[2]) - 1 if len(rates) > 1 else 0
            manifest = json.loads((tmp_path / "out" / "runs" / name / "manifest.json").read_text())
            assert manifest["scenario"]["topology"]["bottleneck"]["rate"] == rates[cell], (name, rates)


@pytest.mark.parametrize("override", ["duration=5 x", "topology.bottleneck.rate=5 x", "tcp.receive_buffer=5 x"])
def test_figures_have_each_unit_of_the_engine_on_a_scale(override: str) -> None:
    """The engine names the units that it reads where one is unknown."""
    with pytest.raises(ackclock.ScenarioError) as caught:
        ackclock.dumbbell(duration="1 s", overrides=[override])
    said = caught.value.diagnostics[0]["remedy"] or ""
    units = re.search(r"units?: ([^)]*)", said)
    assert units, said
    for unit in units[1].split(", "):
        assert scale("x", [f"1 {unit}", f"2 {unit}"]), unit


def test_a_loss_that_is_no_probability_is_told_at_its_place() -> None:
    for loss in ([0, [1]], [[1, 2]], ["x"]):
        with pytest.raises(ackclock.ScenarioError, match=r"path\.loss"):
            trials(*read({"controllers": ["cubic"], "path": {"rtt": "20 ms", "loss": loss}}))


def test_a_warm_up_is_told_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "late.toml"
    file.write_text('controllers = ["cubic"]\nduration = "2 s"\nwarm_up = "3 s"\n[path]\nrtt = "20 ms"\n')
    with pytest.raises(ackclock.ScenarioError) as caught:
        trials(*read(file))
    assert [(one["field"], one["line"]) for one in caught.value.diagnostics] == [("warm_up", 3)]


def test_seeds_that_all_give_the_same_name_no_winner() -> None:
    plan = {"controllers": ["cubic", "reno"], "line_ups": ["alone"], "seeds": 3, "keep": 0, "duration": "1 s"}
    plan |= {"start_within": "0 s", "path": {"rate": "10 Mbit/s", "rtt": "20 ms"}, "profile": "rfc"}
    (row,) = ackclock.study(plan).differences.rows
    assert row["p_goodput_bps"] is None
    assert row["more"] == "each seed gives the same"


def test_a_folder_is_drawn_again_without_a_run(folder: Path, cli: Cli) -> None:
    again = load_study(folder)
    assert ackclock.tables.as_csv(again.table) == (folder / "means.csv").read_text(encoding="utf-8")
    listed = cli("plot", folder)
    assert "trade-off" in listed.stdout
    assert cli("plot", folder, "-f", "queueing-over-buffer", "-o", "q.pdf").returncode == 0
    compared = cli("compare", folder, "--json")
    assert json.loads(compared.stdout)["tables"][0]["rows"][0]["goodput_bps"]["count"] == 4
    assert r"\begin{tabular}" in cli("compare", folder, "--form", "tex").stdout


def test_a_figure_is_drawn_as_a_paper_wants_it(folder: Path, tmp_path: Path, cli: Cli) -> None:
    paper = tmp_path / "paper.csv"
    paper.write_text("label,x,y,half\nWare et al.,1,50,3\nWare et al.,2,60,\n")
    figure = ("plot", folder, "--figure", "utilisation-over-buffer")
    asked = ("--colour", "line_up", "--label", "reno=New Reno", "--beside", paper, "--width", "6.9")
    done = cli(*figure, *asked, "-o", tmp_path / "x.svg")
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert all(f">{text}</text>" in drawn for text in ("CUBIC", "New Reno", "Ware et al."))
    assert 'width="496.8pt"' in drawn
    done = cli("plot", folder, "-o", tmp_path / "y.pdf")
    assert done.returncode == 2 and "--figure NAME is needed with -o" in done.stderr
    done = cli(*figure, "--only", "line_up=reno alone", "-o", tmp_path / "x.tex")
    assert done.returncode == 0, done.stderr
    code = (tmp_path / "x.tex").read_text(encoding="utf-8")
    assert code.count(r"\addplot") == 1 and "xmode=log" not in code and code.count("{") == code.count("}")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--colour", "bufer"], '--colour: unknown axis "bufer"; did you mean "buffer"?'),
        (["--panel", "buffer"], "--panel: buffer is the horizontal axis of utilisation-over-buffer"),
        (["--only", "buffer=3 bdp"], '--only: unknown value of buffer "3 bdp"; did you mean'),
        (["--only", "buffer"], 'error: --only: "buffer" has no "="; write it like --only "rtt=100 ms"'),
        (["--beside", "study.json"], "write columns x and y"),
        (["--label", "ren=Reno"], '--label: unknown controller or value "ren"; did you mean "reno"?'),
        (["--width", "nan"], "--width: must be a number from 1 to 40, not nan"),
        (["-o", "x.gif"], "a figure is a .pdf, .svg, .png or .tex file"),
    ],
)
def test_a_figure_that_cannot_be_drawn_so_is_told(asked: list[str], said: str, folder: Path, cli: Cli) -> None:
    asked = [str(folder / part) if part == "study.json" else part for part in asked]
    done = cli("plot", folder, "--figure", "utilisation-over-buffer", *asked)
    assert done.returncode == 2 and said in done.stderr


def test_runs_that_are_kept_are_of_the_corners() -> None:
    path = {"rtt": ["20 ms", "50 ms", "100 ms"], "buffer": ["1 bdp", "2 bdp", "4 bdp"]}
    plan, mistakes = read(SMALL | {"path": path, "keep": 5, "line_ups": ["alone", "pairs"], "seeds": 2})
    kept = [trial for trial, _ in chosen(plan, trials(plan, mistakes))]
    assert {(trial.line_up.name, trial.seed) for trial in kept} == {("cubic + reno", 1)}
    cells = [(plan.cells[trial.cell]["rtt"], plan.cells[trial.cell]["buffer"]) for trial in kept]
    assert cells[:2] == [("20 ms", "1 bdp"), ("100 ms", "4 bdp")]
    assert {*cells[2:4]} == {("20 ms", "4 bdp"), ("100 ms", "1 bdp")} and cells[4] == ("50 ms", "2 bdp")


def test_a_point_is_kept_whole_when_it_is_asked_for(folder: Path, tmp_path: Path, cli: Cli) -> None:
    shutil.copytree(folder, tmp_path / "s")
    (tmp_path / "s.toml").write_text(FILE)
    command = ("study", tmp_path / "s.toml", "-o", tmp_path / "s", "--no-figures", "-q")
    done = cli(*command, "--point", "buffer=2 bdp", "--point", "seed=3", "--point", "line_up=reno alone")
    assert done.returncode == 0, done.stderr
    assert cli(*command).returncode == 0
    kept = json.loads((tmp_path / "s" / "kept.json").read_text())
    assert set(kept) == {"cubic-alone-1-seed-1", "reno-alone-2-seed-3"}, "one that was asked for stays"
    assert ackclock.Results.load(tmp_path / "s" / "runs" / "reno-alone-2-seed-3").summary["seed"] == 3
    (tmp_path / "s.toml").write_text(FILE.replace("keep = 1", "keep = 0"))
    assert cli(*command).returncode == 0
    assert set(json.loads((tmp_path / "s" / "kept.json").read_text())) == {"reno-alone-2-seed-3"}, "keep is lowered"
    done = cli(*command, "--point", "seed=9")
    assert done.returncode == 2 and '--point: unknown value of seed "9"' in done.stderr


def test_a_paper_says_how_a_study_was_made(folder: Path, cli: Cli) -> None:
    said = json.loads(cli("cite", folder, "--json").stdout)
    assert f"version = {{{ackclock.__version__}}}" in said["bibtex"]
    cited = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert "year    = {" + cited.partition("date-released: ")[2][:4] in said["bibtex"]
    methods = said["methods"]
    assert methods.startswith(f"We simulated CUBIC and Reno packet by packet in ackclock {ackclock.__version__} ")
    assert "Line-ups: cubic alone, reno alone" in methods and "round trip 40 ms" in methods
    assert "seeds 1 to 4" in methods and "CUBIC (RFC 9438" in methods and "Student's t" in methods
    (kept,) = (folder / "runs").iterdir()
    assert "seed 1" in json.loads(cli("cite", kept, "--json").stdout)["methods"]
    assert cli("cite").stdout.startswith("@software{ackclock,")


def test_a_paper_has_the_whole_of_a_long_value() -> None:
    queue = {"kind": "red"} | {f"parameter_{number}": number for number in range(9)}
    topology = {"bottleneck": {"queue": queue}}
    summary = {"scenario": "x", "flows": [], "seed": 1, "duration_s": 1.0}
    run: Any = SimpleNamespace(summary=summary, scenario={"topology": topology}, is_of_kernel=False, is_recorded=False)
    assert "parameter_8" in facts(run, cut=False)["queue"] and facts(run)["queue"].endswith("...")


def test_a_point_that_was_changed_is_told(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    point = next((copy / "points").glob("*.json"))
    point.write_text(point.read_text().replace('"goodput_bps":', '"goodput_bps":1', 1))
    with pytest.raises(ValueError, match="SHA-256"):
        load_study(copy)


@pytest.mark.parametrize("extra", ["", "seeds"])
def test_a_study_that_was_stopped_goes_on_where_it_was(extra: str, folder: Path, tmp_path: Path, cli: Cli) -> None:
    """A Ctrl-C while it runs keeps what is done; the tables are those of a study that nobody stopped."""
    (tmp_path / "s.toml").write_text(FILE if not extra else FILE.replace("seeds = 4", "seeds = 3"))
    if extra:
        assert cli("study", "s.toml", "-q", "--no-figures").returncode == 0
        (tmp_path / "s.toml").write_text(FILE)
    else:
        running = subprocess.Popen(
            command("study", "s.toml", "-j", 1, "--no-figures"), cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        wait_until(lambda: any((tmp_path / "out" / "s" / "points").glob("*.json")), "a run is done")
        os.kill(running.pid, signal.SIGINT)
        _, said = running.communicate(timeout=60)
        if running.returncode == 130:
            assert "the same command goes on from here" in said
    again = cli("study", "s.toml", "--no-figures")
    assert again.returncode == 0, again.stderr
    assert re.search(r"\d+ of 16 runs are done already", again.stderr)
    assert (tmp_path / "out" / "s" / "means.csv").read_bytes() == (folder / "means.csv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("study", "none.toml"), 2, "none.toml: file not found"),
        (("study", "."), 2, "is a folder"),
        (("study", "s.toml", "--check"), 0, "16 runs"),
        (("study", "own.toml"), 2, "--trust"),
        (("study", "own.toml", "--check"), 0, "not imported"),
        (("study", "s.toml", "-o", "taken"), 2, "holds other things"),
    ],
)
def test_wrong_input_and_what_is_asked_first(
    arguments: tuple[str, ...], code: int, said: str, tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "s.toml").write_text(FILE)
    (tmp_path / "own.toml").write_text('controllers = [{ class = "mine:Mine" }]\n')
    (tmp_path / "mine.py").write_text("raise SystemExit('it was imported')\n")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("precious")
    done = cli(*arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr
    assert "it was imported" not in done.stdout + done.stderr


def test_a_controller_of_ones_own_is_run_with_trust(tmp_path: Path, cli: Cli) -> None:
    shutil.copy(SCENARIOS / "aimd.py", tmp_path / "aimd.py")
    text = 'controllers = ["reno", { class = "aimd:Aimd", label = "mine" }]\nline_ups = ["pairs"]\nseeds = 1\n'
    text += 'duration = "500 ms"\nstart_within = "50 ms"\nkeep = 0\n'
    (tmp_path / "own.toml").write_text(text)
    done = cli("study", "own.toml", "--trust", "--json", "--no-figures")
    assert done.returncode == 0, done.stderr
    assert [row["controller"] for row in json.loads(done.stdout)["rows"]] == ["reno", "mine"]


def test_a_check_says_what_code_of_ones_own_prints_beside_its_answer(tmp_path: Path, cli: Cli) -> None:
    code = (SCENARIOS / "aimd.py").read_text()
    (tmp_path / "aimd.py").write_text(code + "\nprint('it was imported')\n")
    (tmp_path / "own.toml").write_text('controllers = [{ class = "aimd:Aimd" }]\nline_ups = "alone"\nseeds = 1\n')
    done = cli("study", "own.toml", "--check", "--trust", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"] == 1
    assert "it was imported" in done.stderr


def test_runs_and_figures_whose_names_would_be_the_same_are_all_kept(tmp_path: Path) -> None:
    """`cubic+` and `cubic-` are one word once their signs are left out."""
    asked = {
        "controllers": [{"kind": "cubic", "label": "cubic+"}, {"kind": "cubic", "beta": 0.9, "label": "cubic-"}],
        "line_ups": ["alone"],
        "seeds": 1,
        "duration": "500 ms",
        "path": {"rate": "5 Mbit/s", "rtt": "20 ms"},
    }
    ackclock.study(asked, tmp_path / "S", forms=("svg",))
    kept = json.loads((tmp_path / "S" / "kept.json").read_text())
    assert len(set(kept.values())) == len(kept) == 2
    controllers = [ackclock.Results.load(tmp_path / "S" / "runs" / name).scenario["flow"][0] for name in kept]
    assert len({json.dumps(flow["controller"]) for flow in controllers}) == 2


def test_a_number_that_is_written_in_two_ways_is_one_value() -> None:
    """Named paths with a loss of 0 and of 0.0 have one loss; a curve has each where its number is."""
    asked = SMALL | {
        "duration": "300 ms",
        "warm_up": "100 ms",
        "start_within": "50 ms",
        "seeds": 1,
        "line_ups": ["alone"],
        "path": [
            {"name": "a", "rate": "5 Mbit/s", "rtt": "20 ms", "loss": 0},
            {"name": "b", "rate": "5 Mbit/s", "rtt": "40 ms", "loss": 0.0},
            {"name": "c", "rate": "5 Mbit/s", "rtt": "20 ms", "loss": 0.01},
        ],
    }
    found = ackclock.study(asked)
    assert found.plan.axes["loss"] == [0, 0.01]
    for drawn in found.figures():
        drawn.draw()


def test_a_study_that_was_extended_has_the_figures_of_what_it_is(tmp_path: Path) -> None:
    """A figure of fewer runs is none of the study, and would be taken for one."""
    study = SMALL | {"controllers": ["cubic"], "line_ups": "alone", "seeds": 1, "duration": "1 s"}
    ackclock.study(study, tmp_path / "out", forms=("svg",))
    (tmp_path / "out" / "figures" / "mine.svg").write_text("drawn by hand")
    wider = study | {"path": {"rate": ["5 Mbit/s", "9 Mbit/s"], "rtt": "20 ms"}}
    ackclock.study(wider, tmp_path / "out", forms=("svg",))
    ackclock.study(wider, tmp_path / "fresh", forms=("svg",))
    extended, fresh = ({file.name for file in (tmp_path / of / "figures").iterdir()} for of in ("out", "fresh"))
    assert extended == fresh | {"mine.svg"}
    ackclock.study(wider, tmp_path / "out", forms=())
    assert {file.name for file in (tmp_path / "out" / "figures").iterdir()} == extended, "none were asked for"


def test_a_study_keeps_the_file_that_it_was_read_from(tmp_path: Path) -> None:
    """A user who edits the file of a long study has runs of the file as it was: 20 Mbit/s carries more than 10."""
    file, out = tmp_path / "study.toml", tmp_path / "out"
    text = FILE.replace('"2 Mbit/s"', '["10 Mbit/s", "20 Mbit/s"]').replace('["1 bdp", "2 bdp"]', '"1 bdp"')
    file.write_text(text)

    def begin(_total: int, _done: int) -> Any:
        file.write_text(text.replace('["10 Mbit/s", "20 Mbit/s"]', '["20 Mbit/s", "10 Mbit/s"]'))
        return lambda: None

    ackclock.study(file, out, on_begin=begin, forms=())
    for row in load_study(out).every_run.rows:
        assert (row["goodput_bps"] > 10e6) == (row["rate"] == "20 Mbit/s"), row


def test_a_group_of_a_scenario_is_a_form_for_each_of_its_connections(tmp_path: Path) -> None:
    """A has two connections, 0.5 s apart, and Z goes the other way: the second flow was a Z."""
    text = f"""duration = "2 s"
{dumbbell('rate = "10 Mbit/s", delay = "5 ms"', "0 ms")}
[[flow]]
name = "A"
count = 2
start = {{ first = "100 ms", spacing = SPACING }}
[[flow]]
name = "Z"
count = 8
reverse = true
"""
    (tmp_path / "groups.toml").write_text(text.replace("SPACING", '"500 ms"'))
    asked = {"controllers": ["reno"], "line_ups": ["reno*3"], "seeds": 1, "duration": "2 s"}
    asked["scenario"] = str(tmp_path / "groups.toml")
    ((_, point),) = trials(*read(asked))
    flows = json.loads(point.scenario_json)["flow"]
    own, _ = read({key: asked[key] for key in asked if key != "duration"})
    assert own.duration == own.origin.document["duration"] == "2 s", "the scenario's, not 60 s"
    assert [flow.get("reverse", False) for flow in flows] == [False, False, True]
    assert [seconds(flow.get("start", "0 s")) for flow in flows] == [0.1, 0.6, 0.0]
    (tmp_path / "groups.toml").write_text(text.replace("SPACING", '{ exponential = "50 ms" }'))
    with pytest.raises(ackclock.ScenarioError) as caught:
        trials(*read(asked))
    assert [(one["field"], "flow.A.controller" in one["remedy"]) for one in caught.value.diagnostics] == [
        ("scenario", True)
    ]
