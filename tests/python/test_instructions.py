"""Instructions per packet: what callgrind writes, the record, and what fails. Valgrind itself is played by a script."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from counted import SHORT_CASES
from instructions import COUNTED, Record, append, compiler_of, grown, last, per_packet

from ackclock import _core
from ackclock.base.input_files import InputFileError

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "benches" / "engine" / "instructions.py"
EXTENSION = Path(str(_core.__file__)).read_bytes()

#: As callgrind 3.19 writes it, shortened: the total of the call is in the line `summary`.
DUMP = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
cmd: python benches/engine/counted.py
part: 2

desc: I1 cache:
desc: Trigger: --dump-after={function}

positions: line
events: Ir
summary: {total}

fn=(0) something_of_summary: 7
12 3

totals: {total}
"""

#: It writes a dump for each of two calls of each case, whose second is `counts[case]` instructions a packet of 100.
VALGRIND = """\
#!{python}
import sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("valgrind-9.9"))
out = next(word.partition("=")[2] for word in sys.argv if word.startswith("--callgrind-out-file="))
assert "--toggle-collect={function}" in sys.argv and "--dump-after={function}" in sys.argv
number = 0
for name, count in {counts}.items():
    print(name, 100)
    for total in (999_999_999, 100 * count):
        number += 1
        open(f"{{out}}.{{number}}", "w").write(f"events: Ir\\nsummary: {{total}}\\n")
open(out, "w").write("summary: 0\\n")
"""


def _record(compiler: str = "1.95.0", **counts: float) -> Record:
    return Record("2026-01-01", "0.1.0", "abc1234", compiler, "valgrind-3.19.0", counts)


def _dump(total: int) -> str:
    return DUMP.format(function=COUNTED, total=total)


def test_the_second_call_of_each_case_is_divided_by_its_packets() -> None:
    dumps = [_dump(total) for total in (65_257_719, 117_001_219, 129_704_558, 123_914_889)]
    # 117,001,219 / 33,333 and 123,914,889 / 16,667, by hand
    assert per_packet("a 33333\nc 16667\n", dumps) == {"a": 3510.1, "c": 7434.7}


@pytest.mark.parametrize(("printed", "dumps"), [("a 10\n", 0), ("a 10\n", 1), ("a 10\nc 10\n", 3), ("", 0)])
def test_a_count_without_its_calls_says_which_function_is_missing(printed: str, dumps: int) -> None:
    with pytest.raises(RuntimeError, match=COUNTED):
        per_packet(printed, [_dump(1)] * dumps)


def test_the_compiler_is_read_from_what_it_built() -> None:
    assert compiler_of(b"\0GCC: (GNU) 12.2.0\0rustc version 1.95.0 (59807616e 2026-04-14)\0x") == (
        "1.95.0 (59807616e 2026-04-14)"
    )
    assert compiler_of(b"something else") == "unknown"
    assert compiler_of(EXTENSION)[0].isdigit()


def test_a_history_ends_with_what_was_added(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    assert last(history) is None
    for count in (10.0, 20.0):
        append(history, _record(a=count))
    assert last(history) == _record(a=20.0)
    assert len(history.read_text().splitlines()) == 2


@pytest.mark.parametrize("line", ['{"date": 1', '{"day": "today"}', "[]"])
def test_a_damaged_history_is_told_with_its_line(tmp_path: Path, line: str) -> None:
    history = tmp_path / "history.jsonl"
    append(history, _record(a=10.0))
    history.write_text(history.read_text() + line + "\n")
    with pytest.raises(ValueError, match=r"history\.jsonl:2 must be a record"):
        last(history)


def test_only_held_cases_may_not_grow_by_more_than_a_twentieth() -> None:
    names = [case.name for case in SHORT_CASES]
    held = {case.name for case in SHORT_CASES if case.is_held}
    assert held == {"a", "c", "fq-codel"}
    before = _record(**dict.fromkeys(names, 1000.0))
    assert grown(_record(**dict.fromkeys(names, 1050.0)), before) == {}
    assert grown(_record(**dict.fromkeys(names, 1051.0)), before) == dict.fromkeys(held, 1.051)
    assert grown(_record(a=1051.0), _record(c=1000.0)) == {}, "what only one of them has is not compared"
    assert grown(replace(_record(a=1051.0), compiler="1.96.0"), before) == {}


def test_the_record_of_the_repository_has_every_case() -> None:
    record = last(ROOT / "benches" / "instructions.jsonl")
    assert record is not None
    assert list(record.instructions_per_packet) == [case.name for case in SHORT_CASES]


@pytest.fixture
def valgrind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for Valgrind, in a folder of its own on the PATH."""
    program = tmp_path / "bin" / "valgrind"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return program


def _counts(program: Path, **counts: int) -> None:
    program.write_text(VALGRIND.format(python=sys.executable, function=COUNTED, counts=counts))
    program.chmod(0o755)


def _run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, PROGRAM, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_what_is_recorded_is_held(valgrind: Path, tmp_path: Path) -> None:
    count = ("--history", str(tmp_path / "history.jsonl"))
    _counts(valgrind, a=1000, c=2000, b=3000)
    without = _run(*count)
    assert (without.returncode, "--record" in without.stderr) == (0, True)
    assert _run(*count, "--record").returncode == 0
    record = last(tmp_path / "history.jsonl")
    assert record is not None
    assert record.instructions_per_packet == {"a": 1000.0, "c": 2000.0, "b": 3000.0}
    assert (record.valgrind, record.compiler) == ("valgrind-9.9", compiler_of(EXTENSION))

    _counts(valgrind, a=1050, c=2000, b=4000)
    assert _run(*count).returncode == 0, "(b) is not held"
    _counts(valgrind, a=1060, c=2000, b=3000)
    failed = _run(*count)
    assert failed.returncode == 1
    assert "(a) 1.060 times" in failed.stderr
    assert "must be 1.05 times at most" in failed.stderr
    assert json.loads(_run(*count, "--record", "--json").stdout)["instructions_per_packet"]["a"] == 1060
    assert _run(*count).returncode == 0, "the record is renewed"


def test_another_compiler_is_told_and_does_not_fail(valgrind: Path, tmp_path: Path) -> None:
    append(tmp_path / "history.jsonl", _record("1.0.0", a=10.0))
    _counts(valgrind, a=1000)
    done = _run("--history", str(tmp_path / "history.jsonl"))
    assert done.returncode == 0
    assert "rustc 1.0.0" in done.stderr
    assert compiler_of(EXTENSION) in done.stderr


def test_without_valgrind_it_is_skipped_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("valgrind") is None
    done = _run()
    assert (done.returncode, done.stdout) == (0, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("SKIPPED")
    assert "apt-get install valgrind" in line


def test_a_history_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "history")  # whoever reads one waits for ever
    with pytest.raises(InputFileError, match="history"):
        last(tmp_path / "history")
