"""Lessons: what exercises accept, what pages ask, and that solutions are right.

`make -f docs/Makefile lessons` runs them all. Expected values are worked out by hand here, as a learner
would, and not by `ackclock.lessons.theory`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ackclock import lessons
from ackclock.lessons import Lesson, Verdict

PAGES = Path(__file__).parents[2] / "docs" / "lessons"
_CELL = re.compile(r'^```python(?P<tags> tags=\["solution"\])?\n(?P<code>.*?)^```$', re.MULTILINE | re.DOTALL)


def _cells(name: str) -> Iterator[tuple[bool, str]]:
    text = (PAGES / f"{name.replace('_', '-')}.md").read_text(encoding="utf-8")
    yield from ((bool(cell["tags"]), cell["code"]) for cell in _CELL.finditer(text))


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
    assert f"({name.replace('_', '-')}.md)" in (PAGES / "README.md").read_text(encoding="utf-8")
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
