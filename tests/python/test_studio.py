"""Serving the studio, and the studio in a browser where both are there."""

import base64
import json
import re
import shutil
import subprocess
import threading
import urllib.request
import zlib
from pathlib import Path

import pytest

import studio_cases
from ackclock.cli import studio_server
from conftest import Cli, command


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a built page."""
    folder = tmp_path / "page"
    folder.mkdir()
    for name in ("index.html", "studio.js", "worker.js", "engine.wasm"):
        (folder / name).write_text(name)
    monkeypatch.setenv("ACKCLOCK_STUDIO", str(folder))
    return folder


def test_without_a_page_it_says_how_to_get_one(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKCLOCK_STUDIO", str(tmp_path))
    done = cli("studio")
    assert done.returncode == 1
    told = " ".join(done.stderr.split())
    assert str(tmp_path) in told and "make studio" in told


def test_an_absent_example_is_told_as_run_tells_it(cli: Cli, page: Path) -> None:
    done = cli("studio", "scenarios/two-algorithms.toml")
    assert done.returncode == 2
    assert "file not found; write the examples into that folder: ackclock examples -o scenarios" in done.stderr


def test_a_page_that_is_not_whole_is_told_of(cli: Cli, page: Path) -> None:
    (page / "engine.wasm").unlink()
    done = cli("studio")
    assert (done.returncode, "engine.wasm" in done.stderr) == (1, True)


def test_what_is_no_scenario_is_wrong_input(cli: Cli, page: Path, tmp_path: Path) -> None:
    done = cli("studio", tmp_path / "nothing.toml")
    assert (done.returncode, "nothing.toml" in done.stderr) == (2, True)


@pytest.mark.parametrize("content", [b"{}", b"[1]", b"\xff\xfe", b'{"scenario": '])
def test_a_damaged_folder_of_results_is_wrong_input(cli: Cli, page: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    done = cli("studio", str(tmp_path))
    assert done.returncode == 2 and "is not a manifest of results" in done.stderr
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    done = cli("studio", str(tmp_path / "binary.toml"))
    assert done.returncode == 2 and "must be text in UTF-8" in done.stderr


def test_it_is_served_with_the_types_that_a_browser_wants(page: Path) -> None:
    server = studio_server.server(page, to_open={"text": "duration = 1", "files": {}})
    assert server.server_address[0] == "127.0.0.1"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for name, kind in [("", "text/html"), ("studio.js", "text/javascript"), ("engine.wasm", "application/wasm")]:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/{name}") as answer:
                assert answer.headers["Content-Type"] == kind
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}{studio_server.OPENED}") as answer:
            assert json.load(answer) == {"text": "duration = 1", "files": {}, "recorded": False}
    finally:
        server.shutdown()
        server.server_close()


def test_the_command_prints_where_it_is_and_ends_when_told(page: Path, scenario_file: Path) -> None:
    with subprocess.Popen(command("studio", scenario_file), stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        found = re.match(r"(http://127\.0\.0\.1:\d+/)", running.stdout.readline())
        assert found is not None
        with urllib.request.urlopen(found[1] + "opened.json") as answer:
            assert json.load(answer)["text"] == scenario_file.read_text()
        running.terminate()
        assert running.wait(60) == 130


def test_a_scenario_brings_the_files_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "cell.down").write_text("1\n2\n")
    (tmp_path / "other.down").write_text("1\n")
    scenario = tmp_path / "mine.toml"
    scenario.write_text('rate = { trace = "traces/cell.down" }')
    assert studio_server.opened(scenario)["files"] == {
        "traces/cell.down": "MQoyCg=="
    }  # base64 of "1\n2\n", by base64(1)


def test_a_folder_of_results_opens_its_scenario(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    assert cli("run", scenario_file, "-o", "out").returncode == 0
    text = json.loads(studio_server.opened(tmp_path / "out")["text"])
    assert [flow["name"] for flow in text["flow"]] == ["new", "old"]


def test_an_address_holds_the_scenario_and_its_files(cli: Cli, tmp_path: Path) -> None:
    """JSON, deflated (RFC 1951), in base64 for addresses (RFC 4648 section 5)."""
    (tmp_path / "cell.down").write_bytes(bytes(range(256)))
    scenario = tmp_path / "mine.toml"
    scenario.write_text('rate = { trace = "cell.down" }')
    done = cli("studio", scenario, "--link", "https://example.org/studio/")
    place, _, packed = done.stdout.strip().partition("#s=")
    assert place == "https://example.org/studio/"
    text = zlib.decompress(base64.urlsafe_b64decode(packed + "=="), wbits=-15)
    held = json.loads(text)
    assert held["text"] == scenario.read_text()
    assert base64.urlsafe_b64decode(held["files"]["cell.down"] + "==") == bytes(range(256))
    assert cli("studio", "--link", "https://example.org/").returncode == 2


@pytest.mark.skipif(bool(studio_cases.missing()), reason=studio_cases.missing() or "-")
def test_a_browser_has_the_bytes_of_the_native_engine(tmp_path: Path) -> None:
    wanted = [
        case for case in studio_cases.cases(40) if case.name in ("cellular", "random-1", "random-2", "random-3", "red")
    ]
    parts = "cases,edit,change,compare,draw,film"
    report = studio_cases.in_browser(wanted, tmp_path, parts=parts)
    assert report["errors"] == []
    assert studio_cases.differing([*wanted, *studio_cases.left_by(parts, tmp_path)], tmp_path) == []


@pytest.mark.skipif(
    not (studio_cases.ROOT / "studio/node_modules/esbuild").is_dir(), reason="esbuild is not there: make studio"
)
def test_the_form_changes_its_part_of_a_text_and_nothing_else() -> None:
    done = subprocess.run(
        ["node", "test/unit.mjs"], cwd=studio_cases.ROOT / "studio", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(not shutil.which("node"), reason="node is not there")
def test_the_driver_of_the_browser_is_a_program() -> None:
    subprocess.run(["node", "--check", str(studio_cases.DRIVER)], check=True)
