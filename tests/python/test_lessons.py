"""Lessons: what exercises accept, what pages ask, and that solutions are right.

`make -f docs/Makefile lessons` runs them all. Expected values are worked out by hand here, as a learner
would, and not by `ackclock.lessons.theory`.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import lessons
from ackclock.base.version import __version__
from ackclock.lessons import Lesson, Verdict, notebooks
from conftest import Cli

DOCS = Path(__file__).parents[2] / "docs"


def _cells(name: str) -> Iterator[tuple[bool, str]]:
    yield from ((cell.kind == "solution", cell.source) for cell in notebooks.cells(name) if cell.kind != "markdown")


@pytest.mark.parametrize("name", lessons.NAMES)
def test_a_page_asks_every_exercise_and_solves_it(name: str) -> None:
    count = len(lessons.load(name).exercises)
    assert 3 <= count <= 5
    for wanted in (False, True):
        asked = [int(n) for solution, code in _cells(name) if solution is wanted for n in _numbers(code)]
        assert asked == list(range(1, count + 1)), f"{'solutions' if wanted else 'exercises'}: {asked}"


def _numbers(code: str) -> list[str]:
    return re.findall(r"lesson\.check\((\d+)", code)


@pytest.mark.parametrize("name", lessons.NAMES)
def test_a_page_is_in_the_list_and_its_cells_are_python(name: str) -> None:
    listed = (DOCS / "lessons" / "README.md").read_text(encoding="utf-8")
    assert f"lessons/pages/{name.replace('_', '-')}.md)" in listed
    for _, code in _cells(name):
        compile(code, name, "exec")


@pytest.mark.parametrize("name", ["sawtooth", "vegas"])
def test_answers_that_are_missing_are_not_right_and_solutions_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[Verdict] = []
    check = Lesson.check

    def kept(lesson: Lesson, number: int, answer: object) -> Verdict:
        judged.append(check(lesson, number, answer))
        return judged[-1]

    monkeypatch.setattr(Lesson, "check", kept)
    space: dict[str, object] = {}
    for is_solution, code in _cells(name):
        before = len(judged)
        exec(compile(code, name, "exec"), space)
        assert all(bool(verdict) is is_solution for verdict in judged[before:]), judged[before:]
    assert len(judged) == 2 * len(lessons.load(name).exercises)


def test_what_is_right_by_hand() -> None:
    right = {
        # 20e6 x 0.06 / 12000; twice that; half of (200^2 - 100^2) x 0.6 ms; 1.5 / 83333^2
        "sawtooth": {1: 100, 2: 200, 3: 9.0, 5: 2.16e-10},
        "rtt_fairness": {1: 4, 2: 16, 4: 1.414},
        "bufferbloat": {1: 1.2, 2: "loss", 4: 0.5},
        "cubic_and_bbr": {1: 6.08, 2: 1, 3: ("bbr", "cubic"), 4: 0.02, 5: "losses"},
        "vegas": {2: 3, 3: "reno", 4: 1.2, 5: "forward"},
        "train": {2: 1.414, 3: 1 / 3},
        # sha256("0") begins 5f ec eb 66 ff: 10 + 1609362278 % 30001 / 1000 = 28.635 Mbit/s, 40 + 255 % 61 = 51 ms
        "own_path": {1: 121.7, 2: 243.4},
    }
    for name, answers in right.items():
        lesson = lessons.load(name)
        for number, answer in answers.items():
            assert lesson.check(number, answer), f"{name} {number}: {lesson.check(number, answer)}"


def test_what_is_wrong_gets_a_hint_and_not_the_answer() -> None:
    lesson = lessons.load("sawtooth")
    said = lesson.check(1, 0.1)  # as who forgot that a kilobit is a thousand bits
    assert said.is_right is False
    assert "too small, by a factor of 1000" in said.text
    assert lesson.hint(1) in said.text
    assert "100 packets" not in said.text
    assert lesson.check(1, ...).is_right is None


@pytest.mark.parametrize("answer", ["a hundred", None, float("nan"), [100]])
def test_what_is_no_number_is_told_so(answer: object) -> None:
    assert "A number is asked for, in packets" in lessons.load("sawtooth").check(1, answer).text


def test_a_function_that_is_not_written_yet_is_no_answer() -> None:
    verdict = lessons.load("bufferbloat").check(3, lambda n: ...)
    assert verdict.is_right is None
    assert verdict.text == lessons.load("bufferbloat").check(3, ...).text


def test_a_function_that_fails_is_told_with_what() -> None:
    verdict = lessons.load("bufferbloat").check(3, lambda n: 1 / (n - 1))
    assert "With (1) it fails: ZeroDivisionError" in verdict.text


def _ends_python(*_: float) -> float:
    raise SystemExit(0)


WILD = [
    10**400, -(10**400), float("nan"), 1j, None, "x", b"x", [], [1], ["a", "b", "c", "d"], [[1], [2, 3]], {1: 2},
    [float("nan")] * 4, {"kind": object()}, {"kind": "codel", "limit": "x"}, object(), print, max,
    lambda *_: 10**400, lambda *_: "x", _ends_python,
]  # fmt: skip


@pytest.mark.parametrize("name", lessons.NAMES)
def test_whatever_is_answered_gets_a_verdict(name: str) -> None:
    """A learner is told what is wrong: a cell ends in no exception of ours, and no function of it ends Python."""
    lesson = lessons.load(name)
    for number in range(1, len(lesson.exercises) + 1):
        for answer in WILD:
            verdict = lesson.check(number, answer)
            assert verdict.is_right is False and "Hint: " in verdict.text, (number, answer)


def test_a_queue_of_the_learners_is_run() -> None:
    lesson = lessons.load("bufferbloat")
    assert lesson.check(5, {"kind": "codel", "target": "5 ms"})
    too_long = lesson.check(5, "200 packets")  # 240 ms at 10 Mbit/s
    assert too_long.is_right is False
    assert re.search(r"wait up to 2[0-4]\d\.\d ms", too_long.text)
    assert "That is not a queue" in lesson.check(5, "codle").text


def test_a_verdict_is_shown_in_words_and_colour() -> None:
    verdict = lessons.load("sawtooth").check(1, 100)
    assert repr(verdict).startswith("Right. 20 Mbit/s")
    assert "<b" in verdict._repr_html_()
    assert "&lt;" in Verdict(False, "<")._repr_html_()


def test_unknown_lessons_and_exercises_name_what_there_is() -> None:
    with pytest.raises(KeyError, match="sawtooth"):
        lessons.load("sawteeth")
    with pytest.raises(ValueError, match="1 to 5"):
        lessons.load("sawtooth").check(6, 1)


# ---- paths of students ----------------------------------------------------------------------------------------------


def test_a_students_number_draws_the_path_and_its_answers() -> None:
    assert lessons.variant(" S1234567").path == lessons.variant("s1234567").path
    paths = [lessons.variant(str(number)).path for number in range(200)]
    assert len({(path["bottleneck"], path["rtt"]) for path in paths}) == 200


def test_only_a_run_of_the_path_has_its_digest() -> None:
    lesson = lessons.variant("1")
    path = dict(lesson.path)
    assert lesson.check(4, round(ackclock.run(ackclock.dumbbell(**path)).link("bottleneck")["utilization"], 5))
    right = lessons.digest(ackclock.run(ackclock.dumbbell(**(path | {"queue": "codel"}))))
    assert lesson.check(5, f" {right.upper()} ")
    wrong = lessons.digest(ackclock.run(ackclock.dumbbell(**path)))
    assert "another run" in lesson.check(5, wrong).text
    assert not lessons.variant("2").check(5, right)


# ---- notebooks ------------------------------------------------------------------------------------------------------

FORMS: tuple[notebooks.Form, ...] = ("to work in", "solved")


@pytest.mark.parametrize("name", lessons.NAMES)
def test_a_notebook_to_work_in_has_all_of_a_page_but_its_solutions(name: str) -> None:
    to_work_in, solved = (notebooks.notebook(name, form)["cells"] for form in FORMS)
    tags = [cell["metadata"].get("tags") for cell in solved]
    assert tags.index(["install"]) == 1, "behind the heading"
    kept = [cell["source"] for cell in solved if cell["metadata"].get("tags") != ["solution"]]
    assert tags.count(["solution"]) == len(lessons.load(name).exercises) == len(solved) - len(kept)
    is_code = [cell["source"] for cell in to_work_in if cell["cell_type"] == "code"]
    assert [source for source in kept if source in is_code] == is_code
    assert len({cell["id"] for cell in solved}) == len(solved)


@pytest.mark.parametrize(("form", "suffix"), [("to work in", ""), ("solved", "-solved")])
def test_links_of_a_notebook_lead_to_notebooks_beside_it(form: notebooks.Form, suffix: str) -> None:
    known = {f"{notebooks.page(name).stem}{suffix}.ipynb" for name in lessons.NAMES}
    for name in lessons.NAMES:
        cells = notebooks.notebook(name, form)["cells"]
        text = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
        assert set(re.findall(r"\]\((?!https?:)([^)]+)\)", text)) <= known
        assert "](.." not in text


@pytest.mark.parametrize(
    ("missing", "find_links", "wanted"),
    [
        ((), None, None),
        (("ackclock",), None, [f"ackclock[lessons]=={__version__}"]),
        (
            ("gymnasium",),
            "wheels here",
            ["--no-index", "--find-links", "wheels here", f"ackclock[lessons]=={__version__}"],
        ),
    ],
)
def test_the_first_cell_installs_what_is_missing(
    missing: tuple[str, ...], find_links: str | None, wanted: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in missing else object())
    monkeypatch.setattr(subprocess, "run", run)
    exec(notebooks.notebook("train", find_links=find_links)["cells"][1]["source"], {})
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    assert asked == ([] if wanted is None else [[*pip, *wanted]])


def test_what_pip_says_of_a_failure_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "no matching distribution")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(RuntimeError, match="no matching distribution"):
        exec(notebooks.notebook("sawtooth")["cells"][1]["source"], {})


def test_the_command_lists_and_writes_notebooks(tmp_path: Path, cli: Cli) -> None:
    listed = cli("lessons")
    assert listed.returncode == 0
    assert all(notebooks.title(name) in listed.stdout for name in lessons.NAMES)
    done = cli("lessons", "train", "rtt-fairness", "--solved", "--find-links", "wheels", "-o", tmp_path / "course")
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in (tmp_path / "course").iterdir()) == [
        "rtt-fairness-solved.ipynb",
        "train-solved.ipynb",
    ]
    written = json.loads((tmp_path / "course" / "train-solved.ipynb").read_text(encoding="utf-8"))
    assert written == notebooks.notebook("train", "solved", find_links="wheels")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "-o", "there"), "train.ipynb exists already"),
        (("trian", "-o", "there"), 'unknown lesson "trian"; did you mean "train"'),
        (("--solved",), "name a folder"),
        (("--solved", "--nbgrader", "-o", "new"), "exclude each other"),
        (("--lite", "--find-links", "wheels", "-o", "new"), "--lite excludes"),
        (("--lite",), "name a folder to write the notebooks to"),
    ],
)
def test_the_command_says_what_it_does_not_write(
    words: tuple[str, ...], said: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "train.ipynb").write_text("mine")
    done = cli("lessons", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert (tmp_path / "there" / "train.ipynb").read_text() == "mine"


def test_a_notebook_for_a_browser_installs_as_a_page_can(cli: Cli, tmp_path: Path) -> None:
    """JupyterLite has no processes; its kernel reads `%pip install` with the options of `piplite`."""
    assert cli("lessons", "vegas", "--lite", "-o", tmp_path / "course").returncode == 0
    made = json.loads((tmp_path / "course/vegas.ipynb").read_text())
    assert made["metadata"]["kernelspec"]["name"] == "python"  # that of jupyterlite-pyodide-kernel, not of ipykernel
    assert notebooks.notebook("vegas")["metadata"]["kernelspec"]["name"] == "python3"
    _, install, *rest = made["cells"]
    assert install["source"].splitlines()[1:] == [f"%pip install -q ackclock[lessons]=={__version__}"]
    assert rest == notebooks.notebook("vegas")["cells"][2:]


@pytest.mark.parametrize("name", lessons.NAMES)
def test_nbgrader_finds_each_answer_and_a_point_behind_it(name: str) -> None:
    """The keys that nbgrader 0.9 requires of a cell (its schema, version 3), and the marks that it cuts at."""
    cells = [cell for cell in notebooks.notebook(name, "nbgrader")["cells"] if "nbgrader" in cell["metadata"]]
    found = [cell["metadata"]["nbgrader"] for cell in cells]
    assert all({"schema_version", "grade_id", "grade", "solution", "locked", "task"} <= entry.keys() for entry in found)
    assert len({entry["grade_id"] for entry in found}) == len(found)
    answers, tests = cells[::2], cells[1::2]
    assert len(answers) == len(tests) == len(lessons.load(name).exercises)
    for answer, test in zip(answers, tests, strict=True):
        left = re.sub(r"### BEGIN SOLUTION\n.*### END SOLUTION\n", "", answer["source"], flags=re.DOTALL)
        assert answer["metadata"]["nbgrader"]["solution"] and re.fullmatch(r"lesson\.check\(\d, \w+\)", left)
        assert test["source"] == f"verdict = {left}\nassert verdict, verdict"
        assert test["metadata"]["nbgrader"]["points"] == 1


@pytest.mark.parametrize("student", [None, 7.0, b"7", True])
def test_a_student_is_a_string_or_a_whole_number(student: Any) -> None:
    with pytest.raises(TypeError, match="student must be a string or a whole number"):
        lessons.variant(student)
    assert lessons.variant(7).path == lessons.variant(" 7 ").path


def test_an_exercise_is_named_by_its_number() -> None:
    with pytest.raises(ValueError, match="unknown exercise '1'; known: 1 to 5"):
        lessons.variant("7").check("1", 3)  # type: ignore[arg-type]
