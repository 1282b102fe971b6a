"""Wrong inputs: every mistake is named where it stands, nothing hangs, nothing takes all memory, nothing is touched.

A file of `tests/wrong` says behind `#!` what is wrong in that line: places of fields, `~` for one of syntax;
`PLACE @LINE` of another.
"""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import Scenario, ScenarioError
from networks import dumbbell

FILES = sorted((Path(__file__).parents[1] / "wrong").glob("*.toml"))
PATIENCE_S, MEMORY = 20, 4 << 30
GOOD = f"""duration = "100 ms"
{dumbbell('rate = "10 Mbit/s", delay = "5 ms"', "10 us")}
[[flow]]
name = "a"
"""


def _expected(text: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for number, line in enumerate(text.splitlines(), 1):
        for place, at in re.findall(r"(\S+)(?: @(\d+))?", line.partition("#!")[2]):
            found.append(("" if place == "~" else place, int(at or number)))
    return sorted(found)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_mistake_is_named_where_it_stands(file: Path) -> None:
    with pytest.raises(ScenarioError) as raised:
        Scenario.load(str(file), imports=False)
    diagnostics = raised.value.diagnostics
    found = sorted((diagnostic["field"], diagnostic["line"] or 0) for diagnostic in diagnostics)
    assert found == _expected(file.read_text(encoding="utf-8"))
    assert all(diagnostic["remedy"] for diagnostic in diagnostics if diagnostic["field"])


def _validate(*arguments: str, cwd: Path, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    before = sorted(cwd.rglob("*"))
    ended = subprocess.run(
        [sys.executable, "-m", "ackclock", "run", *arguments, "-o", "out"],
        cwd=cwd,
        stdin=stdin,
        env=dict(os.environ, COLUMNS="300"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        preexec_fn=limit,
    )
    assert ended.returncode != 2 or sorted(cwd.rglob("*")) == before
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended


def _refused(*arguments: str, cwd: Path) -> str:
    ended = _validate(*arguments, cwd=cwd)
    assert ended.returncode == 2, (ended.returncode, ended.stderr)
    return ended.stderr


@pytest.mark.parametrize("what", ["scenario", "trace", "policy", "sizes", "arrivals"])
def test_a_pipe_that_nobody_writes_to_is_refused_at_once(tmp_path: Path, what: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    lines = {
        "trace": GOOD.replace('rate = "10 Mbit/s"', 'rate = { trace = "pipe" }'),
        "policy": GOOD + 'controller = { kind = "policy", file = "pipe" }\n',
        "sizes": GOOD + 'arrivals = { rate = "1 /s", size = { file = "pipe" } }\n',
        "arrivals": GOOD + 'arrivals = { file = "pipe" }\n',
    }
    if what in lines:
        (tmp_path / "s.toml").write_text(lines[what])
    assert "it is a pipe, not a regular file" in _refused("pipe" if what == "scenario" else "s.toml", cwd=tmp_path)


def test_a_device_without_end_is_read_as_far_as_a_scenario_may_go(tmp_path: Path) -> None:
    assert "it is larger than 67 MB" in _refused("/dev/zero", cwd=tmp_path)


def test_links_that_lead_nowhere_or_in_a_circle_are_called_that(tmp_path: Path) -> None:
    (tmp_path / "dangling.toml").symlink_to("nowhere")
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    assert "it is a link to nowhere, which does not exist" in _refused("dangling.toml", cwd=tmp_path)
    assert "it is a link that cannot be followed" in _refused("loop.toml", cwd=tmp_path)


def test_what_is_no_text_is_placed(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_bytes(b'duration = "1 s"\nname = "\xff"\n')
    assert "octet 0xff in line 2, octet 9 of that line" in _refused("s.toml", cwd=tmp_path)


def test_a_million_flows_are_refused_before_they_fill_the_memory(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(GOOD + "".join(f'[[flow]]\nname = "flow {i}"\n' for i in range(600_000)))
    assert "100000" in _refused("s.toml", cwd=tmp_path).replace(",", "").replace(" ", "")


def test_a_list_of_arrivals_that_was_cut_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("start_s,size_bytes,reply_bytes\n0.01,10,0\n0.02,10")
    (tmp_path / "s.toml").write_text(GOOD + 'arrivals = { file = "a.csv" }\n')
    assert "in line 3, have as many columns" in _refused("s.toml", cwd=tmp_path)


def test_a_scenario_may_be_written_in_json(tmp_path: Path) -> None:
    scenario = Scenario.parse(GOOD)
    (tmp_path / "s.json").write_text(scenario.to_json())
    again = Scenario.load(str(tmp_path / "s.json"))
    assert again.to_json() == scenario.to_json()
    assert _validate("s.json", cwd=tmp_path).returncode == 0


def test_markup_in_a_name_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(GOOD.replace('"a"', '"[/red] x"'))
    ended = _validate("s.toml", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "[/red] x" in ended.stdout
