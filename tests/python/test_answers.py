"""`--json` of every command: one document on standard output, and nothing beside it."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ackclock.cli.commands import COMMANDS
from conftest import Cli, command

SCRIPTS = Path(__file__).parents[1] / "scripts"
VISIBLE = [name for name, entry in COMMANDS.items() if not entry.hidden]


@pytest.mark.parametrize("name", VISIBLE)
def test_every_command_has_it(name: str) -> None:
    command = COMMANDS[name].load(name)
    for one in getattr(command, "commands", {name: command}).values():
        assert "--json" in {option for parameter in one.params for option in parameter.opts}


Made = Callable[..., dict[str, Any]]


@pytest.fixture
def answered(cli: Cli) -> Made:
    """Call a command and return its answer, of which the first line is no other program's."""

    def call(*arguments: object, code: int = 0) -> dict[str, Any]:
        done = cli(*arguments, "--json")
        assert done.returncode == code, done.stderr
        made: dict[str, Any] = json.loads(done.stdout)
        assert made["command"] == arguments[0]
        return made

    return call


def test_what_was_written_is_named(answered: Made, tmp_path: Path) -> None:
    made = answered("new", "controller", "mine")
    assert made["folder"] == "mine" and len(made["files"]) > 2
    assert all((tmp_path / file).is_file() for file in made["files"])


def test_scripts_are_told_of_one_by_one(answered: Made, tmp_path: Path) -> None:
    good = next(iter(sorted(SCRIPTS.rglob("*.pkt"))))
    (tmp_path / "wrong.pkt").write_text("this is not a script\n")
    made = answered("script", good, "wrong.pkt", code=2)
    assert [entry["outcome"] for entry in made["scripts"]] == ["passed", "wrong"]
    assert made["counts"] == {"passed": 1, "failed": 0, "wrong": 1}
    assert (made["scripts"][1]["line"], bool(made["scripts"][1]["message"])) == (1, True)
    assert "packetdrill" in made["scripts"][1]["remedy"]


def test_a_report_and_the_flows_of_a_capture(answered: Made, cli: Cli, scenario_file: Path) -> None:
    done = cli("run", scenario_file, "-o", "out", "--set", "flow.new.capture=true", "--quiet")
    assert done.returncode == 0, done.stderr
    made = answered("report", "out", "-o", "page.html")
    assert (made["page"], made["kind"], made["runs"][0]["folder"]) == ("page.html", "run", "out")
    assert made["written"] == ["page.html"]
    capture = next((scenario_file.parent / "out").glob("*.pcapng"))
    made = answered("arrivals", capture, "-o", "flows.csv")
    assert (made["file"], made["flows"], made["written"]) == ("flows.csv", 1, ["flows.csv"])


def test_an_estimate_and_a_check_of_a_study_are_told_too(answered: Made, scenario_file: Path, tmp_path: Path) -> None:
    assert answered("run", scenario_file, "--estimate")["duration_s"] == 2.0
    (tmp_path / "s.toml").write_text(
        'controllers = ["reno"]\nline_ups = "alone"\npath = { rtt = "20 ms" }\nseeds = 2\n'
    )
    assert answered("study", "s.toml", "--check")["runs"] == 2


def test_what_is_wrong_is_on_standard_error_alone(cli: Cli) -> None:
    done = cli("report", "nothing", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing" in done.stderr


def test_one_that_goes_on_answers_at_its_beginning(tmp_path: Path) -> None:
    for name in ("index.html", "studio.js", "worker.js", "engine.wasm"):
        (tmp_path / name).write_text(name)
    environment = os.environ | {"ACKCLOCK_STUDIO": str(tmp_path)}
    with subprocess.Popen(command("studio", "--json"), stdout=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stdout is not None
        text = ""
        while not text.rstrip().endswith("\n}"):
            text += running.stdout.readline()
        assert json.loads(text)["address"].startswith("http://127.0.0.1:")
        running.terminate()
        assert running.wait(10) == 130
