"""The report as a widget of a notebook: what it hands to the browser, and that Chromium draws and links it."""

import importlib.util
import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.experiments.studies.study_folder import Study
from ackclock.experiments.studies.study_widget import StudyWidget
from ackclock.plotting import notebook
from ackclock.plotting.report.report_widget import ReportWidget
from ackclock.results import Results

#: A notebook's side of a widget, which does what a learner's hands and a cell of Python would.
_CELL = """
const told = [], listeners = [], state = STATE;
const model = {
  get: name => state[name],
  set: (name, value) => { state[name] = value; },
  save_changes: () => told.push([...state.window_s]),
  on: (name, act) => listeners.push([name, act]),
  off: (name, act) => told.push(["off", listeners.some(one => one[0] === name && one[1] === act)]),
};
const cells = [document.getElementById("one"), document.getElementById("two")];
const nothing = () => {}, whole = name => (name === "window_s" ? [0, 2] : state[name]);
const another = { get: whole, set: nothing, save_changes: nothing, on: nothing, off: nothing };
const ends = cells.map((el, place) => render({ model: [model, another][place], el }));
const page = cells[0].shadowRoot.querySelector(".page");
const wait = ms => new Promise(done => setTimeout(done, ms));
await wait(1500);
const canvases = at => at.querySelectorAll("canvas").length;
const facts = { canvases: canvases(page), outside: canvases(document), first: page.dataset.firstPlot !== undefined };
let isHeard = false;
document.addEventListener("keydown", () => { isHeard = true; });
page.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true, composed: true }));
facts.zoomed = [...state.window_s];
page.dispatchEvent(new KeyboardEvent("keydown", { key: "0", bubbles: true }));
const over = page.querySelector(".u-over"), box = over.getBoundingClientRect();
const mouse = (at, kind, part) => {
  const [clientX, clientY] = [box.x + part * box.width, box.y + 50];
  at.dispatchEvent(new MouseEvent(kind, { clientX, clientY, movementX: 5, bubbles: true, button: 0 }));
};
mouse(over, "mouseenter", 0.25);
mouse(over, "mousemove", 0.25);
mouse(over, "mousedown", 0.25);
for (const part of [0.4, 0.6, 0.75]) mouse(over, "mousemove", part);
mouse(document, "mouseup", 0.75);
await wait(100);
facts.dragged = [...state.window_s];
state.window_s = [0.5, 1];
for (const [, act] of listeners) act();
await wait(100);
facts.status = page.querySelector("#status").textContent;
facts.other = cells[1].shadowRoot.querySelector("#status").textContent;
page.querySelector('[data-toggle="inSegments"]').click();
facts.pressed = page.querySelector('[data-toggle="inSegments"]').getAttribute("aria-pressed");
facts.dark = cells.map(el => el.hasAttribute("data-dark"));
document.body.style.background = "oklch(1 0 0)";
document.body.setAttribute("data-jp-theme-light", "true");
await wait(100);
facts.lit = cells.map(el => el.hasAttribute("data-dark"));
facts.isHeard = isHeard;
for (const end of ends) end();
facts.left = canvases(page);
facts.told = told;
document.body.dataset.facts = JSON.stringify(facts);
"""


#: A learner chooses the second figure, and the kernel draws it.
_STUDY_CELL = """
const told = [], state = STATE, drawn = DRAWN;
let heard = null;
const model = {
  get: name => state[name],
  set: (name, value) => { state[name] = value; },
  save_changes: () => { told.push(state.figure); state._picture = drawn[state.figure]; heard(); },
  on: (name, act) => { if (name === "change:_picture") heard = act; },
  off: (name, act) => told.push(act === heard),
};
const cell = document.getElementById("one"), end = render({ model, el: cell });
const choice = cell.shadowRoot.querySelector("select"), image = cell.shadowRoot.querySelector("img");
const facts = { first: choice.value, choices: [...choice.options].map(one => one.value) };
await image.decode();
facts.size = [image.naturalWidth > 100, image.clientWidth > 100];
choice.value = facts.choices[1];
choice.dispatchEvent(new Event("change"));
await image.decode();
facts.alt = image.alt;
facts.isAnother = image.src === drawn[choice.value].source;
end();
facts.told = told;
facts.dark = cell.hasAttribute("data-dark");
document.body.dataset.facts = JSON.stringify(facts);
"""


@pytest.fixture(scope="module")
def study() -> Study:
    path = {"rate": "10M", "rtt": "20 ms"}
    return ackclock.study(
        {"controllers": ["reno", "cubic"], "line_ups": ["alone"], "path": path, "seeds": 2, "duration": "1 s"}
    )


def _chromium(page: Path, tmp_path: Path) -> dict[str, Any]:
    """Return the facts that a page leaves."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    done = subprocess.run(
        ["chromium", *options, f"--user-data-dir={tmp_path / 'profile'}", f"file://{page}"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    found = re.search(r'data-facts="([^"]*)"', done.stdout)
    assert found is not None, done.stderr
    facts: dict[str, Any] = json.loads(unescape(found[1]))
    return facts


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium, which runs the module")
def test_chromium_draws_the_widget_and_links_it(results: Results, tmp_path: Path) -> None:
    shown = ReportWidget([results])
    state = json.dumps({name: getattr(shown, name) for name in ("_style", "_body", "_content", "window_s")})
    script = shown._esm + _CELL.replace("STATE", state.replace("<", "\\u003c"))
    page = tmp_path / "cell.html"
    cells = '<div id="one"></div><div id="two"></div>'
    page.write_text(f'<body style="background: #111">{cells}<script type="module">{script}</script></body>')
    facts = _chromium(page, tmp_path)
    assert facts["canvases"] >= 2 and facts["outside"] == 0 and facts["first"]
    assert facts["zoomed"] == [0.5, 1.5]  # "+" halves the two seconds around their middle
    assert facts["dragged"] == pytest.approx([0.5, 1.5], abs=0.02)  # once, and not again by each of the other plots
    assert facts["status"] == "0.5 to 1 s" and facts["other"] == ""  # what a cell sets is of that widget alone
    assert facts["pressed"] == "true"
    assert facts["dark"] == [True, True] and facts["lit"] == [False, False]
    assert not facts["isHeard"]  # a notebook has shortcuts of one letter, too
    assert facts["left"] == 0 and facts["told"][:2] == [[0.5, 1.5], [0, 2]] and facts["told"][3:] == [["off", True]]


def test_the_traits_are_the_page(results: Results) -> None:
    shown = results.widget()
    assert isinstance(shown, ReportWidget)
    held = json.loads(shown._content)
    assert shown.window_s == (0.0, 2.0) == (held["window"]["from"], held["window"]["to"])
    assert [flow["label"] for flow in held["flows"]] == ["new", "old"]
    assert shown._body.count('data-plot="panel') == len(held["panels"])
    assert "<script" not in shown._body and "export default { render }" in shown._esm
    state = shown.get_state()
    assert {"_esm", "_style", "_body", "_content", "window_s"} <= state.keys()


def test_several_runs_share_their_plots(results: Results) -> None:
    shown = results.widget(results, window_s=(0.5, 1.5))
    assert isinstance(shown, ReportWidget)
    assert shown.window_s == (0.5, 1.5)
    assert len(json.loads(shown._content)["flows"]) == 4


def test_a_time_that_does_not_ascend_is_refused(results: Results) -> None:
    with pytest.raises(ValueError, match="begin before it ends"):
        results.widget(window_s=(2.0, 1.0))
    shown = results.widget()
    assert isinstance(shown, ReportWidget)
    with pytest.raises(Exception, match="begin before it ends"):
        shown.window_s = (1.5, 0.5)
    assert shown.window_s == (0.0, 2.0)


def test_without_anywidget_it_is_what_results_show(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr("ackclock.base.extras.find_spec", lambda name: None if name == "anywidget" else there(name))
    shown = results.widget()
    assert isinstance(shown, notebook.Static)
    assert shown._repr_html_().startswith(results._repr_html_())
    assert "anywidget, which is not installed; pip install &#x27;ackclock[notebook]&#x27;" in shown._repr_html_()


def test_markup_in_a_name_stays_text() -> None:
    result = ackclock.run(ackclock.dumbbell(duration="1 s", name="<script>alert(1)</script>"))
    shown = result.widget()
    assert isinstance(shown, ReportWidget)
    assert "<script>alert" not in shown._body + shown._content


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium, which runs the module")
def test_chromium_shows_the_figure_of_a_study_that_is_chosen(study: Study, tmp_path: Path) -> None:
    shown = study.widget()
    assert isinstance(shown, StudyWidget)
    state = json.dumps({name: getattr(shown, name) for name in ("_style", "_body", "_picture", "figure")})
    drawn = {}
    for name in [drawn.name for drawn in study.figures()]:
        shown.figure = name
        drawn[name] = shown._picture
    script = shown._esm + _STUDY_CELL.replace("STATE", state.replace("<", "\\u003c")).replace(
        "DRAWN", json.dumps(drawn)
    )
    page = tmp_path / "cell.html"
    page.write_text(
        f'<body style="background: #111"><div id="one"></div><script type="module">{script}</script></body>'
    )
    facts = _chromium(page, tmp_path)
    names = list(drawn)
    assert len(names) > 2 and facts["choices"] == names
    assert facts["first"] == names[0] and facts["size"] == [True, True]
    assert facts["isAnother"] and facts["alt"] == drawn[names[1]]["caption"]
    assert facts["told"] == [names[1], True] and facts["dark"]


def test_a_figure_of_a_study_is_drawn_once_and_when_it_is_chosen(study: Study) -> None:
    shown = study.widget()
    assert isinstance(shown, StudyWidget)
    names = [drawn.name for drawn in study.figures()]
    assert shown.figure == names[0] == shown._picture["name"]
    shown.figure = names[1]
    second = shown._picture
    assert second["name"] == names[1] and second["source"].startswith("data:image/svg+xml;base64,")
    shown.figure = names[0]
    shown.figure = names[1]
    assert shown._picture is second
    with pytest.raises(Exception, match=f"no such figure; it has {names[0]}, {names[1]}"):
        shown.figure = "cwnd"
    assert shown.figure == names[1]
    assert study.about in shown._body and shown._body.count("<table") == 2  # means and differences


def test_a_study_without_anywidget_is_what_it_shows(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr("ackclock.base.extras.find_spec", lambda name: None if name == "anywidget" else there(name))
    shown = study.widget()
    assert isinstance(shown, notebook.Static)
    assert "<table" in shown._repr_html_() and "ackclock[notebook]" in shown._repr_html_()
