"""Figures of a study: which come first, which are left out, and the roles of axes."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex

from ackclock import _core
from ackclock.base import storage
from ackclock.base.input_files import InputError
from ackclock.experiments.studies.arrangement import Arrangement
from ackclock.experiments.studies.study_folder import Study
from ackclock.plotting.figures import Curve, encode, save
from ackclock.plotting.figures.published_curves import published_curves
from ackclock.plotting.figures.theme import INK, PAPER
from ackclock.scenario.display_names import DISPLAY_NAMES
from test_known_answers import a_study

PATH: dict[str, Any] = {
    "rate": "10 Mbit/s",
    "rtt": ["20 ms", "100 ms"],
    "buffer": ["0.25 bdp", "1 bdp", "2 bdp"],
    "queue": ["drop_tail", "fq_codel"],
}


@pytest.fixture(scope="module")
def crossed() -> Study:
    """One line-up over three axes."""
    return a_study(path=PATH, line_ups=["pairs"])


def _drawn(study: Study, name: str, **asked: Any) -> tuple[list[str], list[str]]:
    """Return the labels of the legend and the titles of the panels."""
    figures = {drawn.name: drawn for drawn in study.figures(Arrangement(**asked))}
    figure = figures[name].draw()
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()]
    return [text.get_text() for text in figure.legends[0].texts], titles


def test_code_of_pgfplots_has_the_numbers_of_the_figure(crossed: Study) -> None:
    """Two panels of two curves and a line at the fair share; the legend is the first panel's."""
    code = encode(next(crossed.figures()).draw(), "tex").decode()
    assert code.count(r"\nextgroupplot") == 2 and code.count(r"\addplot") == 6
    assert "xtick={0.25,1,2}" in code and "ylabel={a's share (\\%)}" in code
    assert "\n  0.25 75 0\n  1 75 0\n  2 75 0\n" in code, "the mean of two seeds, both of which give 75 %"
    assert [code.count(name) for name in (r"\addlegendentry{DropTail}", r"\addlegendentry{FQ-CoDel}")] == [1, 1]
    bands = next(drawn for drawn in crossed.figures() if drawn.name.startswith("convergence")).draw()
    assert "fill opacity=0.18" in encode(bands, "tex").decode()
    matrix = next(drawn for drawn in a_study().figures() if drawn.name == "shares").draw()
    (axes,) = [one for one in matrix.axes if one.get_visible()][:1]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("competitor", "controller, share (%)")
    with pytest.raises(ValueError, match="a matrix is not drawn by pgfplots"):
        encode(matrix, "tex")


def test_steps_of_a_figure_are_steps_in_pgfplots(crossed: Study) -> None:
    distribution = next(drawn for drawn in crossed.figures() if drawn.name == "cdf-rtt").draw()
    lines = [line for axes in distribution.axes for line in axes.lines if line.get_drawstyle() == "steps-post"]
    assert lines and encode(distribution, "tex").decode().count("const plot") == len(lines)
    assert "const plot" not in encode(next(crossed.figures()).draw(), "tex").decode()
    lines[0].set_drawstyle("steps-pre")
    with pytest.raises(ValueError, match="steps-pre is not drawn by pgfplots"):
        encode(distribution, "tex")


@pytest.mark.parametrize("form", ["tex", "pdf", "svg", "png"])
def test_a_figure_replaces_one_that_ackclock_wrote(form: str, crossed: Study, tmp_path: Path) -> None:
    figure = next(crossed.figures()).draw()
    file = tmp_path / f"x.{form}"
    for _ in range(2):
        storage.check_file(file)
        save(figure, file)
    file.write_text("mine")
    with pytest.raises(storage.OutputExistsError, match="exists already"):
        storage.check_file(file)


def test_each_built_in_part_has_a_display_name() -> None:
    parts = [*json.loads(_core.controllers()), *json.loads(_core.queues())]
    assert {part["name"] for part in parts} == set(DISPLAY_NAMES)


def test_a_figure_over_the_axis_of_most_values_comes_first(crossed: Study) -> None:
    names = [drawn.name for drawn in crossed.figures()]
    assert names[0] == "share-over-buffer"
    assert names.index("share-over-rtt") < names.index("trade-off") < names.index("cdf-rtt")
    assert not [name for name in names if name.startswith("shares")], "it would have two cells, which are a curve"
    assert len(names) <= 13


def test_one_line_up_has_queues_as_colours_and_the_other_axis_as_panels(crossed: Study) -> None:
    assert _drawn(crossed, "share-over-buffer") == (["DropTail", "FQ-CoDel"], ["20 ms", "100 ms"])
    labels, titles = _drawn(crossed, "trade-off")
    assert labels == ["DropTail", "FQ-CoDel"] and len(titles) == 6
    assert titles[0] == "20 ms, buffer 0.25 bdp", "each panel names its path"
    several = a_study(path=PATH)
    labels, titles = _drawn(several, "queueing-over-buffer")
    assert labels == ["a", "b"] and titles[0] == "20 ms, DropTail" and len(titles) == 4


def test_axes_have_the_roles_that_are_asked_for(crossed: Study) -> None:
    found = _drawn(crossed, "share-over-buffer", colour=("rtt",), panel=("queue",))
    assert found == (["20 ms", "100 ms"], ["DropTail", "FQ-CoDel"])
    labels, titles = _drawn(crossed, "share-over-buffer", colour=("queue",), style=("rtt",), panel=())
    assert titles == [""] and labels[:2] == ["DropTail, 20 ms", "FQ-CoDel, 20 ms"] and len(labels) == 4
    labels, titles = _drawn(crossed, "share-over-buffer", panel=("rtt",), names={"fq_codel": "fair", "20 ms": "near"})
    assert (labels, titles) == (["DropTail", "fair"], ["near", "100 ms"])


def test_no_line_joins_named_paths() -> None:
    paths = [{"name": "fibre", "rtt": ["10 ms", "30 ms"]}, {"name": "satellite", "rtt": "300 ms"}]
    several = a_study(path=paths, line_ups=["alone"])
    assert _drawn(several, "utilisation-over-rtt") == (["a", "b"], ["fibre", "satellite"])
    drawn = {one.name: one for one in a_study(path=paths, line_ups=["pairs"]).figures()}["share-over-rtt"].draw()
    lines = [line.get_xdata() for line in drawn.axes[0].lines if len(line.get_xdata()) and line.get_marker() in "os"]
    assert [list(map(float, line)) for line in lines] == [[10.0, 30.0], [300.0]]
    single = [{"name": "fibre", "rtt": "10 ms"}, {"name": "satellite", "rtt": "300 ms"}]
    names = [one.name for one in a_study(path=single, line_ups=["alone"]).figures()]
    assert "utilisation" in names and "utilisation-over-rtt" not in names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x,y\n", "has no points"),
        ("x,y\n1,nan\n", "line 2: x, y and half must be finite"),
        ("x,y\ninf,1\n", "must be finite"),
        ("x,y,half\n1,2,-1\n", "half must not be negative"),
        ("x,y,half\n1,2,wide\n", "must be numbers"),
    ],
)
def test_published_points_must_be_drawable(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "paper.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        published_curves(tmp_path / "paper.csv")


def test_published_curves_are_drawn_once_where_they_are_with_their_own_look() -> None:
    several = a_study(path={"rtt": ["20 ms", "100 ms"]}, line_ups=["alone"])
    theirs = Curve("a", [20.0, 100.0], [1.0, 2.0])
    asked = Arrangement(beside={"": [theirs]})
    figure = {drawn.name: drawn for drawn in several.figures(asked)}["queueing-over-rtt"].draw()
    assert [text.get_text() for text in figure.legends[0].texts] == ["a", "b", "a (published)"]
    (line,) = [bars[0] for bars in figure.axes[0].containers if bars.get_label() == "a (published)"]
    assert to_hex(line.get_color()) == INK and line.get_transform() == figure.axes[0].transData


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ({"30 ms": [Curve("c", [1.0], [1.0])]}, 'unknown panel "30 ms"; did you mean "20 ms"'),
        ({"": [Curve("c", [0.0], [1.0])]}, "x must be above 0 on a logarithmic axis, not 0"),
    ],
)
def test_published_curves_outside_the_figure_are_refused(beside: Any, said: str) -> None:
    wide = a_study(path=PATH | {"buffer": ["0.25 bdp", "1 bdp", "16 bdp"]}, line_ups=["pairs"])
    drawn = {one.name: one for one in wide.figures(Arrangement(beside=beside))}
    with pytest.raises(ValueError, match=said):
        drawn["share-over-buffer"].draw()


def test_one_seed_has_no_intervals(crossed: Study) -> None:
    for one in (a_study(seeds=1), a_study(path=PATH, seeds=1)):
        said = " ".join([*(drawn.caption for drawn in one.figures()), *one.table.notes, *one.differences.notes])
        assert not any(word in said for word in ("confidence", "bars:", "bands:", "ellipses"))
    captions = {drawn.name: drawn.caption for drawn in crossed.figures()}
    assert "; bars: 95 % confidence intervals over seeds" in captions["share-over-buffer"]
    assert ": dots: seeds" in captions["trade-off"]


def test_a_part_of_a_study_is_named_as_figures_name_it(crossed: Study) -> None:
    assert {cell["queue"] for cell in crossed.only({"queue": ["FQ-CoDel"]}).plan.cells} == {"fq_codel"}
    with pytest.raises(ValueError, match=r'rtt: must be a list of values; write it like \["20 ms"\]'):
        crossed.only({"rtt": "20 ms"})
    with pytest.raises(ValueError, match="rtt: must be a list of values"):
        crossed.only({"rtt": []})
    with pytest.raises(ValueError, match='unknown axis "nosuch"'):
        list(crossed.figures(Arrangement(colour=("nosuch",))))


def test_a_line_style_is_seen_in_the_legend(crossed: Study) -> None:
    asked = Arrangement(colour=("queue",), style=("rtt",), panel=())
    figure = {drawn.name: drawn for drawn in crossed.figures(asked)}["share-over-buffer"].draw()
    lines = [bars[0] for bars in figure.axes[0].containers]
    shown = {bars.get_label(): bars[0] for bars in figure.axes[0].containers}
    near, far = shown["DropTail, 20 ms"], shown["DropTail, 100 ms"]
    assert near.get_color() == far.get_color() and near.get_marker() != far.get_marker()
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 4
    assert PAPER["legend.handlelength"] == 3.0, "a dash is visible beside the marker"


def test_a_printed_study_is_a_line(crossed: Study) -> None:
    name, version = crossed.plan.name, crossed.version
    assert str(crossed) == f"Study({name!r}, {len(crossed.runs)} runs, ackclock {version})"


def test_the_fair_share_is_a_line_and_one_curve_names_its_axis(crossed: Study) -> None:
    drawn = next(crossed.figures())
    assert "fair share, 50 %" in drawn.caption and "a has against b" in drawn.caption
    figure = drawn.draw()
    lines = [line for line in figure.axes[0].lines if list(line.get_ydata()) == [50.0, 50.0]]
    assert [to_hex(line.get_color()) for line in lines] == ["#777777"]
    assert figure.get_supylabel() == "a's share (%)"


def test_the_page_leads_with_its_answer(crossed: Study, tmp_path: Path) -> None:
    crossed.save(tmp_path, forms=("svg",))
    page = (tmp_path / "study.html").read_text(encoding="utf-8")
    places = [page.index(f'id="{name}"') for name in ("share-over-buffer", "differences", "means", "trade-off")]
    assert places == sorted(places)
    assert all(f'href="#{drawn.name}"' in page and f'id="{drawn.name}"' in page for drawn in crossed.figures())
    assert "break-inside: avoid" in page and "@media print" in page


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium, which prints the page")
def test_a_printed_study_has_few_pages(crossed: Study, tmp_path: Path) -> None:
    crossed.save(tmp_path, forms=("svg",))
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    subprocess.run(
        ["chromium", *options, f"--print-to-pdf={tmp_path / 'p.pdf'}", f"file://{tmp_path / 'study.html'}"],
        capture_output=True, check=True, timeout=300,
    )  # fmt: skip
    assert (tmp_path / "p.pdf").read_bytes().count(b"/Type /Page\n") <= 8
