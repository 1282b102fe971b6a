"""Grids of runs: what they span, what they leave, and that a kill loses nothing."""

import importlib.util
import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.base.checked_files import DamagedError
from ackclock.base.toml_text import toml_text
from ackclock.experiments import grid
from ackclock.experiments.grid import Axis, GridError, grid_of, parse_axes, parse_axis
from ackclock.experiments.sweep.connections import averaged
from ackclock.experiments.sweep.sweep_results import MEANS, Sweep, load_sweep
from ackclock.experiments.sweep.tidy_tables import flow_table, half_width, means
from ackclock.plotting import tables
from ackclock.plotting.figures import encode
from ackclock.stats.flow_groups import of_groups
from conftest import Cli, command, wait_until
from networks import dumbbell


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("seed=1..4", Axis("seed", (1, 2, 3, 4))),
        ("seed = 7 .. 7", Axis("seed", (7,))),
        ('a.b=["10 Mbit/s", "50 Mbit/s"]', Axis("a.b", ("10 Mbit/s", "50 Mbit/s"))),
        ("a=[1, 1.5, true]", Axis("a", (1, 1.5, True))),
        ("a=[2, 1, 2]", Axis("a", (2, 1))),
        ("controller=cubic", Axis("controller", ("cubic",))),
        ("duration=5 s", Axis("duration", ("5 s",))),
        ('a={ kind = "fixed" }', Axis("a", ({"kind": "fixed"},))),
        ('name="x=y"', Axis("name", ("x=y",))),
    ],
)
def test_an_axis_is_read(text: str, axis: Axis) -> None:
    assert parse_axis(text) == axis


@pytest.mark.parametrize("text", ["seed", "=1", "seed=4..1", "seed=[]", 'rate=["10 Mbit/s"', "seed=0..99999999"])
def test_a_wrong_axis_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(GridError, match="--set"):
        parse_axis(text)


def test_every_axis_that_is_wrong_is_told() -> None:
    with pytest.raises(GridError) as caught:
        parse_axes(["seed=5..1", "tcp.mss=[536]", "tcp.mss=[]", "nothing"])
    assert len(str(caught.value).splitlines()) == 3


def test_every_value_that_is_wrong_is_told(cli: Cli, scenario_file: Path) -> None:
    rates = 'topology.bottleneck.rate=["5 Mbit/s", "foo", "bar", "-1 Mbit/s"]'
    delays = 'topology.bottleneck.delay=["oops", "5 ms"]'
    told = cli("sweep", scenario_file, "--set", rates, "--set", delays, "--set", "tcp.msss=[536, 1448]", "-o", "out")
    assert told.returncode == 2
    for value in ("foo", "bar", "-1 Mbit/s", "oops"):
        assert f'"{value}"' in told.stderr
    assert told.stderr.count("tcp.msss is not a known field") == 1  # of a field that is not known its values are none
    assert "5 mistakes" in told.stderr


def test_the_latency_that_appliances_add_is_in_the_tables() -> None:
    """Two boxes that add 3 and 4 ms add 7; a percentile of the sum is not known, and other flows have none."""

    def box(flow: str, mean: float) -> dict[str, Any]:
        return {"flows": [{"flow": flow, "forward": {"added_latency_ms": {"mean": mean, "p99": 2 * mean}}}]}

    flow = {"controller": "reno", "start_s": 0.0, "completion_s": None, "goodput_bps": 1e6, "throughput_bps": 1e6}
    flows = [flow | {"name": name} for name in ("both", "one", "none")]
    summary = {"duration_s": 10.0, "jain_index": 1.0, "flows": flows}
    summary["appliances"] = [box("both", 3.0), box("both", 4.0), box("one", 5.0)]
    table = flow_table([({"seed": 1}, summary)])
    assert table["added_latency_ms_mean"].to_list() == [7.0, 5.0, None]
    assert table["added_latency_ms_p99"].to_list() == [None, 10.0, None]
    assert means(table, ["seed"])["added_latency_ms_mean_mean"].to_list() == [7.0, 5.0, None]


def test_connections_of_a_group_are_one_row_for_each_point() -> None:
    """A.1 and A.2 have 0.2 and 0.4; a group that is not over has no completion, and numbers must go on from 1."""

    def row(
        flow: str, seed: int, goodput: float, completion: float | None = None, controller: str = "vegas"
    ) -> dict[str, Any]:
        return {
            "seed": seed,
            "flow": flow,
            "controller": controller,
            "goodput_bps": goodput,
            "completion_s": completion,
        }

    rows = [
        row("A.1", 1, 0.2, 3.0),
        row("A.2", 1, 0.4),
        row("B", 1, 1.0),
        row("A.1", 2, 0.6, 3.0),
        row("A.2", 2, 0.8, 5.0),
    ]
    found = {(one["seed"], one["flow"]): (one["goodput_bps"], one["completion_s"]) for one in averaged(rows, ["seed"])}
    assert found == {
        (1, "A, mean of 2"): (pytest.approx(0.3), None),
        (1, "B"): (1.0, None),
        (2, "A, mean of 2"): (pytest.approx(0.7), 4.0),
    }
    apart = [row("v1.2", 1, 0.2), row("v1.3", 1, 0.4), row("A.1", 1, 0.1), row("A.2", 1, 0.2, controller="reno")]
    assert averaged(apart, ["seed"]) == apart
    flows = [one | {"name": one["flow"], "rtt_ms": None} for one in apart]
    assert of_groups(flows) == [], "what compare takes for a group is what a sweep does"


def test_a_list_that_is_one_value_is_told_to_stand_in_a_list(cli: Cli, scenario_file: Path) -> None:
    """The list [{ ... }] that `run` takes is an axis here, with a table as its only value; write [[ ... ]]."""
    rules = 'topology.bottleneck.discard=[{ kind = "nth", n = 5 }]'
    assert (
        "remedy: write [[ ... ]]: a list here is an axis"
        in cli("sweep", scenario_file, "--set", rules, "-o", "out").stderr
    )
    asked = {"controllers": ["reno"], "path": {}, "set": {"topology.bottleneck.discard": [{"kind": "nth", "n": 5}]}}
    with pytest.raises(ackclock.ScenarioError) as caught:
        ackclock.study(asked)
    assert [entry["remedy"][:15] for entry in caught.value.diagnostics] == ["write [[ ... ]]"]


@pytest.mark.parametrize(
    "value", ["5 s", 'say "x"', 3, 2.5, True, [1, [2]], "é😀\x7f", {"kind": "red", "limits": [1, 2]}]
)
def test_an_override_reads_back_as_the_value(value: object) -> None:
    assert parse_axis(f"path=[{toml_text(value)}]").values == (value,)


def test_confidence_interval_after_student() -> None:
    # Of 1, 2, 3, 4, 5: s = sqrt(2.5) = 1.5811, t(0.975, 4) = 2.7764 from the printed table; 2.7764 * 1.5811 / sqrt(5).
    assert half_width(2.5**0.5, 5) == pytest.approx(1.9632, abs=1e-4)
    assert half_width(None, 1) is None
    assert half_width(0.0, 3) == 0.0


def _summary(seed: int, goodput_bps: float) -> dict[str, object]:
    rtt = None if seed == 2 else {"mean": 60.0, "p95": 61.0}
    flow = {
        "name": "f", "controller": "cubic", "completion_s": None, "goodput_bps": goodput_bps,
        "throughput_bps": goodput_bps, "retransmitted_segments": seed, "timeouts": 0, "rtt_ms": rtt,
    }  # fmt: skip
    return {"duration_s": 10.0, "jain_index": 1.0, "flows": [flow], "links": []}


def test_means_are_over_the_seeds_only() -> None:
    rows = [
        ({"rate": rate, "seed": seed}, _summary(seed, scale * value))
        for rate, scale in (("slow", 1.0), ("fast", 10.0))
        for seed, value in ((1, 1e6), (2, 2e6), (3, 3e6))
    ]
    averages = means(flow_table(rows), ["rate", "seed"])
    assert averages["rate"].to_list() == ["slow", "fast"]
    assert averages["seeds"].to_list() == [3, 3]
    assert averages["goodput_bps_mean"].to_list() == [2e6, 2e7]
    # s = 1e6, t(0.975, 2) = 4.3027: 4.3027e6 / sqrt(3).
    assert averages["goodput_bps_ci95"][0] == pytest.approx(2.4841e6, rel=1e-4)
    assert averages["rtt_ms_mean_mean"].to_list() == [60.0, 60.0], "a flow without samples does not count"
    assert averages["completion_s_mean"].to_list() == [None, None]


def test_parameters_of_several_types_become_text() -> None:
    rows = [({"c": value, "seed": 1}, _summary(1, 1.0)) for value in ("cubic", {"kind": "fixed"}, 3)]
    assert flow_table(rows)["c"].to_list() == ["cubic", '{"kind": "fixed"}', "3"]


GRID = ("--set", "seed=1..3", "--set", 'topology.bottleneck.rate=["5 Mbit/s", "10 Mbit/s"]', "--set", "duration=1 s")


def test_a_sweep_ends_with_one_tidy_table(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    done = cli("sweep", scenario_file, *GRID, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "6 points" in done.stdout
    assert "±" in done.stdout
    table = pl.read_parquet(tmp_path / "out" / "sweep.parquet")
    assert table.height == 3 * 2 * 2, "seeds, rates, flows"
    assert set(table["topology.bottleneck.rate"]) == {"5 Mbit/s", "10 Mbit/s"}
    total = table.group_by("seed", "topology.bottleneck.rate").agg(pl.col("goodput_bps").sum())
    slow = total.filter(pl.col("topology.bottleneck.rate") == "5 Mbit/s")["goodput_bps"]
    fast = total.filter(pl.col("topology.bottleneck.rate") == "10 Mbit/s")["goodput_bps"]
    assert slow.max() < 5e6 < fast.max() < 10e6
    assert pl.read_parquet(tmp_path / "out" / "means.parquet").height == 2 * 2
    assert pl.read_parquet(tmp_path / "out" / "links.parquet")["utilization"].max() > 0.5


def test_a_point_is_the_run_of_the_same_name(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    cli("sweep", scenario_file, "--set", "seed=1..2", "-o", "out")
    run = json.loads(cli("run", scenario_file, "--seed", 2, "--json").stdout)
    table = pl.read_parquet(tmp_path / "out" / "sweep.parquet").filter(pl.col("seed") == 2)
    assert table["goodput_bps"].to_list() == [flow["goodput_bps"] for flow in run["flows"]]


def test_tables_do_not_depend_on_the_number_of_threads(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    for jobs in (1, 4):
        assert cli("sweep", scenario_file, *GRID, "-o", f"out{jobs}", "--jobs", jobs).returncode == 0
    for table in ("sweep", "links", "means"):
        one, four = (tmp_path / f"out{jobs}" / f"{table}.parquet" for jobs in (1, 4))
        assert one.read_bytes() == four.read_bytes(), table


@pytest.mark.alone
def test_a_killed_sweep_goes_on_where_it_was(scenario_file: Path, tmp_path: Path, cli: Cli) -> None:
    grid = ("sweep", scenario_file, "--set", "seed=1..24", "--set", "duration='40 s'", "-j", 1)
    process = subprocess.Popen(command(*grid, "-o", "out"), cwd=tmp_path)
    points = tmp_path / "out" / "points"
    wait_until(lambda: len(list(points.glob("*.json"))) >= 2, "two points are done")
    process.kill()
    process.wait()
    for done_meanwhile in sorted(points.glob("*.json"))[20:]:  # by a machine that let this test rest
        done_meanwhile.unlink()
    (points / ".half.json.x.partial").write_text("{")
    finished = {path.name: path.stat().st_mtime_ns for path in points.glob("*.json")}
    assert len(finished) < 24

    done = cli(*grid, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "are done already" in done.stderr
    assert {name: (points / name).stat().st_mtime_ns for name in finished} == finished, "nothing was run twice"
    assert len(list(points.iterdir())) == 24
    assert cli(*grid, "-o", "fresh").returncode == 0
    for table in ("sweep", "links", "means"):
        names = (tmp_path / folder / f"{table}.parquet" for folder in ("out", "fresh"))
        assert len({path.read_bytes() for path in names}) == 1, table


def test_a_sweep_may_be_extended_but_not_changed(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    assert cli("sweep", scenario_file, "--set", "seed=1..2", "-o", "out").returncode == 0
    extended = cli("sweep", scenario_file, "--set", "seed=1..3", "-o", "out")
    assert extended.returncode == 0
    assert "2 of 3 points are done already" in extended.stderr
    before = (tmp_path / "out" / "sweep.parquet").read_bytes()
    for other in (("--set", "seed=2..3"), ("--set", "seed=1..3", "--set", "duration='1 s'")):
        refused = cli("sweep", scenario_file, *other, "-o", "out")
        assert refused.returncode == 2
        assert "may only be extended" in refused.stderr
    assert (tmp_path / "out" / "sweep.parquet").read_bytes() == before


def test_a_sweep_may_be_extended_by_an_axis(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    """docs/how-to/compare-and-repeat.md: a larger grid in the same folder adds the new points."""
    axes = ("--set", 'flow.new.controller=["cubic", "reno"]', "--set", "duration=['1 s', '2 s']")
    for more in ((), axes[:2], axes):
        assert cli("sweep", scenario_file, "--set", "seed=1..2", *more, "-o", "out", "-q").returncode == 0, more
        assert cli("compare", "out", "--json").returncode == 0, more
    assert cli("sweep", scenario_file, "--set", "seed=1..2", *axes, "-o", "fresh", "-q").returncode == 0
    assert cli("compare", "out", "--json").stdout == cli("compare", "fresh", "--json").stdout


def test_a_sweep_says_how_many_runs_were_completed_and_which_axes_go_together(
    cli: Cli, scenario_file: Path, tmp_path: Path
) -> None:
    """100 kB are over within 2 s, and 10 MB are not at 10 Mbit/s; a title tells an axis from the flow's controller."""
    sizes = ("--set", 'flow.new.app=[{kind="file", size="100 kB"}, {kind="file", size="10 MB"}]')
    axes = (*sizes, "--set", 'flow.old.controller=["reno", "vegas"]', "--paired", "flow.new.app,flow.old.controller")
    assert cli("sweep", scenario_file, *axes, "--set", "seed=1..2", "-o", "out", "-q").returncode == 0
    table = load_sweep(tmp_path / "out").table
    done = [row["completed"] for row in table.rows]
    assert done == ["2 of 2", None, None, None]
    assert [column.title for column in table.columns].count("controller") == 1
    assert "flow.new.app and flow.old.controller together" in table.about
    assert pl.read_parquet(tmp_path / "out" / "means.parquet")["completed"].to_list() == [2, 0, 0, 0]


def test_a_sweep_over_a_flow_of_any_name_is_drawn(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    """A dollar begins a formula of Matplotlib, and a slash a folder."""
    scenario_file.write_text(scenario_file.read_text().replace('"new"', '"a$^$/b"'))
    axes = [("--set", f'flow.{name}.start=["0 s", "50 ms"]') for name in ("a$^$/b", "old")]
    assert cli("sweep", scenario_file, *axes[0], *axes[1], "-o", "out", "-q").returncode == 0
    figures = list(load_sweep(tmp_path / "out").figures())
    assert len(figures) > 3
    for figure in figures:
        assert Path(figure.name).name == figure.name
        encode(figure.draw(), "svg")


def test_a_sweep_that_is_being_extended_has_not_ended(scenario_file: Path, tmp_path: Path, cli: Cli) -> None:
    assert cli("sweep", scenario_file, "--set", "duration=['1 s']", "-o", "out").returncode == 0
    longer = ("sweep", scenario_file, "--set", "duration=['1 s', '1000000 s']", "-o", "out")
    process = subprocess.Popen(command(*longer), cwd=tmp_path)
    try:
        wait_until(lambda: "1000000 s" in (tmp_path / "out" / "sweep.json").read_text(), "the sweep is being extended")
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    finally:
        process.kill()
    shown = cli("compare", "out")
    assert shown.returncode == 2
    assert "is an unfinished sweep" in shown.stderr


def test_a_report_of_a_sweep_leaves_figures_of_others(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    """The help says so of --force, and a report of runs does so."""
    assert cli("sweep", scenario_file, "-o", "out", "-q").returncode == 0
    theirs = tmp_path / "figures" / "goodput.svg"
    theirs.parent.mkdir()
    theirs.write_text("drawn by hand")
    refused = cli("report", "out", "-o", "page.html", "--static", "figures")
    assert refused.returncode == 2
    assert "goodput.svg exists already" in refused.stderr
    assert theirs.read_text() == "drawn by hand"
    assert not (tmp_path / "page.html").exists()
    assert cli("report", "out", "-o", "page.html", "--static", "figures", "--force").returncode == 0
    assert cli("report", "out", "-o", "page.html", "--static", "figures").returncode == 0


def test_a_point_is_of_what_its_controller_imports_too(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    network = scenario_file.read_text().partition("[[flow]]")[0]
    (tmp_path / "own.toml").write_text(
        f'{network}[[flow]]\nname = "mine"\ncontroller = {{ kind = "python", class = "mine:Mine" }}\n'
    )
    (tmp_path / "mine.py").write_text(
        "from ackclock import CongestionController\nfrom numbers_of_mine import WINDOW\n\n\n"
        "class Mine(CongestionController):\n    def on_ack(self, ack):\n        self.cwnd_bytes = WINDOW\n\n"
        "    def on_congestion(self, event):\n        pass\n"
    )
    goodputs = []
    for window in (3_000, 3_000, 6_000):
        (tmp_path / "numbers_of_mine.py").write_text(f"WINDOW = {window}\n")
        done = cli("sweep", "own.toml", "--set", "seed=1..2", "-o", "out", "--trust")
        assert done.returncode == 0, done.stderr
        assert ("done already" in done.stderr) == (len(goodputs) == 1), done.stderr
        goodputs.append(pl.read_parquet(tmp_path / "out" / "sweep.parquet")["goodput_bps"].mean())
    assert goodputs[0] == goodputs[1] < goodputs[2] / 1.5
    (tmp_path / "numbers_of_mine.py").write_text("WINDOW = 1 / 0\n")
    assert cli("sweep", "own.toml", "--set", "seed=1..2", "-o", "out", "--trust").returncode == 2
    (tmp_path / "numbers_of_mine.py").write_text("WINDOW = 'no number'\n")
    assert cli("sweep", "own.toml", "--set", "seed=1..2", "-o", "out", "--trust").returncode == 1
    assert "is an unfinished sweep" in cli("compare", "out").stderr, "its tables are of other code"


def test_a_sweep_of_short_flows_shows_what_its_link_tells(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    network = scenario_file.read_text().partition("[[flow]]")[0]
    group = 'name = "web"\narrivals = { load = 0.5, size = "20 kB" }\n'
    (tmp_path / "short.toml").write_text(f"{network}[[flow]]\n{group}")
    done = cli("sweep", "short.toml", "--set", "seed=1..2", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "link used" in cli("compare", "out").stdout
    assert cli("report", "out", "-o", "page.html").returncode == 0


def test_an_axis_is_no_column_of_the_results(cli: Cli, scenario_file: Path) -> None:
    refused = cli("sweep", scenario_file, "--set", 'flow=[[{ controller = "reno" }]]', "-o", "out")
    assert refused.returncode == 2
    assert "--set flow: cannot sweep a whole list" in refused.stderr


@pytest.mark.parametrize(
    ("undone", "other"),
    [
        ('flow[0].controller=["reno", "vegas"]', 'flow.new.controller=["cubic", "bbr"]'),
        (
            'topology.bottleneck.rate=["1 Mbit/s", "2 Mbit/s"]',
            'topology.bottleneck={ rate = "3 Mbit/s", delay = "9 ms" }',
        ),
    ],
)
def test_two_axes_of_one_place_are_refused(cli: Cli, scenario_file: Path, undone: str, other: str) -> None:
    refused = cli("sweep", scenario_file, "--set", undone, "--set", other, "-o", "out")
    assert refused.returncode == 2
    assert f"--set {undone.partition('=')[0]} is overridden by another axis" in refused.stderr
    assert cli("sweep", scenario_file, "--set", "duration=['1 s', '1000 ms']", "-o", "same", "-q").returncode == 0


def test_one_bad_point_is_found_before_any_runs(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    done = cli("sweep", scenario_file, "--set", 'duration=["1 s", "soon"]', "-o", "out")
    assert done.returncode == 2
    assert "soon" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_of_other_things_is_left_alone(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    done = cli("sweep", scenario_file, "-o", "home")
    assert done.returncode == 2
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["letter.txt"]


def test_ray_backend_names_the_remedy_when_missing(
    cli: Cli, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hides").mkdir()
    (tmp_path / "hides" / "ray.py").write_text("raise ModuleNotFoundError(\"No module named 'ray'\", name='ray')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hides"))
    done = cli("sweep", scenario_file, "-o", "out", "--backend", "ray")
    assert done.returncode == 2
    assert "pip install 'ackclock[ray]'" in done.stderr


@pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="needs Ray; run: pip install 'ackclock[ray]'")
def test_ray_backend_gives_the_same_table(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    for backend in ("local", "ray"):
        assert cli("sweep", scenario_file, *GRID, "-o", backend, "--backend", backend).returncode == 0
    tables = ((tmp_path / backend / "sweep.parquet").read_bytes() for backend in ("local", "ray"))
    assert len(set(tables)) == 1


# ---- axes that go together ------------------------------------------------------------------------------------------


def test_paired_axes_go_first_with_first_and_are_crossed_with_the_rest(
    cli: Cli, scenario_file: Path, tmp_path: Path
) -> None:
    """Three pairs of rate and delay, two seeds: six points, of the twelve of a full product."""
    rates, delays = '["4 Mbit/s", "8 Mbit/s", "8 Mbit/s"]', '["5 ms", "10 ms", "20 ms"]'
    axes = (f"topology.bottleneck.rate={rates}", f"topology.bottleneck.delay={delays}", "seed=1..2")
    sets = [part for axis in axes for part in ("--set", axis)]
    pair = ("--paired", "topology.bottleneck.rate,topology.bottleneck.delay")
    done = cli("sweep", scenario_file, *sets, *pair, "-o", "paired", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    found = {(row["topology.bottleneck.rate"], row["topology.bottleneck.delay"]) for row in rows}
    assert found == {("4 Mbit/s", "5 ms"), ("8 Mbit/s", "10 ms"), ("8 Mbit/s", "20 ms")}
    assert all(row["seeds"] == 2 for row in rows)
    figures = {drawn.name: drawn for drawn in load_sweep(tmp_path / "paired").figures()}
    assert "goodput-over-delay" in figures and "trade-off" in figures
    assert len(figures["goodput-over-delay"].draw().axes[0].get_lines()[0].get_xdata()) == 3


@pytest.mark.parametrize(
    ("paired", "said"),
    [
        ("tcp.mss", "fewer than two"),
        ("tcp.mss,seed", "as many values"),
        ("tcp.mss,duration", "must name an axis"),
        ("tcp.mss,tcp.mss", "twice"),
    ],
)
def test_wrong_pairs_are_told(cli: Cli, scenario_file: Path, paired: str, said: str) -> None:
    axes = ("--set", "tcp.mss=[536, 1448]", "--set", "seed=1..3", "--paired", paired)
    done = cli("sweep", scenario_file, *axes, "-o", "wrong")
    assert done.returncode == 2
    assert said in done.stderr


def test_an_axis_whose_name_ends_as_another_is_called_by_all_of_it() -> None:
    """No end of `tcp.profile` is its own; `rate` and `pacing_rate` are two words."""
    axes = {"tcp.profile": [], "flow.old.tcp.profile": [], "flow.old.pacing_rate": [], "topology.bottleneck.rate": []}
    titles = Sweep(Path(), axes, {}, [1], "", []).titles
    assert list(titles.values()) == ["tcp.profile", "old.tcp.profile", "pacing_rate", "rate"]


def test_a_result_is_of_one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two checkouts of one version may simulate differently, and share a folder."""
    point = grid.Point({}, "{}", "hash")
    keys = {point.key}
    monkeypatch.setattr(grid, "_engine", lambda: "another")
    assert point.key not in keys


LOSS = f"""\
name = "mix"
duration = "300 ms"
{dumbbell('rate = "10 Mbit/s", delay = "10 ms"', "0 ns", limit="1 bdp")}
[[flow]]
name = "a"
controller = "cubic"
"""


@pytest.mark.parametrize(
    ("axis", "texts"),
    [
        ("topology.bottleneck.loss.p=[0, 0.01]", ["0", "0.01"]),  # a column of floats has 0.0 for 0
        ('topology.bottleneck.queue=[{ kind = "codel" }, "codel"]', ["codel (1)", "codel (2)"]),  # one text of two
        ("topology.bottleneck.loss.p=[0, 0.0, 0.01]", ["0", "0.01"]),  # one number, written twice
    ],
)
def test_a_value_has_one_key_from_the_command_line_to_the_report(
    cli: Cli, tmp_path: Path, axis: str, texts: list[str]
) -> None:
    overrides = ["--set", 'topology.bottleneck.loss.kind="random"'] if "loss" in axis else []
    (tmp_path / "mix.toml").write_text(LOSS)
    done = cli("sweep", "mix.toml", *overrides, "--set", axis, "--set", "seed=1..2", "-o", "S", "-q")
    assert done.returncode == 0, done.stderr
    found = load_sweep(tmp_path / "S")
    (name,) = found.axes
    assert [row[name] for row in found.table.rows] == texts
    assert [row["seeds"] for row in found.table.rows] == [2, 2]
    drawn = list(found.figures())
    assert len({figure.name for figure in drawn}) == len(drawn) > 0
    for figure in drawn:
        figure.draw()
    assert cli("report", "S", "-o", "S.html").returncode == 0


# ---- a folder that somebody has changed ------------------------------------------------------------------------------


@pytest.fixture
def swept(cli: Cli, scenario_file: Path, tmp_path: Path) -> Path:
    assert cli("sweep", scenario_file, "-o", "out", "--set", "seed=1..3", "-q").returncode == 0
    return tmp_path / "out"


def _goodput_of_another(folder: Path) -> None:
    file = folder / "sweep.parquet"
    pl.read_parquet(file).with_columns(goodput_bps=pl.lit(1e6)).write_parquet(file)


def _point_of_another(folder: Path) -> None:
    first, second, *_ = sorted((folder / "points").glob("*.json"))
    first.write_bytes(second.read_bytes())


def _point_removed(folder: Path) -> None:
    next((folder / "points").glob("*.json")).unlink()


def _parameters_of_another(folder: Path) -> None:
    file = folder / "sweep.json"
    file.write_text(file.read_text().replace('"seed"', '"duration"'))


def _a_value_more(folder: Path) -> None:
    file = folder / "sweep.json"
    grid = json.loads(file.read_text())
    grid["parameters"]["seed"].append(4)
    file.write_text(json.dumps(grid))


def _means_cut(folder: Path) -> None:
    file = folder / "means.parquet"
    file.write_bytes(file.read_bytes()[:100])


CHANGES = (
    _goodput_of_another, _point_of_another, _point_removed, _parameters_of_another, _a_value_more, _means_cut,
)  # fmt: skip


def test_report_and_compare_check_what_a_sweep_wrote(cli: Cli, swept: Path, tmp_path: Path) -> None:
    """docs/explanation/security.md: form and content of what is read, so that a change is a message."""
    assert cli("compare", "out", "--json").returncode == 0
    for change in CHANGES:
        copy = tmp_path / change.__name__
        shutil.copytree(swept, copy)
        change(copy)
        with pytest.raises(DamagedError):
            load_sweep(copy)
    done = cli("report", _goodput_of_another.__name__, "-o", "page.html")
    assert done.returncode == 2 and "sweep.parquet" in done.stderr and not (tmp_path / "page.html").exists()


def test_a_grid_of_too_many_points_is_refused_before_any_is_made() -> None:
    axes = [parse_axis("seed=1..100000"), parse_axis("tcp.mss=1..1000")]
    with pytest.raises(GridError, match="at most 1,000,000 points, not 100,000,000"):
        grid_of(axes, pytest.fail)


@pytest.mark.parametrize(
    ("key", "mean", "half", "text"),
    [
        ("timeouts", 0.5, 6.4, "0.5 (0–6.9)"),
        ("jain_index", 0.96, 0.39, "0.96 (0.57–1)"),
        ("utilization", 0.96, 0.17, "96 (79–100)"),
        ("goodput_bps", 4.0e6, 1.0e6, "4.0 ± 1.0"),
    ],
)
def test_an_interval_of_means_goes_no_further_than_its_metric(key: str, mean: float, half: float, text: str) -> None:
    """Means of a study were cut at what is possible, and those of a sweep were 0.5 ± 6.4 timeouts."""
    column = next(column for column in MEANS if column.key == key)
    assert tables.shown(tables.Estimate(mean, half, 2), column) == text
