"""Every command that reads a file, with every kind of file that is none: one table, and what holds of all of it.

docs/reference/command-line.md promises exit code 2 for wrong input, a message that names the file, nothing
that hangs, and never "a fault of ackclock". A new reader gets an entry in `READERS`.
"""

import contextlib
import io
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from ackclock.base.input_files import InputFileError
from ackclock.claims.folder import load_folder
from ackclock.cli import failures
from ackclock.cli.app import app
from ackclock.recording import read
from networks import dumbbell

SCENARIO = f"""\
duration = "100 ms"
{dumbbell('rate = "10 Mbit/s", delay = "1 ms"', rate="100 Mbit/s")}
[[flow]]
"""
CLAIMS = """\
title = "t"
source = "s"
about = "a"
[[study]]
name = "one"
title = "One"
scenario = "scenario.toml"
case = [{ name = "x" }]
[[claim]]
id = "A1"
section = "1"
study = "one"
statement = "s"
published = "p"
quantity = "q"
unit = "u"
low = 1
high = 2
why = "w"
settings = "ours"
"""
MEASURE = "from ackclock.claims import Measured\nMEASURES = {'A1': lambda runs: Measured(1.0)}\n"

LIMIT_S = 20
"""A reader that waits for ever is told from one on a busy machine."""

Make = Callable[[Path], None]


def _text(content: bytes) -> Make:
    return lambda place: place.write_bytes(content) and None


KINDS: dict[str, Make] = {
    "missing": lambda _place: None,
    "a folder": Path.mkdir,
    "a FIFO": os.mkfifo,
    "a device without end": lambda place: place.symlink_to("/dev/zero"),
    "empty": _text(b""),
    "no text": _text(b"\xff\xfe\x00\x01" * 40),
    "deep JSON": _text(b"[" * 100_000),
    "a deep object": _text(b'{"start":' * 50_000),
    "NaN": _text(b'{"start": NaN, "parameters": NaN, "claims": NaN}'),
    "a number of 5000 digits": _text(b'{"start": ' + b"1" * 5000 + b"}"),
    "deep TOML": _text(b"a = " + b"[" * 5000),
    "another shape": _text(b'[7, null, "x"]'),
    "null": _text(b"null"),
    "numbers": _text(b"1\n2\n3\n"),
    "HTML": _text(b"<html><body>404</body></html>"),
    "half of a surrogate pair": _text(b'{"start": "\\ud800", "parameters": "\\ud800"}'),
    "UTF-16": _text('\ufeff{"start": 1}'.encode("utf-16-le")),
    "a line without end": lambda place: _long_line(place),
}


def _long_line(place: Path) -> None:
    """Four megabytes of which a text is the beginning."""
    place.write_bytes(b"ESTAB 0 0 " + b" " * (1 << 17))
    os.truncate(place, 4 << 20)


def _claims(place: Path, name: str) -> None:
    folder = place.parent
    for file, content in (("claims.toml", CLAIMS), ("scenario.toml", SCENARIO), ("measure.py", MEASURE)):
        if file != name:
            (folder / file).write_text(content)


READERS: dict[str, tuple[str, list[str], Callable[[Path], None] | None]] = {
    "run": ("a.toml", ["run", "a.toml", "-q"], None),
    "validate": ("a.toml", ["validate", "a.toml"], None),
    "sweep": ("a.toml", ["sweep", "a.toml", "-o", "out", "-q"], None),
    "study": ("a.toml", ["study", "a.toml", "-o", "out", "-q"], None),
    "the scenario of a study": (
        "s.toml",
        ["study", "study.toml", "-o", "out", "-q"],
        lambda place: (
            place.with_name("study.toml").write_text('controllers = ["cubic"]\nscenario = "s.toml"\n') and None
        ),
    ),
    "import": ("a.bin", ["import", "a.bin", "-o", "out"], None),
    "arrivals": ("a.pcap", ["arrivals", "a.pcap", "-o", "out.csv"], None),
    "claims.toml": ("f/claims.toml", ["claims", "./f", "-o", "out"], lambda place: _claims(place, "claims.toml")),
    "measure.py": ("f/measure.py", ["claims", "./f", "-o", "out"], lambda place: _claims(place, "measure.py")),
    "recorded.json": ("f/recorded.json", ["claims", "./f", "-o", "out"], lambda place: _claims(place, "")),
    "verdicts.toml": ("f/verdicts.toml", ["claims", "./f", "-o", "out"], lambda place: _claims(place, "")),
    "recordings": ("f/summary.csv", ["validate-linux", "--data", "f", "-o", "out"], None),
    "script": ("a.pkt", ["script", "a.pkt"], None),
    "export": ("a.onnx", ["export", "a.onnx", "-o", "out.onnx", "--to", "bpf"], None),
    "report, sweep.json": (
        "f/sweep.json",
        ["report", "f", "-o", "out.html"],
        lambda place: place.with_name("sweep.parquet").write_bytes(b"") and None,
    ),
    "compare, study.json": ("f/study.json", ["compare", "f"], None),
    "report, trace.jsonl": ("f/trace.jsonl", ["report", "f", "-o", "out.html"], None),
    "studio": ("a.toml", ["studio", "a.toml", "--link", "https://example.org/"], None),
}

MAY_BE_MISSING = {"recorded.json", "verdicts.toml"}
MAY_BE_ANYTHING = {("studio", kind) for kind in KINDS} | {("verdicts.toml", "empty"), ("export", "a folder")}
"""The studio shows what it is given, so that it can be mended there; there may be no verdicts yet; a folder may be
one of a training, which only PyTorch can read."""


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """End what reads for ever."""

    def end(_number: int, _frame: object) -> None:
        raise TimeoutError("it reads for ever")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(arguments: list[str]) -> tuple[int, str]:
    """Run a command in this process, as `main` does, and return its exit code and what it says of errors."""
    said = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["ackclock", *arguments]),
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(io.StringIO()),
        bounded(),
    ):
        code = failures.guarded(lambda: app(standalone_mode=True))
    return code, said.getvalue()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_whatever_is_no_such_file_is_told(
    reader: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    name, arguments, prepare = READERS[reader]
    place = tmp_path / name
    place.parent.mkdir(exist_ok=True)
    if prepare is not None:
        prepare(place)
    KINDS[kind](place)
    code, said = run(arguments)
    assert "fault of ackclock" not in said and "Traceback" not in said, said
    assert "reads for ever" not in said, said
    is_fine = (kind == "missing" and reader in MAY_BE_MISSING) or (reader, kind) in MAY_BE_ANYTHING
    if is_fine:
        return
    assert code == 2, said
    assert place.name in said or place.parent.name in said, said
    assert not any((tmp_path / out).exists() for out in ("out", "out.csv", "out.html", "out.onnx"))


# ---- options that contradict each other, or that nobody would hear ---------------------------------------------------

CONTRADICTIONS = {
    "--json and --form": ["compare", "a", "b", "--json", "--form", "csv"],
    "--lang": ["new", "claims", "mine", "--lang", "rust"],
}


@pytest.mark.parametrize(("option", "arguments"), CONTRADICTIONS.items(), ids=CONTRADICTIONS)
def test_an_option_that_would_not_be_heard_is_refused(
    option: str, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, said = run(arguments)
    assert code == 2
    assert option in said


# ---- a value of another type at each place ------------------------------------------------------------------------

REPORT: dict[str, Any] = {
    "start": {
        "connected": [
            {"socket": 5, "local_host": "a", "local_port": 1, "remote_host": "b", "remote_port": 2},
        ],
        "timestamp": {"timesecs": 1},
        "test_start": {"protocol": "TCP"},
        "tcp_mss_default": 1448,
        "system_info": "Linux a 6.1",
    },
    "intervals": [
        {"streams": [{"socket": 5, "start": 0, "end": 1, "bytes": 9, "sender": True, "snd_cwnd": 3, "rtt": 4}]}
    ],
    "end": {
        "streams": [{"sender": {"socket": 5, "bits_per_second": 8, "retransmits": 0}, "receiver": {"bytes": 9}}],
        "sender_tcp_congestion": "cubic",
    },
}
MEASURED = {"measured": 1.0, "also": {"x": 1.0}, "interval": [0.0, 2.0], "seeds": 3, "values": [1.0, 2.0]}
RECORD: dict[str, Any] = {
    "made": {"version": "1"},
    "claims": [{"id": "A1", **MEASURED, "other_choices": [{"choices": {"a": "b"}, **MEASURED}]}],
}
OTHERS: tuple[Any, ...] = (None, "x", -1, 1.5, [], {}, [[]], True, 2**70)


def changed(whole: Any) -> Iterator[Any]:
    """The same document with another value at one place, for each place and each value."""
    yield from OTHERS
    if isinstance(whole, dict):
        for key, inner in whole.items():
            yield {name: value for name, value in whole.items() if name != key}
            yield from ({**whole, key: other} for other in changed(inner))
    elif isinstance(whole, list):
        for place, inner in enumerate(whole):
            yield from ([*whole[:place], other, *whole[place + 1 :]] for other in changed(inner))


@pytest.mark.parametrize(("document", "name"), [(REPORT, "i.json"), (RECORD, "f/recorded.json")])
def test_another_type_at_any_place_is_wrong_input_or_as_good(tmp_path: Path, document: Any, name: str) -> None:
    place = tmp_path / name
    place.parent.mkdir(exist_ok=True)
    if place.parent != tmp_path:
        _claims(place, "")
    for other in changed(document):
        place.write_text(json.dumps(other))
        with contextlib.suppress(InputFileError):
            if name == "i.json":
                read([place])
            else:
                load_folder(place.parent)


# ---- there is one way in ------------------------------------------------------------------------------------------

PACKAGE = Path(failures.__file__).resolve().parents[1]
ITS_OWN = (
    "claims/folders",
    "lessons",
    "scenario/templates",
    "scenarios",
    "gym",
    "plotting/pages",
)
"""Modules and folders that read their own files, or the core's."""


def test_polars_opens_no_file_by_its_name() -> None:
    """It takes `[` and `*` of a name for a pattern, and reads other files: those of a folder `a[1]` are in `a1`."""
    by_name = re.compile(r"pl\.(?:read|scan)_(?:ndjson|csv|ipc|parquet)\((?!BytesIO|content|octets)[^)]*\)")
    found = {
        call
        for file in PACKAGE.rglob("*.py")
        if "claims/folders" not in str(file)
        for call in by_name.findall(file.read_text(encoding="utf-8"))
        if "glob=False" not in call
    }
    assert not found


def test_no_module_reads_toml_past_the_reader() -> None:
    """`tomllib` recurses without bound, and says of long numbers what is no mistake of TOML."""
    found = [
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if "tomllib.loads(" in file.read_text(encoding="utf-8")
        and not str(file.relative_to(PACKAGE)).startswith(ITS_OWN)
    ]
    assert sorted(found) == ["base/decoding.py", "scenario/example_files.py"]  # the package's own examples
