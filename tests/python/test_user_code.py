"""Code of the user that fails, or ends the program: told as its own fault, never a success and never ackclock's.

docs/reference/command-line.md: exit code 1 for an exception while it runs, 2 for a file that cannot be loaded.
"""

import json
import shutil
from pathlib import Path

import pytest

from ackclock.base.decoding import decoded
from ackclock.base.input_files import InputFileError
from ackclock.claims.folder import load_folder
from conftest import SCENARIO, Cli
from test_readers import CLAIMS, MEASURE
from test_readers import SCENARIO as ONE

CONTROLLER = """\
import sys
from ackclock import CongestionController
class Mine(CongestionController):
    def on_ack(self, ack):
        {}
    def on_congestion(self, event): pass
"""
FAILING = {"an exception": "1 / 0", "the end with success": "sys.exit(0)", "the end as Ctrl-C ends": "sys.exit(130)"}


def _is_told(done: object, code: int, *said: str) -> None:
    stderr = getattr(done, "stderr", "") + getattr(done, "stdout", "")
    assert getattr(done, "returncode", None) == code, stderr
    assert "fault of ackclock" not in stderr
    for words in said:
        assert words in stderr, stderr


@pytest.mark.parametrize("line", FAILING.values(), ids=FAILING)
def test_a_controller(cli: Cli, tmp_path: Path, line: str) -> None:
    (tmp_path / "mine.py").write_text(CONTROLLER.format(line))
    (tmp_path / "a.toml").write_text(SCENARIO.replace('"reno"', '"python:mine:Mine"'))
    _is_told(cli("run", "a.toml", "--trust"), 1, "mine.py", "line 5", "on_ack")


def test_a_controller_that_ends_its_process(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CONTROLLER.format("import os; os._exit(0)"))
    (tmp_path / "a.toml").write_text(SCENARIO.replace('"reno"', '"python:mine:Mine"'))
    _is_told(cli("sweep", "a.toml", "--trust", "-o", "out"), 1, "code of the scenario ended its process")


def test_a_controller_in_a_process_of_its_own(cli: Cli, tmp_path: Path) -> None:
    """A sweep tells the lines of the user's code alone, as a run does."""
    (tmp_path / "mine.py").write_text(CONTROLLER.format("1 / 0"))
    (tmp_path / "a.toml").write_text(SCENARIO.replace('"reno"', '"python:mine:Mine"'))
    done = cli("sweep", "a.toml", "--trust", "-o", "out")
    _is_told(done, 1, "mine.py", "line 5", "ZeroDivisionError", "on_ack")
    assert "backends.py" not in done.stderr
    assert "typer" not in done.stderr


def test_what_code_prints_is_not_in_the_json(cli: Cli, tmp_path: Path) -> None:
    """The help of --json: summary.json on stdout, and nothing else."""
    (tmp_path / "mine.py").write_text(CONTROLLER.format("print('mine'); self.cwnd_bytes = 30_000"))
    (tmp_path / "a.toml").write_text(SCENARIO.replace('"reno"', '"python:mine:Mine"').replace('"2 s"', '"300 ms"'))
    (_folder(tmp_path) / "measure.py").write_text(MEASURE.replace("Measured(1.0)", "print('mine') or Measured(1.0)"))
    for command in (("run", "a.toml", "--trust"), ("sweep", "a.toml", "--trust", "-o", "s"), ("claims", "./mine")):
        done = cli(*command, "--json")
        assert done.returncode == 0, done.stderr
        assert decoded(done.stdout)
        assert "mine\n" in done.stderr


def test_a_module_that_ends_the_program(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import sys\nsys.exit(0)\n")
    for text in (SCENARIO.replace('"reno"', '"python:mine:Mine"'), f'use = ["mine.py"]\n{SCENARIO}'):
        (tmp_path / "a.toml").write_text(text)
        _is_told(cli("run", "a.toml", "--trust"), 2, "mine.py:2", "SystemExit")


def test_code_in_a_packet_script(cli: Cli, tmp_path: Path) -> None:
    handshake = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n"
    handshake += "+0 < S 0:0(0) win 32792 <mss 1000>\n+0 > S. 0:0(0) ack 1 <...>\n+.1 < . 1:1(0) ack 1 win 257\n"
    handshake += "+0 accept(3, ..., ...) = 4\n"
    (tmp_path / "a.pkt").write_text(f"{handshake}+0 %{{ import sys; sys.exit(0) }}%\n")
    _is_told(cli("script", "a.pkt"), 1, "a.pkt:8", "SystemExit", "1 failed")


def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, text in (("claims.toml", CLAIMS), ("scenario.toml", ONE), ("measure.py", MEASURE)):
        (folder / name).write_text(text)
    return folder


MEASURES = {
    "no Measured": ("MEASURES = {'A1': lambda runs: 'hello'}\n", 1, "must return a Measured"),
    "NaN": (MEASURE.replace("1.0", "float('nan')"), 1, "value must be a number, and is nan"),
    "a negative weight": (MEASURE.replace("1.0", "1.0, weight=-1.0"), 1, "weight must be finite and not negative"),
    "a list beside it": (MEASURE.replace("1.0", "1.0, [3]"), 1, "also must be a dictionary of numbers"),
    "no function": ("MEASURES = {'A1': 3}\n", 2, "has a measure that is not a function"),
    "an exception": ("MEASURES = {\n'A1': lambda runs: 1 / 0}\n", 1, "measure.py:2: ZeroDivisionError"),
    "the end of the program": (
        "import sys\nMEASURES = {'A1': lambda runs: sys.exit(0)}\n",
        1,
        "measure.py:2: SystemExit",
    ),
    "an exception at once": ("\n1 / 0\n", 2, "measure.py:2: ZeroDivisionError"),
    "the end at once": ("import sys; sys.exit(0)\n", 2, "measure.py:1: SystemExit"),
    "no MEASURES": ("", 2, "MEASURES must be"),
}


@pytest.mark.parametrize(("text", "code", "said"), MEASURES.values(), ids=MEASURES)
def test_a_measure(cli: Cli, tmp_path: Path, text: str, code: int, said: str) -> None:
    (_folder(tmp_path) / "measure.py").write_text(text)
    _is_told(cli("claims", "./mine", "-o", "out"), code, said, "measure.py")


GOOD_MEASURES = {
    "a number of NumPy": "import numpy as np\n" + MEASURE.replace("1.0", "np.int64(1), {'x': np.float32(2)}"),
    "a dataclass": "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass One:\n"
    f"    value: float = 1.0\n{MEASURE.replace('1.0', 'One().value')}",
}


@pytest.mark.parametrize("text", GOOD_MEASURES.values(), ids=GOOD_MEASURES)
def test_a_measure_may_be_any_python(cli: Cli, tmp_path: Path, text: str) -> None:
    (_folder(tmp_path) / "measure.py").write_text(text)
    done = cli("claims", "./mine", "-o", "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["claims"][0]["measured"] == 1


def test_a_ratio_over_nothing_is_no_number_of_json(cli: Cli, tmp_path: Path) -> None:
    """RFC 8259, section 6: infinity is not permitted."""
    (_folder(tmp_path) / "measure.py").write_text(MEASURE.replace("1.0", "float('inf'), {'x': float('inf')}"))
    done = cli("claims", "./mine", "-o", "out", "--json")
    (claim,) = decoded(done.stdout)["claims"]
    assert (claim["measured"], claim["also"], claim["verdict"]) == (None, {}, "differs")


PICTURES = {
    "no picture": ("3", "must be an ackclock.claims.figures.Picture"),
    "a name with a folder": ("Picture('../a', 'A', 'one', 't', print)", "must be that of a file"),
    "a study that is not there": ("Picture('a', 'A', 'two', 't', print)", "must be one of claims.toml: one"),
}


@pytest.mark.parametrize(("text", "said"), PICTURES.values(), ids=PICTURES)
def test_what_cannot_be_a_picture(tmp_path: Path, text: str, said: str) -> None:
    folder = _folder(tmp_path)
    (folder / "pictures.py").write_text(f"from ackclock.claims.figures import Picture\nPICTURES = [{text}]\n")
    with pytest.raises(InputFileError, match=rf"pictures\.py: PICTURES\[0\].*{said}"):
        load_folder(folder)


def test_a_picture_that_is_no_figure(cli: Cli, tmp_path: Path) -> None:
    text = "PICTURES = [Picture('a', 'A', 'one', 't', lambda *_: None)]\n"
    (_folder(tmp_path) / "pictures.py").write_text(f"from ackclock.claims.figures import Picture\n{text}")
    _is_told(cli("claims", "./mine", "-o", "out"), 1, "pictures.py: the picture a must be a Figure")


CHOICE = """[[choice]]
name = "c"
title = "t"
why = "w"
seeds = 2
options = [{ name = "o" }]
[[study]]"""
CLAIM_MISTAKES = {
    "nan and infinity": ("low = 1\nhigh = 2", "low = nan\nhigh = -inf", 2),
    "the wrong way round": ("low = 1\nhigh = 2", "low = 2\nhigh = 1", 1),
    "no room for the sign": ("low = 1", "low = 1\nsign = -1", 1),
    "a share of none": ("low = 1", "low = 1\nshare = 0", 1),
    "too many runs": ('title = "One"', 'title = "One"\nruns = 4000000000', 2),
    "another type": ('quantity = "q"', "quantity = 7", 1),
    "seeds beside options": ("[[study]]", CHOICE, 1),
    "a table in a text's place": ('unit = "u"', "unit = { a = 1 }", 1),
}


@pytest.mark.parametrize(("old", "new", "count"), CLAIM_MISTAKES.values(), ids=CLAIM_MISTAKES)
def test_a_claim_that_cannot_hold(cli: Cli, tmp_path: Path, old: str, new: str, count: int) -> None:
    file = _folder(tmp_path) / "claims.toml"
    file.write_text(CLAIMS.replace(old, new))
    _is_told(cli("claims", "./mine", "-o", "out"), 2, "claims.toml:", f"{count} mistake")


def test_a_claim_in_two_folders_is_refused(cli: Cli, tmp_path: Path) -> None:
    """docs: an id is that of one claim; the verdict on record of one folder stood beside the measurement of another."""
    shutil.copytree(_folder(tmp_path), tmp_path / "copy")
    _is_told(cli("claims", "./mine", "./copy", "-o", "out"), 2, "claim A1 is in", "/mine and in", "/copy")
    assert cli("claims", "./mine", "--folder", "mine", "-o", "out").stdout.count("A1 ") == 1


def test_a_case_sets_every_entry_of_a_list_as_an_option_does(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    sets = """case = [{ name = "x", set = ['flow[*].start="1 s"', '?flow.B.start="2 s"'] }]"""
    (folder / "claims.toml").write_text(CLAIMS.replace('case = [{ name = "x" }]', sets))
    assert load_folder(folder).claims[0].study.cases[0].overrides == ('flow[0].start="1 s"',)


def test_a_verdict_of_no_claim_is_refused(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / "verdicts.toml").write_text('A2 = "agrees"\n')
    with pytest.raises(InputFileError, match=r'verdicts\.toml: unknown claim "A2"'):
        load_folder(folder)
