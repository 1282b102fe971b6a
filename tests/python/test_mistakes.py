"""Each message that the page on mistakes explains is one that the program gives."""

from pathlib import Path

import pytest

import ackclock
from conftest import SCENARIO, Cli

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "mistakes.md"
CODE = """\
import ackclock


class Mine(ackclock.CongestionController):
    def on_ack(self, event): ...
    def on_congestion(self, event): ...
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a scenario, its results, the same damaged, and what ackclock did not write."""
    for name in ("out", "damaged"):
        ackclock.run(ackclock.Scenario.parse(SCENARIO, overrides=["duration=200 ms"])).save(str(tmp_path / name))
    with (tmp_path / "damaged" / "summary.json").open("a", encoding="utf-8") as summary:
        summary.write("\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "two.toml").write_text(SCENARIO)
    (tmp_path / "none.toml").write_text(SCENARIO.partition("[[flow]]")[0])
    step = SCENARIO.replace("100 Mbit/s", "10 Mbit/s").replace("seed = 7", 'tcp = { profile = "rfc" }')
    (tmp_path / "step.toml").write_text(step)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("sead is not a known field", ("run", "two.toml", "--set", "sead=3")),
        ('must be a known name, not "cubik"', ("run", "two.toml", "--set", "flow[0].controller=cubik")),
        ('must be a duration as a string such as "30 ms", not 10', ("run", "two.toml", "--set", "duration=10")),
        ("must be a rate in a known unit", ("run", "--flows", "cubic", "--bottleneck", "10 MBit")),
        ("flow is missing", ("validate", "none.toml")),
        ("nothere.toml: file not found", ("run", "nothere.toml")),
        ("exists already; choose another folder, or replace it with --force", ("run", "two.toml", "-o", "out")),
        ("holds no manifest.json of ackclock's", ("run", "two.toml", "-o", "notes", "--force")),
        ("is damaged", ("compare", "out", "damaged")),
        ("runs code with your permissions", ("run", "two.toml", "--set", "flow[0].controller=python:mine:Mine")),
    ],
    ids=lambda given: given[-1] if isinstance(given, tuple) else "",
)
def test_a_message_on_the_page_is_given(cli: Cli, folder: Path, words: str, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.returncode == 2 and words in done.stderr
    assert f"| {words} |" in PAGE.read_text(encoding="utf-8")


def test_a_warning_on_the_page_is_given(cli: Cli, folder: Path) -> None:
    words = "one flow may find the queue full for the whole run (phase effects)"
    assert words in cli("validate", "step.toml").stdout and words in PAGE.read_text(encoding="utf-8")
