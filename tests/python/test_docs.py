"""Whatever the documentation tells a reader to do is done here, and every example runs."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

import ackclock
import command_line
from ackclock.claims import locations
from ackclock.cli.app import app
from ackclock.cli.commands import FORMER
from ackclock.experiments.studies.design import trials
from ackclock.experiments.studies.study_file import read
from ackclock.scenario.example_files import FOLDER as SCENARIOS
from ackclock.scenario.example_files import copy
from ackclock.scenario.templates import write

ROOT = Path(__file__).parents[2]
LESSONS = ROOT / "python" / "ackclock" / "lessons" / "pages"
"""Their blocks go on from each other: `make -f docs/Makefile lessons` runs them, and test_lessons.py some."""

PAGES = [
    *(ROOT / "README.md", ROOT / "python" / "README.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(LESSONS.glob("*.md")),
]

NOT_RUN_HERE = ("make ", "export ", "git ", "pip ", "podman ", "cargo publish ")
"""Setting up and publishing; the tests themselves run after the one and before the other."""

_FENCE = re.compile(r"^```(?P<kind>\w+)(?P<flags>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: Path
    kind: str
    is_invalid: bool
    is_study: bool
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.text.splitlines()[0][:50]}"


def _blocks(kind: str) -> Iterator[Block]:
    for page in PAGES:
        for found in _FENCE.finditer(page.read_text(encoding="utf-8")):
            if found["kind"] == kind:
                yield Block(page, kind, "invalid" in found["flags"], "study" in found["flags"], found["text"])


def _commands() -> Iterator[Block]:
    """The commands of one page, in order: later ones use what earlier ones wrote."""
    for page in PAGES:
        lines = [line for block in _blocks("console") if block.page == page for line in block.text.splitlines()]
        commands = [line[2:].split("   #")[0] for line in lines if line.startswith("$ ")]
        wanted = [command for command in commands if not command.startswith(NOT_RUN_HERE)]
        if wanted:
            yield Block(page, "console", False, False, "\n".join(wanted))


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy(None, tmp_path / "scenarios")
    shutil.copytree(ROOT / "tests/scripts", tmp_path / "tests/scripts")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _of_a_page() -> list[Any]:
    """The commands of each page; those of Cargo compile."""
    marks = {True: pytest.mark.slow, False: ()}
    return [pytest.param(block, id=str(block), marks=marks["cargo " in block.text]) for block in _commands()]


def _run(words: list[str], workplace: Path) -> subprocess.CompletedProcess[str]:
    if words[0] == "ackclock":
        return command_line.run(words[1:], workplace)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        words,
        cwd=ROOT if words[0] == "cargo" else workplace,
        env=os.environ | {"PATH": path, "CARGO_PROFILE_DEV_OPT_LEVEL": "0"},  # as the example's own tests are built
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
@pytest.mark.parametrize("block", _of_a_page())
def test_commands_do_what_a_page_says(block: Block, workplace: Path) -> None:
    if "ackclock examples -o scenarios" in block.text:
        shutil.rmtree(workplace / "scenarios")
    for line in block.text.splitlines():
        done = _run(shlex.split(line), workplace)
        assert done.returncode == 0, f"{line}\n{done.stderr}"


@pytest.mark.parametrize("block", [block for block in _blocks("toml") if block.is_study], ids=str)
def test_studies_on_a_page_are_studies(block: Block, workplace: Path) -> None:
    file = workplace / "scenarios" / "page.toml"
    file.write_text(block.text, encoding="utf-8")
    assert trials(*read(file))


@pytest.mark.parametrize("file", sorted((SCENARIOS / "studies").glob("*.toml")), ids=lambda file: file.stem)
def test_examples_of_studies_are_studies(file: Path) -> None:
    assert trials(*read(file))


@pytest.mark.parametrize("block", [block for block in _blocks("toml") if not block.is_study], ids=str)
def test_scenarios_on_a_page_are_scenarios(block: Block) -> None:
    if block.is_invalid:
        with pytest.raises(ackclock.ScenarioError):
            ackclock.Scenario.parse(block.text)
    else:
        beside_the_examples = str(SCENARIOS / "page.toml")
        ackclock.run(ackclock.Scenario.parse(block.text, beside_the_examples, ["trace=false"]))


def _stand_alone() -> list[Block]:
    return [block for block in _blocks("python") if block.page.parent != LESSONS]


@pytest.mark.parametrize("block", _stand_alone(), ids=str)
def test_python_on_a_page_runs(block: Block, workplace: Path) -> None:
    exec(compile(block.text, str(block.page), "exec"), {})


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_examples_move_data_in_every_flow(file: Path) -> None:
    results = ackclock.run(ackclock.Scenario.load(str(file)))
    assert all(flow["delivered_bytes"] > 0 for flow in results.summary["flows"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} points at {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_rows_of_tables_stand_below_a_head(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert re.fullmatch(r"\|[\s:|-]+\|", table.splitlines()[1]), table


@pytest.mark.parametrize(
    ("page", "kind", "folder"),
    [
        ("own-controller-python.md", "python", "python/ackclock/scenarios"),
        ("own-controller-rust.md", "rust", "crates/ackclock/examples/rust-controller/src"),
    ],
)
def test_code_that_a_page_shows_of_a_file_is_in_the_file(page: str, kind: str, folder: str, tmp_path: Path) -> None:
    blocks = [block.text for block in _blocks(kind) if block.page.name == page]
    shown = [text for text in blocks if kind == "rust" or "class " in text]
    begun = write("controller", "own_aimd", tmp_path / "begun", lang=kind)
    sources = [file for file in [*(ROOT / folder).iterdir(), *begun] if file.suffix in (".py", ".rs")]
    files = [file.read_text(encoding="utf-8") for file in sources]
    assert shown
    for text in shown:
        assert any(text in file for file in files), text


def _options(command: Any, name: str) -> Iterator[tuple[str, str]]:
    for inner, sub in getattr(command, "commands", {}).items():
        yield from () if sub.hidden else _options(sub, f"{name} {inner}".removeprefix("ackclock "))
    if not hasattr(command, "commands"):
        long = [max(option.opts, key=len) for option in command.params if option.param_type_name == "option"]
        yield from ((name, option) for option in long if option != "--help")


@pytest.mark.parametrize(("command", "option"), sorted(_options(typer.main.get_command(app), "ackclock")))
def test_the_reference_has_each_option_of_each_command(command: str, option: str) -> None:
    page = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    shown = page.split("```")[1].replace("\n    ", " ")
    lines = [line for line in shown.splitlines() if re.search(rf"ackclock {command}\b", line)]
    assert any(option in line or (option == "--output" and "-o" in line) for line in lines), lines


def test_nothing_names_a_command_by_its_former_name() -> None:
    sources = [file for folder in ("python/ackclock", "docs/site") for file in (ROOT / folder).rglob("*.py")]
    texts = [(file, file.read_text(encoding="utf-8")) for file in [*PAGES, ROOT / "ARCHITECTURE.md", *sources]]
    former = re.compile(rf"\backclock ({'|'.join(FORMER)})\b")
    assert not [(file.name, found[0]) for file, text in texts for found in former.finditer(text)]


def _ratio(summary: Any) -> float:
    new, old = (flow["goodput_bps"] for flow in summary["flows"])
    return float(new / old)


def _mbit(summary: Any) -> float:
    return float(summary["flows"][0]["goodput_bps"] / 1e6)


def _thousands_lost(summary: Any) -> float:
    return float(summary["flows"][0]["lost_segments"] / 1e3)


def _acks_lost(summary: Any) -> float:
    (back,) = [link for link in summary["links"] if link["name"] == "bottleneck.reverse"]
    return float(100 * back["drops"] / (back["drops"] + back["delivered_packets"]))


TUTORIAL, LINKS = "docs/tutorial/first-run.md", "docs/how-to/changing-links.md"
TWO, ACKS = "two-algorithms.toml", "ack-congestion-control.toml"
OFF, SACK, DEEP = (
    "tcp.ack_congestion_control=false", "flow[0].controller=reno", "topology.bottleneck.reverse.queue.limit=50 packets",
)  # fmt: skip
CAKE = 'topology.bottleneck.reverse.queue={ kind = "cake", ack_filter = "conservative" }'


@pytest.mark.parametrize(
    ("page", "words", "file", "overrides", "measure", "said"),
    [
        (TUTORIAL, "gets some five times as much", TWO, (), _ratio, 5),
        (TUTORIAL, "loses a thousand packets", TWO, ("tcp.profile=rfc",), _thousands_lost, 1),
        (LINKS, "1.2 % of the ACKs are lost", ACKS, (), _acks_lost, 1.2),
        (LINKS, "lost in place of 53 %", ACKS, (OFF,), _acks_lost, 53),
        (LINKS, "gets 7.9 Mbit/s", ACKS, (), _mbit, 7.9),
        (LINKS, "7.9 Mbit/s in place of 7.3", ACKS, (OFF,), _mbit, 7.3),
        (LINKS, "`reno` with SACK gets 8.9 Mbit/s either way", ACKS, (SACK,), _mbit, 8.9),
        (LINKS, "`reno` with SACK gets 8.9 Mbit/s either way", ACKS, (SACK, OFF), _mbit, 8.9),
        (LINKS, "gets 6.8 Mbit/s with the adaptive ratio", ACKS, (SACK, DEEP), _mbit, 6.8),
        (LINKS, "adaptive ratio and 8.3 without", ACKS, (SACK, DEEP, OFF), _mbit, 8.3),
        (LINKS, "`reno` with SACK gets 9.0 Mbit/s either way", ACKS, (CAKE, SACK), _mbit, 9.0),
        (LINKS, "`reno` with SACK gets 9.0 Mbit/s either way", ACKS, (CAKE, SACK, OFF), _mbit, 9.0),
        (LINKS, "`newreno` 8.7 in place of", ACKS, (CAKE,), _mbit, 8.7),
        (LINKS, "8.7 in place of 8.0", ACKS, (CAKE, OFF), _mbit, 8.0),
    ],
)
def test_a_page_says_of_a_run_what_it_gives(
    page: str, words: str, file: str, overrides: tuple[str, ...], measure: Any, said: float
) -> None:
    """To the digits that stand there: an engine that is mended leaves such words behind."""
    assert words in " ".join((ROOT / page).read_text(encoding="utf-8").split())
    scenario = ackclock.Scenario.load(str(SCENARIOS / file), [*overrides, "trace=false"])
    digits = len(str(said).partition(".")[2])
    assert round(measure(ackclock.run(scenario).summary), digits) == said


def test_what_the_tutorial_changes_does_what_it_says() -> None:
    """The section "Change one thing": less delay, more losses, a larger share of Reno."""
    file = str(SCENARIOS / TWO)
    changes = ("flow.old.start=0 s", "topology.bottleneck.queue.limit=0.2 bdp")
    text = (ROOT / TUTORIAL).read_text(encoding="utf-8")
    assert all(f"--set '{change}'" in text for change in changes)
    before, after = (ackclock.run(ackclock.Scenario.load(file, list(given))).summary for given in ((), changes))
    for old, new in zip(before["flows"], after["flows"], strict=True):
        assert new["rtt_ms"]["mean"] < old["rtt_ms"]["mean"] and new["lost_segments"] > old["lost_segments"]
    assert _ratio(after) < _ratio(before)


def test_the_first_scenario_is_as_linux_is() -> None:
    """A novice's first report shows the timer, window and ACKs that a packet trace of Linux shows."""
    scenario = tomllib.loads((SCENARIOS / TWO).read_text(encoding="utf-8"))
    assert "tcp" not in scenario
    assert not any({"tcp", "profile"} & flow.keys() for flow in scenario["flow"])


def test_the_reference_names_each_case_of_the_benchmark() -> None:
    page = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith("`ackclock bench` measures")]
    assert set(re.findall(r"`([a-z-]+)`", line)) == set(locations.tool("speed.command").GROUPS)


def test_the_mistakes_page_counts_right() -> None:
    (block,) = [block for block in _blocks("toml") if block.is_invalid]
    with pytest.raises(ackclock.ScenarioError) as caught:
        ackclock.Scenario.parse(block.text)
    assert len(caught.value.diagnostics) == 3


def test_the_page_on_stability_names_each_command_and_each_name_of_the_package() -> None:
    page = (ROOT / "docs/reference/stability.md").read_text(encoding="utf-8")
    commands = {name for name, command in typer.main.get_command(app).commands.items() if not command.hidden}
    missing = [name for name in {*commands, *ackclock.__all__} if f"`{name}`" not in page]
    assert not missing
