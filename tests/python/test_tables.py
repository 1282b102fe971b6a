"""Tables in every form, and what tells runs apart."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ackclock
from ackclock.plotting import figures, likeness, tables
from ackclock.plotting.report import run_comparison
from ackclock.plotting.tables import Column, Estimate, Table
from ackclock.results.run_labels import common, facts, labels

TABLE = Table(
    "who | wins",
    "10 Mbit/s, 50 % used",
    [Column("who", "who", is_text=True), Column("goodput_bps", "goodput", "Mbit/s", factor=1e-6), Column("n", "n")],
    [
        {"who": "a_b", "goodput_bps": Estimate(4.25e6, 0.31e6, 5), "n": 3},
        {"who": "<b>", "goodput_bps": Estimate(1e6, None, 1), "n": None},
    ],
    ("a note",),
)


def test_markdown_has_a_row_each_and_what_was_run() -> None:
    lines = tables.markdown(TABLE).splitlines()
    assert lines[2:6] == [
        "| who | goodput (Mbit/s) | n |",
        "|---|---:|---:|",
        "| a_b | 4.25 ± 0.31 | 3 |",
        r"| \<b> | 1.00 | – |",
    ]
    assert "10 Mbit/s, 50 % used" in lines[7]


def test_no_name_of_a_table_is_markup() -> None:
    """CommonMark 0.31 sections 2.4 and 6.2: title and notes are others' words as much as cells are."""
    table = Table("<b>x</b> `y`", "2 a*b + c*d", [Column("a", "a", is_text=True)], [{"a": "*z*"}], ("[n](m)",))
    text = tables.markdown(table)
    for written in ("\\<b>x\\</b> \\`y\\`", "2 a\\*b + c\\*d", "| \\*z\\* |", "\\[n](m)"):
        assert written in text, text


def test_latex_says_nothing_that_latex_obeys() -> None:
    text = tables.latex(TABLE)
    assert r"a\_b & 4.25 $\pm$ 0.31 & 3 \\" in text
    assert r"50 \% used" in text
    assert r"\begin{tabular}{lrr}" in text
    asked = tables.latex(replace(TABLE, title="Who starves?"))
    assert r"\caption{Who starves? " in asked and "?." not in asked


def test_csv_has_all_digits_in_the_units_of_its_names() -> None:
    text = tables.as_csv(TABLE)
    rows = list(csv.reader(line for line in text.splitlines() if not line.startswith("#")))
    assert rows[0] == ["who", "goodput_bps", "goodput_bps_ci95", "goodput_bps_count", "n"]
    assert rows[1] == ["a_b", "4250000.0", "310000.0", "5", "3"]
    assert rows[2] == ["<b>", "1000000.0", "", "1", ""]


def test_csv_of_runs_has_their_labels_and_all_digits() -> None:
    """`--form csv` of two runs had columns `run0` and `run1`, and cells such as `1,654`, `98.9 %` and a dash."""
    flows = [{"name": "a", "controller": kind} for kind in ("cubic", "bbr3")]
    runs = [ackclock.run(ackclock.dumbbell(flows=[flow], duration="2 s")) for flow in flows]
    rows = {
        (row["thing"], row["figure"]): [row["cubic"], row["bbr3"]]
        for text in map(tables.as_csv, run_comparison.tables(runs))
        for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    }
    alone = [run.summary["flows"][0] for run in runs]
    used = [next(link for link in run.summary["links"] if link["name"] == "bottleneck") for run in runs]
    assert [float(text) for text in rows["a", "RTT mean (ms)"]] == [(flow["rtt_ms"] or {})["mean"] for flow in alone]
    assert [int(text) for text in rows["a", "sent (segments)"]] == [flow["sent_segments"] for flow in alone]
    assert rows["a", "completed at (s)"] == ["", ""]
    assert [float(text) for text in rows["bottleneck", "utilization"]] == [link["utilization"] for link in used]


def test_a_label_of_a_run_that_is_a_heading_takes_no_column_from_it() -> None:
    """Runs named `figure` and `thing` took the cells of the columns that say what a row is."""
    runs = [
        ackclock.run(ackclock.dumbbell(name=name, flows=[{"name": "a"}], duration="1 s"))
        for name in ("figure", "thing")
    ]
    text = tables.as_csv(run_comparison.tables(runs)[0])
    head, *rows = csv.reader(line for line in text.splitlines() if not line.startswith("#"))
    assert head == ["thing", "figure", "figure (2)", "thing (2)"]
    assert len({(row[0], row[1]) for row in rows}) == len(rows) and {row[0] for row in rows} == {"a"}
    bps = runs[0].flow("a")["goodput_bps"]
    assert next(row[2:] for row in rows if row[1] == "goodput (Mbit/s)") == [str(bps / 1e6)] * 2


def test_csv_of_a_recording_beside_a_simulation_has_their_labels_and_all_digits() -> None:
    """Columns were `run0` and `run1`, and cells such as `12,346`; the score is 1.25 / 12345.678 of the goodputs."""
    run = ackclock.run(ackclock.dumbbell(flows=[{"name": "a"}], duration="1 s"))

    def of(goodput_bps: float, *, is_recorded: bool) -> Any:
        flow = {**run.flow("a"), "goodput_bps": goodput_bps}
        return SimpleNamespace(
            is_recorded=is_recorded, is_of_kernel=False, summary={"flows": [flow]}, flow=lambda _: flow, flows=run.links
        )

    table = likeness.table([of(12_345_678_000.0, is_recorded=True), of(1_250_000.0, is_recorded=False)], ["b", "score"])
    assert table is not None
    head, first, *_ = csv.reader(line for line in tables.as_csv(table).splitlines() if not line.startswith("#"))
    assert head == ["thing", "figure", "b", "score (2)", "score"]
    assert first[:2] == ["a", "goodput (Mbit/s)"]
    assert [float(cell) for cell in first[2:]] == pytest.approx([12345.678, 1.25, 1.25 / 12345.678], rel=1e-12)


def test_json_and_html() -> None:
    assert json.loads(tables.json_text(TABLE))["rows"][0]["goodput_bps"] == {"mean": 4.25e6, "ci95": 0.31e6, "count": 5}
    page = tables.html(TABLE)
    assert "&lt;b&gt;" in page and "<b>" not in page


def test_runs_are_named_by_what_differs() -> None:
    short = {"duration": "100 ms"}
    one = ackclock.run(ackclock.dumbbell(flows="cubic", **short))
    other = ackclock.run(ackclock.dumbbell(flows="cubic", queue="fq_codel", profile="rfc", **short))
    third = ackclock.run(ackclock.dumbbell(flows="bbr3*2", **short), seed=2)
    assert labels([one, other]) == ["linux-6.x, drop_tail", "rfc, fq_codel"]
    assert labels([one, third]) == ["cubic, seed 1", "2 bbr3, seed 2"]
    assert labels([one, one]) == [f"{one.name} (1)", f"{one.name} (2)"]
    assert "100 Mbit/s" in common([one, other]) and "queue" not in common([one, other])
    assert facts(one)["profile"] == "linux-6.x"


def test_no_time_is_said_in_seconds() -> None:
    flows = [{"name": "old", "start": "0 s"}, {"name": "new", "start": "50 ms"}]
    found = facts(ackclock.run(ackclock.dumbbell(flows=flows, duration="100 ms")))
    assert (found["old.start"], found["new.start"]) == ("0 s", "50 ms")


def test_a_comparison_begins_with_the_means_of_groups_of_connections() -> None:
    """Papers set the average of nA connections under Vegas beside that under Tahoe."""
    flow = {"profile": "rfc", "completion_s": None, "limited_by": None, "sent_segments": 9, "retransmitted_segments": 0,
            "lost_segments": 0, "timeouts": 0, "fast_recoveries": 0}  # fmt: skip
    summaries = [
        [flow | {"name": f"A.{n}", "controller": of, "goodput_bps": scale * n * 1e6, "rtt_ms": None} for n in (1, 2)]
        for of, scale in (("vegas", 1), ("tahoe", 3))
    ]
    first, *_ = run_comparison._of_flows(["one", "other"], summaries, "")
    assert first.title == "groups of connections"
    assert [(row["figure"], row["one"], row["other"]) for row in first.rows][:2] == [
        ("connections", "2", "2"), ("goodput of one (Mbit/s)", "1.50", "4.50"),
    ]  # fmt: skip
    single, *_ = run_comparison._of_flows(["one", "other"], [run[:1] for run in summaries], "")
    assert single.title == "flows"


NETWORK = """duration = "100 ms"
[topology]
kind = "explicit"
node = [{{ name = "A" }}, {{ name = "R", kind = "router" }}, {{ name = "B" }}]
[[topology.link]]
from = "A"
to = "R"
rate = "1 Gbit/s"
delay = "1 ms"
[[topology.link]]
from = "R"
to = "B"
rate = "10 Mbit/s"
delay = "{delay}"
queue = {{ kind = "{queue}", limit = "50 packets" }}
[[flow]]
name = "a"
from = "A"
to = "B"
controller = {controller}
{rest}
"""


def test_of_a_network_of_links_the_field_that_differs_is_named() -> None:
    """The heading was a list of all links, cut at 60 signs, and a controller of a bare word was `as by default`."""

    def run(
        queue: str = "drop_tail", delay: str = "18 ms", controller: str = '"tahoe"', rest: str = ""
    ) -> ackclock.Results:
        text = NETWORK.format(queue=queue, delay=delay, controller=controller, rest=rest)
        return ackclock.run(ackclock.Scenario.parse(text))

    vegas = '{ kind = "vegas", variant = "ns2" }'
    assert labels([run(), run(queue="sgpq")]) == [
        "R->B.queue drop_tail (limit 50 packets)", "R->B.queue sgpq (limit 50 packets)",
    ]  # fmt: skip
    assert labels([run(controller=vegas), run()]) == ["vegas", "tahoe"]
    box = '[[appliance]]\nname = "box"\nnode = "R"'
    assert labels([run(), run(rest=box)]) == ["appliance as by default", "appliance name box, node R"]
    far = '[appliance.far]\ncontroller = "reno"'
    assert labels([run(rest=box), run(rest=f"{box}\n{far}")])[1] == "box.far controller reno"
    assert labels([run(delay="9 ms", controller=vegas, queue="sgpq"), run()]) == [
        "vegas, R->B.delay 9 ms, R->B.queue sgpq (limit 50 packets)",
        "tahoe, R->B.delay 18 ms, R->B.queue drop_tail (limit 50 packets)",
    ]


def test_a_figure_for_a_paper_is_a_column_wide_with_fonts_that_papers_take(tmp_path: Path) -> None:
    clouds = {"": [figures.Cloud("a", [1.0, 2.0, 3.0], [2.0, 4.0, 3.0]), figures.Cloud("b", [1.0], [1.0])]}
    figure = figures.scatter(clouds, figures.Axis("delay"), figures.Axis("rate"))
    assert figure.get_size_inches()[0] == pytest.approx(3.3)
    (file,) = figures.save(figure, tmp_path / "f.pdf", "what was run")
    content = file.read_bytes()
    assert b"/Type3" not in content and b"/Subtype /Type0" in content
    assert content == figures.encode(figure, "pdf", "what was run"), "the same figure gives the same bytes"
    with pytest.raises(ValueError, match="pdf, svg, png"):
        figures.encode(figure, "gif")


def test_a_table_is_narrowed_to_what_is_asked_for() -> None:
    assert [column.key for column in TABLE.narrowed(["n", "nothing"]).columns] == ["who", "n"]
    assert [column.key for column in TABLE.narrowed(["goodput"]).columns] == ["who", "goodput_bps"]
